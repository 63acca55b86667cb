"""Django middleware, for synchronous and asynchronous stacks alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from pinbox.marks import Files, mark_django, mark_jinja, marking

from .finder import logger
from .toolbar import DISCOVER, Answer, Toolbar, wish
from .wsgi import SEEN, request_headers

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class DjangoMiddleware:
    """`"pinbox.inject.DjangoMiddleware"` in MIDDLEWARE, after those that compress (GZipMiddleware)
    and those that write a policy (CSP): the toolbar in every page, as long as DEBUG is on.

    With DEBUG off, or PINBOX_INJECT=0, Django leaves it out of its chain when it starts. The
    project is the one that BASE_DIR is in, if the settings have it, else the current directory.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        from asgiref.sync import iscoroutinefunction, markcoroutinefunction
        from django.conf import settings
        from django.core.exceptions import MiddlewareNotUsed

        if not settings.DEBUG or wish() is False:
            raise MiddlewareNotUsed
        self.get_response = get_response
        self.toolbar = Toolbar(getattr(settings, "BASE_DIR", None))
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    # The same instance is called either way, so the choice is made here and not by a subclass.
    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self._is_async:
            return self.__acall__(request)
        found = self._discovery(request)
        if found is not None:
            return found
        answer = self._answer_to(request)
        if answer is None:
            return self.get_response(request)
        with marking(answer.marks):
            response = cast("HttpResponseBase", self.get_response(request))
        return self._with_toolbar(request, response, answer)

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        found = self._discovery(request)
        if found is not None:
            return found
        answer = self._answer_to(request)
        if answer is None:
            return await cast("Awaitable[HttpResponseBase]", self.get_response(request))
        with marking(answer.marks):
            response = await cast("Awaitable[HttpResponseBase]", self.get_response(request))
        return self._with_toolbar(request, response, answer)

    def _answer_to(self, request: HttpRequest) -> Answer | None:
        scope = getattr(request, "scope", {})  # of an ASGI middleware of ours around Django
        if SEEN in request.META or SEEN in scope:
            return None
        request.META[SEEN] = True
        self.toolbar.mark_once(_mark_engines)
        return self.toolbar.answer_to(request.method or "", _peer(request), _headers(request))

    def _discovery(self, request: HttpRequest) -> HttpResponseBase | None:
        if request.path_info != DISCOVER:
            return None
        found = self.toolbar.discovery(request.method or "", _peer(request), _headers(request))
        if found is None:
            return None
        from django.http import HttpResponse

        status, headers, body = found
        return HttpResponse(body, status=status, headers=dict(headers))

    def _with_toolbar(
        self, request: HttpRequest, response: HttpResponseBase, answer: Answer
    ) -> HttpResponseBase:
        try:
            return self._changed(request, response, answer)
        except Exception as error:
            logger.error("the toolbar could not be put into a page: %s", type(error).__name__)
            logger.debug("the toolbar could not be put into a page", exc_info=error)
            return response

    def _changed(
        self, request: HttpRequest, response: HttpResponseBase, answer: Answer
    ) -> HttpResponseBase:
        old = list(response.items())
        if response.streaming or not self.toolbar.may_change(answer, response.status_code, old):
            return response
        content: bytes = response.content  # type: ignore[attr-defined]  # not streaming: it has one
        is_written = response.has_header("Content-Security-Policy")
        changed = self.toolbar.put(
            answer,
            response.status_code,
            old,
            content,
            nonce=None if is_written else lambda: _nonce(request),
            mounted=request.META.get("SCRIPT_NAME") or "",
        )
        if changed is None:
            return response
        headers, body = changed
        for name in {name for name, _ in old} - {name for name, _ in headers}:
            del response.headers[name]
        for name, value in headers:
            response.headers[name] = value
        if body is not content:
            response.content = body  # type: ignore[attr-defined]
        return response


def _mark_engines(files: Files) -> None:
    """The templates of every engine of the settings."""
    from django.template import engines

    for backend in engines.all():
        if hasattr(backend, "engine"):
            mark_django(backend.engine, files)
        elif hasattr(backend, "env"):
            mark_jinja(backend.env, files)


def _headers(request: HttpRequest) -> list[tuple[str, str]]:
    return request_headers(request.META)


def _peer(request: HttpRequest) -> str:
    return request.META.get("REMOTE_ADDR") or ""


def _nonce(request: HttpRequest) -> str:
    """The nonce that a CSP middleware outside this one will write into the policy once it has been
    asked for: django-csp's, or Django's own from 6.0 on.
    """
    found: Any = getattr(request, "csp_nonce", None)
    if found is None:
        found = getattr(request, "_csp_nonce", None)
    return "" if found is None else str(found)
