"""A client of sockets that costs next to nothing: many of them in one thread."""

import json
import selectors
import socket
import struct
from collections.abc import Iterator
from typing import Any


def event_frame(seq: int, payload: dict[str, Any]) -> str:
    head = {"type": "event", "seq": seq, "eventType": "pin.created"}
    return json.dumps(head | {"at": "2026-01-01T00:00:00.000Z", "payload": payload})


class Wire:
    """One socket, connected, after its hello."""

    def __init__(self, port: int, token: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(
            f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: pinbox.token.{token}"
            "\r\n\r\n".encode()
        )
        self._rest = bytearray()
        while b"\r\n\r\n" not in self._rest:
            self._rest += self.socket.recv(65536)
        if not self._rest.startswith(b"HTTP/1.1 101"):
            raise RuntimeError(bytes(self._rest[:200]))
        del self._rest[: self._rest.index(b"\r\n\r\n") + 4]
        said = {"type": "hello", "protocol": 1, "consumerId": "bench", "lastSeq": 0}
        self._send(1, json.dumps(said).encode())

    def _send(self, opcode: int, payload: bytes) -> None:
        """A frame, masked with zeros."""
        self.socket.sendall(bytes([0x80 | opcode, 0x80 | len(payload)]) + bytes(4) + payload)

    def ready(self) -> Iterator[bytes]:
        """The whole frames of text among what has come. Answers pings."""
        received = self.socket.recv(262_144)
        if not received:
            raise RuntimeError("the hub closed the socket")
        self._rest += received
        at = 0
        while (frame := self._frame(at)) is not None:
            opcode, start, at = frame
            payload = bytes(self._rest[start:at])
            if opcode == 1:
                yield payload
            elif opcode == 9:
                self._send(10, payload)
            elif opcode == 8:
                raise RuntimeError(f"closed with {struct.unpack('>H', payload[:2])[0]}")
        del self._rest[:at]

    def _frame(self, at: int) -> tuple[int, int, int] | None:
        """Opcode, start and end of the payload of the frame that begins there, if it is whole."""
        head = self._rest[at : at + 10]
        if len(head) < 2:
            return None
        size, start = head[1], at + 2
        if size in (126, 127):
            kind, more = (">H", 2) if size == 126 else (">Q", 8)
            if len(head) < 2 + more:
                return None
            (size,), start = struct.unpack(kind, head[2 : 2 + more]), start + more
        return (head[0] & 15, start, start + size) if len(self._rest) >= start + size else None

    def close(self) -> None:
        self.socket.close()


class Crowd:
    """Many sockets at once."""

    def __init__(self, port: int, token: str, count: int) -> None:
        self.wires = [Wire(port, token) for _ in range(count)]
        self._selector = selectors.DefaultSelector()
        for wire in self.wires:
            self._selector.register(wire.socket, selectors.EVENT_READ, wire)

    def one_frame_each(self) -> None:
        """Read until every socket has had a frame."""
        waiting = set(self.wires)
        while waiting:
            for key, _ in self._selector.select(60):
                for _frame in key.data.ready():
                    waiting.discard(key.data)

    def close(self) -> None:
        self._selector.close()
        for wire in self.wires:
            wire.close()
