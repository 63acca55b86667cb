"""Where one event goes. Pure decisions; the rows are read and written by `delivery.ledger`.

See docs/architecture.md, "Delivery".
"""

from dataclasses import dataclass
from enum import Enum


class Step(Enum):
    #: Nobody is told, by design.
    SKIP = "skip"
    #: The pin is bound: its session gets it, ended or not.
    SEND = "send"
    #: The pin is bound to a session the registry has forgotten: it is registered again first.
    REGISTER = "register"
    #: The pin is bound to nobody: the live session gets it, and with it the pin for good.
    BIND = "bind"
    #: Nobody is there: it waits for the next session.
    WAIT = "wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What routing must know of an event. `role` is of a message, `outcome` of a verification."""

    type: str
    role: str | None = None
    outcome: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    step: Step
    session_id: str | None = None
    reason: str | None = None


def skip_reason(facts: Facts) -> str | None:
    """Why the event is news for no agent; None when it is."""
    match facts.type, facts.role, facts.outcome:
        case "pin.created", _, _:
            return None
        case "thread.message", "human" | "mirror", _:
            return None
        case "thread.message", "agent", _:
            return "an agent wrote it"
        case "pin.verified", _, "reopened":
            return None
        case "pin.verified", _, _:
            return "the fix was accepted"
        case "pin.resolved", _, _:
            return "a resolved pin needs nothing from an agent"
        case "pin.linked", _, _:
            return "a link to a tracker is no feedback"
    return f"nothing is known about events of type {facts.type}"


def decide(
    facts: Facts, *, is_bound: bool, bound_session: str | None, live_session: str | None
) -> Decision:
    """`bound_session` is the id of the session a bound pin is stuck to, at the end of its chain of
    successors, or None when the registry has none. Sessions are ids.
    """
    reason = skip_reason(facts)
    if reason is not None:
        return Decision(step=Step.SKIP, reason=reason)
    if is_bound:
        if bound_session is None:
            return Decision(step=Step.REGISTER)
        return Decision(step=Step.SEND, session_id=bound_session)
    if live_session is not None:
        return Decision(step=Step.BIND, session_id=live_session)
    return Decision(step=Step.WAIT)
