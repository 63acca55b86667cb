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
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.socket.recv(65536)
        if not answer.startswith(b"HTTP/1.1 101"):
            raise RuntimeError(answer[:200])
        self._rest = answer[answer.index(b"\r\n\r\n") + 4 :]
        said = {"type": "hello", "protocol": 1, "consumerId": "bench", "lastSeq": 0}
        self._send(1, json.dumps(said).encode())

    def _send(self, opcode: int, payload: bytes) -> None:
        """A frame, masked with zeros."""
        self.socket.sendall(bytes([0x80 | opcode, 0x80 | len(payload)]) + bytes(4) + payload)

    def ready(self) -> Iterator[memoryview]:
        """The whole frames of text among what has come, each good until the next. Answers pings."""
        received = self.socket.recv(262_144)
        if not received:
            raise RuntimeError("the hub closed the socket")
        data = b"%b%b" % (self._rest, received) if self._rest else received
        view, at, size = memoryview(data), 0, len(data)
        while size - at >= 2:
            start, length = at + 2, data[at + 1]
            if length == 126:
                start, length = at + 4, int.from_bytes(view[at + 2 : at + 4], "big")
            elif length == 127:
                start, length = at + 10, int.from_bytes(view[at + 2 : at + 10], "big")
            if start > size or start + length > size:
                break
            opcode, at = data[at] & 15, start + length
            if opcode == 1:
                yield view[start:at]
            elif opcode == 9:
                self._send(10, data[start:at])
            elif opcode == 8:
                raise RuntimeError(f"closed with {struct.unpack_from('>H', data, start)[0]}")
        self._rest = data[at:]

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
