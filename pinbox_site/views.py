"""The views that speak of several rooms."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from pins import event_log, selectors
from sessions_app.models import AgentSession


class SummaryShape(serializers.Serializer[Any]):
    open = serializers.IntegerField()
    resolved = serializers.IntegerField()
    lastEventSeq = serializers.IntegerField()
    sessions = serializers.IntegerField()
    connectedToolbars = serializers.IntegerField()


class Summary(APIView):
    required_scope = "page"

    @extend_schema(responses=SummaryShape)
    def get(self, request: Request) -> Response:
        return Response(
            {
                **selectors.tally(),
                "lastEventSeq": event_log.last_seq(),
                "sessions": AgentSession.objects.filter(ended_at=None).count(),
                # The socket is not built yet; nothing can be connected.
                "connectedToolbars": 0,
            }
        )
