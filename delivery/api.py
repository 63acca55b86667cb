"""HTTP for what sessions get and what became of it. No rules. See docs/wire.md."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from pins import selectors as pins
from pins.api import Paged, accepted_input, asked_status, stored_text
from pins.event_log import encode, writer
from pins.models import Pin
from pins.shapes import PinShape
from pins.verbatim import verbatim
from sessions_app import selectors as registry
from sessions_app import services as sessions
from sessions_app.models import AgentSession
from sessions_app.serializers import RegisterInput, SessionShape, session_document

from . import clock, handover, ledger, selectors, services
from .models import Delivery
from .serializers import (
    AttemptShape,
    DeliveryShape,
    RebindInput,
    attempt_document,
    delivery_document,
)


class Sessions(Paged):
    page_order = ("-last_seen_at", "-id")

    @extend_schema(operation_id="sessions_list", responses=SessionShape(many=True))
    def get(self, request: Request) -> HttpResponseBase:
        return self.answer(
            request, AgentSession.objects.all(), lambda row: encode(session_document(row))
        )

    @extend_schema(
        operation_id="sessions_register",
        request=RegisterInput,
        responses={200: SessionShape, 201: SessionShape},
    )
    def post(self, request: Request) -> Response:
        asked = accepted_input(RegisterInput, request)
        now = clock.now()
        with writer():
            session, created = sessions.register(**asked, now=now)
            ledger.adopt(session, now=now)
        return Response(session_document(session), status=201 if created else 200)


class SessionDetail(APIView):
    @extend_schema(operation_id="sessions_end", responses={200: SessionShape})
    def delete(self, request: Request, session_id: str) -> Response:
        with writer():
            session = registry.require(session_id)
            ledger.end_session(session, now=clock.now())
        return Response(session_document(session))


class InjectShape(serializers.Serializer[Any]):
    pins = PinShape(many=True)
    delivered = serializers.IntegerField(min_value=0)

    def get_fields(self) -> dict[str, Any]:
        # `context` is an attribute of every serializer.
        return {"context": serializers.CharField(allow_blank=True), **super().get_fields()}


class PendingShape(serializers.Serializer[Any]):
    count = serializers.IntegerField(min_value=0)
    pins = PinShape(many=True)


class PinPages(Paged):
    page_order = ("-n",)

    def answer_pins(
        self, request: Request, rows: QuerySet[Pin], around: tuple[str, str]
    ) -> HttpResponseBase:
        return self.answer(request, pins.with_document(rows), stored_text, around)


class SessionInject(PinPages):
    """The context of a turn, and beside it every open pin (or a page of them)."""

    body_optional = True

    @extend_schema(operation_id="sessions_inject", request=None, responses=InjectShape)
    def post(self, request: Request, session_id: str) -> HttpResponseBase:
        now = clock.now()
        with writer():
            session = registry.require(session_id)
            sessions.touch(session, now=now)
            ledger.adopt(session, now=now)
            told = handover.at_a_prompt(session, by="inject", now=now)
        before = encode({"context": told.text})[:-1] + ',"pins":'
        after = f',"delivered":{told.deliveries}}}'
        return self.answer_pins(request, pins.pins_of(status="open"), (before, after))


class SessionPending(PinPages):
    """What a session would be told, without telling it."""

    @extend_schema(operation_id="sessions_pending", responses=PendingShape)
    def get(self, request: Request, session_id: str) -> HttpResponseBase:
        waiting = selectors.pins_with_news(registry.require(session_id))
        before = f'{{"count":{waiting.count()},"pins":'
        return self.answer_pins(request, Pin.objects.filter(pk__in=waiting), (before, "}"))


class Deliveries(Paged):
    required_scope = "page"  # a toolbar says what became of a pin
    page_order = ("-id",)

    @extend_schema(
        operation_id="deliveries_list",
        parameters=[
            OpenApiParameter("status", str, enum=Delivery.Status.values),
            OpenApiParameter("pin", str, description="Only those of the pin of this id."),
        ],
        responses=DeliveryShape(many=True),
    )
    def get(self, request: Request) -> HttpResponseBase:
        rows = Delivery.objects.all()
        status = asked_status(request, Delivery.Status.values, "every delivery")
        if status is not None:
            rows = rows.filter(status=status)
        pin_id = request.query_params.get("pin")
        if pin_id is not None:
            pins.require_pin(pin_id)
            rows = rows.filter(pin_id=pin_id)
        return self.answer(request, rows, lambda row: encode(delivery_document(row)))


class PinDeliveries(Paged):
    required_scope = "page"
    page_order = ("-id",)

    @extend_schema(operation_id="pins_deliveries", responses=DeliveryShape(many=True))
    def get(self, request: Request, pin_id: str) -> HttpResponseBase:
        pins.require_pin(pin_id)
        rows = Delivery.objects.filter(pin_id=pin_id)
        return self.answer(request, rows, lambda row: encode(delivery_document(row)))


class DeliveryDetail(APIView):
    @extend_schema(operation_id="deliveries_retrieve", responses=DeliveryShape)
    def get(self, request: Request, delivery_id: str) -> Response:
        return Response(delivery_document(services.require(int(delivery_id))))


class DeliveryAttempts(Paged):
    page_order = ("id",)

    @extend_schema(operation_id="deliveries_attempts", responses=AttemptShape(many=True))
    def get(self, request: Request, delivery_id: str) -> HttpResponseBase:
        rows = services.require(int(delivery_id)).tries.all()
        return self.answer(request, rows, lambda row: encode(attempt_document(row)))


class DeliveryRetry(APIView):
    required_scope = "page"  # it does no more than one more word on the pin would
    body_optional = True

    @extend_schema(operation_id="deliveries_retry", request=None, responses=DeliveryShape)
    def post(self, request: Request, delivery_id: str) -> Response:
        row = services.retry(delivery_id=int(delivery_id), now=clock.now())
        return Response(delivery_document(row))


class PinRebind(APIView):
    @extend_schema(operation_id="pins_rebind", request=RebindInput, responses=PinShape)
    def post(self, request: Request, pin_id: str) -> HttpResponseBase:
        asked = accepted_input(RebindInput, request)
        services.rebind(pin_id=pin_id, session_id=asked["sessionId"], now=clock.now())
        return verbatim(pins.pin_text(pin_id))
