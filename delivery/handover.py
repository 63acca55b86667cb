"""Pull delivery: what a session is told now, and the record that it was told.

Only what the text holds in full is marked as handed over; the rest stays pending. However many pins
are open or pending, no more rows are read than the text has room for.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from pins import selectors as pins
from pins.models import Event, Pin, ThreadMessage
from sessions_app.models import AgentSession

from .models import Delivery, Showing
from .prompt import Card, Context, Line, Words, context

_Head = tuple[int, str, dict[str, Any]]

#: Pending rows looked at for one text, and messages of one pin in it.
_NEWS: Final = 120
_MESSAGES: Final = 12
#: Open pins looked at for the lines of one text: more than fit.
_WINDOW: Final = 200
#: Documents read at a time.
_CHUNK: Final = 20
#: The last messages of a pin that a fresh conversation reads, and further elements of one pin.
_LAST_MESSAGES: Final = 3
_MORE_PLACES: Final = 4
#: A stop is held at most so often for one pin, in one session.
MAX_HOLDS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """The newest pending rows of one pin, as (delivery id, event seq)."""

    pin_id: str
    rows: list[tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver:
    text: str = ""
    deliveries: int = 0


# --- what a session is told -----------------------------------------------------------------------


def at_a_prompt(
    session: AgentSession, *, by: str, now: datetime, is_start: bool = False
) -> HandedOver:
    """The context of a turn: its news in full, every other open pin in a line. At the start of a
    conversation also the session's own open pins in full, for nothing of them may be left in its
    context. Needs `pins.event_log.writer()`.
    """
    news = _news(_pending(session))
    open_pins = pins.tally()["open"]
    if not news and not open_pins:
        return HandedOver()
    window = _open_window(session)
    unseen = _unseen(session, window, news) if is_start else []
    told = context(open_pins=open_pins, cards=_cards(news, unseen), lines=_lines(window))
    return HandedOver(text=told.text, deliveries=_mark(session, told, news, by=by, now=now))


def at_a_stop(session: AgentSession, *, now: datetime) -> HandedOver:
    """The reason to hold a stop: what came since and was not shown yet, unless the session was held
    for it often enough. Needs `pins.event_log.writer()`.
    """
    seen = Showing.objects.filter(session_id=session.id, pin_id=OuterRef("pin_id"))
    rows = _pending(session).annotate(
        seen_seq=Coalesce(Subquery(seen.values("seen_seq")), 0),
        holds=Coalesce(Subquery(seen.values("holds")), 0),
    )
    news = _news(rows.filter(holds__lt=MAX_HOLDS, event_seq__gt=F("seen_seq")))
    if not news:
        return HandedOver()
    told = context(open_pins=pins.tally()["open"], cards=_cards(news), is_hold=True)
    return HandedOver(
        text=told.text, deliveries=_mark(session, told, news, by="hooks", now=now, is_hold=True)
    )


# --- reading --------------------------------------------------------------------------------------


def _pending(session: AgentSession) -> QuerySet[Delivery]:
    return Delivery.objects.filter(session_id=session.id, status=Delivery.Status.PENDING)


def _news(rows: QuerySet[Delivery]) -> list[News]:
    """Pins with something new, the newest news first."""
    found: dict[str, list[tuple[int, int]]] = {}
    newest = rows.order_by("-event_seq").values_list("id", "event_seq", "pin_id")[:_NEWS]
    for row_id, seq, pin_id in newest:
        rows_of_pin = found.setdefault(pin_id, [])
        if len(rows_of_pin) < _MESSAGES:
            rows_of_pin.append((row_id, seq))
    return [News(pin_id=pin_id, rows=rows) for pin_id, rows in found.items()]


def _open_window(session: AgentSession) -> list[tuple[str, bool, bool]]:
    """The newest open pins as (id, is the session's own, is another's), its own first."""
    rows = Pin.objects.filter(status=Pin.Status.OPEN).order_by("-n")
    found = [
        (pin_id, agent == session.agent and key == session.key, agent is not None)
        for pin_id, agent, key in rows.values_list("id", "binding__agent", "binding__key")[:_WINDOW]
    ]
    return sorted(
        ((pin_id, own, bound and not own) for pin_id, own, bound in found),
        key=lambda row: not row[1],
    )


def _unseen(
    session: AgentSession, window: list[tuple[str, bool, bool]], news: list[News]
) -> list[str]:
    """The session's own open pins that it was never shown in full and that have no news."""
    own = [pin_id for pin_id, is_own, _ in window if is_own]
    shown = Showing.objects.filter(session_id=session.id, pin_id__in=own)
    known = {*shown.values_list("pin_id", flat=True), *(item.pin_id for item in news)}
    return [pin_id for pin_id in own if pin_id not in known]


def _cards(news: list[News], unseen: Iterable[str] = ()) -> Iterator[Card]:
    for some in _in_chunks(news):
        heads = pins.heads(item.pin_id for item in some)
        seqs = [seq for item in some for _, seq in item.rows]
        types = dict(Event.objects.filter(seq__in=seqs).values_list("seq", "type"))
        said = dict(ThreadMessage.objects.filter(seq__in=seqs).values_list("seq", "json"))
        for item in some:
            if head := heads.get(item.pin_id):
                own = sorted(seq for _, seq in item.rows)
                yield _card(
                    item.pin_id,
                    head,
                    is_new=any(types.get(seq) == "pin.created" for seq in own),
                    is_reopened=any(types.get(seq) == "pin.verified" for seq in own),
                    messages=[_words(said[seq]) for seq in own if seq in said],
                )
    for chunk in _in_chunks(unseen):
        heads = pins.heads(chunk)
        for pin_id in chunk:
            last = ThreadMessage.objects.filter(pin_id=pin_id).order_by("-seq")
            newest = list(last.values_list("role", "json")[:_LAST_MESSAGES])
            # What an agent answered last waits for a person, not for the agent.
            if pin_id in heads and not (newest and newest[0][0] == "agent"):
                words = [_words(text) for _, text in reversed(newest)]
                yield _card(pin_id, heads[pin_id], messages=words)


def _card(pin_id: str, head: _Head, *, messages: list[Words], **more: bool) -> Card:
    n, status, pin = head
    return Card(
        id=pin_id,
        n=n,
        status=status,
        text=pin["text"],
        place=_places(pin),
        url=pin.get("target", {}).get("url"),
        messages=messages,
        **more,
    )


def _lines(window: list[tuple[str, bool, bool]]) -> Iterator[Line]:
    for some in _in_chunks(window):
        heads = pins.heads(pin_id for pin_id, _, _ in some)
        for pin_id, _, is_elsewhere in some:
            n, _, pin = heads[pin_id]
            yield Line(
                id=pin_id,
                n=n,
                text=pin["text"],
                place=_place(pin.get("target", {})) or pin.get("target", {}).get("url"),
                is_elsewhere=is_elsewhere,
            )


def _place(target: dict[str, Any]) -> str | None:
    """What a target points at: its selector, else the source file and line."""
    if selector := target.get("selector"):
        return str(selector)
    source = target.get("source", {})
    if not source.get("file"):
        return None
    return f"{source['file']}:{source['line']}" if "line" in source else str(source["file"])


def _places(pin: dict[str, Any]) -> str | None:
    """Everything a card says of where: selector and source, and the further elements."""
    target = pin.get("target", {})
    source = _place({"source": target.get("source", {})})
    more = [_place(one) or one.get("tag") for one in target.get("targets", [])[:_MORE_PLACES]]
    found = [target.get("selector"), source, *more]
    return ", ".join(str(place) for place in found if place) or None


def _words(message: str) -> Words:
    said = json.loads(message)
    return Words(by=said["role"], of=said.get("origin"), text=said["text"])


def _in_chunks(items: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(items)
    while chunk := list(islice(rest, _CHUNK)):
        yield chunk


# --- marking --------------------------------------------------------------------------------------


def _mark(
    session: AgentSession,
    told: Context,
    news: list[News],
    *,
    by: str,
    now: datetime,
    is_hold: bool = False,
) -> int:
    """Record what the text holds in full: its rows are handed over, its pins were shown."""
    if not told.in_full:
        return 0
    rows = {item.pin_id: item.rows for item in news}
    ids = [row_id for pin_id in told.in_full for row_id, _ in rows.get(pin_id, ())]
    handed_over = Delivery.objects.filter(pk__in=ids).update(
        status=Delivery.Status.DELIVERED,
        adapter="hooks",
        due_at=None,
        handed_over_at=now,
        handed_over_by=by,
        updated_at=now,
    )
    before = {
        showing.pin_id: showing
        for showing in Showing.objects.filter(session_id=session.id, pin_id__in=told.in_full)
    }
    showings = []
    for pin_id in told.in_full:
        showing = before.get(pin_id) or Showing(session_id=session.id, pin_id=pin_id)
        showing.seen_seq = max(showing.seen_seq, *(seq for _, seq in rows.get(pin_id, ())), 0)
        showing.holds += is_hold
        showings.append(showing)
    Showing.objects.bulk_create(
        showings,
        update_conflicts=True,
        unique_fields=["session_id", "pin_id"],
        update_fields=["seen_seq", "holds"],
    )
    return handed_over
