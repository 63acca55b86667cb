"""HTTP for events, pins and threads: one view class a path, no rules. See docs/wire.md."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, cast

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.serializers import Serializer
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from pinbox.contract import MAX_SEARCH_BYTES, Caller, PinboxError

from . import attachments, search, selectors, services, shapes
from .event_log import encode
from .git_env import branch_and_commit
from .models import Attachment, Event, Pin, ThreadMessage
from .serializers import MessageInput, PinInput, ResolveInput, VerifyInput
from .verbatim import verbatim, verbatim_list

#: A seq past this cannot be in any database.
_MAX_SEQ = 2**63 - 1


def accepted_input(serializer: type[Serializer[Any]], request: Request) -> dict[str, Any]:
    """The request's body as the serializer lets it through. DRF's ValidationError becomes
    E_INVALID_INPUT.
    """
    return cast(dict[str, Any], _checker(serializer).run_validation(request.data))


@cache
def _checker(serializer: type[Serializer[Any]]) -> Serializer[Any]:
    """One instance a class, for checking only: a new one copies every field of every level, which
    takes longer than the write it is for.
    """
    return serializer()


def caller_of(request: Request) -> Caller:
    return cast(Caller, request.user)


def asked_status(request: Request, known: Sequence[str], everything: str) -> str | None:
    """The status a list is narrowed to, None for `everything`. Raises E_INVALID_INPUT."""
    status = request.query_params.get("status")
    if status is None or status in known:
        return status
    raise PinboxError(
        "E_INVALID_INPUT",
        f"status: must be one of: {', '.join(known)}",
        f"leave it out for {everything}",
    )


class Paged(APIView):
    """Lists that are read whole, or by the page that `limit`, `before` and `after` ask for."""

    page_order: tuple[str, ...]

    def answer(
        self,
        request: Request,
        rows: QuerySet[Any],
        text: Callable[[Any], str],
        around: tuple[str, str] = ("", ""),
    ) -> HttpResponseBase:
        """`text` makes the JSON of a row; `around` is what stands before and after the list."""
        pages = cast(Any, api_settings.DEFAULT_PAGINATION_CLASS)()
        found = pages.paginate_queryset(rows, request, view=self)
        texts = (text(row) for row in found)
        if isinstance(found, list):
            return verbatim_list(list(texts), headers=pages.headers(), around=around)
        return verbatim_list(texts, around=around)


def stored_text(row: tuple[Any, str]) -> str:
    """The JSON in a row of (id, JSON)."""
    return row[1]


class EventPages(Paged):
    required_scope = "page"
    page_order = ("seq",)

    @staticmethod
    def page_cursor(text: str) -> tuple[int]:
        """A seq, which need not exist. Raises E_INVALID_INPUT."""
        try:
            number = float(text)
            seq = int(text) if text.strip().isdigit() else int(number)
        except (ValueError, OverflowError):
            seq, number = -1, 0.0
        if seq < 0 or seq > _MAX_SEQ or (seq != number and not text.strip().isdigit()):
            raise PinboxError(
                "E_INVALID_INPUT",
                "the cursor must be the seq of an event, a whole number from 0",
                "GET /summary has the newest as lastEventSeq",
            )
        return (seq,)

    def answer_events(self, request: Request, events: QuerySet[Event]) -> HttpResponseBase:
        rows = events.values_list("seq", "type", "at", "payload")
        return self.answer(request, rows, selectors.event_text)


class EventList(EventPages):
    @extend_schema(operation_id="events_list", responses=shapes.EventShape(many=True))
    def get(self, request: Request) -> HttpResponseBase:
        return self.answer_events(request, Event.objects.all())


class PinEvents(EventPages):
    @extend_schema(operation_id="pins_events", responses=shapes.EventShape(many=True))
    def get(self, request: Request, pin_id: str) -> HttpResponseBase:
        selectors.require_pin(pin_id)
        return self.answer_events(request, Event.objects.filter(subject=pin_id))


class Attachments(APIView):
    required_scope = "page"

    @extend_schema(
        operation_id="attachments_create",
        parameters=[OpenApiParameter("kind", str, enum=Attachment.Kind.values, required=True)],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses={201: shapes.UploadShape},
    )
    def post(self, request: Request) -> HttpResponseBase:
        kind = request.query_params.get("kind", "")
        if kind not in Attachment.Kind.values:
            raise PinboxError("E_INVALID_INPUT", "kind: must be one of: screenshot, file")
        # Not by a parser: the body is what is attached, whatever its Content-Type says.
        stored = attachments.store(kind=kind, content=request.body, now=datetime.now(UTC))
        return verbatim(encode({"attachment": stored}), status=201)


class Media(APIView):
    """Bytes, for a token or for an address that was signed: an `<img>` cannot send a header."""

    permission_classes = ()

    @extend_schema(
        operation_id="media",
        parameters=[OpenApiParameter("expires", str), OpenApiParameter("signature", str)],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, attachment_id: str) -> HttpResponseBase:
        left = 0
        if caller_of(request).scope not in {"full", "page"}:
            asked = request.query_params
            left = attachments.seconds_left(
                attachment_id, asked.get("expires", ""), asked.get("signature", ""), time.time()
            )
        stored = attachments.read(attachment_id)
        is_text = stored.content_type == "text/plain"
        how = "inline" if stored.is_image else f'attachment; filename="{stored.name}"'
        return HttpResponse(
            stored.content,
            content_type="text/plain; charset=utf-8" if is_text else stored.content_type,
            headers={
                "Content-Disposition": how,
                "Content-Security-Policy": "default-src 'none'; sandbox",
                "X-Content-Type-Options": "nosniff",
                "Cache-Control": f"private, max-age={left}" if left else "no-store",
            },
        )


class PinList(Paged):
    required_scope = "page"
    page_order = ("-n",)

    @extend_schema(
        operation_id="pins_list",
        parameters=[
            OpenApiParameter("status", str, enum=["open", "resolved"]),
            OpenApiParameter("search", str, description="Only pins that contain every term."),
        ],
        responses=shapes.PinShape(many=True),
    )
    def get(self, request: Request) -> HttpResponseBase:
        pins = selectors.pins_of(status=asked_status(request, Pin.Status.values, "every pin"))
        query = request.query_params.get("search")
        if query is not None:
            pins = search.matching(pins, _searchable(query))
        return self.answer(request, selectors.with_document(pins), stored_text)

    @extend_schema(operation_id="pins_create", request=PinInput, responses={201: shapes.PinShape})
    def post(self, request: Request) -> HttpResponseBase:
        pin = services.create_pin(
            data=accepted_input(PinInput, request),
            caller=caller_of(request),
            git=branch_and_commit(settings.PROJECT_DIR),
        )
        return verbatim(encode(pin), status=201)


class PinDetail(APIView):
    required_scope = "page"

    @extend_schema(operation_id="pins_retrieve", responses=shapes.PinShape)
    def get(self, request: Request, pin_id: str) -> HttpResponseBase:
        return verbatim(selectors.pin_text(pin_id))


class PinThread(Paged):
    required_scope = "page"
    page_order = ("seq",)

    @extend_schema(operation_id="pins_thread_list", responses=shapes.MessageShape(many=True))
    def get(self, request: Request, pin_id: str) -> HttpResponseBase:
        selectors.require_pin(pin_id)
        messages = ThreadMessage.objects.filter(pin_id=pin_id)
        return self.answer(request, messages.values_list("id", "json"), stored_text)

    @extend_schema(
        operation_id="pins_thread_create",
        request=MessageInput,
        responses={201: shapes.MessageShape},
    )
    def post(self, request: Request, pin_id: str) -> HttpResponseBase:
        message = services.post_message(
            pin_id=pin_id, data=accepted_input(MessageInput, request), caller=caller_of(request)
        )
        return verbatim(encode(message), status=201)


class PinResolve(APIView):
    required_scope = "page"

    @extend_schema(request=ResolveInput, responses=shapes.PinShape)
    def post(self, request: Request, pin_id: str) -> HttpResponseBase:
        data = accepted_input(ResolveInput, request)
        return verbatim(
            encode(services.resolve_pin(pin_id=pin_id, data=data, caller=caller_of(request)))
        )


class PinVerify(APIView):
    required_scope = "page"

    @extend_schema(request=VerifyInput, responses=shapes.PinShape)
    def post(self, request: Request, pin_id: str) -> HttpResponseBase:
        outcome = accepted_input(VerifyInput, request)["outcome"]
        return verbatim(encode(services.verify_pin(pin_id=pin_id, outcome=outcome)))


def _searchable(query: str) -> str:
    """Refuse what is too long, and a NUL, which one of the two databases cannot take. Raises
    E_INVALID_INPUT.
    """
    if len(query.encode("utf-8", "replace")) > MAX_SEARCH_BYTES:
        raise PinboxError(
            "E_INVALID_INPUT",
            f"search: must be at most {MAX_SEARCH_BYTES:,} bytes of UTF-8",
            "a few words are enough",
        )
    if "\0" in query:
        raise PinboxError(
            "E_INVALID_INPUT", "search: must not contain a NUL character", "leave it out"
        )
    return query
