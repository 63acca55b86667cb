"""Is a session still there? By evidence: it said goodbye, its process is gone, or nobody has heard
of it for long. Decides only; what follows from it is for `sessions_app.services`.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from pinbox import project

from .models import AgentSession

#: A session of which no process is known (registered by hand, or on another machine) counts as live
#: for so long after it was last seen. A person comes back to it the next morning; after a kill no
#: goodbye ever comes.
QUIET_FOR: Final = timedelta(hours=24)


class Process(NamedTuple):
    """The agent program behind a hook. `started` is an opaque word (`project.process_start`)."""

    pid: int
    started: str


def is_running(process: Process) -> bool:
    """Whether that very process is in our process table."""
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
