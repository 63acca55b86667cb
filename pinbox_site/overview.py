"""What the admin's first page says: a few figures, none of which reads a whole table."""

from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.urls import reverse

from delivery.models import Delivery
from pins import event_log, selectors
from sessions_app.models import AgentSession

#: Counting stops here; a figure beyond it is shown as "more than".
_ENOUGH = 1000


class Figure(NamedTuple):
    number: str
    label: str
    url: str


def figures() -> list[Figure]:
    pins = selectors.tally()
    pin_list = reverse("admin:pins_pin_changelist")
    deliveries = reverse("admin:delivery_delivery_changelist")
    pending = _up_to(Delivery.objects.filter(status=Delivery.Status.PENDING).order_by("-id"))
    failed = _up_to(Delivery.objects.filter(status=Delivery.Status.FAILED).order_by("-id"))
    live = _up_to(AgentSession.objects.filter(ended_at=None).order_by("-last_seen_at"))
    return [
        Figure(f"{pins['open']:,}", "open pins", f"{pin_list}?status=open"),
        Figure(f"{pins['resolved']:,}", "resolved pins", f"{pin_list}?status=resolved"),
        Figure(pending, "pending deliveries", f"{deliveries}?status=pending"),
        Figure(failed, "failed deliveries", f"{deliveries}?status=failed"),
        Figure(
            live,
            "live sessions",
            reverse("admin:agent_sessions_agentsession_changelist") + "?state=live",
        ),
        Figure(
            f"{event_log.last_seq():,}", "events in the log", reverse("admin:pins_event_changelist")
        ),
    ]


def _up_to(rows: QuerySet[Any]) -> str:
    found = rows.values("pk")[: _ENOUGH + 1].count()
    return f"{_ENOUGH:,}+" if found > _ENOUGH else f"{found:,}"
