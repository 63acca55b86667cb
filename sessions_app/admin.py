"""Agent sessions, to look at. `pinbox_site.admin` makes the class read-only and pages its list."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from pinbox.contract import iso

from .models import AgentSession


def session_link(session_id: str, label: str | None = None) -> SafeString:
    url = reverse("admin:agent_sessions_agentsession_change", args=[quote(session_id)])
    return format_html('<a class="id" href="{}">{}</a>', url, label or session_id)


def moment(at: datetime | None, *, otherwise: str = "–") -> SafeString:
    """The page's script puts it into the reader's own time zone."""
    if at is None:
        return format_html('<span class="quiet">{}</span>', otherwise)
    return format_html('<time datetime="{}">{}</time>', iso(at), f"{at:%Y-%m-%d %H:%M} UTC")


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[Any]"
    ) -> list[tuple[str, str]]:
        return [("live", "live"), ("ended", "ended")]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[AgentSession]
    ) -> QuerySet[AgentSession]:
        match self.value():
            case None:
                return queryset
            case "live":
                return queryset.filter(ended_at=None)
            case "ended":
                return queryset.exclude(ended_at=None)
        return queryset.none()


@admin.register(AgentSession)
class AgentSessionAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes none at run time
    ordering = ("-last_seen_at", "-id")
    list_display = ("name", "condition", "agent", "key", "folder", "seen")
    list_filter = (StateFilter,)
    search_fields = ("key",)
    search_help_text = "The id of a session, or the agent's own key of it."
    fields = (
        "id",
        "condition",
        "agent",
        "key",
        "folder",
        "process",
        "registered",
        "seen",
        "ended",
        "successor",
    )
    #: What stands below the session itself. A room above adds its own (`delivery.admin`).
    sections: ClassVar[list[Callable[[AgentSession], tuple[str, str]]]] = []

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AgentSession], search_term: str
    ) -> tuple[QuerySet[AgentSession], bool]:
        term = search_term.strip()
        return (queryset.filter(Q(pk=term) | Q(key=term)) if term else queryset), False

    @admin.display(description="session")
    def name(self, session: AgentSession) -> str:
        return session.pk

    @admin.display(description="state")
    def condition(self, session: AgentSession) -> str:
        word, glyph = ("live", "●") if session.ended_at is None else ("ended", "○")
        return format_html('<span class="state state-{}"><i>{}</i> {}</span>', word, glyph, word)

    @admin.display(description="working folder")
    def folder(self, session: AgentSession) -> str:
        return session.cwd or "–"

    @admin.display(description="process")
    def process(self, session: AgentSession) -> str:
        return "–" if session.pid is None else str(session.pid)

    @admin.display(description="registered")
    def registered(self, session: AgentSession) -> str:
        return moment(session.registered_at)

    @admin.display(description="last seen")
    def seen(self, session: AgentSession) -> str:
        return moment(session.last_seen_at)

    @admin.display(description="ended")
    def ended(self, session: AgentSession) -> str:
        return moment(session.ended_at, otherwise="not yet")

    @admin.display(description="went on as")
    def successor(self, session: AgentSession) -> str:
        return session_link(session.superseded_by) if session.superseded_by else "–"
