"""Sockets of a hub inside the test's own process: the whole stack, frame by frame, no network."""

import asyncio
import json
from contextlib import contextmanager

from asgiref.testing import ApplicationCommunicator
from django.db import connection

from pinbox.contract import Caller
from pinbox_site import auth, runtime
from pinbox_site.bridge import Bridge
from pinbox_site.gate import Gate, GateSettings
from pinbox_site.sockets import Sockets
from pins import services
from pins.consumers import LogConsumer
from pins.live import LiveLog
from pins.signals import event_committed

FULL = "full-token-" + "f" * 24
PAGE = "page-token-" + "p" * 24

#: Seconds a frame may take, far beyond what one needs.
PATIENCE_S = 10


@contextmanager
def tokens():
    """A local hub with its two tokens."""
    before = runtime.current()
    runtime.install(
        runtime.Runtime(
            project_dir=None, token=FULL, page_token=PAGE, instance="i-1", started_at=""
        )
    )
    auth.verifier.cache_clear()
    try:
        yield
    finally:
        runtime.install(before)
        auth.verifier.cache_clear()


def _drop(texts):
    author = {"userId": "u"}
    try:
        return [
            services.create_pin(
                data={"text": text, "kind": "note", "author": author},
                caller=Caller(scope="full"),
                git={},
            )
            for text in texts
        ]
    finally:
        connection.close()  # of this thread


async def drop(*texts):
    """An event for each text. The pins."""
    return await asyncio.to_thread(_drop, texts or ("Too small",))


class Process:
    """What one process of a hub has: its own end of the log, and its sockets."""

    def __init__(self, *, hello_s=5.0, settings=None, hears_commits=True, **options):
        self.live = LiveLog(**options)
        self._hears_commits = hears_commits
        sockets = Sockets(LogConsumer.as_asgi(live=self.live, hello_s=hello_s))
        self.app = Gate(Bridge(None, sockets), settings or GateSettings())
        self.sockets = []

    async def __aenter__(self):
        if self._hears_commits:
            event_committed.connect(self.live.committed)
        return self

    async def __aexit__(self, *_):
        event_committed.disconnect(self.live.committed)
        for socket in self.sockets:
            await socket.leave()
        await self.live.close()

    async def connect(self, *, token=PAGE, path="/ws", query=b"", host="127.0.0.1:4000", origin=""):
        """A socket, before it is accepted. The token goes into a subprotocol."""
        headers = [(b"host", host.encode())]
        if origin:
            headers.append((b"origin", origin.encode()))
        scope = {
            "type": "websocket",
            "asgi": {"version": "3.0"},
            "path": path,
            "raw_path": path.encode(),
            "query_string": query,
            "root_path": "",
            "headers": headers,
            "subprotocols": [] if token is None else [f"pinbox.token.{token}"],
        }
        socket = Socket(ApplicationCommunicator(self.app, scope))
        self.sockets.append(socket)
        await socket.put({"type": "websocket.connect"})
        return socket

    async def open(self, **options):
        """A socket that was accepted, before its hello."""
        socket = await self.connect(**options)
        await socket.accepted()
        return socket

    async def join(self, last_seq=0, **more):
        """A socket after its hello, and the catch-up it got."""
        socket = await self.open()
        await socket.hello(last_seq, **more)
        return socket, await socket.frame()


class Socket:
    def __init__(self, communicator):
        self._communicator = communicator

    async def put(self, message):
        await self._communicator.send_input(message)

    async def got(self):
        return await self._communicator.receive_output(PATIENCE_S)

    async def accepted(self):
        """The subprotocol that was chosen."""
        message = await self.got()
        assert message["type"] == "websocket.accept", message
        return message["subprotocol"]

    async def say(self, value):
        text = value if isinstance(value, str) else json.dumps(value)
        await self.put({"type": "websocket.receive", "text": text})

    async def hello(self, last_seq=0, **more):
        said = {"type": "hello", "protocol": 1, "consumerId": "test", "lastSeq": last_seq}
        await self.say({**said, **more})

    async def text(self):
        message = await self.got()
        assert message["type"] == "websocket.send", message
        return message["text"]

    async def frame(self):
        return json.loads(await self.text())

    async def closed(self):
        """The code it was closed with."""
        message = await self.got()
        assert message["type"] == "websocket.close", message
        return message["code"]

    def is_silent(self):
        """Nothing was sent that the test has not looked at."""
        return self._communicator.output_queue.empty()

    async def leave(self):
        await self.put({"type": "websocket.disconnect", "code": 1001})
        await self._communicator.wait(PATIENCE_S)
