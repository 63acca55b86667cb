"""Connections that come before the hub's server is up. Standard library only, like all of
`pinbox.hub` until the stack is loaded.
"""

import contextlib
import json
import os
import select
import socket
import threading
from typing import Final

from .contract import SCHEMA_VERSION, WS_PROTOCOL
from .project import HubState

#: Connections held while the stack loads; more wait in the kernel's queue.
_MAX_HELD: Final = 256
#: Headers that programs, but no page in a browser, send to `/health`; none of them matters to it.
_HARMLESS_HEADERS: Final = frozenset(
    (
        b"accept",
        b"accept-encoding",
        b"accept-language",
        b"cache-control",
        b"connection",
        b"sec-fetch-mode",  # Node's fetch; a browser adds sec-fetch-site
        b"user-agent",
    )
)


class Lobby:
    """Accepts connections before the server can. Answers a plain `GET /health` itself and keeps
    every other connection, unread, for the server.

    Only what the gate would surely let pass is answered here: one Host of this machine, no word of
    a browser.
    """

    def __init__(self, listener: socket.socket, state: HubState) -> None:
        self._listener = listener
        self._held: dict[int, socket.socket] = {}
        self._fresh: dict[int, socket.socket] = {}
        self._answer = self._health(state)
        self._hosts = {f"{name}:{state.port}".encode() for name in ("127.0.0.1", "localhost")}
        self._wake, self._waker = os.pipe()
        self._thread = threading.Thread(target=self._run, name="lobby", daemon=True)
        self._thread.start()

    def hand_over(self) -> list[socket.socket]:
        """Stop, and return the connections that wait for the server. The listener is the server's
        from now on.
        """
        os.write(self._waker, b".")
        self._thread.join()
        os.close(self._wake)
        os.close(self._waker)
        return [*self._held.values(), *self._fresh.values()]

    @staticmethod
    def _health(state: HubState) -> bytes:
        data = {
            "version": state.version,
            "schemaVersion": SCHEMA_VERSION,
            "wsProtocol": WS_PROTOCOL,
            "instance": state.instance,
        }
        body = json.dumps({"ok": True, "data": data}, separators=(",", ":")).encode()
        head = (
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
            "x-content-type-options: nosniff\r\ncache-control: no-store\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        return head.encode() + body

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        poll.register(self._listener, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == self._wake:
                    return
                if descriptor == self._listener.fileno():
                    self._accept(poll)
                elif (connection := self._fresh.pop(descriptor, None)) is not None:
                    # It is looked at once: what is only half here will be the server's to read.
                    poll.unregister(descriptor)
                    self._look_at(connection)
            if len(self._held) + len(self._fresh) >= _MAX_HELD:
                with contextlib.suppress(KeyError):
                    poll.unregister(self._listener)

    def _accept(self, poll: select.poll) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            connection.setblocking(False)
            self._fresh[connection.fileno()] = connection
            poll.register(connection, select.POLLIN)

    def _look_at(self, connection: socket.socket) -> None:
        try:
            seen = connection.recv(4096, socket.MSG_PEEK)
            if not self._is_plain_health(seen):
                self._held[connection.fileno()] = connection
                return
            connection.recv(len(seen))  # closing with unread bytes would reset the connection
            connection.send(self._answer)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        connection.close()

    def _is_plain_health(self, seen: bytes) -> bool:
        if not seen.startswith(b"GET /health HTTP/1.1\r\n") or not seen.endswith(b"\r\n\r\n"):
            return False
        hosts = []
        for line in seen[:-4].split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            name = name.lower()
            if name == b"host":
                hosts.append(value.strip().lower())
            elif name not in _HARMLESS_HEADERS:
                return False
        return len(hosts) == 1 and hosts[0] in self._hosts
