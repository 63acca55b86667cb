"""The brief given to an agent of the person's choice, in their terminal, for a bounded time."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: how each agent takes a task without a conversation; the task is the last word
PROGRAMS: Final = {
    "claude": ("claude", "-p"),
    "codex": ("codex", "exec"),
    "hermes": ("hermes", "-z"),
}
TIMEOUT_S: Final = 15 * 60
#: between asking it to end and ending it
GRACE_S: Final = 2
_PULL: Final = re.compile(rb"https://[^\s<>()\"']+/pull/\d+")
_KEPT_BYTES: Final = 1024 * 1024


def candidates() -> list[str]:
    """Agents on the PATH that can be given a task."""
    return [name for name, words in PROGRAMS.items() if shutil.which(words[0]) is not None]


def run(
    agent: str, brief: str, root: Path, *, show: Callable[[bytes], object], timeout_s: float
) -> dict[str, Any]:
    """Let `agent` do it, in the project; what it prints goes to `show` as it comes.

    Returns {agent, exitCode, prUrl, detail}: `exitCode` None when it was ended by us, `prUrl` the
    first address of a pull request that it named.
    """
    words = [*PROGRAMS[agent], brief]
    try:
        process = subprocess.Popen(  # noqa: S603 - the person chose it
            words,
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        why = f"{words[0]} cannot be started: {error.strerror}"
        return {"agent": agent, "exitCode": None, "prUrl": None, "detail": why}
    said = bytearray()
    ended = _Limit(process, timeout_s)
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    with ended, process.stdout:
        while part := os.read(process.stdout.fileno(), 65536):
            show(part)
            said += part
            del said[:-_KEPT_BYTES]
        process.wait()
    pull = _PULL.search(bytes(said))
    url = pull[0].decode("ascii", "replace") if pull else None
    if ended.is_over:
        detail = f"ended after {timeout_s / 60:g} minutes"
    elif process.returncode:
        detail = f"{words[0]} ended with exit code {process.returncode}"
    else:
        detail = "done" if url else "done; it named no pull request"
    code = None if ended.is_over else process.returncode
    return {"agent": agent, "exitCode": code, "prUrl": url, "detail": detail}


class _Limit(contextlib.AbstractContextManager["_Limit"]):
    """Ends the process's group when the time is over, or when we are interrupted."""

    def __init__(self, process: subprocess.Popen[bytes], timeout_s: float) -> None:
        import threading

        self._process = process
        self._timer = threading.Timer(timeout_s, self._expire)
        self._timer.daemon = True
        self.is_over = False

    def __enter__(self) -> _Limit:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._process.poll() is None:
            self._end()

    def _expire(self) -> None:
        self.is_over = True
        self._end()

    def _end(self) -> None:
        for signal_, patience_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal_)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience_s)
