"""The protocol of `/ws`: hello → catch-up → live. See docs/wire.md, "The socket".

Who may come in was decided before (`pinbox_site.sockets`); what is sent comes from `live`.
"""

import asyncio
import contextlib
import json
import logging
import time
from typing import Any, Final, NamedTuple

from channels.generic.websocket import AsyncWebsocketConsumer

from pinbox.contract import WS_PROTOCOL

from .live import LiveLog

logger = logging.getLogger(__name__)

#: Seconds between the opening of a socket and its hello.
HELLO_S: Final = 5.0
MAX_HELLO_BYTES: Final = 4096
#: Messages that the protocol does not know, each answered by an error; the next one is the last.
MAX_STRAYS: Final = 20
#: A keepalive of the client's own, for browsers cannot send a ping, and its answer.
_PING, _PONG = "ping", "pong"
#: Seconds between two such pings, below which they count as strays.
_PING_EVERY_S: Final = 1.0

#: Seconds in which a page was taken by who is given larger ones from then on.
_QUICK_S: Final = 0.25
#: What the hub's own server offers beyond ASGI: several messages of text by one call.
_SEND_MANY: Final = "pinbox.websocket.send_many"

PROTOCOL_ERROR: Final = 4400
_FAILED: Final = 1011


class Hello(NamedTuple):
    last_seq: int
    log_id: str | None
    keeps_hub: bool


class NotHello(Exception):
    """The first message is none. The text says what is wrong, for the one who sent it."""


def read_hello(text: str | None) -> Hello:
    """The hello in a frame; `text` is None for a binary one. Raises NotHello."""
    if text is None or len(text) > MAX_HELLO_BYTES:
        raise NotHello(f"a hello is text of at most {MAX_HELLO_BYTES:,} characters")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise NotHello("the message is not JSON") from None
    if not isinstance(said, dict) or said.get("type") != "hello":
        raise NotHello("the first message must be a hello")
    if _whole(said.get("protocol"), at_least=1) is None:
        raise NotHello("protocol: must be a whole number from 1")
    if not (isinstance(said.get("consumerId"), str) and said["consumerId"]):
        raise NotHello("consumerId: must be a string of at least one character")
    last_seq = _whole(said.get("lastSeq"), at_least=0)
    if last_seq is None:
        raise NotHello("lastSeq: must be a whole number from 0")
    log_id = said.get("logId")
    keeps_hub = said.get("keepsHub") is not False
    return Hello(last_seq, log_id if isinstance(log_id, str) else None, keeps_hub)


def _whole(value: object, *, at_least: int) -> int | None:
    """The number, which JSON may also write as 3.0 or 3e0; None when it is not such a one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        return None
    return value


class LogConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels has no types
    """One socket. `scope["pinbox.subprotocol"]` is the one that its client asked for."""

    # The consumer's own channel would be one more queue a socket; news comes by way of `live`.
    channel_layer_alias = "none"

    def __init__(self, *, live: LiveLog, hello_s: float = HELLO_S) -> None:
        super().__init__()
        self._live = live
        self._hello_s = hello_s
        self._hello: asyncio.Future[Hello] = asyncio.get_running_loop().create_future()
        self._speaking: asyncio.Task[None] | None = None
        self._strays = 0
        self._pinged_at = float("-inf")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self._speaking is not None:
                self._speaking.cancel()

    async def connect(self) -> None:
        await self.accept(self.scope.get("pinbox.subprotocol"))
        self._speaking = asyncio.create_task(self._speak())

    # --- what the client says ---------------------------------------------------------------------

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self._hello.done():
            await self._answer_stray(text_data)
            return
        try:
            self._hello.set_result(read_hello(text_data))
        except NotHello as wrong:
            self._hello.cancel()
            await self._send_error(str(wrong))
            await self.close(PROTOCOL_ERROR)

    async def _answer_stray(self, text: str | None) -> None:
        """Nothing that comes after the hello means anything but a ping."""
        now = time.monotonic()
        if text == _PING and now - self._pinged_at >= _PING_EVERY_S:
            self._pinged_at = now
            await self.send(_PONG)
            return
        self._strays += 1
        if self._strays <= MAX_STRAYS + 1:
            await self._send_error("nothing may follow the hello but a ping a second")
        if self._strays == MAX_STRAYS + 1:
            await self.close(PROTOCOL_ERROR)

    async def _send_error(self, message: str) -> None:
        frame = {"type": "error", "code": "E_WS_PROTOCOL", "message": message}
        await self.send(json.dumps(frame, separators=(",", ":")))

    # --- what the hub says ------------------------------------------------------------------------

    async def _speak(self) -> None:
        try:
            async with asyncio.timeout(self._hello_s):
                hello = await self._hello
        except TimeoutError:
            await self._close_quietly(PROTOCOL_ERROR)
            return
        try:
            with self._live.following(keeps_hub=hello.keeps_hub):
                await self._follow(hello)
        except OSError:  # the client has left; its disconnect is on its way
            pass
        except Exception as error:  # the edge of a socket: nobody waits for this task's end
            # Its text may quote a pin.
            logger.error("a socket could not go on: %s", type(error).__name__)
            logger.debug("a socket could not go on", exc_info=error)
            await self._close_quietly(_FAILED)

    async def _send_all(self, frames: list[bytes]) -> None:
        """A page, at once where the server can do that; each frame is a message all the same."""
        if _SEND_MANY in self.scope.get("extensions", ()):
            await self.base_send({"type": _SEND_MANY, "texts": frames})
            return
        for frame in frames:
            await self.send(frame.decode())

    async def _close_quietly(self, code: int) -> None:
        with contextlib.suppress(OSError):
            await self.close(code)

    async def _follow(self, hello: Hello) -> None:
        """Everything after the client's cursor, and then whatever comes, for ever.

        Sending returns when the transport has room again, so what waits for a slow reader is one
        page, however far behind it is.
        """
        ends = await self._live.ends()
        is_other_log = hello.last_seq > ends.last or (
            hello.log_id is not None and ends.first is not None and hello.log_id != ends.first
        )
        cursor = 0 if is_other_log else hello.last_seq
        frames: list[bytes] = []
        if cursor < ends.last:
            frames, cursor, _ = await self._live.page_after(cursor)
        newest = max(cursor, ends.last)
        head: dict[str, Any] = {
            "type": "catch-up",
            "protocol": WS_PROTOCOL,
            "minProtocol": WS_PROTOCOL,
            "lastSeq": newest,
        }
        if ends.first is not None:
            head["logId"] = ends.first
        if is_other_log:
            head["reset"] = True
        if cursor < newest:
            head["hasMore"] = True
        # The frames are JSON already; they are put into the last place.
        opening = json.dumps(head, separators=(",", ":"))[:-1] + ',"events":['
        await self.send(opening + b",".join(frames).decode() + "]}")
        quick = False
        while True:
            frames, cursor, _ = await self._live.page_after(cursor, quick=quick)
            began = time.monotonic()
            await self._send_all(frames)
            quick = time.monotonic() - began < _QUICK_S
            # A page that was there already and a transport with room: others want the loop too.
            await asyncio.sleep(0)
