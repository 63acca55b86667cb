"""Real processes in a project and home of their own. Whatever a test started is gone after it."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pinbox import __version__
from pinbox import project as projects
from pinbox.project import HubState, NoHub
from tests.wait import wait_until

PYTHON = sys.executable
PACKAGE = Path(projects.__file__).parent


class Place:
    """A project folder, a home folder, and the environment of a plain shell in it."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.home = root / "home"
        for folder in (self.project, self.home):
            folder.mkdir()
        self.environ = {
            "HOME": str(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
        }

    @property
    def state_dir(self) -> Path:
        return self.home / ".local" / "state" / "pinbox" / projects.project_id(self.project)

    def command(self, *arguments: str) -> list[str]:
        return [PYTHON, "-I", "-m", "pinbox", *arguments]

    def run(self, *arguments: str, check: bool = True, **options) -> subprocess.CompletedProcess:
        """`pinbox` with `arguments`, to its end."""
        return subprocess.run(
            self.command(*arguments),
            **{
                "cwd": self.project,
                "env": self.environ,
                "stdin": subprocess.DEVNULL,
                "capture_output": True,
                "timeout": 60,
                **options,
            },
            check=check,
        )

    def state(self) -> HubState:
        """The hub's own record, as a client in this place reads it."""
        with self.as_environment():
            return projects.read_hub(self.project)

    @contextlib.contextmanager
    def as_environment(self):
        """This process looks for state where the place's commands do."""
        before = os.environ.get("HOME")
        os.environ["HOME"] = str(self.home)
        try:
            yield
        finally:
            if before is None:
                del os.environ["HOME"]
            else:
                os.environ["HOME"] = before

    def has_hub(self) -> bool:
        try:
            self.state()
        except NoHub:
            return False
        return True

    def hubs(self) -> set[int]:
        """Process ids of every hub that serves this project, by their command lines."""
        wanted = b"\0--project\0" + os.fsencode(self.project) + b"\0"
        found = set()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    if wanted in (entry / "cmdline").read_bytes():
                        found.add(int(entry.name))
        return found

    def log(self) -> str:
        path = self.state_dir / "hub.log"
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def reap(self) -> None:
        for pid in self.hubs():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        wait_until(lambda: not self.hubs(), what="every hub of the test has ended")


@pytest.fixture
def place(tmp_path):
    """A cold project: no hub ever ran in it."""
    made = Place(tmp_path)
    yield made
    made.reap()


@pytest.fixture
def daemon(place):
    """A project whose hub a command has started. `daemon.state()` says where it is."""
    place.run("list")
    return place


@pytest.fixture(scope="module")
def other_version(tmp_path_factory):
    """A function that gives a copy of this checkout with another version number."""
    root = PACKAGE.parent

    def copy(version):
        made = tmp_path_factory.mktemp(f"pinbox-{version}")
        for name in ("pinbox", "pinbox_site", "pins", "sessions_app", "delivery", "templates"):
            if (root / name).is_dir():
                shutil.copytree(
                    root / name, made / name, ignore=shutil.ignore_patterns("__pycache__")
                )
        init = made / "pinbox" / "__init__.py"
        text = init.read_text()
        assert f'"{__version__}"' in text
        init.write_text(text.replace(f'"{__version__}"', f'"{version}"'))
        return made

    return copy
