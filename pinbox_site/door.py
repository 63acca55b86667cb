"""From a request to its API view: authenticate, find the route, keep writes idempotent, call the
view.

The bridge and Django's own handler (by `ApiDoor`) both come through here, so they answer alike.
"""

import re
import time
from collections.abc import Callable, Iterator
from typing import cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.urls import get_resolver

from delivery import acknowledge, clock
from pinbox.contract import ATTACHMENT_ID, SESSION_HEADER, Caller
from pins import attachments

from . import auth, envelope, idempotency

#: What Django's own handler serves: pages with sessions, cookies and CSRF.
_PAGES = ("/admin/", "/static/")
#: What may be asked for by an address alone.
_SIGNED = re.compile(f"/media/{ATTACHMENT_ID}")
_REFERENCE = attachments.REFERENCE.encode()
#: (method, route name) -> what an agent's own session shows of a pin by using that route.
_SIGNS: dict[tuple[str | None, str | None], str] = {
    ("GET", "pin"): "show",
    ("POST", "thread"): "reply",
    ("POST", "resolve"): "resolve",
    ("POST", "verify"): "reopen",
}


def is_api(path: str) -> bool:
    return not path.startswith(_PAGES)


def answer(request: HttpRequest) -> HttpResponseBase:
    """The answer to an API request, whatever happens. Never raises."""
    try:
        return _answer(request)
    except Exception as error:  # the edge of the API: everything leaves as the envelope
        return envelope.response_to(error, request)


def _answer(request: HttpRequest) -> HttpResponseBase:
    if request.path == "/health" and request.method == "GET":
        return auth.health()
    # Before any route is looked for: without a token an unknown path is 401 like any other.
    caller = _caller(request)
    request.pinbox_caller = caller  # type: ignore[attr-defined]
    found = get_resolver(settings.ROOT_URLCONF).resolve(request.path_info)

    def call() -> HttpResponseBase:
        response: HttpResponseBase = found.func(request, *found.args, **found.kwargs)
        if isinstance(response, SimpleTemplateResponse):
            response.render()
        return response

    arrived = clock.now()
    writes = request.method == "POST"
    response = idempotency.once(request, caller.scope, call) if writes else call()
    _fill_attachments(response, caller)  # after it was kept: addresses get old
    session = request.headers.get(SESSION_HEADER)
    sign = _SIGNS.get((request.method, found.url_name))
    if session and sign and response.status_code < 300 and caller.scope == "full":
        acknowledge.observe(session=session, pin_id=found.kwargs["pin_id"], sign=sign, now=arrived)
    return response


def _caller(request: HttpRequest) -> Caller:
    """Who asks. Raises PinboxError. An address that was signed is looked at by its own view."""
    reads = request.method in {"GET", "HEAD"}
    if "signature" in request.GET and _SIGNED.fullmatch(request.path) and reads:
        return Caller("signed")
    return auth.check(auth.bearer(request.META.get("HTTP_AUTHORIZATION")))


def _fill_attachments(response: HttpResponseBase, caller: Caller) -> None:
    """Each attachment in an answer gets its address, and its path where that means something."""
    if not response.get("Content-Type", "").startswith("application/json"):
        return
    now = time.time()
    with_path = caller.scope == "full" and attachments.are_readers_here()
    if isinstance(response, StreamingHttpResponse):
        # A piece holds whole items of a list.
        pieces = cast(Iterator[bytes], response.streaming_content)
        response.streaming_content = (_filled(piece, now, with_path) for piece in pieces)
    elif isinstance(response, HttpResponse):
        response.content = _filled(response.content, now, with_path)


def _filled(body: bytes, now: float, with_path: bool) -> bytes:
    if _REFERENCE not in body:
        return body
    return attachments.filled(body.decode(), now, with_path=with_path).encode()


class ApiDoor:
    """Middleware: lets Django's own handler answer API paths through the same door."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return answer(request) if is_api(request.path) else self.get_response(request)
