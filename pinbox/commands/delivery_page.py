"""What became of deliveries, for people: a word, a row of columns, a sentence.

Nothing is said that the hub did not observe.
"""

from __future__ import annotations

from pinbox import render
from pinbox.commands import hub as hubs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from pinbox.client import Hub

    #: A delivery as the wire has it.
    Row = Mapping[str, Any]
    #: Sessions by their ids.
    Sessions = Mapping[str, dict[str, Any]]


def sessions_of(hub: Hub, rows: Sequence[Row]) -> Sessions:
    """The sessions, when one of the rows names one: agent and key tell a person more than an id."""
    if not any(row.get("sessionId") for row in rows):
        return {}
    return {session["id"]: session for session in hub.request("GET", "/sessions")}


def state(row: Row) -> str:
    """The word a sender sees. Nothing is called delivered that was not observed."""
    if row.get("acknowledgedAt"):
        return "acknowledged"
    if row.get("handedOverAt"):
        return "handed over"
    if row["status"] != "pending":
        return str(row["status"])
    if row.get("claimedUntil"):
        return "in flight"
    return "accepted" if row.get("pushedAt") else "queued"


def whom(row: Row, sessions: Sessions) -> str:
    """`claude:5d1f0c2e`, as threads name a session."""
    session_id = row.get("sessionId")
    if session_id is None:
        waits = row["status"] == "pending" and row["adapter"] == "none"
        return "unassigned" if waits else render.NONE
    session = sessions.get(session_id)
    return hubs.origin_of(session["agent"], session["key"]) if session else str(session_id)


def cells(row: Row, sessions: Sessions, *, now: float) -> list[str]:
    """id, pin, state, for whom, by which way, when, and what comes next or went wrong."""
    by = row.get("handedOverBy") or row["adapter"]
    last = [] if state(row) == "in flight" else [next_step(row, now) or "", _error(row)]
    return [
        str(row["id"]),
        row["pinId"],
        state(row),
        whom(row, sessions),
        by if by != "none" else render.NONE,
        render.age(_when(row), now),
        ": ".join(part for part in last if part),
    ]


def _when(row: Row) -> str:
    seen = row.get("acknowledgedAt") or row.get("handedOverAt") or row.get("pushedAt")
    return str(seen or row["updatedAt"])


def _error(row: Row) -> str:
    said, attempts = row.get("lastError") or "", row.get("attempts") or 0
    if attempts > 1 and row["status"] == "failed":
        return f"{said} ({attempts} attempts)"
    return said


def next_step(row: Row, now: float) -> str | None:
    """What happens to a waiting row by itself, and when: `attempt 2 in 30s`."""
    if row["status"] != "pending" or not row.get("dueAt"):
        return None
    when = render.left(row["dueAt"], now)
    if row["adapter"] in ("hooks", "none") or row.get("pushedAt"):
        return f"seeks another way {when}"
    return f"attempt {(row.get('attempts') or 0) + 1} {when}"


def sentence(row: Row, sessions: Sessions, *, now: float) -> str:
    """What happened to one delivery so far, and what comes next."""
    said, name, when = state(row), whom(row, sessions), render.age(_when(row), now)
    if said == "acknowledged":
        return _acknowledged(row, name, now)
    if said == "handed over":
        to = f" to {name}" if row.get("sessionId") else ""
        news = "; not acknowledged yet" if to else ""
        return f"handed over{to} by {row['handedOverBy']}, {when}{news}"
    if said == "failed":
        tried = "" if row["adapter"] == "none" else f" by {row['adapter']}"
        to = f" for {name}" if row.get("sessionId") else ""
        return f"failed{to}{tried}, {when}: {_error(row)}"
    if row["status"] != "pending":
        return f"{said}: {row['lastError']}" if row.get("lastError") else said
    return _waiting(row, said, name, sessions, when, now)


def _acknowledged(row: Row, name: str, now: float) -> str:
    by, at = row["acknowledgedBy"], row["acknowledgedAt"]
    said = f"acknowledged by {name} ({by}), {render.age(at, now)}"
    if row.get("handedOverBy") in (None, by):
        return said
    return f"{said}; handed over by {row['handedOverBy']}, {render.age(row['handedOverAt'], now)}"


def _waiting(row: Row, said: str, name: str, sessions: Sessions, when: str, now: float) -> str:
    adapter, attempts = row["adapter"], row.get("attempts") or 0
    session = sessions.get(row.get("sessionId") or "")
    name += " (ended)" if session and session.get("endedAt") else ""
    if said == "in flight":
        number = f", attempt {attempts + 1}" if attempts else ""
        to = f" to {name}" if row.get("sessionId") else ""
        return f"in flight{to} by {adapter}{number}"
    if said == "accepted":
        parts = [f"accepted by {adapter} for {name}, {when}", "no sign of the session yet"]
    elif row.get("sessionId") is None:
        parts = ["queued for the next session" if adapter == "none" else f"queued for {adapter}"]
    elif adapter == "none":
        parts = [f"queued for {name}", "no way reaches it now"]
    else:
        how = "whose hooks collect it" if adapter == "hooks" else f"by {adapter}"
        parts = [f"queued for {name}, {how}"]
    parts.append(next_step(row, now) or "")
    if row.get("lastError"):
        parts.append(f"last error: {row['lastError']}")
    return "; ".join(part for part in parts if part)


def retry_command(row: Row) -> str | None:
    """What a person can type about a delivery that nobody tries any more."""
    return f"pinbox retry {row['id']}" if row["status"] == "failed" else None
