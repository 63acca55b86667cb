"""ASGI middleware: Starlette, FastAPI, and any other ASGI 3 application."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from pinbox.marks import marking

from . import page
from .page import Header
from .toolbar import DISCOVER, Answer, Toolbar, wish
from .wsgi import SEEN

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Any, Any], Awaitable[None]]

_START: Final = "http.response.start"
_BODY: Final = "http.response.body"


class AsgiMiddleware:
    """`AsgiMiddleware(app)`, or `app.add_middleware(AsgiMiddleware)`: the same application, with
    the toolbar in its pages in development.

    On when `enabled` is true (a function is asked at each request); when it is None, if
    PINBOX_INJECT is on, or if it is unset and the application says `debug` (`FastAPI(debug=True)`).
    PINBOX_INJECT=0 turns it off in any case. `project` is a folder in the project; else the current
    directory is. `templates`, Starlette's Jinja2Templates, a jinja2.Environment or a function that
    gives one, get source marks.
    """

    def __init__(
        self,
        app: App,
        *,
        enabled: bool | Callable[[], bool] | None = None,
        project: str | os.PathLike[str] | None = None,
        templates: Any = None,
    ) -> None:
        self.app = app
        self.enabled = enabled
        self.templates = templates
        self.toolbar = Toolbar(project)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or SEEN in scope or not self._is_on(scope):
            await self.app(scope, receive, send)
            return
        scope[SEEN] = True
        headers = _texts(scope["headers"])
        peer = str((scope.get("client") or ("",))[0])
        mounted = scope.get("root_path", "")
        # With a root path, servers differ in whether the path contains it.
        if scope["path"] in (DISCOVER, mounted + DISCOVER):
            found = self.toolbar.discovery(scope["method"], peer, headers)
            if found is not None:
                status, given, body = found
                await send({"type": _START, "status": status, "headers": _bytes(given)})
                await send({"type": _BODY, "body": body})
                return
        answer = self.toolbar.answer_to(scope["method"], peer, headers)
        if answer is None:
            await self.app(scope, receive, send)
            return
        self.toolbar.mark_jinja(self.templates)
        held = _Held(send, self.toolbar, answer, mounted)
        with marking(answer.marks):
            await self.app(scope, receive, held.send)
        await held.flush()

    def _is_on(self, scope: Scope) -> bool:
        named = wish()
        if named is False:
            return False
        if self.enabled is None:
            return named is True or getattr(scope.get("app"), "debug", False) is True
        return self.enabled if isinstance(self.enabled, bool) else bool(self.enabled())


class _Held:
    """Sends on what the application sends, but holds back an answer that may be a page until all
    of it is there.
    """

    def __init__(self, send: Send, toolbar: Toolbar, answer: Answer, mounted: str) -> None:
        self._send = send
        self._toolbar = toolbar
        self._answer = answer
        self._mounted = mounted
        self._start: Message | None = None
        self._parts: list[bytes] = []
        self._size = 0

    async def send(self, message: Message) -> None:
        if message["type"] == _START and self._start is None:
            # Any iterable will do, and some can be read once only.
            message = {**message, "headers": list(message.get("headers", ()))}
            if message.get("trailers") or not self._may_change(message):
                await self._send(message)
            else:
                self._start = message
            return
        if self._start is None:
            await self._send(message)
            return
        if message["type"] != _BODY:  # a file that the server itself will send, or its like
            await self.flush()
            await self._send(message)
            return
        self._parts.append(message.get("body", b""))
        self._size += len(self._parts[-1])
        if not message.get("more_body", False):
            await self._finish(self._start)
        elif self._is_endless(self._start) or self._size > page.MAX_PAGE_BYTES:
            await self.flush()

    async def flush(self) -> None:
        """Send on, as it came, whatever is held."""
        if self._start is None:
            return
        start, self._start = self._start, None
        await self._send(start)
        parts, self._parts = self._parts, []
        for part in parts:
            await self._send({"type": _BODY, "body": part, "more_body": True})

    async def _finish(self, start: Message) -> None:
        self._start = None
        body = b"".join(self._parts)
        headers = _texts(start["headers"])
        changed = self._toolbar.put(
            self._answer, start["status"], headers, body, mounted=self._mounted
        )
        if changed is not None:
            headers, body = changed
            start = {**start, "headers": _bytes(headers)}
        await self._send(start)
        await self._send({"type": _BODY, "body": body})

    def _may_change(self, start: Message) -> bool:
        headers = _texts(start["headers"])
        return self._toolbar.may_change(self._answer, start["status"], headers)

    @staticmethod
    def _is_endless(start: Message) -> bool:
        """Whether nobody has said how long the answer will be: a stream."""
        return page.length((n.lower(), v) for n, v in _texts(start["headers"])) is None


def _texts(headers: Any) -> list[Header]:
    return [(bytes(n).decode("latin-1"), bytes(v).decode("latin-1")) for n, v in headers]


def _bytes(headers: list[Header]) -> list[tuple[bytes, bytes]]:
    return [(n.lower().encode("latin-1"), v.encode("latin-1")) for n, v in headers]
