"""The API's own ASGI handler: a request goes straight to `door.answer` on a lane, without Django's
request machinery.

Django's handler costs about 2 ms a request (measured in process; this takes a tenth of that). Two
lanes of one thread each: one reads, one writes, so reads never wait for a write and writes never
wait for SQLite's lock. Admin pages go to Django.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from . import door, sockets

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

_READS = {"GET", "HEAD"}


class Bridge:
    """`sockets` speaks on them, `django` answers what is not the API."""

    def __init__(
        self,
        django: Callable[[Scope, Receive, Send], Awaitable[None]],
        sockets: Callable[[Scope, Receive, Send], Awaitable[None]],
    ) -> None:
        self._django = django
        self._sockets = sockets
        self._reads = ThreadPoolExecutor(1, thread_name_prefix="reads")
        self._writes = ThreadPoolExecutor(1, thread_name_prefix="writes")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket" or scope["path"] == sockets.PATH:
            await self._sockets(scope, receive, send)
            return
        if scope["type"] != "http" or not door.is_api(scope["path"]):
            await self._django(scope, receive, send)
            return
        body = await _read(receive)
        if body is None:
            return
        lane = self._reads if scope["method"] in _READS else self._writes
        loop = asyncio.get_running_loop()
        response = await loop.run_in_executor(lane, _answer, scope, body)
        start = {
            "type": "http.response.start",
            "status": response.status_code,
            "headers": [],
            "trailers": False,
        }
        if not response.streaming:
            response["Content-Length"] = str(len(response.content))
            await send({**start, "headers": _headers(response)})
            await _send_piece(send, response.content, last=True)
            return
        pieces: Iterator[bytes] = iter(response.streaming_content)
        try:
            # Before the head: until then, what goes wrong can still be an answer of its own.
            piece = await loop.run_in_executor(lane, next, pieces, None)
            await send({**start, "headers": _headers(response)})
            while piece is not None:
                await _send_piece(send, piece, last=False)
                piece = await loop.run_in_executor(lane, next, pieces, None)
        finally:
            await loop.run_in_executor(lane, response.close)
        await _send_piece(send, b"", last=True)


def _headers(response: HttpResponseBase) -> list[tuple[bytes, bytes]]:
    return [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in response.items()
    ]


async def _send_piece(send: Send, piece: bytes, *, last: bool) -> None:
    await send({"type": "http.response.body", "body": piece, "more_body": not last})


async def _read(receive: Receive) -> bytes | None:
    """The whole body (the gate has capped it), or None when the client left."""
    pieces = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        if message["type"] == "http.request":
            pieces.append(message["body"])
            if not message["more_body"]:
                return b"".join(pieces)


def _answer(scope: Scope, body: bytes) -> Any:
    for connection in connections.all(initialized_only=True):
        connection.close_if_unusable_or_obsolete()
    request: HttpRequest = ASGIRequest(scope, BytesIO(body))
    response: HttpResponseBase = door.answer(request)
    return response
