"""`Idempotency-Key`: the same key with the same request gets the first answer again, with another
request a conflict.

The answer is stored in the transaction of the write itself, so either both are there or neither.
"""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import cast

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from pinbox.contract import IDEMPOTENCY_HEADER, MAX_IDEMPOTENCY_KEY, PinboxError
from pins.event_log import writer

from .models import IdempotentAnswer

#: How long an answer is kept.
KEPT_FOR = timedelta(hours=48)

_HINT = "send a fresh random key with every new write"


def once(
    request: HttpRequest, scope: str, view: Callable[[], HttpResponseBase]
) -> HttpResponseBase:
    """`view()`, unless its request carries a key that was answered before. Raises E_INVALID_INPUT,
    E_CONFLICT.

    An answer that its view marked `is_secret` is not kept: such a write may be done twice.
    """
    key = request.headers.get(IDEMPOTENCY_HEADER)
    if key is None:
        return view()
    if not (0 < len(key) <= MAX_IDEMPOTENCY_KEY and key.isascii() and key.isprintable()):
        raise PinboxError(
            "E_INVALID_INPUT",
            f"{IDEMPOTENCY_HEADER}: must be 1 to {MAX_IDEMPOTENCY_KEY} printable ASCII characters",
            _HINT,
        )
    fingerprint = _fingerprint(request, scope)
    with writer():
        known = IdempotentAnswer.objects.filter(pk=key).first()
        if known is not None:
            if known.fingerprint != fingerprint:
                raise PinboxError(
                    "E_CONFLICT", f"{IDEMPOTENCY_HEADER}: was used for another request", _HINT
                )
            return HttpResponse(known.body, status=known.status, content_type="application/json")
        response = view()
        if 200 <= response.status_code < 300 and not getattr(response, "is_secret", False):
            _keep(key, fingerprint, response)
        return response


def _fingerprint(request: HttpRequest, scope: str) -> str:
    parts = (scope.encode(), str(request.method).encode(), request.get_full_path().encode())
    return hashlib.sha256(b"\0".join((*parts, request.body))).hexdigest()


def _keep(key: str, fingerprint: str, response: HttpResponseBase) -> None:
    now = datetime.now(UTC)
    IdempotentAnswer.objects.filter(created_at__lt=now - KEPT_FOR).delete()
    IdempotentAnswer.objects.create(
        key=key,
        fingerprint=fingerprint,
        status=response.status_code,
        body=_body(response).decode(),
        created_at=now,
    )


def _body(response: HttpResponseBase) -> bytes:
    if isinstance(response, HttpResponse):
        return response.content
    # A streamed answer is kept whole; it stays sendable because what it yields is replaced by what
    # was read.
    pieces = list(cast(StreamingHttpResponse, response))
    cast(StreamingHttpResponse, response).streaming_content = iter(pieces)
    return b"".join(pieces)
