"""Is a session still there? By evidence: it said goodbye, its process is gone, or nobody has heard
of it for long. Decides only; what follows from it is for `sessions_app.services`.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, NamedTuple

from pinbox import project

from .models import AgentSession

#: A session of which no process is known (registered by hand, or on another machine) counts as live
#: for so long after it was last seen. A person comes back to it the next morning; after a kill no
#: goodbye ever comes.
QUIET_FOR: Final = timedelta(hours=24)
#: An agent that said goodbye needs so long to be gone. One that is there still goes on otherwise
#: (a program may end one conversation and go on with the next).
LEAVES_WITHIN: Final = timedelta(seconds=60)
#: A session of which no process is known, seen so shortly before, may not be gone whatever was said
#: of it.
HEARTBEAT: Final = timedelta(seconds=15)


class Farewell(Enum):
    """How we know that a session is over."""

    #: Its own goodbye, or somebody who ended it by name.
    GOODBYE = "goodbye"
    #: Its process is gone.
    PROCESS = "process"
    #: Silence, which is no evidence: it takes no new pins, but is not believed to be gone.
    SILENCE = "silence"
    #: Its agent does not know it (any more).
    REFUSED = "refused"


class Presence(Enum):
    """What is known of a session. Silence is no evidence of an end."""

    #: It may be alive: nothing says that it is over.
    LIVE = "live"
    #: It said goodbye, but its process is still there, or it was seen only just now.
    LEAVING = "leaving"
    #: It is over, by evidence.
    GONE = "gone"
    #: Nobody has heard of it for long, and nothing more is known.
    QUIET = "quiet"


class Process(NamedTuple):
    """The agent program behind a hook. `started` is an opaque word (`project.process_start`)."""

    pid: int
    started: str


def is_running(process: Process) -> bool:
    """Whether that very process is in our process table. A zombie is not running."""
    fields = project.process_fields(process.pid)
    if fields and fields[0] in (b"Z", b"X"):
        return False
    return project.process_start(process.pid) == process.started


def is_live(
    session: AgentSession, *, now: datetime, running: Callable[[Process], bool] = is_running
) -> bool:
    """Whether the session can still take part in a conversation."""
    if session.ended_at is not None or session.superseded_by:
        return False
    if session.pid is not None and session.pid_is_ours:
        return running(Process(session.pid, session.pid_started))
    return now - session.last_seen_at < QUIET_FOR


def presence(
    session: AgentSession, *, now: datetime, running: Callable[[Process], bool] = is_running
) -> Presence:
    """What is known of the session now."""
    process = session.pid is not None and Process(session.pid, session.pid_started)
    is_ours = process and session.pid_is_ours
    is_there = bool(is_ours and process and running(process))
    if session.ended_at is None:
        if is_ours:
            return Presence.LIVE if is_there else Presence.GONE
        return Presence.LIVE if now - session.last_seen_at < QUIET_FOR else Presence.QUIET
    if is_there:
        is_recent = now - session.ended_at < LEAVES_WITHIN
        return Presence.LEAVING if is_recent else Presence.QUIET
    if is_ours:
        return Presence.GONE
    if session.ended_by == Farewell.SILENCE.value:
        return Presence.QUIET
    return Presence.LEAVING if now - session.last_seen_at < HEARTBEAT else Presence.GONE
