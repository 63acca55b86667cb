"""Which sessions wait for a person: those whose last hook was a stop that was let go.

Seen by this process, kept in its memory and gone with it. A session that is not known here counts
as at work, where its own hooks take what comes.
"""

from datetime import datetime
from typing import Final

_MOST: Final = 256
#: Session id -> since when.
_idle: dict[str, datetime] = {}


def ended(session_id: str, *, now: datetime) -> None:
    _idle.pop(session_id, None)
    if len(_idle) >= _MOST:
        _idle.pop(next(iter(_idle)), None)
    _idle[session_id] = now


def began(session_id: str) -> None:
    """A turn has begun, or the session is over."""
    _idle.pop(session_id, None)


def idle_since(session_id: str) -> datetime | None:
    return _idle.get(session_id)
