"""The views that belong to no room: a summary of all of them, and the way into the admin."""

from datetime import UTC, datetime
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from pinbox.contract import iso
from pins import event_log, selectors
from pins.live import live_log
from sessions_app.models import AgentSession
from sessions_app.selectors import present_agents

from . import admin_link


class SummaryShape(serializers.Serializer[Any]):
    open = serializers.IntegerField()
    resolved = serializers.IntegerField()
    lastEventSeq = serializers.IntegerField()
    sessions = serializers.IntegerField()
    connectedToolbars = serializers.IntegerField()
    agents = serializers.ListField(child=serializers.CharField())


class Summary(APIView):
    required_scope = "page"

    @extend_schema(responses=SummaryShape)
    def get(self, request: Request) -> Response:
        return Response(
            {
                **selectors.tally(),
                "lastEventSeq": event_log.last_seq(),
                "sessions": AgentSession.objects.filter(ended_at=None).count(),
                "connectedToolbars": live_log.toolbars,
                "agents": present_agents(),
            }
        )


class AdminLinkShape(serializers.Serializer[Any]):
    url = serializers.CharField()
    expiresAt = serializers.CharField()


class AdminLinks(APIView):
    body_optional = True

    @extend_schema(operation_id="admin_link", request=None, responses=AdminLinkShape)
    def post(self, request: Request) -> Response:
        token, expires_at = admin_link.make_link(datetime.now(UTC))
        place = request.build_absolute_uri(reverse("admin:login_link"))
        answer = Response({"url": f"{place}?token={token}", "expiresAt": iso(expires_at)})
        # An answer kept for its Idempotency-Key would be the token in plain text.
        answer.is_secret = True  # type: ignore[attr-defined]  # for pinbox_site.idempotency
        return answer
