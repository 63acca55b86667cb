"""Ways to reach an agent, one module each: what an adapter is, and what it may answer.

An adapter takes a parcel out of the hub and says what it saw happen. It knows no rows: the worker
(`delivery.worker`) chooses the parcel, gives it a deadline, and folds the outcome into the ledger.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, Protocol

from pinbox.contract import PinboxError
from sessions_app.liveness import Presence, Process

__all__ = [
    "MAX_OUTPUT_BYTES",
    "ORDER",
    "Adapter",
    "DeliveryFailed",
    "Outcome",
    "Parcel",
    "Presence",
]
__all__ += ["Process", "Reason", "Target"]

#: Adapters in the order in which they are tried.
ORDER: Final = ("codex", "hooks", "openclaw", "resume", "webhook")

#: Bytes of what a program said that are kept with an attempt.
MAX_OUTPUT_BYTES: Final = 16 * 1024

#: Why an attempt failed. `refused`: the other side has no such session, or will not take it;
#: `missing`: a program or folder is not there; `answer`: what came back confirms nothing;
#: `status`: an HTTP status that is no success; `stopped`: the hub is leaving.
Reason = Literal[
    "refused",
    "busy",
    "rate_limit",
    "auth",
    "network",
    "timeout",
    "missing",
    "answer",
    "status",
    "stopped",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A session, as an adapter needs it. `idle_since`: its last turn was seen to end then, and none
    to begin.
    """

    id: str
    agent: str
    key: str
    cwd: str | None
    presence: Presence
    idle_since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """What one attempt takes along.

    `id` is the delivery's own, the same on every retry. `payload` is the event's stored JSON.
    `text` is for a model: foreign words in it are framed, at most MAX_CONTEXT_BYTES. `is_wake`: the
    session asks for what is new by itself, so it is only told that there is something.
    """

    id: str
    event_seq: int
    event_type: str
    event_at: str
    payload: str
    pin_id: str
    target: Target | None
    text: str
    attempt: int
    is_wake: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The parcel arrived. `is_accepted_only`: the other side took it, but whether it is in the
    agent's context was not seen. `is_only_called` as well: nothing was brought, the session was
    asked to come, and its hooks take the rows as ever. `output` is what the other side said.
    """

    is_accepted_only: bool = False
    is_only_called: bool = False
    output: str = ""


class DeliveryFailed(PinboxError):
    """An attempt came to nothing. `message` is shown to people and stored: never a pin's text, a
    token or a secret.

    `is_terminal`: no further attempt can help. `may_have_arrived`: the agent may have read it all
    the same. `disables`: the other side asked never to be called again.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: Reason,
        is_terminal: bool = False,
        retry_after_s: float | None = None,
        output: str = "",
        disables: bool = False,
        may_have_arrived: bool = False,
    ) -> None:
        super().__init__("E_SESSION_GONE" if reason == "refused" else "E_DELIVERY", message)
        self.reason = reason
        self.is_terminal = is_terminal or reason == "refused"
        self.retry_after_s = retry_after_s
        self.output = output
        self.disables = disables
        self.may_have_arrived = may_have_arrived


class Adapter(Protocol):
    NAME: str
    #: One parcel may carry several rows of one session.
    TAKES_MANY: bool
    #: Nothing is sent: the other side comes and takes.
    PULLS: bool

    def timeout_s(self) -> float:
        """Seconds within which `deliver` returns."""
        ...

    def reaches(self, target: Target | None) -> bool:
        """Whether an attempt makes sense now. Asks configuration, PATH and `target.presence`; no
        database, no network.
        """
        ...

    def deliver(
        self, parcel: Parcel, *, spawned: Callable[[Process], None], stop: threading.Event
    ) -> Outcome:
        """Blocks, never touches the database. Raises DeliveryFailed.

        `spawned` is told the process of an agent that was started, and returns once that is on
        record; only then may the agent begin. `stop` is set when the hub leaves: end quickly, with
        the reason `stopped`.
        """
        ...
