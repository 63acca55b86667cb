"""What a person may do about a delivery: try it again, send a pin's news to another session."""

from datetime import datetime

from django.db.models import Q

from pinbox.contract import PinboxError
from pins import selectors as pins_read
from pins import services as pins
from pins.event_log import writer
from sessions_app import selectors as registry

from . import ledger, reach, wake
from .models import Delivery

#: What the ids of rows are smaller than, on both databases.
_MAX_ID = 2**63


def require(delivery_id: int) -> Delivery:
    """Raises E_NOT_FOUND."""
    row = None
    if 0 < delivery_id < _MAX_ID:
        row = Delivery.objects.filter(pk=delivery_id).first()
    if row is None:
        raise PinboxError(
            "E_NOT_FOUND", "there is no delivery of that id", "pinbox deliveries shows the ids"
        )
    return row


def retry(*, delivery_id: int, now: datetime) -> Delivery:
    """Try a failed delivery again from the start, or one that waits without waiting longer. Raises
    E_NOT_FOUND, and E_CONFLICT for one that is over or under way.
    """
    with writer():
        row = require(delivery_id)
        if row.status == Delivery.Status.FAILED:
            _start_over(row, now)
        elif row.status != Delivery.Status.PENDING:
            raise PinboxError(
                "E_CONFLICT",
                f"delivery {row.id} is {row.status}, so there is nothing to retry",
                f"pinbox reply {row.pin_id} sends more words, pinbox show {row.pin_id} tells more",
            )
        elif row.claimed_by:
            raise PinboxError(
                "E_CONFLICT",
                f"delivery {row.id} is under way right now",
                f"pinbox deliveries --wait {row.pin_id}",
            )
        row.due_at = now
        row.updated_at = now
        row.save(force_update=True)
        wake.at(row.due_at)
    return row


def _start_over(row: Delivery, now: datetime) -> None:
    session = ledger.goes_to(row)
    row.session_id = session.id if session else None
    reach.call_webhook_again()
    row.status = Delivery.Status.PENDING
    row.attempts = 0
    row.last_error = None
    row.pushed_at = None
    row.adapter, _ = reach.first(session, now=now)


def rebind(*, pin_id: str, session_id: str, now: datetime) -> int:
    """Stick a pin to another session, which gets what is not delivered or failed of it. Returns how
    many rows that were. Raises E_NOT_FOUND, E_CONFLICT.
    """
    with writer():
        pins_read.require_pin(pin_id)
        session = registry.successor(registry.require(session_id))
        if session.agent == registry.PROBE:
            raise PinboxError(
                "E_CONFLICT",
                "that session only looks whether everything works; no pin is meant for it",
                "pinbox session list",
            )
        pins.bind_pin(pin_id=pin_id, agent=session.agent, key=session.key, cwd=session.cwd)
        rows = Delivery.objects.filter(
            Q(status=Delivery.Status.FAILED) | Q(status=Delivery.Status.PENDING), pin_id=pin_id
        )
        rows.filter(status=Delivery.Status.FAILED).update(
            status=Delivery.Status.PENDING, attempts=0, last_error=None
        )
        return ledger.assign(rows, session, now=now)
