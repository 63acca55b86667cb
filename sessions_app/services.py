"""Every write to the registry of agent sessions. It knows nothing of pins: what a session gets is
the business of `delivery`.

See docs/architecture.md, "Sessions".
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import F

from pinbox.contract import PinboxError, new_id

from . import selectors
from .liveness import QUIET_FOR, Farewell, Process, is_live, is_running
from .models import AgentSession

MAX_AGENT_BYTES: Final = 64
MAX_KEY_BYTES: Final = 255
#: The longest path Linux takes.
MAX_CWD_BYTES: Final = 4096

#: Sources of a SessionStart by which an agent goes on under another key.
ROTATIONS: Final = frozenset({"clear", "compact", "resume", "fork"})


def check_identity(*, agent: str, key: str, cwd: str | None) -> None:
    """Refuse what could not be stored, or would read as an option or another path when its agent
    is started. Raises E_INVALID_INPUT.
    """
    _check_word("agent", agent, MAX_AGENT_BYTES)
    if "/" in agent:
        raise _invalid("agent: must not contain a slash")
    _check_word("key", key, MAX_KEY_BYTES)
    if key.startswith("-"):
        raise _invalid("key: must not start with a dash")
    if cwd is not None:
        _check_word("cwd", cwd, MAX_CWD_BYTES)
        if not cwd.startswith("/"):
            raise _invalid("cwd: must be an absolute path")


def _check_word(name: str, value: str, most: int) -> None:
    if not value:
        raise _invalid(f"{name}: must not be empty")
    if len(value.encode("utf-8", "surrogatepass")) > most:
        raise _invalid(f"{name}: must be at most {most} bytes of UTF-8")
    if any(
        char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff" for char in value
    ):
        raise _invalid(f"{name}: must not contain control characters")


def _invalid(message: str) -> PinboxError:
    return PinboxError(
        "E_INVALID_INPUT", message, "name the session as its agent does: its program and its own id"
    )


def register(
    *,
    agent: str,
    key: str,
    cwd: str | None = None,
    process: Process | None = None,
    now: datetime,
) -> tuple[AgentSession, bool]:
    """The session of that agent and key, made or brought back to life; and whether it is new.

    `cwd` and `process` are kept when not given. Raises E_INVALID_INPUT.
    """
    check_identity(agent=agent, key=key, cwd=cwd)
    with transaction.atomic():
        session, created = AgentSession.objects.get_or_create(
            agent=agent,
            key=key,
            defaults={
                "id": new_id("ses"),
                "cwd": cwd,
                "registered_at": now,
                "last_seen_at": now,
                **_process_fields(process),
            },
        )
        if not created:
            session.superseded_by = ""
            session.cwd = cwd or session.cwd
            session.save(update_fields=["superseded_by", "cwd"])
            touch(session, process=process, now=now)
    return session, created


def touch(session: AgentSession, *, process: Process | None = None, now: datetime) -> None:
    """The session was seen just now, so it is not over, whatever was believed of it."""
    session.last_seen_at = now
    session.ended_at = None
    session.ended_by = ""
    if process is not None and (session.pid, session.pid_started) != process:
        for name, value in _process_fields(process).items():
            setattr(session, name, value)
        session.save(force_update=True)
        return
    # Written out because every hook does it: composing it takes the ORM 500 us more.
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE agent_sessions_agentsession SET last_seen_at = %s, ended_at = NULL,"
            " ended_by = '' WHERE id = %s",
            [connection.ops.adapt_datetimefield_value(now), session.id],
        )


def _process_fields(process: Process | None) -> dict[str, object]:
    if process is None:
        return {}
    return {
        "pid": process.pid,
        "pid_started": process.started,
        "pid_is_ours": is_running(process),
    }


def end(session: AgentSession, *, now: datetime, by: Farewell = Farewell.GOODBYE) -> None:
    """The session is over. May be called again; the end then moves."""
    session.ended_at = now
    session.ended_by = by.value
    session.save(update_fields=["ended_at", "ended_by"])


def runs_as(session: AgentSession, process: Process) -> None:
    """A process was started that goes on with the session."""
    for name, value in _process_fields(process).items():
        setattr(session, name, value)
    session.save(update_fields=["pid", "pid_started", "pid_is_ours"])


def move_with_the_clock(jump: timedelta, *, before: datetime) -> None:
    """The clock was set by `jump`; it said `before` until then. What is recent stays as recent as
    it was. What is long over keeps the time that it was written down with.
    """
    AgentSession.objects.filter(last_seen_at__gt=before - QUIET_FOR).update(
        last_seen_at=F("last_seen_at") + jump, ended_at=F("ended_at") + jump
    )


def is_farewell_of_another(session: AgentSession, process: Process | None) -> bool:
    """Whether an end told by `process` is not about the conversation we know.

    A refused resume tells the end of a session that lives on elsewhere, and the goodbye of an old
    process can come after a new one has taken the conversation up.
    """
    return (
        process is not None
        and session.pid is not None
        and (session.pid, session.pid_started) != process
    )


def supersede(
    session: AgentSession, *, now: datetime, shares_process: bool = False
) -> AgentSession | None:
    """Chain to `session` the one that its own process had before it changed the key, and end that.

    None when there is none. Same agent, same process, same directory: then it is one conversation.
    `shares_process`: the process may have several at a time, and nobody can say which of them.
    """
    before = selectors.predecessor(session, is_sole=shares_process)
    if before is None:
        return None
    before.superseded_by = session.id
    before.ended_at = before.ended_at or now
    before.ended_by = before.ended_by or Farewell.GOODBYE.value
    before.save(update_fields=["superseded_by", "ended_at", "ended_by"])
    return before


def most_recent_live(
    *, now: datetime, ended: Callable[[AgentSession], object] = lambda _: None
) -> AgentSession | None:
    """The live session that was seen last. Those found to be over on the way are ended, and told to
    `ended`.
    """
    while (session := selectors.most_recent_not_ended()) is not None:
        if is_live(session, now=now):
            return session
        end(session, now=now, by=Farewell.PROCESS if session.pid_is_ours else Farewell.SILENCE)
        ended(session)
    return None
