"""Runs one program to its end, or ends it: in a process group of its own, for a bounded time, with
bounded memory. What it is and what it says is left to the caller.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Final, Literal

from pinbox import project
from sessions_app.liveness import Process

#: Seconds from the request to end to the end by force.
TERMINATE_S: Final = 2.0
#: Seconds in which what was written last is still read, after the end: some other process may hold
#: the pipe and never close it.
_DRAIN_S: Final = 0.5
#: Seconds in which those that were killed are gone.
_GONE_S: Final = 1.0
#: Seconds that `run` may take beyond its limit.
GRACE_S: Final = TERMINATE_S + _DRAIN_S + _GONE_S + 2.0
#: Seconds between two looks at `stop`.
_LOOK_S: Final = 0.25
#: Bytes kept of the beginning and of the end of each stream.
HEAD_BYTES: Final = 64 * 1024
TAIL_BYTES: Final = 1024 * 1024

#: The program itself begins only when it is told to: until then its place is held by this shell,
#: which has its pid already. If we die first, it reads the end of its input and goes. `read` takes
#: no byte beyond the line, so the rest of the input is the program's.
_WAIT: Final = 'read -r go && exec "$@"'
#: What that shell calls itself when it cannot start the program.
SHELL_NAME: Final = "pinbox-resume"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How it ended: by itself with `exit_code`, or ended by us for `cause`, after which
    `exit_code` means nothing.
    """

    cause: Literal["exit", "timeout", "stopped"]
    exit_code: int
    stdout: str
    stderr: str
    seconds: float


def run(
    command: Sequence[str],
    *,
    cwd: str,
    environ: Mapping[str, str],
    stdin: str,
    timeout_s: float,
    spawned: Callable[[Process], None],
    stop: threading.Event,
) -> Ended:
    """Run `command` (an absolute path and its arguments) in `cwd`. Blocks.

    `spawned` is told the process before the program begins; what it raises goes through, and then
    nothing was run. Raises OSError when nothing can be started in that folder. When this returns,
    nothing of the process group is left.
    """
    began = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - the caller's program, without a shell's expansion
        ["/bin/sh", "-c", _WAIT, SHELL_NAME, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=dict(environ),
        start_new_session=True,
        umask=project.users_umask(),
        bufsize=0,
    )
    child = _Child(process)
    try:
        started = project.process_start(process.pid)
        if started is None:
            raise OSError("the process was gone before it began")
        spawned(Process(process.pid, started))
        cause = child.talk(f"go\n{stdin}".encode(), until=began + timeout_s, stop=stop)
    finally:
        child.end()
    return Ended(
        cause=cause,
        exit_code=process.returncode,
        stdout=child.stdout.text(),
        stderr=child.stderr.text(),
        seconds=time.monotonic() - began,
    )


@dataclass(slots=True)
class Kept:
    """The beginning and the end of a stream of any length."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    dropped: int = 0

    def add(self, data: bytes) -> None:
        room = HEAD_BYTES - len(self.head)
        self.head += data[:room]
        self.tail += data[room:] if room > 0 else data
        if len(self.tail) > 2 * TAIL_BYTES:  # seldom, because it moves what stays
            self._cut()

    def _cut(self) -> None:
        surplus = max(0, len(self.tail) - TAIL_BYTES)
        self.dropped += surplus
        del self.tail[:surplus]

    def text(self) -> str:
        """With a line of its own where something is left out."""
        self._cut()
        gap = f"\n[{self.dropped} bytes left out]\n".encode() if self.dropped else b""
        return bytes(self.head + gap + self.tail).decode("utf-8", "replace")


class _Child:
    """A started program, its three pipes and its process group."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.stdout, self.stderr = Kept(), Kept()
        self._selector = selectors.DefaultSelector()
        self._unsent = b""
        assert process.stdin  # noqa: S101 - they are pipes
        assert process.stdout  # noqa: S101
        assert process.stderr  # noqa: S101
        for pipe, kept in ((process.stdout, self.stdout), (process.stderr, self.stderr)):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, kept)
        os.set_blocking(process.stdin.fileno(), False)

    def talk(
        self, words: bytes, *, until: float, stop: threading.Event
    ) -> Literal["exit", "timeout", "stopped"]:
        """Write, read, and wait for the end; returns why the waiting ended. `until` is an instant
        of the monotonic clock.
        """
        assert self._process.stdin  # noqa: S101
        self._unsent = words
        self._selector.register(self._process.stdin, selectors.EVENT_WRITE)
        idle_s = 0.01
        while not self._has_ended():
            left_s = until - time.monotonic()
            if stop.is_set():
                return "stopped"
            if left_s <= 0:
                return "timeout"
            if self._selector.get_map():
                self._move(min(_LOOK_S, left_s))
            else:  # it closed its pipes, most likely because it ends
                stop.wait(min(idle_s, left_s))
                idle_s = min(2 * idle_s, _LOOK_S)
        return "exit"

    def end(self) -> None:
        """End whatever is left of the group, and collect the process. The id cannot be given to
        another group meanwhile, for the process is collected last.
        """
        self._hang_up()
        self._signal(signal.SIGTERM)
        self._drain(TERMINATE_S, until_ended=True)
        self._signal(signal.SIGKILL)
        self._drain(_DRAIN_S)
        self._process.wait()
        self._wait_for_the_rest()
        self._selector.close()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()

    def _wait_for_the_rest(self) -> None:
        """What was killed is gone only once the system came round to it. A dead process that
        nobody collects (in a container without an init) stays in its group: hence the limit.
        """
        deadline = time.monotonic() + _GONE_S
        pause = threading.Event()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            while time.monotonic() < deadline:
                os.killpg(self._process.pid, 0)
                pause.wait(0.01)

    def _hang_up(self) -> None:
        stdin = self._process.stdin
        if stdin and not stdin.closed:
            if stdin in [key.fileobj for key in self._selector.get_map().values()]:
                self._selector.unregister(stdin)
            stdin.close()

    def _has_ended(self) -> bool:
        """Without collecting it, so that its id stays its own."""
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._process.poll() is not None
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, flags) is not None

    def _signal(self, number: int) -> None:
        # macOS forbids it for a group of which only a dead process is left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _drain(self, seconds: float, *, until_ended: bool = False) -> None:
        """Read until nobody can write any more, for at most so long; and for the end, if wanted."""
        deadline = time.monotonic() + seconds
        pause = threading.Event()
        while (left_s := deadline - time.monotonic()) > 0:
            if self._selector.get_map():
                self._move(min(0.05, left_s))
            elif until_ended and not self._has_ended():
                pause.wait(min(0.02, left_s))
            else:
                return

    def _move(self, seconds: float) -> None:
        """Take what can be read and give what can be written within so many seconds."""
        for key, _ in self._selector.select(seconds):
            pipe: IO[bytes] = key.fileobj  # type: ignore[assignment]  # what we registered
            if key.data is None:
                self._write(pipe)
            else:
                self._read(pipe, key.data)

    def _write(self, pipe: IO[bytes]) -> None:
        try:
            written = os.write(pipe.fileno(), self._unsent)
        except BlockingIOError:
            return
        except OSError:  # it does not read its input: no trouble of ours
            written = len(self._unsent)
        self._unsent = self._unsent[written:]
        if not self._unsent:
            self._selector.unregister(pipe)
            pipe.close()

    def _read(self, pipe: IO[bytes], kept: Kept) -> None:
        try:
            data = os.read(pipe.fileno(), 65_536)
        except BlockingIOError:
            return
        if data:
            kept.add(data)
        else:
            self._selector.unregister(pipe)
            pipe.close()
