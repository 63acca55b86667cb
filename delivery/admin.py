"""The ledger and its attempts, to look at, and what it adds to the pages of pins and sessions.

`pinbox_site.admin` makes the class read-only and pages its list.
"""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from pinbox.contract import PIN_ID, SESSION_ID
from pins.admin import (
    SECTION_ROWS,
    ChoiceFilter,
    PinAdmin,
    event_link,
    pin_link,
    state,
    visible,
)
from pins.models import Binding, Pin
from sessions_app.admin import AgentSessionAdmin, moment, session_link
from sessions_app.models import AgentSession

from . import admin_acts
from .models import Attempt, Delivery

_GLYPHS = {"pending": "…", "delivered": "→", "failed": "✕", "skipped": "–"}
_OUTCOMES = {
    Attempt.Outcome.HANDED_OVER.value: "→",
    Attempt.Outcome.ACCEPTED.value: "…",
    Attempt.Outcome.FAILED.value: "↺",
    Attempt.Outcome.REFUSED.value: "✕",
    Attempt.Outcome.LOST.value: "?",
    Attempt.Outcome.RELEASED.value: "–",
}


def condition_of(delivery: Delivery) -> SafeString:
    if delivery.acknowledged_at is not None:
        return state("acknowledged", "✓")
    return state(delivery.status, _GLYPHS[delivery.status])


def recipient_of(delivery: Delivery) -> str:
    """As `pinbox deliveries` says it: what is skipped waits for nobody."""
    if delivery.session_id:
        return session_link(delivery.session_id)
    return "–" if delivery.status == Delivery.Status.SKIPPED else "unassigned"


class DeliveryStatusFilter(ChoiceFilter):
    title = "status"
    parameter_name = "status"
    choices_known = tuple(Delivery.Status.values)


class AdapterFilter(ChoiceFilter):
    title = "adapter"
    parameter_name = "adapter"
    choices_known = ("codex", "hooks", "openclaw", "resume", "webhook", "none")


class AcknowledgedFilter(ChoiceFilter):
    title = "acknowledged"
    parameter_name = "acknowledged"
    choices_known = ("yes", "no")

    def narrow(self, queryset: QuerySet[Any], chosen: str) -> QuerySet[Any]:
        return queryset.filter(acknowledged_at__isnull=chosen == "no")


@admin.register(Delivery)
class DeliveryAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes none at run time
    ordering = ("-id",)
    list_display = (
        "name",
        "condition",
        "pin",
        "event",
        "session",
        "adapter",
        "tries",
        "reason",
        "updated",
    )
    list_filter = (DeliveryStatusFilter, AcknowledgedFilter, AdapterFilter)
    search_fields = ("pin_id",)
    search_help_text = "The id of a pin or of a session, or the seq of an event."
    fields = (
        "condition",
        "pin",
        "event",
        "session",
        "adapter",
        "tries",
        "reason",
        "handed_over",
        "acknowledged",
        "due",
        "updated",
    )

    acts = (admin_acts.retry_act,)

    @property
    def sections(self) -> list[Callable[[Delivery], tuple[str, str]]]:
        return [attempts_section]

    def get_urls(self) -> list[URLPattern]:
        guarded = self.admin_site.admin_view
        return [
            path("<int:delivery_id>/retry", guarded(admin_acts.retry), name="delivery_retry"),
            path("rebind/<str:pin_id>", guarded(admin_acts.rebind), name="delivery_rebind"),
            *super().get_urls(),
        ]

    def headline(self, delivery: Delivery) -> str:
        return f"of event {delivery.event_seq}"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Delivery], search_term: str
    ) -> tuple[QuerySet[Delivery], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        if re.fullmatch(PIN_ID, term):
            return queryset.filter(pin_id=term), False
        if re.fullmatch(SESSION_ID, term):
            return queryset.filter(session_id=term), False
        if term.isdecimal() and len(term) < 19:
            return queryset.filter(event_seq=int(term)), False
        return queryset.none(), False

    @admin.display(description="delivery")
    def name(self, delivery: Delivery) -> str:
        return str(delivery.pk)

    @admin.display(description="status")
    def condition(self, delivery: Delivery) -> str:
        return condition_of(delivery)

    @admin.display(description="pin")
    def pin(self, delivery: Delivery) -> str:
        return pin_link(delivery.pin_id)

    @admin.display(description="event")
    def event(self, delivery: Delivery) -> str:
        return event_link(delivery.event_seq)

    @admin.display(description="session")
    def session(self, delivery: Delivery) -> str:
        return recipient_of(delivery)

    @admin.display(description="attempts")
    def tries(self, delivery: Delivery) -> int:
        return delivery.attempts

    @admin.display(description="reason")
    def reason(self, delivery: Delivery) -> str:
        return visible(delivery.last_error or "")

    @admin.display(description="handed over")
    def handed_over(self, delivery: Delivery) -> str:
        return _seen(delivery.handed_over_at, delivery.handed_over_by)

    @admin.display(description="acknowledged")
    def acknowledged(self, delivery: Delivery) -> str:
        return _seen(delivery.acknowledged_at, delivery.acknowledged_by)

    @admin.display(description="due")
    def due(self, delivery: Delivery) -> str:
        return moment(delivery.due_at)

    @admin.display(description="updated")
    def updated(self, delivery: Delivery) -> str:
        return moment(delivery.updated_at)


def _seen(at: datetime | None, by: str) -> SafeString:
    shown = moment(at, otherwise="not yet")
    return format_html("{} by {}", shown, by) if at and by else shown


def attempts_section(delivery: Delivery) -> tuple[str, str]:
    rows = list(delivery.tries.order_by("-id")[: SECTION_ROWS + 1])
    context = {
        "attempts": [
            {
                "at": moment(row.at),
                "adapter": row.adapter,
                "outcome": state(row.outcome.replace("_", "-"), _OUTCOMES[row.outcome]),
                "session": session_link(row.session_id) if row.session_id else "–",
                "took": f"{row.duration_ms / 1000:.1f} s",
                "reason": visible(row.error),
                "output": visible(row.output),
            }
            for row in rows[:SECTION_ROWS]
        ],
        "more": len(rows) > SECTION_ROWS,
    }
    return "Attempts", render_to_string("admin/delivery/attempts.html", context)


def deliveries_section(pin: Pin) -> tuple[str, str]:
    return _deliveries(Delivery.objects.filter(pin_id=pin.pk), pin.pk)


def pending_section(session: AgentSession) -> tuple[str, str]:
    waiting = Delivery.objects.filter(session_id=session.pk, status=Delivery.Status.PENDING)
    _, shown = _deliveries(waiting.order_by("-event_seq"), session.pk)
    return "Waiting for it", shown


def _deliveries(deliveries: QuerySet[Delivery], about: str) -> tuple[str, str]:
    rows = list(deliveries[: SECTION_ROWS + 1])
    context = {
        "deliveries": [
            {
                "condition": condition_of(row),
                "event": event_link(row.event_seq),
                "pin": pin_link(row.pin_id),
                "session": recipient_of(row),
                "reason": visible(row.last_error or ""),
                "url": reverse("admin:delivery_delivery_change", args=[row.pk]),
                "updated": moment(row.updated_at),
            }
            for row in rows[:SECTION_ROWS]
        ],
        "all": f"{reverse('admin:delivery_delivery_changelist')}?q={about}",
    }
    return "Deliveries", render_to_string("admin/delivery/deliveries.html", context)


def bound_section(session: AgentSession) -> tuple[str, str]:
    """Pins stuck to the session: a binding names an agent and its key, not a session's row."""
    bound = Binding.objects.filter(agent=session.agent, key=session.key)
    rows = list(bound.values_list("pin_id", flat=True)[: SECTION_ROWS + 1])
    context = {
        "pins": [pin_link(pin_id) for pin_id in rows[:SECTION_ROWS]],
        "more": len(rows) > SECTION_ROWS,
    }
    return "Pins bound to it", render_to_string("admin/delivery/bound.html", context)


PinAdmin.sections.append(deliveries_section)
PinAdmin.acts.append(admin_acts.rebind_act)
AgentSessionAdmin.sections.extend([bound_section, pending_section])
