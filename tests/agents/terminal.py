"""A real agent program in a terminal of its own, as a person has it open."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from .conftest import Workplace


class Terminal:
    """The program in a terminal of its own; `until` looks at it while it waits."""

    def __init__(self, descriptor: int, pid: int) -> None:
        self._descriptor = descriptor
        self.pid = pid
        self.screen = b""

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def until(self, what: Callable[[], object], *, timeout: float, name: str) -> None:
        """Read what it paints, and answer its questions about the terminal, until `what` is so."""
        deadline = time.monotonic() + timeout
        while not what():
            assert time.monotonic() < deadline, f"not {name} within {timeout:g} s: {self._text()}"
            if not select.select([self._descriptor], [], [], 0.1)[0]:
                continue
            data = os.read(self._descriptor, 65536)
            self.screen += data
            if b"\x1b[6n" in data:
                os.write(self._descriptor, b"\x1b[1;1R")
            if b"\x1b[c" in data:
                os.write(self._descriptor, b"\x1b[?62;c")

    def _text(self) -> str:
        return self.screen[-2000:].decode("utf-8", "replace")


@contextmanager
def terminal(place: Workplace, program: str, *arguments: str) -> Iterator[Terminal]:
    """A program of the workplace's PATH, or a path, in its project; ended by SIGKILL when the test
    is done with it.
    """
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(place.project)
        environ = {**place.environ, "TERM": "xterm-256color"}
        os.execvpe(program, [program, *arguments], environ)
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    try:
        yield Terminal(descriptor, pid)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(descriptor)
