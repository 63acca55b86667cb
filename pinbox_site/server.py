"""The hub's server: Daphne on a socket that was bound before, stopping in good order.

The only module that knows Daphne and Twisted.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterable
from typing import Any, Final

from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.server import Server  # installs the asyncio reactor, so it comes before twisted
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol
from twisted.internet import defer, reactor
from twisted.logger import globalLogBeginner

from pinbox import hub
from pinbox.contract import MAX_BODY_BYTES, MAX_HOOK_BODY_BYTES, PinboxError
from pinbox.lobby import Lobby

from . import auth, idle, mcp_door, runtime

logger = logging.getLogger(__name__)

#: Seconds that requests under way get to finish after a stop was asked for.
DRAIN_S: Final = 2.0
#: Bytes of a body after which the connection is cut: enough for the gate to refuse in good order
#: what is only somewhat too large.
_MAX_RECEIVED_BYTES: Final = 2 * MAX_HOOK_BODY_BYTES
#: Bytes of a request's first line, and of all its headers. A search of MAX_SEARCH_BYTES fits.
_MAX_HEAD_BYTES: Final = 64 * 1024
_TICK_S: Final = 1.0
_POLL_S: Final = 0.02
#: Seconds of silence after which a client on a socket is asked for a sign of life, and the seconds
#: it then has: a laptop that was closed leaves its sockets without a word.
_PING_EVERY_S: Final = 20.0
_PONG_WITHIN_S: Final = 30.0
#: Seconds a reader may leave the system's buffers and ours full before it is sent away, and the
#: seconds it then has to read what was sent before, and that.
_STALLED_S: Final = 60.0
_LAST_WORD_S: Final = 60.0
#: Bytes of a message on a socket, both ways: an event can be as large as the body that made it,
#: and somewhat larger.
_MAX_MESSAGE_BYTES: Final = 2 * MAX_BODY_BYTES
_MAX_RECEIVED_FRAME_BYTES: Final = 64 * 1024
#: Messages of one client that wait to be looked at; it has no reason to send a second one.
_MAX_WAITING: Final = 64
#: First bytes of a whole, unmasked message of text, with its size in two or in eight bytes.
_HEAD_16: Final = struct.Struct(">HH").pack
_HEAD_64: Final = struct.Struct(">HQ").pack
#: An extension of ASGI, and the type of its message: several texts (`texts`, in UTF-8) at once.
_SEND_MANY: Final = "pinbox.websocket.send_many"
#: Milliseconds to wait for a reader who keeps the write-ahead log from being folded.
_FOLD_MS: Final = 500
#: Close codes: of the protocol of /ws, and of RFC 6455 "service restart", "try again later".
_PROTOCOL_ERROR: Final = 4400
_SERVICE_RESTART: Final = 1012
_TRY_LATER: Final = 1013


class BoundedRequest(WebRequest):  # type: ignore[misc]
    """Daphne writes a whole body to disk before the gate sees its first header, so that any page
    could fill the disk. Here a body ends that no route would take; the gate refuses the rest.
    """

    _received = 0
    _content_type: list[bytes] | None = None

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        """Bodies are JSON whatever they are called. Twisted would read the fields of one that is
        called a form, and cut the connection at a bad one, so it is not told what this one is.
        """
        self._content_type = self.requestHeaders.getRawHeaders(b"content-type")
        self.requestHeaders.removeHeader(b"content-type")
        super().requestReceived(command, path, version)

    def process(self) -> None:
        if self._content_type is not None:
            self.requestHeaders.setRawHeaders(b"content-type", self._content_type)
        super().process()

    def handleContentChunk(self, data: bytes) -> None:
        if self._received > _MAX_RECEIVED_BYTES:
            return
        self._received += len(data)
        if self._received > _MAX_RECEIVED_BYTES:
            from .envelope import body_too_large  # Django is loaded by now

            _cut_off(self.channel, body_too_large(MAX_HOOK_BODY_BYTES))
            return
        super().handleContentChunk(data)

    def handle_exception(self, exception: BaseException) -> None:
        """What the application could not finish. Once an answer has begun, all that is left is to
        end the connection in the middle of it; Daphne's own tries another answer, and fails.
        """
        if self._response_started:
            self.loseConnection()
        else:
            super().handle_exception(exception)


class BoundedFactory(HTTPFactory):  # type: ignore[misc]
    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = BoundedRequest
        channel = protocol._channel  # behind Twisted's proxy, which has no word for these
        channel.MAX_LENGTH = channel.totalHeadersSize = _MAX_HEAD_BYTES
        channel.lineLengthExceeded = lambda line: _cut_off(channel, _head_too_large())
        return protocol


class HubSocket(WebSocketProtocol):  # type: ignore[misc]
    """A socket that makes its sender wait for a slow reader, by `has_room`: Daphne would keep in
    memory whatever the application sends.
    """

    def connectionMade(self) -> None:
        self.has_room = asyncio.Event()
        self.has_room.set()
        self._full_since: float | None = None
        self._unanswered: bytes | None = None
        self._drained_at = self._pinged_at = 0.0
        # The HTTP channel that this connection was is told otherwise, and stops reading from it.
        self.transport.unregisterProducer()
        self.transport.registerProducer(self, True)
        super().connectionMade()

    # What a transport tells its producer.

    def pauseProducing(self) -> None:
        self._full_since = reactor.seconds()
        self.has_room.clear()

    def resumeProducing(self) -> None:
        self._full_since = None
        self._drained_at = reactor.seconds()
        self.has_room.set()
        if self._unanswered is not None:
            self.onPing(self._unanswered)

    def stopProducing(self) -> None:
        self.has_room.set()

    def onPing(self, payload: bytes) -> None:
        """Who asks and does not read gets one answer, to its last ping, once there is room."""
        if self._full_since is None:
            self._unanswered = None
            super().onPing(payload)
        else:
            self._unanswered = payload

    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        if self.application_queue.qsize() < _MAX_WAITING:
            super().onMessage(payload, isBinary)
        else:
            self.send_away(_PROTOCOL_ERROR)

    def onClose(self, wasClean: bool, code: int | None, reason: str | None) -> None:
        self.has_room.set()
        super().onClose(wasClean, code, reason)

    def serverClose(self, code: int | None = None) -> None:
        self.send_away(1000 if code is None else code)

    def send_texts(self, texts: Iterable[bytes]) -> None:
        """Several messages by one write: Daphne and Autobahn take some 30 us for each."""
        self.transport.write(_framed(texts))

    def send_away(self, code: int) -> None:
        """Close, with any code: Autobahn's own `sendClose` refuses those of RFC 6455."""
        if self.state == self.STATE_OPEN:
            self.sendCloseFrame(code=code)
            self.has_room.set()
        elif self.state != self.STATE_CLOSING:
            self.dropConnection(abort=True)

    def check_timeouts(self) -> None:
        """Send away who reads nothing. Who is only slow is not asked for signs of life: a ping
        would wait behind everything else.
        """
        if self._full_since is None or self.state != self.STATE_OPEN:
            super().check_timeouts()
        elif reactor.seconds() - self._full_since > _STALLED_S:
            self.closeHandshakeTimeout = _LAST_WORD_S
            self.send_away(_TRY_LATER)

    def _sendAutoPing(self) -> None:
        self._pinged_at = reactor.seconds()
        super()._sendAutoPing()

    def onAutoPingTimeout(self) -> None:
        if self._full_since is None and self._drained_at <= self._pinged_at:
            super().onAutoPingTimeout()
        else:  # it reads, and has not come to the ping yet
            self.autoPingTimeoutCall = None


def _framed(texts: Iterable[bytes]) -> bytes:
    """Messages of text as a server sends them (RFC 6455, 5.2): each one frame, not masked."""
    pieces: list[bytes] = []
    for text in texts:
        size = len(text)
        if size < 126:
            head = bytes((0x81, size))
        elif size < 65_536:
            head = _HEAD_16(0x817E, size)
        else:
            head = _HEAD_64(0x817F, size)
        pieces += (head, text)
    return b"".join(pieces)


class HubSocketFactory(WebSocketFactory):  # type: ignore[misc]
    protocol = HubSocket


def _head_too_large() -> PinboxError:
    return PinboxError(
        "E_INVALID_INPUT",
        f"the address or a header is longer than {_MAX_HEAD_BYTES:,} bytes",
        "Send less in one request.",
        status=431,
    )


def _cut_off(channel: Any, error: PinboxError) -> None:
    """Answer outside of any request, and close."""
    from .envelope import error_body  # Django is loaded by now

    body = error_body(error)
    channel.transport.write(
        b"HTTP/1.1 %d Too Large\r\ncontent-type: application/json\r\n"
        b"connection: close\r\ncontent-length: %d\r\n\r\n%b" % (error.status, len(body), body)
    )
    channel.loseConnection()


class HubServer(Server):  # type: ignore[misc]
    """Daphne's server for one claimed project."""

    def __init__(
        self, application: Any, claim: hub.Claim, idle_limit_s: float, deliveries: "Deliveries"
    ) -> None:
        super().__init__(
            application,
            endpoints=["the claimed socket"],
            server_name="pinbox",
            ping_interval=_PING_EVERY_S,
            ping_timeout=_PONG_WITHIN_S,
            websocket_timeout=-1,  # a socket may stay for as long as its page
        )
        self.claim = claim
        self.idle_limit_s = idle_limit_s
        self.deliveries = deliveries
        self._stopping = False

    def run(self, held: list[socket.socket]) -> None:
        """Serve until stopped. `held` are connections that were accepted before.

        Daphne's own `run` takes endpoint descriptions, and looking up their parsers among all of
        Twisted's plugins costs 40 to 80 ms of a start.
        """
        self.connections: dict[Any, dict[str, Any]] = {}
        self.http_factory = BoundedFactory(self)
        self.ws_factory = HubSocketFactory(self, server=self.server_name)
        self.ws_factory.setProtocolOptions(
            autoPingTimeout=self.ping_timeout,
            allowNullOrigin=True,
            openHandshakeTimeout=self.websocket_handshake_timeout,
            maxMessagePayloadSize=_MAX_MESSAGE_BYTES,
            maxFramePayloadSize=_MAX_RECEIVED_FRAME_BYTES,
        )
        globalLogBeginner.beginLoggingTo(
            [lambda _: None], redirectStandardIO=False, discardBuffer=True
        )
        from pins.live import live_log  # Django is loaded by now

        reactor.callLater(1, self.application_checker)
        reactor.callLater(2, self.timeout_checker)
        reactor.callLater(_TICK_S, self._tick)
        reactor.callWhenRunning(self.deliveries.start)  # listens first, delivers after
        reactor.addSystemEventTrigger("before", "shutdown", self.kill_all_applications)

        loop = reactor._asyncioEventloop
        asyncio.set_event_loop(loop)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop_gently, signal.Signals(number).name)
        loop.call_soon(live_log.attach)

        self._port = reactor.adoptStreamPort(
            self.claim.listener.fileno(), socket.AF_INET, self.http_factory
        )
        self.claim.listener.close()  # the reactor has a descriptor of its own
        for connection in held:
            try:
                reactor.adoptStreamConnection(
                    connection.fileno(), socket.AF_INET, self.http_factory
                )
            except OSError:  # gone while it waited
                pass
            finally:
                connection.close()
        reactor.run(installSignalHandlers=False)

    def _tick(self) -> None:
        if self._stopping:
            return
        if idle.idle.is_over(self.idle_limit_s):
            self.stop_gently("idle")
        elif not self.claim.still_holds():
            self.stop_gently("the project's .pinbox is gone")
        else:
            self.claim.mend()
            reactor.callLater(_TICK_S, self._tick)

    def stop_gently(self, why: str) -> None:
        """Take no new connection, close sockets so that they come back, let requests under way
        finish.
        """
        if self._stopping:
            return
        self._stopping = True
        logger.info("stopping: %s", why)
        self.claim.withdraw()
        self.deliveries.stop()
        self._port.stopListening()
        for protocol in list(self.connections):
            if isinstance(protocol, HubSocket):
                protocol.send_away(_SERVICE_RESTART)
        from .asgi import mcp  # Django is loaded by now

        self._closing = asyncio.ensure_future(mcp.close())
        self._drain(reactor.seconds() + DRAIN_S)

    def _drain(self, until: float) -> None:
        # One whose body is not yet whole has no application, and counts as well.
        under_way = any(
            "disconnected" not in details
            or ("application_instance" in details and not details["application_instance"].done())
            for details in self.connections.values()
        )
        if under_way and reactor.seconds() < until:
            reactor.callLater(_POLL_S, self._drain, until)
        else:
            # One more round of the loop, so that the last answers leave.
            reactor.callLater(_POLL_S, reactor.stop)

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        if scope["type"] == "websocket":
            scope["extensions"] = {_SEND_MANY: {}}
        return super().create_application(protocol, scope)

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """ASGI's `send`: on a socket, it returns when there is room for more, and raises OSError
        when nobody is there to receive any.
        """
        kind = message["type"]
        if kind not in ("websocket.send", _SEND_MANY):
            await super().handle_reply(protocol, message)
            return
        if protocol.state != HubSocket.STATE_OPEN:
            raise OSError("the socket is closed")
        if kind == _SEND_MANY:
            protocol.send_texts(message["texts"])
        else:
            protocol.handle_reply(message)
        if not protocol.has_room.is_set():
            await protocol.has_room.wait()

    def kill_all_applications(self) -> Any:
        """Cancel what did not finish in time; Daphne's own fails on a request whose body is not
        yet whole.
        """
        unfinished = [
            details["application_instance"]
            for details in self.connections.values()
            if "application_instance" in details and not details["application_instance"].done()
        ]
        for application in unfinished:
            application.cancel()
        if not unfinished:
            return None
        ended = defer.Deferred.fromFuture(asyncio.gather(*unfinished, return_exceptions=True))
        return ended.addErrback(lambda _: None)


def _fold_log_into_database() -> None:
    """Leave one file behind that holds everything: whoever copies `pinbox.db` of a stopped hub has
    it all. SQLite does so itself when the last connection is closed, but ours end with the process.
    """
    from django.db import DatabaseError, connection

    if connection.vendor != "sqlite":
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout = {_FOLD_MS}")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except DatabaseError as error:  # nothing is lost: the next start reads the log
        logger.warning("the log could not be folded into the database: %s", type(error).__name__)


class Counted:
    """Keeps the hub awake for as long as a request of `app` is open. How long a socket does is
    `pinbox_site.asgi`'s to say; a stream of MCP does not.
    """

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket" or scope["path"] == mcp_door.PATH:
            await self.app(scope, receive, send)
            return
        with idle.idle.busy():
            await self.app(scope, receive, send)


class Deliveries:
    """The delivery worker on a thread of this process."""

    def __init__(self) -> None:
        from delivery.worker import STOP_S, Worker  # Django is loaded by now

        self._worker = Worker()
        self._stop_s = STOP_S
        self._until = 0.0
        self._thread = threading.Thread(target=self._worker.run, name="deliveries", daemon=True)

    @property
    def has_work(self) -> bool:
        return self._worker.has_work

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Tell it to end; what it has in hand is given back."""
        self._until = time.monotonic() + self._stop_s + _POLL_S
        self._worker.stop()

    def wait(self) -> None:
        """Until it ended, or its time since `stop` is over."""
        if self._thread.is_alive():
            self._thread.join(max(0.0, self._until - time.monotonic()))


def serve(claim: hub.Claim, lobby: Lobby | None) -> int:
    """Load the application, bring the database up to date, serve until stopped. Does not return:
    the process ends.
    """
    limit_s = idle.limit_s()
    state = claim.state
    runtime.install(
        runtime.Runtime(
            project_dir=claim.project,
            token=state.token,
            page_token=state.page_token,
            instance=state.instance,
            started_at=state.started_at,
        )
    )
    if lobby and (fault := auth.fault()):
        # A command started this hub, and the person behind it reads no /health.
        raise fault
    from .asgi import application
    from .schema import prepare_database

    prepare_database()
    deliveries = Deliveries()
    idle.stay_while(lambda: deliveries.has_work)
    server = HubServer(Counted(application), claim, limit_s, deliveries)
    gc.enable()
    gc.freeze()  # what was loaded stays: a request's garbage is looked for among its own only
    logger.info("version %s serves %s on port %d", state.version, claim.project, state.port)
    server.run(lobby.hand_over() if lobby else [])
    deliveries.wait()
    _fold_log_into_database()
    logger.info("stopped")
    logging.shutdown()
    # Worker threads may still hold an unfinished request; its transaction was not committed and
    # nobody was told it was.
    os._exit(0)
