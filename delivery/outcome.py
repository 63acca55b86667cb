"""What an attempt comes to: written down for the rows that were in hand, and what becomes of them.

Needs `pins.event_log.writer()`. What follows a failure is decided by `retry`, which is pure.
"""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import F, QuerySet

from pins.services import unbind_session
from sessions_app import services as sessions
from sessions_app.liveness import Farewell
from sessions_app.models import AgentSession

from . import ledger, reach, retry
from .adapters import DeliveryFailed, Outcome, Parcel
from .models import Attempt, Delivery

_PENDING: Final = Delivery.Status.PENDING


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Rows in hand, and what goes out for them."""

    row_ids: list[int]
    adapter: str
    parcel: Parcel
    session_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What an adapter saw. `ended` is what it raised when the parcel did not arrive."""

    job: Job
    took: timedelta
    arrived: Outcome | None = None
    ended: DeliveryFailed | None = None


def outcome_of(result: Result) -> Attempt.Outcome:
    if result.arrived is not None:
        only = result.arrived.is_accepted_only
        return Attempt.Outcome.ACCEPTED if only else Attempt.Outcome.HANDED_OVER
    if result.ended is None or result.ended.reason == "stopped":
        return Attempt.Outcome.RELEASED
    return Attempt.Outcome.REFUSED if result.ended.is_terminal else Attempt.Outcome.FAILED


def record(row: Delivery, result: Result, now: datetime) -> None:
    said = (result.arrived or result.ended or Outcome()).output
    Attempt.objects.create(
        delivery=row,
        adapter=result.job.adapter,
        session_id=result.job.session_id or "",
        at=now - result.took,
        duration_ms=result.took // timedelta(milliseconds=1),
        outcome=outcome_of(result),
        code=result.ended.code if result.ended else "",
        error=result.ended.message if result.ended else "",
        output=said.replace("\0", "\N{REPLACEMENT CHARACTER}"),
    )


def settle(row: Delivery, result: Result, now: datetime) -> None:
    """What becomes of a row that was pending when its attempt ended."""
    row.updated_at = now
    match outcome_of(result):
        case Attempt.Outcome.HANDED_OVER:
            row.status = Delivery.Status.DELIVERED
            row.session_id = result.job.session_id
            row.adapter = row.handed_over_by = result.job.adapter
            row.handed_over_at = now
            row.due_at = row.pushed_at = None
            row.last_error = None
        case Attempt.Outcome.ACCEPTED:
            row.due_at = now + reach.window()
            row.last_error = None
            if not redirect(row, now) and result.arrived and result.arrived.is_only_called:
                session = AgentSession.objects.filter(pk=row.session_id).first()
                row.adapter, row.due_at = reach.first(session, now=now)
                row.pushed_at = None
        case Attempt.Outcome.RELEASED:
            row.due_at, row.pushed_at = now, None
            redirect(row, now)
        case _:
            assert result.ended is not None  # noqa: S101 - an outcome of the other kinds is above
            row.pushed_at = None
            _settle_failure(row, result.ended, now)


def _settle_failure(row: Delivery, ended: DeliveryFailed, now: datetime) -> None:
    if ended.disables:
        reach.silence_webhook(now=now)
    failed, is_another = row.adapter, redirect(row, now)
    first_due_at = row.due_at
    session = AgentSession.objects.filter(pk=row.session_id).first() if row.session_id else None
    reachable = list(reach.reachable(session, now=now))
    is_final = ended.is_terminal and not is_another
    verdict = retry.after_failure(
        adapter=failed,
        attempts=row.attempts,
        failure=retry.Failure(
            message=ended.message,
            code=ended.code,
            # Who wants no more calls is not called again; others may still take it.
            is_terminal=is_final if not ended.disables else not reachable,
            retry_after_s=ended.retry_after_s,
        ),
        reachable=reachable,
        window=reach.window(),
        fraction=random.random(),  # noqa: S311 - spreads retries, guards nothing
    )
    row.attempts = verdict.attempts
    row.last_error = verdict.error
    if verdict.has_failed:
        row.status, row.adapter, row.due_at = Delivery.Status.FAILED, failed, None
    elif is_another and row.adapter != failed:
        row.due_at = first_due_at  # another session's first way has nothing to do with the failure
    else:
        row.adapter = verdict.adapter
        row.due_at = None if verdict.wait is None else now + verdict.wait


def redirect(row: Delivery, now: datetime) -> bool:
    """While the row was in hand its pin may have gone to another session: then the row does too,
    by that one's first way. Returns whether that is so.
    """
    session = ledger.goes_to(row)
    if session is None or session.id == row.session_id:
        return False
    row.session_id = session.id
    row.adapter, row.due_at = reach.first(session, now=now)
    row.pushed_at = None
    return True


def has_gone(session: AgentSession, now: datetime) -> None:
    """Its agent does not know the session: it ends here, what else waits for it fails with it
    instead of asking again, and its pins are free for the next session.
    """
    sessions.end(session, now=now, by=Farewell.REFUSED)
    unbind_session(agent=session.agent, key=session.key)
    rest = Delivery.objects.filter(
        session_id=session.id, status=_PENDING, adapter="resume", claimed_by=""
    )
    fail(rest, "E_SESSION_GONE: the agent does not know the session any more", now)


def fail(
    rows: QuerySet[Delivery], error: str, now: datetime, *, attempts: int | None = None
) -> None:
    """`attempts` stays as it is unless given."""
    rows.update(
        attempts=F("attempts") if attempts is None else attempts,
        status=Delivery.Status.FAILED,
        due_at=None,
        last_error=error,
        pushed_at=None,
        claimed_by="",
        claimed_until=None,
        updated_at=now,
    )
