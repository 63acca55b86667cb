"""`pinbox mcp`: the server of one client, on stdin and stdout, beside the hub of one project.

The hub is found anew for each call, and started by a call alone. What happens is heard from its
socket for as long as a hub is there.
"""

import contextlib
import json
import logging
import os
import random
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final, cast

import anyio
import mcp_types as types
from anyio import to_thread
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from pinbox import client, project
from pinbox.commands import hub as hubs
from pinbox.contract import WS_PROTOCOL, PinboxError, now_iso

from . import server
from .feed import Feed

#: Seconds in which a call must find or start the hub, and then for each of its requests.
_START_S: Final = 20.0
_ANSWER_S: Final = 15.0
#: Seconds between two attempts to reach the socket: doubled each time, up to the second.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 5.0
_OPEN_S: Final = 10.0
#: What ends the hearing of one hub; the last two, a frame that is none of ours.
_GONE: Final = (
    project.NoHub,
    PinboxError,
    WebSocketException,
    OSError,
    ValueError,
    LookupError,
    TypeError,
)
#: Bytes of a frame: an event can be as large as that.
_MAX_FRAME_BYTES: Final = 4 * 1024 * 1024
#: Events before the newest that are looked at when the first hub is found: those among them count
#: that happened after this server started.
_LOOK_BACK: Final = 500
#: Seconds after the end of stdin in which a client has to have read what it asked for.
_DRAIN_S: Final = 10.0


def serve(folder: Path, *, allow_mutations: bool) -> None:
    """Serve until stdin ends."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C would wait for a line on stdin
    # What the libraries have to say may quote a message.
    for name in ("mcp", "websockets"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    anyio.run(_serve, folder, allow_mutations)


async def _serve(folder: Path, allow_mutations: bool) -> None:
    feed = Feed()
    watcher = Watcher(folder, feed)

    async def ask(
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str | int | None] | None = None,
    ) -> Any:
        request = partial(_request, folder, method, path, body, query)
        try:
            return await to_thread.run_sync(request, abandon_on_cancel=True)
        finally:
            watcher.look()

    acting = hubs.acting_agent()
    made = server.build(
        ask_of=lambda _: ask,
        feed=feed,
        watch=watcher.run,
        allow_mutations=allow_mutations,
        own_origin=hubs.origin_of(*acting) if acting else None,
    )
    lines = _Lines()
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (reading, writing):
        lines.answer = writing.send
        await made.run(reading, writing, made.create_initialization_options())


class _Lines:
    """Stdin as the SDK reads it, line by line. A request that it would drop without a word, for
    which a client would wait in vain, is mended or refused.
    """

    answer: Callable[[SessionMessage], Awaitable[None]]

    async def __aiter__(self) -> AsyncIterator[str]:
        stdin = TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace")
        async for line in anyio.wrap_file(stdin):
            if _is_message(line):
                yield line
                continue
            mended = _with_whole_characters(line)
            if _is_message(mended):
                yield mended
            elif (request_id := _id_of_request(mended)) is not None:
                said = types.ErrorData(code=types.INVALID_REQUEST, message="no valid request")
                refusal = types.JSONRPCError(jsonrpc="2.0", id=request_id, error=said)
                await self.answer(SessionMessage(refusal))
        end = threading.Timer(_DRAIN_S, os._exit, (0,))  # a client may not be reading at all
        end.daemon = True
        end.start()


def _is_message(line: str) -> bool:
    try:
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return False
    return True


def _with_whole_characters(line: str) -> str:
    """JSON with U+FFFD for each half of a surrogate pair: what cuts words may leave one."""
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
    except (ValueError, RecursionError):
        return line
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _id_of_request(line: str) -> str | int | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    found = value.get("id") if isinstance(value, dict) and "method" in value else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def _request(
    folder: Path,
    method: str,
    path: str,
    body: Mapping[str, Any] | None,
    query: Mapping[str, str | int | None] | None,
) -> Any:
    hub = client.connect(folder, timeout_s=_START_S)
    hub.answer_timeout_s = _ANSWER_S
    return hub.request(method, path, body, query=query)


class Watcher:
    """Tells the feed what happens, over the socket of whichever hub runs; never starts one."""

    def __init__(self, folder: Path, feed: Feed) -> None:
        self._folder = folder
        self._feed = feed
        self._started = now_iso()
        self._cursor: int | None = None
        self._log_id: str | None = None
        self._pause = _FIRST_PAUSE_S
        self._called = anyio.Event()
        self._is_open = False

    def look(self) -> None:
        """A call found a hub, or started one: do not wait any longer."""
        if not self._is_open:
            self._called.set()

    async def run(self) -> None:
        while True:
            # It stopped, or is being replaced, or there is none.
            with contextlib.suppress(*_GONE):
                await self._follow()
            self._is_open = False
            # Not all at once, when a hub comes back.
            with anyio.move_on_after(self._pause * random.uniform(1, 1.25)):  # noqa: S311
                await self._called.wait()
            self._called = anyio.Event()
            self._pause = min(2 * self._pause, _LONGEST_PAUSE_S)

    async def _follow(self) -> None:
        """Hear one hub until it goes. Raises whatever a missing one raises."""
        state = await to_thread.run_sync(project.read_hub, self._folder)
        if self._cursor is None:
            newest = await to_thread.run_sync(self._newest)
            self._cursor = max(0, newest - _LOOK_BACK)
        async with connect(
            f"ws://127.0.0.1:{state.port}/ws",
            subprotocols=[f"pinbox.token.{state.token}"],  # type: ignore[list-item]  # a NewType of str
            compression=None,
            proxy=None,
            open_timeout=_OPEN_S,
            max_size=_MAX_FRAME_BYTES,
        ) as socket:
            self._is_open = True
            await self._hear(socket)

    def _newest(self) -> int:
        hub = client.connect(self._folder, start=False)
        hub.answer_timeout_s = _ANSWER_S
        return int(hub.request("GET", "/summary")["lastEventSeq"])

    async def _hear(self, socket: ClientConnection) -> None:
        hello = {
            "type": "hello",
            "protocol": WS_PROTOCOL,
            "consumerId": f"mcp-{os.getpid()}",
            "lastSeq": self._cursor,
            "keepsHub": False,
        }
        if self._log_id is not None:
            hello["logId"] = self._log_id
        await socket.send(json.dumps(hello))
        async for text in socket:
            frame = json.loads(text)
            if frame.get("type") == "catch-up":
                self._pause = _FIRST_PAUSE_S
                self._log_id = frame.get("logId", self._log_id)
                if frame.get("reset"):
                    self._cursor = 0
                    await self._feed.all_changed()
                for event in frame["events"]:
                    await self._heard(event)
            elif frame.get("type") == "event":
                await self._heard(frame)

    async def _heard(self, event: dict[str, Any]) -> None:
        self._cursor = event["seq"]
        if event["at"] >= self._started:
            await self._feed.happened(event["eventType"], event["payload"])
