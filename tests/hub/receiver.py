"""Another machine's end of a request: a real server on loopback that does as it is told.

`Receiver` reads whole requests, keeps them and answers; `serving` runs any behaviour at all on an
accepted socket.
"""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

#: Behaviour of the other side, given one accepted connection; `over` is set when the test ends.
Behaviour = Callable[[socket.socket, threading.Event], None]


@dataclass(slots=True, kw_only=True)
class Request:
    """`headers` by lower-case name."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Receiver:
    """Answers each request with the next of `answers`, the last one again and again."""

    answers: list[bytes] = field(default_factory=lambda: [reply(204)])
    requests: list[Request] = field(default_factory=list)

    def __call__(self, connection: socket.socket, over: threading.Event) -> None:
        self.requests.append(read_request(connection))
        connection.sendall(self.answers[0] if len(self.answers) == 1 else self.answers.pop(0))


def reply(status: int, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status} A Word", *headers]
    if status not in (204, 304):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode() + body


def read_request(connection: socket.socket) -> Request:
    with connection.makefile("rb") as stream:
        line = stream.readline().decode().strip()
        headers = {}
        while text := stream.readline().decode("latin-1").strip():
            name, _, value = text.partition(":")
            assert name.lower() not in headers, f"{name} was sent twice"
            headers[name.lower()] = value.strip()
        body = stream.read(int(headers.get("content-length", 0)))
    return Request(line=line, headers=headers, body=body)


@contextlib.contextmanager
def serving(behaviour: Behaviour, *, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Its port on 127.0.0.1. Every connection is served, and ended with the test."""
    over = threading.Event()
    open_now: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            if tls:
                connection = tls.wrap_socket(connection, server_side=True)
                open_now.append(connection)
            behaviour(connection, over)
            connection.shutdown(socket.SHUT_WR)
        connection.close()

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            open_now.append(connection)
            threads.append(threading.Thread(target=serve, args=(connection,)))
            threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield listener.getsockname()[1]
        finally:
            over.set()
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for one in open_now:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
            for thread in threads:
                thread.join()
