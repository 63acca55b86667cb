"""Statements of the hot paths, written out. The ORM takes ten times as long to compose one as the
database to answer it (measured: 870 us against 70), and a hook runs a dozen of them.

They are the same text on both databases.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import connection


def fetch(sql: str, params: Sequence[Any] = ()) -> list[Any]:
    """Rows, as tuples. A list among the parameters stands for `IN %s`."""
    with connection.cursor() as cursor:
        cursor.execute(*_spread(sql, params))
        return list(cursor.fetchall())


def execute(sql: str, params: Sequence[Any]) -> int:
    """Returns how many rows were touched."""
    with connection.cursor() as cursor:
        cursor.execute(*_spread(sql, params))
        return int(cursor.rowcount)


def execute_many(sql: str, rows: Sequence[Sequence[Any]]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)


def _spread(sql: str, params: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """The statement with a placeholder for each value of its lists."""
    if not any(isinstance(param, list) for param in params):
        return sql, params
    places, values = [], list[Any]()
    for param in params:
        many = param if isinstance(param, list) else [param]
        listed = ", ".join(["%s"] * len(many))
        places.append(f"({listed})" if many is param else listed)
        values += many
    return sql % tuple(places), values


def open_pins() -> int:
    """How many pins are open."""
    found = fetch("SELECT pins FROM pins_tally WHERE status = 'open'")
    return int(found[0][0]) if found else 0


def newest_open(limit: int) -> list[tuple[str, str | None, str | None]]:
    """The newest open pins as (id, agent, key of the session it is stuck to)."""
    return fetch(
        "SELECT p.id, b.agent, b.key FROM pins_pin p"
        " LEFT JOIN pins_binding b ON b.pin_id = p.id"
        " WHERE p.status = 'open' ORDER BY p.n DESC LIMIT %s",
        [limit],
    )


_ATTACHED = '"attachments":[{'


def heads(pin_ids: list[str]) -> dict[str, tuple[int, str, dict[str, Any]]]:
    """Number, status and what was pinned (text, kind, target, move, env, author, attachments) of
    each pin that is there, by id.
    """
    # Attachments come after the place of the session, so they begin the other half.
    rows = fetch(
        "SELECT id, n, status, head,"
        " CASE WHEN substr(tail, 1, 16) = %s THEN tail ELSE '' END"
        " FROM pins_pin WHERE id IN %s",
        [_ATTACHED, pin_ids],
    )
    found = {}
    for pin_id, n, status, head, tail in rows:
        pin = _object(head)
        if tail:
            pin["attachments"] = _object(tail)["attachments"]
        found[pin_id] = (n, status, pin)
    return found


def bind(pin_id: str, agent: str, key: str, text: str) -> None:
    """The pin's binding, made or replaced. `text` stands between the halves of the pin's JSON."""
    execute(
        "INSERT INTO pins_binding (pin_id, agent, key, json) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (pin_id) DO UPDATE SET agent = excluded.agent, key = excluded.key,"
        " json = excluded.json",
        [pin_id, agent, key, text],
    )


def binding_of(pin_id: str) -> dict[str, str] | None:
    """The session a pin is stuck to, as `{agent, key, cwd?}`."""
    found = fetch("SELECT json FROM pins_binding WHERE pin_id = %s", [pin_id])
    if not found:
        return None
    bound: dict[str, str] = _object(found[0][0])["agentSession"]
    return bound


def _object(members: str) -> dict[str, Any]:
    """What `projections.members` took apart."""
    document: dict[str, Any] = json.loads("{" + members.rstrip(",") + "}")
    return document


# --- what a write needs -------------------------------------------------------------------------


class PinRow(NamedTuple):
    """A row of `pins_pin`."""

    id: str
    n: int
    status: str
    seq: int
    created_at: str
    head: str
    bound: str
    tail: str


def last_seq() -> int:
    """Seq of the newest event, 0 in an empty log."""
    return int(fetch("SELECT MAX(seq) FROM pins_event")[0][0] or 0)


def insert_event(seq: int, kind: str, at: str, subject: str, payload: str) -> None:
    execute(
        "INSERT INTO pins_event (seq, type, at, subject, payload) VALUES (%s, %s, %s, %s, %s)",
        [seq, kind, at, subject, payload],
    )


def last_number() -> int:
    """Number of the newest pin, 0 where there is none."""
    return int(fetch("SELECT MAX(n) FROM pins_pin")[0][0] or 0)


def number_of(pin_id: str) -> int:
    """Number of a pin that is there."""
    return int(fetch("SELECT n FROM pins_pin WHERE id = %s", [pin_id])[0][0])


def status_and_seq(pin_id: str) -> tuple[str, int] | None:
    """Status of a pin and seq of the event that gave it its row."""
    found = fetch("SELECT status, seq FROM pins_pin WHERE id = %s", [pin_id])
    return found[0] if found else None


def insert_pin(row: PinRow) -> bool:
    """Unless a pin of that id is there; tells which."""
    return (
        execute(
            "INSERT INTO pins_pin (id, n, status, seq, created_at, head, bound, tail)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            row,
        )
        > 0
    )


def update_pin(row: PinRow) -> None:
    execute(
        "UPDATE pins_pin SET n = %s, status = %s, seq = %s, created_at = %s, head = %s,"
        " bound = %s, tail = %s WHERE id = %s",
        [*row[1:], row.id],
    )


def insert_message(id: str, pin_id: str, seq: int, role: str, text: str) -> bool:
    """Unless a message of that id is there; tells which. `text` is its JSON."""
    return (
        execute(
            "INSERT INTO pins_threadmessage (id, pin_id, seq, role, json)"
            " VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            [id, pin_id, seq, role, text],
        )
        > 0
    )


def insert_search_text(id: int, n: int, body: str) -> None:
    """Unless it is there."""
    execute(
        "INSERT INTO pins_searchtext (id, n, body) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        [id, n, body],
    )


def count(status: str, change: int) -> None:
    """Add to the number of pins that have a status."""
    execute(
        "INSERT INTO pins_tally (status, pins) VALUES (%s, %s)"
        " ON CONFLICT (status) DO UPDATE SET pins = pins_tally.pins + excluded.pins",
        [status, change],
    )


# --- what those who follow the log need ---------------------------------------------------------


def events_after(seq: int, limit: int) -> list[tuple[int, str, str, str]]:
    """At most `limit` events as (seq, type, at, payload), oldest first."""
    return fetch(
        "SELECT seq, type, at, payload FROM pins_event WHERE seq > %s ORDER BY seq LIMIT %s",
        [seq, limit],
    )


def log_ends() -> tuple[int, str | None]:
    """Seq of the newest event (0 in an empty log) and subject of the first."""
    last, first = fetch(
        "SELECT (SELECT MAX(seq) FROM pins_event),"
        " (SELECT subject FROM pins_event ORDER BY seq LIMIT 1)"
    )[0]
    return int(last or 0), first
