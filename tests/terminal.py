"""A terminal for a command that a test runs."""

import os
import pty
import select
import subprocess
from typing import Any


def on_terminal(
    command: list[str], *, deadline_s: float, stderr: int | None = None, **options: Any
) -> tuple[subprocess.Popen[bytes], str]:
    """The ended process and what it printed there, on stderr too unless that goes elsewhere.

    `deadline_s` is how many seconds it may be silent.
    """
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs if stderr is None else stderr,
            **options,
        )
    finally:
        os.close(theirs)
    chunks = []
    while select.select([ours], [], [], deadline_s)[0]:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # Linux: nobody has the other side open any more
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(ours)
    return process, b"".join(chunks).decode().replace("\r\n", "\n")
