"""The same server over streamable HTTP, inside the hub. `pinbox_site.mcp_door` decides who gets
here.

A tool asks the hub as its own client would, with the credential of the request that called it: the
same routes, checks and lanes, without a network between.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from json import dumps, loads
from typing import Any, Final, cast

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request

from pinbox.client import answer_data, encode_query
from pinbox.contract import IDEMPOTENCY_HEADER, MAX_BODY_BYTES, PinboxError
from pinbox_site import idle
from pins.live import LiveLog

from . import server
from .feed import Feed

App = Callable[[Any, Any, Any], Awaitable[None]]

#: Seconds without a request after which a session of the older revisions is forgotten, and how
#: many there may be.
_SESSION_S: Final = 30 * 60
_MAX_SESSIONS: Final = 256
#: What of a request the hub's own routes look at.
_PASSED_ON: Final = ("authorization", "host")


class HttpServer:
    """Made and started in the hub's loop, by the first request."""

    _running: asyncio.Task[None]

    def __init__(self, app: App, live: LiveLog) -> None:
        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what it says may quote a message
        self._app = app
        self._live = live
        self._feed = Feed()
        made = server.build(
            ask_of=lambda ctx: _Ask(app, cast(Request, ctx.request)),
            feed=self._feed,
            watch=self._watch,
            allow_mutations=os.environ.get("PINBOX_MCP_MUTATIONS") == "1",
        )
        self._manager = StreamableHTTPSessionManager(
            made,
            # One process of several knows no session that another one opened.
            stateless=bool(os.environ.get("REDIS_URL")),
            session_idle_timeout=_SESSION_S,
            max_sessions=_MAX_SESSIONS,
            max_request_body_size=MAX_BODY_BYTES,
        )

    async def start(self) -> None:
        """Return when requests may come. Raises whatever kept it from starting."""
        ready = asyncio.get_running_loop().create_future()

        async def run() -> None:
            async with self._manager.run():
                ready.set_result(None)
                await asyncio.Event().wait()

        self._running = asyncio.create_task(run())
        await asyncio.wait({ready, self._running}, return_when=asyncio.FIRST_COMPLETED)
        if self._running.done():
            self._running.result()

    @property
    def has_ended(self) -> bool:
        return self._running.done()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """End every stream."""
        self._feed.listen.close()
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)

    async def _watch(self) -> None:
        cursor = (await self._live.ends()).last
        with self._live.following(keeps_hub=False):
            while True:
                page = await self._live.page_after(cursor)
                cursor = page.last
                for frame in page.frames:
                    event = loads(frame)
                    await self._feed.happened(event["eventType"], event["payload"])


class _Ask:
    """One request to the application behind us (`tools.Ask`)."""

    def __init__(self, app: App, request: Request) -> None:
        self._app = app
        self._headers = [
            (name.encode(), request.headers[name].encode("latin-1"))
            for name in _PASSED_ON
            if name in request.headers
        ]
        self._ends = {name: request.scope.get(name) for name in ("client", "server", "scheme")}

    async def __call__(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str | int | None] | None = None,
    ) -> Any:
        content = b"" if body is None else dumps(body).encode()
        if len(content) > MAX_BODY_BYTES:
            raise PinboxError("E_INVALID_INPUT", "the text is too long")
        headers = [*self._headers, (b"content-length", b"%d" % len(content))]
        if method != "GET":
            key = os.urandom(16).hex().encode()
            headers += [
                (b"content-type", b"application/json"),
                (IDEMPOTENCY_HEADER.lower().encode(), key),
            ]
        scope = {
            **self._ends,
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": encode_query(query or {}).removeprefix("?").encode(),
            "root_path": "",
            "headers": headers,
        }
        with idle.idle.busy():
            return await _exchanged(self._app, scope, content)


async def _exchanged(app: App, scope: Any, content: bytes) -> Any:
    status, pieces = 500, list[bytes]()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Mapping[str, Any]) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            pieces.append(message.get("body", b""))

    await app(scope, receive, send)
    return answer_data(status, b"".join(pieces))
