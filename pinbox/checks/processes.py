"""Programs that a check runs: each in a process group of its own, each with a deadline, and none
left when the checks are over.
"""

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

#: Bytes of output that are kept. What a check reads is a few lines.
_MAX_OUTPUT: Final = 256 * 1024
#: Seconds between two looks whether a program ended whose output stays open (a child has it).
_LOOK_S: Final = 0.05


class Stopped(Exception):
    """The checks are over; nothing more is started."""


@dataclass(frozen=True, slots=True)
class Done:
    """A program that ended by itself."""

    code: int
    out: bytes


class Processes:
    """Every program that was started and not yet seen to end. Used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._alive: set[subprocess.Popen[bytes]] = set()
        self._is_over = False

    def spawn(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        cwd: Path,
        stdin: int = subprocess.DEVNULL,
        stdout: int | IO[bytes] = subprocess.DEVNULL,
        stderr: int | IO[bytes] = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        """Start a program. Raises OSError when there is none, Stopped after `close`."""
        with self._lock:
            if self._is_over:
                raise Stopped
            process = subprocess.Popen(  # noqa: S603 - our own, or one that was asked for by name
                command,
                env=env,
                cwd=cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
            self._alive.add(process)
        return process

    def run(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str],
        cwd: Path,
        timeout_s: float,
        stdin: bytes = b"",
        with_stderr: bool = False,
    ) -> Done | None:
        """A program to its end; None when it did not end in `timeout_s` seconds. Raises as `spawn`.

        Whatever it left running in its group is ended with it.
        """
        deadline = time.monotonic() + timeout_s
        process = self.spawn(
            command,
            env=env,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if with_stderr else subprocess.DEVNULL,
        )
        assert process.stdin is not None  # noqa: S101 - for the type checker, as below
        assert process.stdout is not None  # noqa: S101
        try:
            with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
                pipe.write(stdin)  # shorter than a pipe is wide
            out = _read(process, deadline)
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return None
        finally:
            self.end(process)
            process.stdout.close()
        return Done(code, out)

    def end(self, process: subprocess.Popen[bytes], *, within_s: float = 0.0) -> None:
        """End a program and its group: SIGTERM and `within_s` seconds, then SIGKILL. Reaped."""
        if within_s and process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(within_s)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with self._lock:
            self._alive.discard(process)

    def close(self, *, keep: subprocess.Popen[bytes] | None = None) -> None:
        """End all that is left but `keep`, and start nothing any more. May be called again."""
        with self._lock:
            self._is_over = True
            alive = self._alive - {keep}
        for process in alive:
            self.end(process)


def _read(process: subprocess.Popen[bytes], deadline: float) -> bytes:
    """What it prints until it ends; a child of it that keeps the pipe open is not waited for."""
    assert process.stdout is not None  # noqa: S101 - for the type checker
    descriptor = process.stdout.fileno()
    out = b""
    while len(out) < _MAX_OUTPUT:
        left = deadline - time.monotonic()
        if left <= 0:
            raise subprocess.TimeoutExpired(process.args, 0)
        has_ended = process.poll() is not None
        if select.select([descriptor], [], [], 0 if has_ended else min(_LOOK_S, left))[0]:
            more = os.read(descriptor, 65536)
            if not more:
                break
            out += more
        elif has_ended:
            break
    return out
