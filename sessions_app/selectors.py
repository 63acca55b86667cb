"""Reads of the registry."""

import re
from typing import Final

from pinbox.contract import SESSION_ID, PinboxError

from .models import AgentSession

#: Sessions that are looked at for the names of the agents that are there.
_MOST_LOOKED_AT: Final = 100

#: The agent that only looks whether everything works: nothing is ever meant for it.
PROBE: Final = "doctor"

_SESSION_ID = re.compile(SESSION_ID)


def find(*, agent: str, key: str) -> AgentSession | None:
    # Written out because every hook asks it: composing it takes the ORM 600 us more.
    found = AgentSession.objects.raw(
        "SELECT * FROM agent_sessions_agentsession WHERE agent = %s AND key = %s", [agent, key]
    )
    return next(iter(found), None)


def require(session_id: str) -> AgentSession:
    """Raises E_NOT_FOUND."""
    session = None
    if _SESSION_ID.fullmatch(session_id):
        session = AgentSession.objects.filter(pk=session_id).first()
    if session is None:
        raise PinboxError(
            "E_NOT_FOUND", "there is no session of that id", "pinbox session list shows the ids"
        )
    return session


def successor(session: AgentSession) -> AgentSession:
    """The end of the chain of sessions that took over from each other."""
    seen = set()
    while session.superseded_by and session.id not in seen:
        seen.add(session.id)
        following = AgentSession.objects.filter(pk=session.superseded_by).first()
        if following is None:
            break
        session = following
    return session


def predecessor(session: AgentSession, *, is_sole: bool = False) -> AgentSession | None:
    """The session that the same process had before, unless another one took over from it.

    `is_sole`: none when several of them have not ended.
    """
    if session.pid is None:
        return None
    same = AgentSession.objects.filter(
        agent=session.agent,
        pid=session.pid,
        pid_started=session.pid_started,
        cwd=session.cwd,
        superseded_by="",
    ).exclude(pk=session.pk)
    if is_sole and same.filter(ended_at=None).count() > 1:
        return None
    return same.order_by("-last_seen_at", "-id").first()


def most_recent_not_ended() -> AgentSession | None:
    """The session seen last that nobody ended. The probe is left out."""
    # Written out because every new pin asks it.
    found = AgentSession.objects.raw(
        "SELECT * FROM agent_sessions_agentsession WHERE ended_at IS NULL AND superseded_by = ''"
        " AND agent <> %s ORDER BY last_seen_at DESC, id DESC LIMIT 1",
        [PROBE],
    )
    return next(iter(found), None)


def present_agents() -> list[str]:
    """Names of the agents with a session that has not ended, the most recently seen first."""
    rows = AgentSession.objects.filter(ended_at=None, superseded_by="")
    names = rows.order_by("-last_seen_at").values_list("agent", flat=True)[:_MOST_LOOKED_AT]
    return list(dict.fromkeys(names))
