"""The gate in front of everything: Host, Origin, CORS, the body's size, /health, the last resort.

Plain ASGI, so that it also guards the socket and whatever Django itself answers. It decides from
headers alone; who is asking is `pinbox_site.auth`'s business, one step further in.
"""

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

from pinbox.contract import (
    IDEMPOTENCY_HEADER,
    MAX_ATTACHMENT_BYTES,
    MAX_BODY_BYTES,
    MAX_HOOK_BODY_BYTES,
    PinboxError,
)

from . import auth
from .envelope import (
    MAX_QUOTED,
    as_pinbox_error,
    body_too_large,
    error_body,
    log_incident,
    plain,
)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
#: Any ASGI application; frameworks spell the types of the three arguments differently.
App = Callable[[Any, Any, Any], Awaitable[None]]
Header = tuple[bytes, bytes]

#: Which port is not judged: a forwarded port is honest, and rebinding needs another name.
_PORT: Final = rb"(?::[0-9]{1,5})?"
_LOOPBACK: Final = (b"localhost", b"127.0.0.1", b"[::1]")
#: What PINBOX_ALLOWED_HOSTS may hold; a wildcard would open the hub to rebinding.
_HOST_NAME: Final = re.compile(r"(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:]+\])\Z")
#: What PINBOX_ALLOWED_ORIGINS may hold.
_ORIGIN: Final = re.compile(r"https?://(?:[a-z0-9_.-]+|\[[0-9a-f:]+\])(?::[0-9]{1,5})?\Z")

_WATCHED: Final = frozenset(
    (
        b"host",
        b"origin",
        b"sec-fetch-site",
        b"content-length",
        b"transfer-encoding",
        b"access-control-request-headers",
        b"access-control-request-private-network",
    )
)
_METHODS: Final = b"GET, POST, OPTIONS"
_HEADERS: Final = b"authorization, content-type"
_MAX_AGE_S: Final = b"600"
_JSON: Final = (b"content-type", b"application/json")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """The names a team hub is reached by and the pages that may call it; both empty on a laptop."""

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "GateSettings":
        def read(name: str) -> tuple[str, ...]:
            parts = environ.get(name, "").split(",")
            return tuple(part.strip().lower() for part in parts if part.strip())

        return cls(hosts=read("PINBOX_ALLOWED_HOSTS"), origins=read("PINBOX_ALLOWED_ORIGINS"))

    def problems(self) -> list[auth.Problem]:
        found = []
        if not all(_HOST_NAME.match(host) for host in self.hosts):
            found.append(
                auth.Problem(
                    id="pinbox.E008",
                    message="PINBOX_ALLOWED_HOSTS has an entry that is not a host name",
                    hint="Give exact host names without port, separated by commas.",
                )
            )
        if not all(_ORIGIN.match(origin) for origin in self.origins):
            found.append(
                auth.Problem(
                    id="pinbox.E009",
                    message="PINBOX_ALLOWED_ORIGINS has an entry that is not an origin",
                    hint="Give origins as https://app.example, separated by commas.",
                )
            )
        return found


@dataclass(slots=True)
class _Seen:
    """The headers the gate looks at. A header that must come once counts how often it came."""

    host: bytes = b""
    hosts: int = 0
    origin: bytes = b""
    origins: int = 0
    fetch_site: bytes = b""
    length: bytes = b""
    has_body: bool = False
    wants: bytes = b""
    private_network: bool = False


class AnswerCut(Exception):
    """An answer failed after it had begun."""


class Gate:
    """`Gate(app)`: an ASGI application that lets through what may come in."""

    def __init__(self, app: App, settings: GateSettings | None = None) -> None:
        self.app = app
        self.settings = settings or GateSettings.from_environ(os.environ)
        self.is_team = bool(self.settings.hosts)
        names = [host.encode() for host in self.settings.hosts if _HOST_NAME.match(host)]
        self._host = _one_of([*_LOOPBACK, *names], prefix=b"")
        # Any scheme and port of a loopback page may call a laptop's hub; a team names its origins.
        self._loopback_origin = _one_of(_LOOPBACK, prefix=rb"[a-z][a-z0-9+.-]*://")
        self._origins = frozenset(origin.encode() for origin in self.settings.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("root_path"):
            # Daphne takes it from a header of the request; a caller must not move the hub's routes.
            scope = {**scope, "root_path": ""}
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "websocket":
                await self._websocket(scope, receive, send)
            case _:
                await self.app(scope, receive, send)

    # --- http -------------------------------------------------------------------------------------

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen = _look(scope["headers"])
        if not self._is_host_allowed(seen):
            await _answer_error(send, _wrong_host())
            return
        if seen.origins:
            if not self._is_origin_allowed(seen):
                await answer(send, 403, b"", [])
                return
            if scope["method"] == "OPTIONS":
                await answer(send, 204, b"", _preflight_headers(seen))
                return
        elif seen.fetch_site == b"cross-site" and not _is_signed(scope):
            # An <img>, <script> or link of another site: it has no Origin, but the browser says so.
            await _answer_error(send, _cross_site())
            return
        outgoing = _Outgoing(send, seen.origin)
        if scope["path"] == "/health" and scope["method"] == "GET":
            status, body = auth.health_document()
            await answer(outgoing.send, status, body, [_JSON])
            return
        try:
            if seen.has_body:
                scope, receive = await _bounded(scope, receive, seen)
            await self.app(scope, receive, outgoing.send)
        except Exception as error:
            where = plain(f"{scope['method']} {scope['path']}", MAX_QUOTED)
            if outgoing.started:
                # Too late for an answer of ours: the server must cut the connection. It logs what
                # it is given, so that must not be the exception itself.
                incident = log_incident(error, f"the answer to {where}")
                raise AnswerCut(f"incident {incident}") from None
            await _answer_error(outgoing.send, as_pinbox_error(error, where))

    def _is_host_allowed(self, seen: _Seen) -> bool:
        return seen.hosts == 1 and self._host.match(seen.host) is not None

    def _is_origin_allowed(self, seen: _Seen) -> bool:
        if seen.origins != 1:
            return False
        if not self.is_team:
            return self._loopback_origin.match(seen.origin) is not None
        _, separator, place = seen.origin.partition(b"://")
        is_same = separator != b"" and place.lower() == seen.host.lower()
        return is_same or seen.origin.lower() in self._origins

    # --- websocket --------------------------------------------------------------------------------

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A page of another site is refused before the handshake; without Origin it is no page."""
        seen = _look(scope["headers"])
        allowed = self._is_host_allowed(seen) and (
            self._is_origin_allowed(seen) if seen.origins else seen.fetch_site != b"cross-site"
        )
        if allowed:
            await self.app(scope, receive, send)
            return
        await receive()
        await send({"type": "websocket.close", "code": 1008})


# --- headers --------------------------------------------------------------------------------------


def _one_of(hosts: Iterable[bytes], *, prefix: bytes) -> re.Pattern[bytes]:
    """Exactly one of these names, in any case, with or without a port."""
    names = b"|".join(re.escape(host) for host in hosts)
    return re.compile(prefix + b"(?:" + names + b")" + _PORT + rb"\Z", re.IGNORECASE)


def _look(headers: Iterable[Header]) -> _Seen:
    seen = _Seen()
    for name, value in headers:
        if name not in _WATCHED:
            continue
        match name:
            case b"host":
                seen.host = value
                seen.hosts += 1
            case b"origin":
                seen.origin = value
                seen.origins += 1
            case b"sec-fetch-site":
                seen.fetch_site = value.lower()
            case b"content-length":
                seen.length = value
                seen.has_body = True
            case b"transfer-encoding":
                seen.has_body = True
            case b"access-control-request-headers":
                seen.wants = value.lower()
            case b"access-control-request-private-network":
                seen.private_network = True
    return seen


def _is_signed(scope: Scope) -> bool:
    """Whether this may be the address of an attachment that was given to a page: to the browser, a
    page under `localhost` that links to it is of another site than a hub under 127.0.0.1.
    """
    return scope["path"].startswith("/media/") and b"signature=" in scope["query_string"]


def _preflight_headers(seen: _Seen) -> list[Header]:
    allowed = _HEADERS
    extra = IDEMPOTENCY_HEADER.lower().encode()
    # Only to a page that asks, so that older clients see the two headers they have always seen.
    if extra in re.split(rb"[\s,]+", seen.wants):
        allowed += b", " + extra
    headers = [
        (b"access-control-allow-origin", seen.origin),
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", allowed),
        (b"access-control-max-age", _MAX_AGE_S),
        (b"vary", b"origin"),
    ]
    if seen.private_network:
        headers.append((b"access-control-allow-private-network", b"true"))
    return headers


class _Outgoing:
    """Adds to the app's answer what every answer has, and remembers that it began."""

    __slots__ = ("_origin", "_send", "started")

    def __init__(self, send: Send, origin: bytes) -> None:
        self._send = send
        self._origin = origin
        self.started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            message = {**message, "headers": self._headers(message.get("headers", ()))}
        await self._send(message)

    def _headers(self, given: Iterable[Header]) -> list[Header]:
        headers: list[Header] = []
        vary, may_sniff, may_store = b"", True, True
        for name, value in given:
            lower = name.lower()
            if lower == b"vary":
                vary = vary + b", " + value if vary else value
                continue
            if lower == b"x-content-type-options":
                may_sniff = False
            elif lower == b"cache-control":
                may_store = False
            headers.append((name, value))
        if may_sniff:
            headers.append((b"x-content-type-options", b"nosniff"))
        if may_store:
            headers.append((b"cache-control", b"no-store"))
        if self._origin:
            headers.append((b"access-control-allow-origin", self._origin))
            vary = vary + b", origin" if vary else b"origin"
        if vary:
            headers.append((b"vary", vary))
        return headers


# --- bodies ---------------------------------------------------------------------------------------


async def _bounded(scope: Scope, receive: Receive, seen: _Seen) -> tuple[Scope, Receive]:
    """The same request with its body read, within the route's limit and with its true length.

    Django ignores a body that came in chunks, for it has no Content-Length. Raises E_INVALID_INPUT
    (413; E_ATTACHMENT for an upload) for a body that is too large, by its declared length or by
    what arrives.
    """
    limit, code = _limit_of(scope["path"])
    if seen.length and not seen.length.isdigit():
        raise PinboxError("E_INVALID_INPUT", "the Content-Length is not a number")
    # Many digits are compared by their count: int() refuses more than 4,300 of them.
    if len(seen.length.lstrip(b"0")) > 18 or int(seen.length or b"0") > limit:
        raise body_too_large(limit, code)
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return scope, _replay(message, receive)
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise body_too_large(limit, code)
        chunks.append(chunk)
        if not message.get("more_body", False):
            break
    body = b"".join(chunks)
    headers = [
        pair
        for pair in scope["headers"]
        if pair[0] not in (b"content-length", b"transfer-encoding")
    ]
    headers.append((b"content-length", b"%d" % len(body)))
    replayed = {"type": "http.request", "body": body, "more_body": False}
    return {**scope, "headers": headers}, _replay(replayed, receive)


def _limit_of(path: str) -> tuple[int, str]:
    """Bytes that the body of a route may have, and the code of the refusal."""
    if path.startswith("/hooks/"):
        return MAX_HOOK_BODY_BYTES, "E_INVALID_INPUT"
    if path == "/attachments":
        return MAX_ATTACHMENT_BYTES, "E_ATTACHMENT"
    return MAX_BODY_BYTES, "E_INVALID_INPUT"


def _replay(first: Message, receive: Receive) -> Receive:
    waiting = [first]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message


# --- answers --------------------------------------------------------------------------------------


async def answer(send: Send, status: int, body: bytes, headers: list[Header]) -> None:
    if status != 204:
        headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _answer_error(send: Send, error: PinboxError) -> None:
    headers = [_JSON]
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await answer(send, error.status, error_body(error), headers)


def _wrong_host() -> PinboxError:
    return PinboxError(
        "E_AUTH",
        "the hub does not answer to the name in this request's Host header",
        "Use 127.0.0.1 or localhost; a team's hub lists its names in PINBOX_ALLOWED_HOSTS.",
        status=403,
    )


def _cross_site() -> PinboxError:
    return PinboxError(
        "E_AUTH",
        "a page of another site may not load anything from the hub",
        "Open this address yourself: type or paste it into the browser.",
        status=403,
    )
