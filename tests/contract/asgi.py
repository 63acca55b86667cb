"""Raw ASGI calls: the only way to send the headers that no client library would let through."""

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple

from asgiref.sync import async_to_sync

Header = tuple[bytes, bytes]


class Answer(NamedTuple):
    """What left the application. `headers` keeps duplicates."""

    status: int
    headers: list[Header]
    body: bytes

    def header(self, name: str) -> str | None:
        values = [value.decode() for key, value in self.headers if key.decode().lower() == name]
        assert len(values) < 2, f"{name} was sent twice"
        return values[0] if values else None

    @property
    def cors(self) -> list[bytes]:
        return [key for key, _ in self.headers if key.startswith(b"access-control-")]


def request(
    app: Any,
    method: str = "GET",
    path: str = "/pins",
    *,
    headers: Iterable[tuple[str, str]] = (),
    host: str | None = "127.0.0.1:4000",
    body: bytes | Iterable[bytes] = b"",
    query: bytes = b"",
) -> Answer:
    """One HTTP request. A body that is no `bytes` comes in these chunks, without Content-Length."""
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    if host is not None:
        raw.insert(0, (b"host", host.encode("latin-1")))
    chunks = [body] if isinstance(body, bytes) else list(body)
    if not isinstance(body, bytes):
        raw.append((b"transfer-encoding", b"chunked"))
    elif body and not any(name == b"content-length" for name, _ in raw):
        raw.append((b"content-length", b"%d" % len(body)))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "root_path": "",
        "headers": raw,
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 4000),
    }
    incoming: list[dict[str, Any]] = [
        {"type": "http.request", "body": chunk, "more_body": index + 1 < len(chunks)}
        for index, chunk in enumerate(chunks)
    ]
    sent = _run(app, scope, incoming)
    assert sent, "no answer"
    assert sent[0]["type"] == "http.response.start"
    assert not sent[-1].get("more_body", False)
    assert [message["type"] for message in sent[1:]] == ["http.response.body"] * (len(sent) - 1)
    pieces = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], list(sent[0]["headers"]), pieces)


def handshake(
    app: Any, *, headers: Iterable[tuple[str, str]] = (), host: str | None = "127.0.0.1:4000"
) -> str:
    """The type of the first message a WebSocket upgrade of /ws is answered with."""
    raw = [(name.lower().encode(), value.encode()) for name, value in headers]
    if host is not None:
        raw.insert(0, (b"host", host.encode()))
    scope = {
        "type": "websocket",
        "asgi": {"version": "3.0"},
        "path": "/ws",
        "raw_path": b"/ws",
        "query_string": b"",
        "root_path": "",
        "headers": raw,
        "subprotocols": [],
    }
    sent = _run(app, scope, [{"type": "websocket.connect"}])
    kind: str = sent[0]["type"]
    return kind


def _run(app: Any, scope: Any, incoming: list[Any]) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def receive() -> Any:
        if incoming:
            return incoming.pop(0)
        # A client that stays and says nothing more.
        return await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        sent.append(message)

    async_to_sync(app)(scope, receive, send)
    return sent
