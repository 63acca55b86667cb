"""Runs the real Codex, offline: its configuration, the trust that a person gives, one headless turn
and one in a terminal.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from .conftest import Workplace

TURN_TIMEOUT_S = 60

CONFIG = """\
model = "none"
model_provider = "loopback"
check_for_update_on_startup = false
[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
env_key = "OPENAI_INVENTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[analytics]
enabled = false
[features]
daemon_auto_start = false
"""
ENVIRONMENT = {"OPENAI_INVENTED_KEY": "sk-invented-0000", "NO_PROXY": "127.0.0.1,localhost"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    exit_code: int
    key: str
    said: list[str]
    stderr: str


def configure(place: Workplace, url: str) -> None:
    (place.home / ".codex").mkdir(exist_ok=True)
    (place.home / ".codex" / "config.toml").write_text(CONFIG.format(url=url))


def turn(place: Workplace, prompt: str = "Go on with the task.", *options: str) -> Ended:
    """One `codex exec`. `options` come first: `resume`, and what only that takes."""
    done = subprocess.run(
        ["codex", "exec", *options[:1], "--json", *options[1:], prompt],
        cwd=place.project,
        env=place.environ,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=TURN_TIMEOUT_S,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    keys = [line["thread_id"] for line in lines if line["type"] == "thread.started"]
    items = [line["item"] for line in lines if line["type"] == "item.completed"]
    said = [item["text"] for item in items if item["type"] == "agent_message"]
    key = keys[0] if keys else ""
    return Ended(exit_code=done.returncode, key=key, said=said, stderr=done.stderr)


# --- trust ----------------------------------------------------------------------------------------


def trust_folder(place: Workplace) -> None:
    """What `codex` in a terminal writes when a person says that the folder can be trusted."""
    with (place.home / ".codex" / "config.toml").open("a") as file:
        file.write(f'[projects."{place.project}"]\ntrust_level = "trusted"\n')


def trust_hooks(place: Workplace) -> list[str]:
    """What it writes when a person trusts the hooks that are there; returns their events."""
    hooks = _hooks_list(place)
    with (place.home / ".codex" / "config.toml").open("a") as file:
        for hook in hooks:
            file.write(f'[hooks.state."{hook["key"]}"]\n')
            file.write(f'trusted_hash = "{hook["currentHash"]}"\n')
    return [hook["eventName"] for hook in hooks]


def _hooks_list(place: Workplace) -> list[dict[str, Any]]:
    client = {"name": "test", "title": "test", "version": "0"}
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": client}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(place.project)]}},
    ]
    with subprocess.Popen(
        ["codex", "app-server"],
        cwd=place.project,
        env=place.environ,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("".join(json.dumps(one) + "\n" for one in asked))
        process.stdin.flush()
        for line in process.stdout:
            answer = json.loads(line)
            if answer.get("id") == 2:
                process.stdin.close()
                hooks: list[dict[str, Any]] = answer["result"]["data"][0]["hooks"]
                return hooks
    raise AssertionError("codex app-server did not answer")


# --- in a terminal --------------------------------------------------------------------------------


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
def terminal(place: Workplace, *arguments: str) -> Iterator[Terminal]:
    """`codex` with these arguments, ended by SIGKILL when the test is done with it."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(place.project)
        os.execvpe(
            str(place.home / ".local" / "bin" / "codex"),
            ["codex", *arguments],
            {**place.environ, "TERM": "xterm-256color"},
        )
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    try:
        yield Terminal(descriptor, pid)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(descriptor)
