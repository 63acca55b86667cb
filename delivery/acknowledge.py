"""Acknowledgement: what a session does with a pin shows that it got it.

A client inside an agent's own shell names that session in the header `Pinbox-Session`.
"""

from datetime import datetime
from typing import Final

from pins.event_log import writer
from pins.models import Event
from sessions_app import selectors as registry
from sessions_app.models import AgentSession

from .models import Delivery

#: What a session can be seen doing with a pin.
SIGNS: Final = frozenset({"show", "reply", "resolve", "reopen"})
#: Adapters that push into the session itself. What is posted to a webhook is not in its context.
_INTO_THE_SESSION: Final = frozenset({"openclaw", "resume"})


def observe(*, session: str, pin_id: str, sign: str, now: datetime) -> None:
    """Record that the session `<agent>/<key>` did `sign` with a pin. Says nothing about a session
    that is not known.

    `now` is the instant before the request was answered: what arrived later was not seen by it.
    """
    agent, _, key = session.partition("/")
    # Looked at before the write lock is taken: most reads have nothing to acknowledge.
    open_rows = Delivery.objects.filter(
        pin_id=pin_id,
        acknowledged_at=None,
        status__in=(Delivery.Status.PENDING, Delivery.Status.DELIVERED),
    )
    if "\0" in session or not open_rows.exists():
        return
    with writer():
        actor = registry.find(agent=agent, key=key)
        if actor is None:
            return
        actor = registry.successor(actor)
        for row in open_rows:
            if row.session_id and _is_of(actor, row.session_id) and _tells(row, sign, now):
                row.status = Delivery.Status.DELIVERED
                row.handed_over_at = row.handed_over_at or now
                row.handed_over_by = row.handed_over_by or (
                    row.adapter if _is_pushed(row, now) else sign
                )
                row.due_at = row.pushed_at = row.last_error = None
                row.acknowledged_at = now
                row.acknowledged_by = sign
                row.updated_at = now
                row.save(force_update=True)


def _is_of(actor: AgentSession, session_id: str) -> bool:
    """Whether a row of `session_id` is the actor's, or was its predecessor's."""
    if session_id == actor.id:
        return True
    owner = AgentSession.objects.filter(pk=session_id).first()
    return owner is not None and registry.successor(owner).id == actor.id


def _is_pushed(row: Delivery, now: datetime) -> bool:
    is_known = row.pushed_at is not None and row.pushed_at <= now
    return is_known and row.adapter in _INTO_THE_SESSION


def _tells(row: Delivery, sign: str, now: datetime) -> bool:
    """Whether doing `sign` tells that the session has what the row brings.

    What was handed over, always, and what was pushed to it and not yet confirmed. What still waits,
    only if the session looked at the whole pin after that was there, or made the event itself.
    """
    if row.status == Delivery.Status.DELIVERED:
        return True
    if _is_pushed(row, now):
        return True
    if sign == "show":
        return row.updated_at <= now
    if sign == "reopen":
        return Event.objects.filter(pk=row.event_seq, type="pin.verified").exists()
    return False
