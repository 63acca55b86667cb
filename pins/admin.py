"""Pins and events, to look at. `pinbox_site.admin` makes every class read-only and pages its list.

Pin text is foreign: it is always escaped, stands in a block of its own (no bidi run leaves it), and
characters that people cannot see are shown by their number.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, cast

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from pinbox.commands.hub import origin_of
from pinbox.contract import EVENT_TYPES, PIN_ID

from . import search
from .models import Event, Pin, ThreadMessage

#: Characters of a text that a list shows.
GIST: Final = 140
#: Rows of a section on a pin's page; the rest is one link away.
SECTION_ROWS: Final = 50
#: Messages of a thread on a pin's page, the newest.
THREAD_ROWS: Final = 200

_GLYPHS: Final = {"open": "○", "resolved": "✓", "accepted": "✓", "reopened": "↺"}
#: Controls but newline and tab, bidi controls, invisible joiners and separators.
_UNSEEN: Final = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
_PIN_ID: Final = re.compile(PIN_ID)


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A button on an object's page: where it posts to, what it is called and what it does.
    `choices` are (value, name); the chosen one arrives as `choice`.
    """

    url: str
    label: str
    effect: str
    choices: Sequence[tuple[str, str]] = ()


# --- how things are shown -------------------------------------------------------------------------


def visible(text: str) -> str:
    """The text with every character that nobody can see, or that moves others, as `[U+202E]`."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return _UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def gist(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(visible(text[: GIST * 4]).split())
    return line if len(line) <= GIST else line[: GIST - 1].rstrip() + "…"


def moment(at: str) -> SafeString:
    """An ISO instant; the page's script puts it into the reader's own time zone."""
    return format_html('<time datetime="{}">{}</time>', at, f"{at[:10]} {at[11:16]} UTC")


def state(word: str, glyph: str) -> SafeString:
    """A state as a glyph and its word: nobody has to tell colours apart."""
    return format_html('<span class="state state-{}"><i>{}</i> {}</span>', word, glyph, word)


def block(text: str) -> SafeString:
    return format_html('<div class="foreign" dir="auto">{}</div>', visible(text))


def pretty(value: object) -> SafeString:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return format_html('<pre class="document" dir="ltr">{}</pre>', visible(text))


def pin_link(pin_id: str, label: str | None = None) -> SafeString:
    url = reverse("admin:pins_pin_change", args=[quote(pin_id)])
    return format_html('<a class="id" href="{}">{}</a>', url, label or pin_id)


def event_link(seq: int) -> SafeString:
    return format_html(
        '<a class="id" href="{}">{}</a>', reverse("admin:pins_event_change", args=[seq]), seq
    )


def _list_of(lines: list[str], *, otherwise: str) -> SafeString:
    """Each line in a block of its own; `otherwise` where there is none."""
    if not lines:
        return nothing(otherwise)
    return format_html_join("", '<div class="foreign" dir="auto">{}</div>', [[x] for x in lines])


def nothing(said: str) -> SafeString:
    return format_html('<span class="quiet">{}</span>', said)


def person(author: Mapping[str, Any]) -> str:
    name, user = author.get("name"), author["userId"]
    return visible(f"{name} ({user})" if name and name != user else user)


def place(target: Mapping[str, Any]) -> str:
    """Where a target is, shortest first: a line of a file, else a selector, else the page."""
    if source := target.get("source"):
        line = f":{source['line']}" if "line" in source else ""
        return visible(f"{source['file']}{line}")
    return visible(target.get("selector") or target.get("url") or "")


class ChoiceFilter(admin.SimpleListFilter):
    """A filter whose choices are known without asking the database."""

    choices_known: ClassVar[tuple[str, ...]]

    def lookups(
        self, request: HttpRequest, model_admin: "admin.ModelAdmin[Any]"
    ) -> list[tuple[str, str]]:
        return [(choice, choice) for choice in self.choices_known]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if chosen is None:
            return queryset
        if chosen not in self.choices_known:
            return queryset.none()
        return self.narrow(queryset, chosen)

    def narrow(self, queryset: QuerySet[Any], chosen: str) -> QuerySet[Any]:
        return queryset.filter(**{str(self.parameter_name): chosen})


# --- events ---------------------------------------------------------------------------------------


class TypeFilter(ChoiceFilter):
    title = "type"
    parameter_name = "type"
    choices_known = EVENT_TYPES


@admin.register(Event)
class EventAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes none at run time
    ordering = ("-seq",)
    list_display = ("seq", "kind", "about", "said", "when")
    list_filter = (TypeFilter,)
    search_fields = ("subject",)
    search_help_text = "The id of a pin, or the seq of an event."
    fields = ("seq", "kind", "when", "about", "content")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Event], search_term: str
    ) -> tuple[QuerySet[Event], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        if term.isdecimal() and len(term) < 19:
            return queryset.filter(seq=int(term)), False
        return queryset.filter(subject=term), False

    @admin.display(description="type")
    def kind(self, event: Event) -> str:
        return event.type

    @admin.display(description="pin")
    def about(self, event: Event) -> str:
        return pin_link(event.subject)

    @admin.display(description="what it says")
    def said(self, event: Event) -> str:
        return gist(_said(event.type, json.loads(event.payload)))

    @admin.display(description="at")
    def when(self, event: Event) -> str:
        return moment(event.at)

    @admin.display(description="payload")
    def content(self, event: Event) -> str:
        return pretty(json.loads(event.payload))


def _said(event_type: str, payload: Mapping[str, Any]) -> str:
    """What this event added, in its author's words where it has any."""
    match event_type:
        case "thread.message":
            return f"{payload['role']}: {payload['text']}"
        case "pin.resolved":
            resolution = payload["resolution"]
            note = resolution.get("note") or resolution.get("commit")
            return f"by {resolution['by']}" + (f": {note}" if note else "")
        case "pin.verified":
            return str(payload["verification"]["outcome"])
        case "pin.linked" if payload.get("links"):
            link = payload["links"][-1]
            return f"{link['connector']} {link['ref']}"
    return str(payload.get("text", ""))


# --- pins -----------------------------------------------------------------------------------------


class PinStatusFilter(ChoiceFilter):
    title = "status"
    parameter_name = "status"
    choices_known = tuple(Pin.Status.values)


@admin.register(Pin)
class PinAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes none at run time
    """Every column comes from the pin's own row, joined with its binding."""

    ordering = ("-n",)
    list_display = ("number", "condition", "words", "where", "author", "bound_to", "created")
    list_filter = (PinStatusFilter,)
    list_select_related = ("binding",)
    search_fields = ("id",)
    search_help_text = "Words of a pin or its thread, #12, or a whole id."
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "text",
                    "condition",
                    "outcome",
                    "where_in_full",
                    "author",
                    "bound_in_full",
                    "made_on",
                    "created",
                )
            },
        ),
        ("Document", {"fields": ("content",), "classes": ("collapse",)}),
    )
    #: What stands below the pin itself. A room above adds its own (`delivery.admin`).
    sections: ClassVar[list[Callable[[Pin], tuple[str, str]]]] = []
    #: What may be done about it.
    acts: ClassVar[list[Callable[[Pin], Act | None]]] = []

    def headline(self, pin: Pin) -> str:
        return f"#{pin.n}"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Pin]:
        return super().get_queryset(request).select_related("binding")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Pin], search_term: str
    ) -> tuple[QuerySet[Pin], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        if _PIN_ID.fullmatch(term):
            return queryset.filter(pk=term), False
        if re.fullmatch(r"#[0-9]{1,18}", term):
            return queryset.filter(n=int(term[1:])), False
        return search.matching(queryset, term), False

    @admin.display(description="pin")
    def number(self, pin: Pin) -> str:
        return f"#{pin.n}"

    @admin.display(description="status")
    def condition(self, pin: Pin) -> str:
        return state(pin.status, _GLYPHS[pin.status])

    @admin.display(description="text")
    def words(self, pin: Pin) -> str:
        return gist(_head(pin)["text"])

    @admin.display(description="where")
    def where(self, pin: Pin) -> str:
        return gist(place(_head(pin).get("target", {})))

    @admin.display(description="by")
    def author(self, pin: Pin) -> str:
        return person(_head(pin)["author"])

    @admin.display(description="agent session")
    def bound_to(self, pin: Pin) -> str:
        session = _document(pin).get("agentSession")
        return gist(origin_of(session["agent"], session["key"])) if session else "–"

    @admin.display(description="agent session")
    def bound_in_full(self, pin: Pin) -> str:
        session = _document(pin).get("agentSession", {})
        return _list_of(
            [visible(session[key]) for key in ("agent", "key", "cwd") if key in session],
            otherwise="none yet",
        )

    @admin.display(description="created")
    def created(self, pin: Pin) -> str:
        return moment(pin.created_at)

    @admin.display(description="text")
    def text(self, pin: Pin) -> str:
        return block(_head(pin)["text"])

    @admin.display(description="outcome")
    def outcome(self, pin: Pin) -> str:
        document = _document(pin)
        lines: list[str] = []
        if resolution := document.get("resolution"):
            lines.append(
                format_html("resolved by {}, {}", resolution["by"], moment(resolution["at"]))
            )
            lines.extend(
                f"{key} {visible(resolution[key])}"
                for key in ("commit", "note")
                if key in resolution
            )
        if verification := document.get("verification"):
            lines.append(format_html("{}, {}", verification["outcome"], moment(verification["at"])))
        return _list_of(lines, otherwise="not resolved yet")

    @admin.display(description="where")
    def where_in_full(self, pin: Pin) -> str:
        target = _head(pin).get("target", {})
        lines: list[str] = []
        for one in [target, *target.get("targets", [])[:SECTION_ROWS]]:
            lines.extend(visible(one[key]) for key in ("url", "selector") if one.get(key))
            if "source" in one:
                lines.append(place(one))
        return _list_of(lines, otherwise="nowhere in particular")

    @admin.display(description="made on")
    def made_on(self, pin: Pin) -> str:
        env = _document(pin).get("env", {})
        viewport = env.get("viewport")
        lines = [visible(f"{key} {env[key]}") for key in ("branch", "commit") if key in env]
        lines += [visible(env[key]) for key in ("browser", "os", "colorScheme") if key in env]
        if viewport:
            lines.append(f"{viewport['w']} × {viewport['h']} at {viewport['dpr']}")
        return _list_of(lines, otherwise="unknown")

    @admin.display(description="")
    def content(self, pin: Pin) -> str:
        return pretty(_document(pin))


def _head(pin: Pin) -> dict[str, Any]:
    """The first half of the document: text, kind, target, move, env, author."""
    return cast(dict[str, Any], json.loads("{" + pin.head.removesuffix(",") + "}"))


def _document(pin: Pin) -> dict[str, Any]:
    binding = getattr(pin, "binding", None)
    bound = pin.bound if binding is None else binding.json
    return cast(dict[str, Any], json.loads("{" + pin.head + bound + pin.tail + "}"))


def thread_section(pin: Pin) -> tuple[str, str]:
    newest = ThreadMessage.objects.filter(pin_id=pin.pk).order_by("-seq")[: THREAD_ROWS + 1]
    rows = list(newest.values_list("json", flat=True))
    messages = [_message(json.loads(row)) for row in reversed(rows[:THREAD_ROWS])]
    context = {"messages": messages, "more": len(rows) > THREAD_ROWS, "shown": THREAD_ROWS}
    return "Thread", render_to_string("admin/pins/thread.html", context)


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    role, origin = message["role"], message.get("origin")
    return {
        "role": role,
        "by": visible(f"{role} via {origin}" if origin else role),
        "text": block(message["text"]),
        "at": moment(message["at"]),
        "edit": pretty(message["edit"]) if "edit" in message else None,
        "attachments": [
            visible(item.get("path") or item.get("url") or item["id"])
            for item in message.get("attachments", [])
        ],
    }


def history_section(pin: Pin) -> tuple[str, str]:
    rows = list(Event.objects.filter(subject=pin.pk).order_by("-seq")[: SECTION_ROWS + 1])
    context = {
        "events": [
            {
                "seq": event_link(event.seq),
                "type": event.type,
                "said": gist(_said(event.type, json.loads(event.payload))),
                "at": moment(event.at),
            }
            for event in rows[:SECTION_ROWS]
        ],
        "more": len(rows) > SECTION_ROWS,
        "all": f"{reverse('admin:pins_event_changelist')}?q={pin.pk}",
    }
    return "History", render_to_string("admin/pins/events.html", context)


PinAdmin.sections.extend([thread_section, history_section])
