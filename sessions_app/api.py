"""HTTP for one session. Registering one also gives it what waits, so that is `delivery.api`'s."""

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from . import selectors, services
from .serializers import SessionShape, session_document


class SessionDetail(APIView):
    @extend_schema(operation_id="sessions_end", responses={200: SessionShape})
    def delete(self, request: Request, session_id: str) -> Response:
        with transaction.atomic():
            session = selectors.require(session_id)
            services.end(session, now=timezone.now())
        return Response(session_document(session))
