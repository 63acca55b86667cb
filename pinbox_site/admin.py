"""The admin's own site: whatever a room registers on it is for looking, page by page; what may be
done about an object is a button of its own below it.

Nobody has a password here. A link of `pinbox admin` logs in (`pinbox_site.admin_link`).
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.text import capfirst

from pinbox.contract import PinboxError

from . import admin_link

#: Rows on one page of a list.
PAGE_ROWS: Final = 50

#: Pages run our own files and nothing a pin's text could smuggle in.
CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

#: The tables in the menu, by model name.
_MENU: Final = ("pin", "event", "delivery", "agentsession")

_OURS: Final = frozenset({"pins", "agent_sessions", "delivery"})


class CursorList(ChangeList):
    """A page is what lies beside an item that the address names.

    Nothing is counted and nothing skipped, so the last page of 100,000 rows costs what the first
    one does. The admin class says the order in `ordering`; it cannot be changed.
    """

    newer: str | None
    older: str | None

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        return list(self.model_admin.get_ordering(request))

    def get_results(self, request: HttpRequest) -> None:
        from . import paging  # loads DRF, which no management command waits for

        columns = [column.lstrip("-") for column in self.get_ordering(request, self.queryset)]
        side, _, cursor = request.GET.get(PAGE_VAR, "").partition(".")
        rows = self.queryset
        if cursor:
            try:
                place = paging.item_of(self.root_queryset, columns)(cursor)
            except PinboxError as unknown:
                raise IncorrectLookupParameters from unknown
            rows = rows.filter(paging.beyond(columns, place, "gt" if side == "after" else "lt"))
        against = bool(cursor) and side == "after"
        found = list((rows.reverse() if against else rows)[: self.list_per_page + 1])
        more = len(found) > self.list_per_page
        del found[self.list_per_page :]
        if against:
            found.reverse()
        self.newer = self.older = None
        if found:
            if more if against else cursor:
                self.newer = self.get_query_string({PAGE_VAR: f"after.{found[0].pk}"})
            if against or more:
                self.older = self.get_query_string({PAGE_VAR: f"before.{found[-1].pk}"})
        self.newest = self.get_query_string()
        self.result_list = found
        self.result_count = len(found)
        self.full_result_count = None
        self.show_full_result_count = self.show_admin_actions = False
        self.can_show_all = self.multi_page = False


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes none at run time
    """Mixed into every admin class of the site: all may be seen by whoever is in, nothing changed.

    `sections` of the class are functions of the object shown; each gives a heading and the HTML
    under it; `acts` are functions of it that each offer a `pins.admin.Act` or None. A room adds to
    the page of another room's object. `headline` names the object.
    """

    actions = None
    list_per_page = PAGE_ROWS
    list_max_show_all = 0
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by = ()
    change_form_template = "admin/inspect.html"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.admin_site.has_permission(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.admin_site.has_permission(request)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[CursorList]:
        return CursorList

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        title = capfirst(str(self.opts.verbose_name_plural))
        return super().changelist_view(request, {**(extra_context or {}), "title": title})

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Only what a filter of the page offers: any other look-up could read the whole table."""
        return lookup in {getattr(item, "parameter_name", item) for item in self.list_filter}

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        return list(self.get_fields(request, obj))

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        if self.fieldsets:
            return [str(name) for _, options in self.fieldsets for name in options["fields"]]
        return [str(name) for name in self.fields or ()]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        shown = context["original"]
        name = str(shown._meta.verbose_name)
        context.update(
            title=f"{capfirst(name)} {getattr(self, 'headline', str)(shown)}",
            subtitle=None,
            sections=[section(shown) for section in getattr(self, "sections", ())],
            acts=[act for offer in getattr(self, "acts", ()) if (act := offer(shown))],
        )
        return super().render_change_form(request, context, *args, **kwargs)

    def _get_obj_does_not_exist_redirect(
        self, request: HttpRequest, opts: Any, object_id: str | None
    ) -> HttpResponse:
        raise Http404

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Django's history is of changes made in the admin; there are none. Ours is the log."""
        raise Http404


class PinboxAdminSite(admin.AdminSite):
    site_header = site_title = "Pinbox"
    site_url = None
    enable_nav_sidebar = False
    empty_value_display = ""
    index_title = "Overview"
    index_template = "admin/overview.html"
    logout_template = "admin/logged_out.html"

    def register(
        self,
        model_or_iterable: type[Model] | Iterable[type[Model]],
        admin_class: type[admin.ModelAdmin] | None = None,  # type: ignore[type-arg]
        **options: Any,
    ) -> None:
        models = [model_or_iterable] if isinstance(model_or_iterable, type) else model_or_iterable
        shown = type("Inspected", (ReadOnly, admin_class or admin.ModelAdmin), {})
        # Django's own users and groups register themselves; here they would only confuse.
        ours = [model for model in models if model._meta.app_label in _OURS]
        super().register(ours, shown, **options)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return {
            **super().each_context(request),
            "project": settings.PROJECT_DIR.name,
            "menu": self._menu(request),
        }

    def get_urls(self) -> list[URLResolver | URLPattern]:
        unused = {"password_change", "password_change_done", "autocomplete", "view_on_site"}
        return [
            path("login-link", guarded(admin_link.log_in), name="login_link"),
            *(url for url in super().get_urls() if getattr(url, "name", None) not in unused),
        ]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        return guarded(super().admin_view(view, cacheable))

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Where whoever is not in is sent: it says how to get in, and asks for nothing."""
        if self.has_permission(request):
            return admin_link.redirect_to_overview()
        return guarded(admin_link.say_how)(request)

    def get_app_list(
        self, request: HttpRequest, app_label: str | None = None
    ) -> list[dict[str, Any]]:
        """Nothing: whose room a table is in is nothing a person needs to know. See `_menu`."""
        return []

    def _menu(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Name and address of each table; nothing for who is not in."""
        if not self.has_permission(request):
            return []
        tables = {model._meta.model_name: model._meta for model in self._registry}
        return [
            (
                capfirst(str(table.verbose_name_plural)),
                reverse(f"admin:{table.app_label}_{table.model_name}_changelist"),
            )
            for table in (tables[name] for name in _MENU)
        ]

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        from .overview import figures

        return super().index(request, {**(extra_context or {}), "figures": figures()})


def guarded(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The view with the headers that every page of the admin has."""

    def guarding(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        response["Content-Security-Policy"] = CONTENT_POLICY
        response["Cache-Control"] = "no-store"
        return response

    return guarding
