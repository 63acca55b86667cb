"""Event -> rows. Every projector is an upsert, so applying an event twice changes nothing.

Also the two operations on the whole: `rebuild` (drop and replay) and `check` (would a rebuild
change anything?).
"""

import json
from collections.abc import Iterator
from typing import Any

from django.db import connection, models, transaction

from . import search, statements
from .event_log import encode, writer
from .events import halves
from .models import Event, Pin, SearchText, Tally, ThreadMessage
from .signals import event_recorded

#: Every table a rebuild drops. Ledgers are not among them.
PROJECTIONS: tuple[type[models.Model], ...] = (Pin, ThreadMessage, SearchText, Tally)

_REPLAY_PAGE = 500


def connect() -> None:
    event_recorded.connect(_on_event, dispatch_uid="pins.projections")


def _on_event(sender: type[Event], *, event: Event, **_: Any) -> None:
    apply(event)


def apply(event: Event) -> None:
    """Bring the projections to where `event` leaves them."""
    payload = json.loads(event.payload)
    if event.type == "thread.message":
        _apply_message(event, payload)
    else:
        _apply_pin(event, payload)


def _apply_pin(event: Event, pin: dict[str, Any]) -> None:
    head, tail = halves(pin)
    bound = {"agentSession": pin["agentSession"]} if "agentSession" in pin else {}
    row = statements.PinRow(
        id=pin["id"],
        n=pin["n"],
        status=pin["status"],
        seq=event.seq,
        created_at=pin["createdAt"],
        head=members(head),
        bound=members(bound),
        tail=encode(tail)[1:-1],
    )
    before = None if event.type == "pin.created" else statements.status_and_seq(row.id)
    if before is None:
        # Applied before? Then the row stands, and this event has nothing to say.
        if not statements.insert_pin(row):
            return
        statements.count(row.status, 1)
    else:
        status, seq = before
        if seq >= event.seq:
            return
        statements.update_pin(row)
        if status != row.status:
            statements.count(status, -1)
            statements.count(row.status, 1)
    search.index(row.n, event.seq, search.texts_of_pin(event.type, pin))


def _apply_message(event: Event, message: dict[str, Any]) -> None:
    pin_id = message["pinId"]
    if statements.insert_message(message["id"], pin_id, event.seq, message["role"], event.payload):
        search.index(statements.number_of(pin_id), event.seq, [message["text"]])


def members(document: dict[str, Any]) -> str:
    """The inside of a JSON object with a comma after its last member, or nothing."""
    return encode(document)[1:-1] + "," if document else ""


def rebuild() -> int:
    """Drop every projection and replay the log, under the write lock, in one transaction. Returns
    the number of events.
    """
    with writer():
        for model in PROJECTIONS:
            model._base_manager.all()._raw_delete(connection.alias)
        replayed = 0
        for event in _all_events():
            event_recorded.send(Event, event=event, replayed=True)
            replayed += 1
        return replayed


def check() -> dict[str, int]:
    """What a rebuild would change: table -> rows that differ. Empty when the projections are what
    the log says.

    It rebuilds inside the write lock, compares, and rolls everything back.
    """
    with writer():
        try:
            with transaction.atomic():
                for model in PROJECTIONS:
                    _execute(
                        f"CREATE TEMPORARY TABLE {_copy(model)} AS SELECT * FROM {_table(model)}"  # noqa: S608
                    )
                rebuild()
                drift = {
                    _table(model): count for model in PROJECTIONS if (count := _differences(model))
                }
                if broken := search.broken_index():
                    drift["search index"] = broken
                raise _RollBack(drift)
        except _RollBack as done:
            return done.drift


class _RollBack(Exception):
    def __init__(self, drift: dict[str, int]) -> None:
        self.drift = drift


def _all_events() -> Iterator[Event]:
    after = 0
    while page := list(Event.objects.filter(seq__gt=after).order_by("seq")[:_REPLAY_PAGE]):
        yield from page
        after = page[-1].seq


def _table(model: type[models.Model]) -> str:
    return model._meta.db_table


def _copy(model: type[models.Model]) -> str:
    return f"before_{model._meta.db_table}"


def _execute(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone() if cursor.description else None


def _differences(model: type[models.Model]) -> int:
    now, before = _table(model), _copy(model)

    def missing(here: str, there: str) -> int:
        found = _execute(
            f"SELECT COUNT(*) FROM (SELECT * FROM {here} EXCEPT SELECT * FROM {there}) AS d"  # noqa: S608
        )
        return int(found[0])

    return missing(now, before) + missing(before, now)
