"""WSGI middleware: Flask, and any other application of PEP 3333."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from pinbox.marks import marking

from . import page
from .page import Header
from .toolbar import DISCOVER, Answer, Toolbar, wish

Environ = dict[str, Any]
Write = Callable[[bytes], object]
StartResponse = Callable[..., Write]
App = Callable[[Environ, StartResponse], Iterable[bytes]]

_HEADERS: Final = {
    "HTTP_HOST": "host",
    "HTTP_SEC_FETCH_DEST": "sec-fetch-dest",
    "HTTP_SEC_FETCH_SITE": "sec-fetch-site",
    "HTTP_X_FORWARDED_HOST": "x-forwarded-host",
    "HTTP_X_FORWARDED_FOR": "x-forwarded-for",
    "HTTP_X_REAL_IP": "x-real-ip",
    "HTTP_FORWARDED": "forwarded",
}
#: In the environ once a middleware of ours has a request, so that another one leaves it alone.
SEEN: Final = "pinbox.inject"


class WsgiMiddleware:
    """`WsgiMiddleware(app)`: the same application, with the toolbar in its pages in development.

    On when `enabled` is true (a function is asked at each request), or when it is None and
    PINBOX_INJECT is on. PINBOX_INJECT=0 turns it off in any case. `project` is a folder in the
    project; else the current directory is. `templates`, a jinja2.Environment or a function that
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

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if SEEN in environ or not self._is_on():
            return self.app(environ, start_response)
        environ[SEEN] = True
        method = environ.get("REQUEST_METHOD", "")
        headers = request_headers(environ)
        peer = environ.get("REMOTE_ADDR") or ""
        if environ.get("PATH_INFO") == DISCOVER:
            found = self.toolbar.discovery(method, peer, headers)
            if found is not None:
                status, given, body = found
                start_response("200 OK" if status == 200 else "503 Service Unavailable", given)
                return [body]
        answer = self.toolbar.answer_to(method, peer, headers)
        if answer is None:
            return self.app(environ, start_response)
        self.toolbar.mark_jinja(self.templates)
        held = _Held(start_response, self.toolbar, answer, environ.get("SCRIPT_NAME") or "")
        with marking(answer.marks):
            chunks = self.app(environ, held)
            if held.is_sent:
                return chunks
            if not held.status:
                return _Late(held, chunks, answer)
            if held.is_endless(chunks):
                held.send()
                return chunks
            try:
                return _Whole([held.finish(b"".join(chunks))], chunks)
            except BaseException:
                _close(chunks)  # the server never gets to see them
                raise

    def _is_on(self) -> bool:
        named = wish()
        if named is False or self.enabled is None:
            return named is True
        return self.enabled if isinstance(self.enabled, bool) else bool(self.enabled())


def request_headers(environ: Environ) -> list[Header]:
    return [(name, environ[key]) for key, name in _HEADERS.items() if key in environ]


class _Held:
    """A start_response that keeps the head of an answer that may be a page."""

    def __init__(
        self, start_response: StartResponse, toolbar: Toolbar, answer: Answer, mounted: str
    ) -> None:
        self._start_response = start_response
        self._toolbar = toolbar
        self._answer = answer
        self._mounted = mounted
        self._write: Write | None = None
        self._rest: tuple[Any, ...] = ()
        self.status = ""
        self.headers: list[Header] = []

    @property
    def is_sent(self) -> bool:
        return self._write is not None

    def __call__(self, status: str, headers: list[Header], *exc_info: Any) -> Write:
        if self.is_sent:
            return self._start_response(status, headers, *exc_info)
        self.status, self.headers, self._rest = status, headers, exc_info
        if self._toolbar.may_change(self._answer, self._code(), headers):
            return self._write_through
        return self.send()

    def _code(self) -> int:
        return int(self.status[:3]) if self.status[:3].isdecimal() else 0

    def _write_through(self, data: bytes) -> None:
        """An application that writes (PEP 3333's old way) streams: its answer is no page to us."""
        write = self._write or self.send()
        write(data)

    def send(self, headers: list[Header] | None = None) -> Write:
        given = self.headers if headers is None else headers
        self._write = self._start_response(self.status, given, *self._rest)
        return self._write

    def is_endless(self, chunks: Iterable[bytes]) -> bool:
        """Whether nobody has said how long the answer will be."""
        if page.length((name.lower(), value) for name, value in self.headers) is not None:
            return False
        try:
            return len(chunks) != 1  # type: ignore[arg-type]
        except Exception:
            return True

    def finish(self, body: bytes) -> bytes:
        """Send the head of an answer whose body is `body`; what to send as its body."""
        if self.is_sent:
            return body
        changed = self._toolbar.put(
            self._answer, self._code(), self.headers, body, mounted=self._mounted
        )
        if changed is None:
            self.send()
            return body
        self.send(changed[0])
        return changed[1]


class _Whole(list[bytes]):
    """A body in one part, which closes what it was made of."""

    def __init__(self, parts: list[bytes], made_of: Iterable[bytes]) -> None:
        super().__init__(parts)
        self._made_of = made_of

    def close(self) -> None:
        _close(self._made_of)


class _Late:
    """The body of an application that is a generator: its head comes with its first part."""

    def __init__(self, held: _Held, chunks: Iterable[bytes], answer: Answer) -> None:
        self._held = held
        self._chunks = chunks
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        held, parts = self._held, iter(self._chunks)
        with marking(self._answer.marks):
            body = next(parts, b"")
            is_whole = held.status and not held.is_sent and not held.is_endless(self._chunks)
            if is_whole:
                body = held.finish(body + b"".join(parts))
        if held.status and not held.is_sent:
            held.send()
        yield body
        if not is_whole:
            yield from parts

    def close(self) -> None:
        _close(self._chunks)


def _close(chunks: Iterable[bytes]) -> None:
    close = getattr(chunks, "close", None)
    if close is not None:
        close()
