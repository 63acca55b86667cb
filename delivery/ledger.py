"""The one Delivery row of every event, made in the event's own transaction, and what happens to
rows when sessions come, go and change their keys.

Nothing here leaves the hub: that is for what pulls (`delivery.handover`) and what pushes
(`delivery.worker`).
"""

import json
from datetime import datetime
from functools import partial
from typing import Any, Final

from django.db.models import QuerySet

from pinbox.contract import PinboxError
from pins import services as pins
from pins.models import Event
from pins.signals import event_recorded
from pins.statements import binding_of
from sessions_app import selectors as registry
from sessions_app import services as sessions
from sessions_app.liveness import Farewell
from sessions_app.models import AgentSession

from . import clock, reach, statements, wake
from .models import Delivery
from .routing import Facts, Step, decide, skip_reason

_PENDING: Final = Delivery.Status.PENDING


def connect() -> None:
    event_recorded.connect(_on_event, dispatch_uid="delivery.ledger")


def _on_event(sender: type[Event], *, event: Event, replayed: bool, **_: Any) -> None:
    if not replayed:
        record(event, now=clock.now())


def record(event: Event, *, now: datetime) -> None:
    """Make the event's row: pending for a session, pending for nobody yet, or skipped."""
    payload = json.loads(event.payload)
    facts = Facts(
        type=event.type,
        role=payload.get("role"),
        outcome=payload.get("verification", {}).get("outcome"),
    )
    reason = skip_reason(facts)
    session = None
    if reason is None:
        session = _target(facts, event.subject, payload.get("agentSession"), now=now)
    adapter, due_at = reach.first(session, now=now) if reason is None else ("none", None)
    statements.add(
        event_seq=event.seq,
        pin_id=event.subject,
        session_id=_id(session),
        adapter=adapter,
        status=_PENDING if reason is None else Delivery.Status.SKIPPED,
        due_at=due_at,
        last_error=reason,
        now=now,
    )
    wake.at(due_at)


def _target(
    facts: Facts, pin_id: str, preset: dict[str, str] | None, *, now: datetime
) -> AgentSession | None:
    """The session that gets a pin's news, or None while nobody is there. Sticks the pin to it.

    `preset` is the session a client bound its new pin to.
    """
    # A pin so new that nothing else can have bound it is not looked up.
    written = None if facts.type == "pin.created" else binding_of(pin_id)
    bound = written or preset
    known = registry.find(agent=bound["agent"], key=bound["key"]) if bound else None
    known = known and registry.successor(known)
    live = None if bound else sessions.most_recent_live(now=now, ended=partial(reroute, now=now))
    decision = decide(
        facts,
        is_bound=bound is not None,
        bound_session=_id(known),
        live_session=_id(live),
    )
    session = known or live
    if decision.step is Step.REGISTER and bound:
        session = _register_again(bound, now=now)
    if session is None:
        return None
    if written is None or (written["agent"], written["key"]) != (session.agent, session.key):
        pins.bind_pin(pin_id=pin_id, agent=session.agent, key=session.key, cwd=session.cwd)
    if decision.step is Step.BIND:
        assign(Delivery.objects.filter(pin_id=pin_id, session_id=None), session, now=now)
    return session


def _register_again(bound: dict[str, str], *, now: datetime) -> AgentSession:
    try:
        session, _ = sessions.register(
            agent=bound["agent"], key=bound["key"], cwd=bound.get("cwd"), now=now
        )
    except PinboxError as error:
        error.args = (f"agentSession.{error.message}",)
        error.message = error.args[0]
        raise
    return session


def _id(session: AgentSession | None) -> str | None:
    return None if session is None else session.id


def adopt(session: AgentSession, *, now: datetime) -> int:
    """Give the session everything that waits for nobody yet, and stick those pins to it. Returns
    how many rows that were. A probe gets nothing. Needs `pins.event_log.writer()`.
    """
    if session.agent == registry.PROBE or not statements.is_anything_unassigned():
        return 0
    # What a webhook is being told right now is not taken out of its hands.
    unassigned = Delivery.objects.filter(session_id=None, status=_PENDING, claimed_by="")
    pins.bind_free_pins(
        pin_ids=unassigned.order_by().values_list("pin_id", flat=True).distinct(),
        agent=session.agent,
        key=session.key,
        cwd=session.cwd,
    )
    return assign(unassigned, session, now=now)


def inherit(session: AgentSession, predecessor: AgentSession, *, now: datetime) -> None:
    """`session` takes over the pins of `predecessor` and what that was not yet told. Needs
    `pins.event_log.writer()`.
    """
    pins.move_bindings(
        agent=predecessor.agent,
        key=predecessor.key,
        to_agent=session.agent,
        to_key=session.key,
        cwd=session.cwd,
    )
    assign(Delivery.objects.filter(session_id=predecessor.id), session, now=now)


def end_session(session: AgentSession, *, now: datetime, by: Farewell = Farewell.GOODBYE) -> None:
    """The session is over, and what still waits for it takes the next way at once. Needs
    `pins.event_log.writer()`.
    """
    sessions.end(session, now=now, by=by)
    reroute(session, now=now)


def reroute(session: AgentSession, *, now: datetime) -> int:
    """Give what waits for the session to the first adapter that reaches it now. Returns how many
    rows that were. Needs `pins.event_log.writer()`.
    """
    return assign(Delivery.objects.filter(session_id=session.id), session, now=now)


def goes_to(row: Delivery) -> AgentSession | None:
    """The session a row is for now: the pin may have been bound to another one meanwhile."""
    bound = binding_of(row.pin_id)
    session = registry.find(agent=bound["agent"], key=bound["key"]) if bound else None
    if session is None and row.session_id:
        session = AgentSession.objects.filter(pk=row.session_id).first()
    return session and registry.successor(session)


def assign(rows: QuerySet[Delivery], session: AgentSession, *, now: datetime) -> int:
    """Make the pending ones of `rows` the session's, with the first adapter that reaches it. What
    is in a worker's hand stays there. Returns how many rows that were. Needs
    `pins.event_log.writer()`.
    """
    adapter, due_at = reach.first(session, now=now)
    wake.at(due_at)
    return rows.filter(status=_PENDING, claimed_by="").update(
        session_id=session.id, adapter=adapter, due_at=due_at, pushed_at=None, updated_at=now
    )
