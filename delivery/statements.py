"""The ledger's statements of the hook path, written out (see `pins.statements` for why)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from pins.statements import execute, execute_many, fetch

#: (delivery id, event seq, pin id)
Row = tuple[int, int, str]


def moment(value: datetime) -> Any:
    """An instant as this database's driver takes it."""
    return connection.ops.adapt_datetimefield_value(value)


def add(
    *,
    event_seq: int,
    pin_id: str,
    session_id: str | None,
    adapter: str,
    status: str,
    due_at: datetime | None,
    last_error: str | None,
    now: datetime,
) -> None:
    execute(
        "INSERT INTO delivery_delivery (event_seq, pin_id, session_id, adapter, status, attempts,"
        " due_at, last_error, updated_at, handed_over_by, acknowledged_by, claimed_by)"
        " VALUES (%s, %s, %s, %s, %s, 0, %s, %s, %s, '', '', '')",
        [
            event_seq,
            pin_id,
            session_id,
            adapter,
            status,
            due_at and moment(due_at),
            last_error,
            moment(now),
        ],
    )


def is_anything_unassigned() -> bool:
    # The order makes SQLite take the index by session; it would read everything pending otherwise.
    return bool(
        fetch(
            "SELECT 1 FROM delivery_delivery WHERE session_id IS NULL AND status = 'pending'"
            " ORDER BY event_seq DESC LIMIT 1"
        )
    )


def pending(session_id: str, limit: int) -> list[Row]:
    """What waits for the session, newest first."""
    return fetch(
        "SELECT id, event_seq, pin_id FROM delivery_delivery"
        " WHERE session_id = %s AND status = 'pending' AND (pushed_at IS NULL OR is_wake)"
        " ORDER BY event_seq DESC LIMIT %s",
        [session_id, limit],
    )


def pending_unseen(session_id: str, most_holds: int, limit: int) -> list[Row]:
    """Of what waits for the session that which it was not shown, without pins for which it was
    held `most_holds` times. Newest first.
    """
    return fetch(
        "SELECT d.id, d.event_seq, d.pin_id FROM delivery_delivery d"
        " LEFT JOIN delivery_showing s ON s.session_id = d.session_id AND s.pin_id = d.pin_id"
        " WHERE d.session_id = %s AND d.status = 'pending' AND (d.pushed_at IS NULL OR d.is_wake)"
        " AND (s.id IS NULL OR (s.holds < %s AND s.seen_seq < d.event_seq))"
        " ORDER BY d.event_seq DESC LIMIT %s",
        [session_id, most_holds, limit],
    )


def what_happened(seqs: list[int]) -> dict[int, tuple[str, str | None]]:
    """Of each event its type and, of a message, its JSON."""
    rows = fetch(
        "SELECT e.seq, e.type, m.json FROM pins_event e"
        " LEFT JOIN pins_threadmessage m ON m.seq = e.seq WHERE e.seq IN %s",
        [seqs],
    )
    return {seq: (kind, message) for seq, kind, message in rows}


def last_messages(pin_id: str, limit: int) -> list[tuple[str, str]]:
    """The pin's newest messages as (role, JSON), newest first."""
    return fetch(
        "SELECT role, json FROM pins_threadmessage WHERE pin_id = %s ORDER BY seq DESC LIMIT %s",
        [pin_id, limit],
    )


def shown(session_id: str, pin_ids: list[str]) -> set[str]:
    """Those of the pins that the session was shown in full."""
    if not pin_ids:
        return set()
    rows = fetch(
        "SELECT pin_id FROM delivery_showing WHERE session_id = %s AND pin_id IN %s"
        " UNION SELECT pin_id FROM delivery_delivery"
        " WHERE session_id = %s AND pin_id IN %s"
        " AND (status = 'delivered' OR (pushed_at IS NOT NULL AND NOT is_wake))",
        [session_id, pin_ids, session_id, pin_ids],
    )
    return {pin_id for (pin_id,) in rows}


def hand_over(row_ids: list[int], *, by: str, now: datetime) -> int:
    """The rows are in the session's context from now on. Returns how many."""
    if not row_ids:
        return 0
    return execute(
        "UPDATE delivery_delivery SET status = 'delivered', adapter = 'hooks', due_at = NULL,"
        " pushed_at = NULL, last_error = NULL, handed_over_at = %s, handed_over_by = %s,"
        " updated_at = %s"
        " WHERE id IN %s",
        [moment(now), by, moment(now), row_ids],
    )


def show(session_id: str, seen: Sequence[tuple[str, int]], *, holds: int) -> None:
    """The session was shown the pins up to these seqs; `holds` more stops were held for each."""
    if not seen:
        return
    execute_many(
        "INSERT INTO delivery_showing (session_id, pin_id, seen_seq, holds)"
        " VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (session_id, pin_id) DO UPDATE SET holds = delivery_showing.holds"
        " + excluded.holds, seen_seq = CASE WHEN excluded.seen_seq > delivery_showing.seen_seq"
        " THEN excluded.seen_seq ELSE delivery_showing.seen_seq END",
        [(session_id, pin_id, seq, holds) for pin_id, seq in seen],
    )
