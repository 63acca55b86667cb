"""A git project in which only `pinbox init` ran, and the real agent programs to run in it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.wait import wait_until

from . import install
from .model import Answer
from .program import Turn, run_conversation, run_turn

#: What a shell started from nowhere has: no virtual environment, no node, no developer's folders.
PLAIN_PATH = "/usr/bin:/bin"
#: A hub that a failed test leaves behind goes by itself after this long.
IDLE_MS = 120_000
COMMAND_TIMEOUT_S = 90


@pytest.fixture(scope="session")
def claude_program() -> Path:
    program = install.claude()
    if program is None:
        pytest.skip("Claude Code is not installed here: `make agents` fetches it")
    return program


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """A person's machine as far as these tests need one: home, project, `pinbox` on the PATH."""

    home: Path
    project: Path
    program: Path
    #: Beside the plain environment, for the commands and so for the hub that they start.
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": f"{self.home / '.local' / 'bin'}:{PLAIN_PATH}",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "PINBOX_IDLE_MS": str(IDLE_MS),
            **self.more,
        }

    def turn(self, **options: Any) -> Turn:
        options.setdefault("environ", self.environ)
        return run_turn(self.program, project=self.project, **options)

    def conversation(self, *steps: str | Callable[[], object], answers: list[Answer]) -> Turn:
        return run_conversation(
            self.program, *steps, project=self.project, environ=self.environ, answers=answers
        )

    def run(
        self, *command: str, timeout: float = COMMAND_TIMEOUT_S
    ) -> subprocess.CompletedProcess[str]:
        """A command to its end, as the person would run it."""
        return subprocess.run(
            command,
            cwd=self.project,
            env=self.environ,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
        )

    def shell(self, *command: str) -> str:
        """The same. Fails the test when it fails."""
        done = self.run(*command)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def pinbox(self, *arguments: str) -> Any:
        """`data` of one command's envelope (its stdout is no terminal)."""
        return json.loads(self.shell("pinbox", *arguments))["data"]

    def drop_pin(self, text: str) -> str:
        """A new pin's id."""
        pin_id = self.pinbox("pin", text)["id"]
        assert isinstance(pin_id, str)
        return pin_id

    def hub_state(self) -> dict[str, Any] | None:
        """What the private state folder says of the running hub."""
        found = list((self.home / ".local" / "state" / "pinbox").glob("*/hub.json"))
        return json.loads(found[0].read_text()) if found else None

    def get(self, path: str) -> Any:
        """`data` of one GET, as a program with the full token asks it."""
        state = self.hub_state()
        assert state is not None
        request = urllib.request.Request(
            f"http://127.0.0.1:{state['port']}{path}",
            headers={"Authorization": f"Bearer {state['token']}"},
        )
        with urllib.request.urlopen(request, timeout=COMMAND_TIMEOUT_S) as answer:
            return json.load(answer)["data"]

    def sessions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get("/sessions")
        return found

    def stop_hub(self) -> None:
        """End the hub of this workplace, however it is: `stop` first, else by its own pid."""
        state = self.hub_state()
        pid = state["pid"] if state else 0
        if not pid or not _is_hub(pid):
            return
        os.kill(pid, signal.SIGCONT)
        subprocess.run(
            ["pinbox", "stop"],
            cwd=self.project,
            env={**os.environ, **self.environ},
            capture_output=True,
            timeout=COMMAND_TIMEOUT_S,
        )
        if _is_hub(pid):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not _is_hub(pid), timeout=10, what="the hub is gone")


def _is_hub(pid: int) -> bool:
    """Is that pid one of our hubs, and not a stranger or a zombie?"""
    done = subprocess.run(
        ["ps", "-ww", "-o", "stat=", "-o", "args=", "-p", str(pid)], capture_output=True, text=True
    )
    return "pinbox" in done.stdout and not done.stdout.lstrip().startswith("Z")


def _make_workplace(folder: Path, program: Path) -> Workplace:
    home, project = folder / "home", folder / "app"
    (home / ".local" / "bin").mkdir(parents=True)
    project.mkdir()
    console_script = Path(sys.executable).with_name("pinbox")
    assert console_script.exists(), "install the project first: pip install -e ."
    (home / ".local" / "bin" / "pinbox").symlink_to(console_script)
    workplace = Workplace(home=home, project=project, program=program)
    workplace.shell("git", "init", "-q", "-b", "main")
    workplace.shell("git", "config", "user.email", "ada@pinbox.example")
    workplace.shell("git", "config", "user.name", "Ada")
    (project / "app.py").write_text("print('hello')\n")
    workplace.shell("git", "add", "app.py")
    workplace.shell("git", "commit", "-q", "-m", "A small app")
    return workplace


@pytest.fixture
def bare_workplace(tmp_path: Path, claude_program: Path) -> Iterator[Workplace]:
    """A git project that has never heard of Pinbox."""
    workplace = _make_workplace(tmp_path, claude_program)
    yield workplace
    workplace.stop_hub()
    # A transcript of the run is large; pytest keeps the folders of the last runs.
    shutil.rmtree(workplace.home / ".claude", ignore_errors=True)


@pytest.fixture
def bare_workplace_of(tmp_path: Path) -> Iterator[Callable[[Path], Workplace]]:
    """Makes the same for another agent's program."""
    made: list[Workplace] = []

    def make(program: Path) -> Workplace:
        made.append(_make_workplace(tmp_path, program))
        return made[-1]

    yield make
    for workplace in made:
        workplace.stop_hub()


@pytest.fixture(autouse=True)
def no_hub_is_left_behind(tmp_path: Path) -> Iterator[None]:
    yield
    done = subprocess.run(["ps", "-ww", "-eo", "args="], capture_output=True, text=True)
    left = [line for line in done.stdout.splitlines() if f"{tmp_path}/" in line]
    assert not [line for line in left if "serve --project" in line]


@pytest.fixture
def workplace(bare_workplace: Workplace) -> Workplace:
    """A git project in which `pinbox init` ran, and nothing else of ours."""
    bare_workplace.shell("pinbox", "init", "--agent", "claude", "--yes")
    return bare_workplace
