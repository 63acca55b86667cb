"""What a person may do from the admin: try a delivery again now, bind a pin to another session.

`delivery.admin` puts the buttons on the pages; what they do is `delivery.services`.
"""

from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from pinbox.contract import PinboxError
from pins.admin import Act, gist
from pins.models import Pin
from sessions_app import selectors as registry
from sessions_app.models import AgentSession

from . import clock, services
from .models import Delivery

#: Sessions that a pin may be bound to from its page: those seen last.
_SESSIONS: Final = 20
#: Characters of a session's key that name it.
_KEY_CHARS: Final = 12


def retry_act(delivery: Delivery) -> Act | None:
    if delivery.claimed_by:
        return None
    if delivery.status == Delivery.Status.FAILED:
        effect = "It starts over, with all its attempts before it."
    elif delivery.status == Delivery.Status.PENDING:
        effect = "It does not wait any longer."
    else:
        return None
    return Act(
        url=reverse("admin:delivery_retry", args=[delivery.pk]), label="Retry now", effect=effect
    )


def rebind_act(pin: Pin) -> Act | None:
    known = AgentSession.objects.filter(superseded_by="").exclude(agent=registry.PROBE)
    choices = [
        (session.id, _name(session)) for session in known.order_by("-last_seen_at")[:_SESSIONS]
    ]
    if not choices:
        return None
    return Act(
        url=reverse("admin:delivery_rebind", args=[pin.pk]),
        label="Rebind to",
        effect="That session gets what is not delivered of this pin, and all that follows.",
        choices=choices,
    )


def _name(session: AgentSession) -> str:
    state = "live" if session.ended_at is None else "ended"
    return gist(f"{session.agent} …{session.key[-_KEY_CHARS:]}, {state}, {session.cwd or '–'}")


@require_POST
def retry(request: HttpRequest, delivery_id: int) -> HttpResponse:
    try:
        services.retry(delivery_id=delivery_id, now=clock.now())
    except PinboxError as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, "It is due now.")
    return HttpResponseRedirect(reverse("admin:delivery_delivery_change", args=[delivery_id]))


@require_POST
def rebind(request: HttpRequest, pin_id: str) -> HttpResponse:
    chosen = request.POST.get("choice", "")
    try:
        moved = services.rebind(pin_id=pin_id, session_id=chosen, now=clock.now())
    except PinboxError as refusal:
        messages.error(request, refusal.message)
    else:
        went = "1 delivery goes" if moved == 1 else f"{moved} deliveries go"
        messages.success(request, f"Bound; {went} along.")
    if not Pin.objects.filter(pk=pin_id).exists():
        return HttpResponseRedirect(reverse("admin:pins_pin_changelist"))
    return HttpResponseRedirect(reverse("admin:pins_pin_change", args=[pin_id.replace("_", "_5F")]))
