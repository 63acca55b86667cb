"""Reads of the ledger that span rows."""

from django.db.models import Q, QuerySet

from sessions_app import selectors as registry
from sessions_app.models import AgentSession

from .models import Delivery


def pins_with_news(session: AgentSession) -> QuerySet[Delivery, str]:
    """Ids of the pins of which the session would be told something: what waits for it, and what
    waits for nobody, which it would take over.
    """
    whose = Q(session_id=session.id)
    if session.agent != registry.PROBE:
        whose |= Q(session_id=None)
    rows = Delivery.objects.filter(whose, status=Delivery.Status.PENDING).order_by()
    return rows.values_list("pin_id", flat=True).distinct()
