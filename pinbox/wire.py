"""One HTTP/1.1 exchange with a hub on this machine, on the bare socket.

Imports nothing but C modules: the hook's whole budget is smaller than importing `http.client`, or
even `socket`. What the bytes mean, and whether to try again, is left to `pinbox.client` and
`pinbox.hotpath`.
"""

import _socket
from time import monotonic

TYPE_CHECKING = False  # as `typing` has it, which is not a C module
if TYPE_CHECKING:
    from collections.abc import Callable

#: More header bytes than any hub sends.
_MAX_HEAD_BYTES = 65536
_RECEIVE_BYTES = 262144


class WireError(Exception):
    """No whole answer. `reached` says whether the request may have got to a hub and been acted
    upon.
    """

    def __init__(self, message: str, *, reached: bool) -> None:
        super().__init__(message)
        self.reached = reached


class Refused(WireError):
    """Nobody listens on the port."""


class TimedOut(WireError):
    """The deadline passed before the answer was whole."""


class Lost(WireError):
    """The connection ended before the answer was whole, or what came was not HTTP/1."""


def exchange(
    port: int,
    method: str,
    path: str,
    headers: tuple[tuple[str, str], ...] = (),
    body: bytes = b"",
    timeout_s: float = 10.0,
    *,
    silence_s: float = 0.0,
    on_silence: "Callable[[], None] | None" = None,
) -> tuple[int, bytes]:
    """Send one request to 127.0.0.1:`port`; status and body of the answer. Raises WireError.

    `timeout_s` seconds is the deadline of the whole exchange, by the monotonic clock. `path` is
    sent as it is, so it must already be percent-encoded.
    """
    head = [f"{method} {path} HTTP/1.1", f"host: 127.0.0.1:{port}", "connection: close"]
    head += [f"{name}: {value}" for name, value in headers]
    if body or method in ("POST", "PUT", "PATCH"):
        head.append(f"content-length: {len(body)}")
    for line in head:
        if not line.isprintable() or not line.isascii():
            raise ValueError("a request line holds a character that HTTP does not allow")
    request = ("\r\n".join(head) + "\r\n\r\n").encode("ascii") + body

    connection = _Connection(port, monotonic() + timeout_s, silence_s, on_silence)
    try:
        return connection.exchange(request)
    finally:
        connection.close()


class _Connection:
    """A connected socket, its deadline, and the bytes received but not yet read."""

    def __init__(
        self, port: int, deadline: float, silence_s: float, on_silence: "Callable[[], None] | None"
    ) -> None:
        self.deadline = deadline
        self.silence_s = silence_s
        self.on_silence = on_silence
        self.buffer = b""
        self.sent = False
        self.socket = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        try:
            self._arm()
            self.socket.connect(("127.0.0.1", port))
            # A connect to a port of the ephemeral range that nobody listens on can pick that port
            # as its own, and then talks to itself.
            if self.socket.getsockname() == self.socket.getpeername():
                raise Refused(f"nobody listens on port {port}", reached=False)
        except TimeoutError:
            self.close()
            raise TimedOut(f"no connection to port {port} in time", reached=False) from None
        except (OSError, OverflowError) as error:
            self.close()
            raise Refused(f"no connection to port {port}: {error}", reached=False) from None
        except WireError:
            self.close()
            raise

    def close(self) -> None:
        self.socket.close()

    def _arm(self) -> None:
        left = self.deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        self.socket.settimeout(left)

    def exchange(self, request: bytes) -> tuple[int, bytes]:
        try:
            self._send(request)
            return self._answer()
        except TimeoutError:
            raise TimedOut("the answer did not come in time", reached=self.sent) from None
        except OSError as error:
            raise Lost(f"the connection was lost: {error}", reached=self.sent) from None

    def _send(self, request: bytes) -> None:
        rest = memoryview(request)
        while rest:
            self._arm()
            self.sent = True
            try:
                rest = rest[self.socket.send(rest) :]
            except (BrokenPipeError, ConnectionResetError):
                # A hub may refuse a request it has only half read; its answer can still be waiting.
                return

    def _answer(self) -> tuple[int, bytes]:
        status = 100
        while 100 <= status < 200:  # interim answers precede the real one
            status, head = self._head()
        if status in (204, 304):
            return status, b""
        if b"chunked" in head.get(b"transfer-encoding", b"").lower():
            return status, self._chunks()
        length = head.get(b"content-length")
        if length is None:
            return status, self._rest()
        if not length.isdigit():
            raise self._not_http()
        return status, self._exactly(int(length))

    def _head(self) -> tuple[int, dict[bytes, bytes]]:
        lines = self._until(b"\r\n\r\n").split(b"\r\n")
        words = lines[0].split(None, 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            raise self._not_http()
        fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(b":")
            fields[name.strip().lower()] = value.strip()
        return int(words[1]), fields

    def _chunks(self) -> bytes:
        parts: list[bytes] = []
        while True:
            try:
                size = int(self._until(b"\r\n").split(b";")[0], 16)
            except ValueError:
                raise self._not_http() from None
            if size < 0:
                raise self._not_http()
            if size == 0:
                while self._until(b"\r\n"):  # trailers
                    pass
                return b"".join(parts)
            parts.append(self._exactly(size))
            if self._exactly(2) != b"\r\n":
                raise self._not_http()

    def _not_http(self) -> Lost:
        return Lost("what listens on the port does not speak HTTP/1", reached=self.sent)

    def _receive(self) -> bytes:
        while self.on_silence is not None and self.deadline - monotonic() > self.silence_s:
            self.socket.settimeout(self.silence_s)
            try:
                return self.socket.recv(_RECEIVE_BYTES)
            except TimeoutError:
                self.on_silence()
        self._arm()
        return self.socket.recv(_RECEIVE_BYTES)

    def _until(self, end: bytes) -> bytes:
        """Bytes up to `end`, which is consumed as well."""
        while True:
            at = self.buffer.find(end)
            if at >= 0:
                found, self.buffer = self.buffer[:at], self.buffer[at + len(end) :]
                return found
            if len(self.buffer) > _MAX_HEAD_BYTES:
                raise self._not_http()
            more = self._receive()
            if not more:
                raise Lost(
                    "the connection was closed before the answer was whole", reached=self.sent
                )
            self.buffer += more

    def _exactly(self, count: int) -> bytes:
        parts = [self.buffer[:count]]
        self.buffer = self.buffer[count:]
        missing = count - len(parts[0])
        while missing:
            more = self._receive()
            if not more:
                raise Lost(
                    "the connection was closed before the answer was whole", reached=self.sent
                )
            parts.append(more[:missing])
            self.buffer = more[missing:]
            missing -= len(parts[-1])
        return b"".join(parts)

    def _rest(self) -> bytes:
        parts = [self.buffer]
        while more := self._receive():
            parts.append(more)
        return b"".join(parts)
