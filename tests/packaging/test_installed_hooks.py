"""The hooks of an installation, from the environment an agent started from a desktop has."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pinbox.install.settings import COMMAND

from .conftest import DEADLINE_S, Installed

pytestmark = pytest.mark.packaging

PAYLOAD = json.dumps(
    {"session_id": "0f0f0f0f-1111", "hook_event_name": "UserPromptSubmit", "cwd": "/"}
).encode()


def hooked(project: Path, home: Path) -> subprocess.CompletedProcess[bytes]:
    """What the command in settings.json does under `env -i HOME=… PATH=/usr/bin:/bin`."""
    return subprocess.run(
        ["/bin/sh", "-c", COMMAND],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "CLAUDE_PROJECT_DIR": str(project)},
        cwd=project,
        input=PAYLOAD,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )


@pytest.fixture
def ready(installed: Installed, project: Path, home: Path):
    """A project where `pinbox init` of the wheel ran, with one open pin."""
    installed.run("pinbox", "init", "--yes", cwd=project, home=home)
    installed.run("pinbox", "pin", "Too small", cwd=project, home=home)
    yield project
    installed.run("pinbox", "stop", cwd=project, home=home)


def test_the_hook_of_an_installed_wheel_hands_the_pin_over(ready, home):
    done = hooked(ready, home)
    assert (done.returncode, done.stderr) == (0, b"")
    output = json.loads(done.stdout)["hookSpecificOutput"]
    assert output["hookEventName"] == "UserPromptSubmit"
    assert "Too small" in output["additionalContext"]


def test_the_hook_starts_the_hub_when_none_runs(ready, installed, home):
    installed.run("pinbox", "stop", cwd=ready, home=home)
    done = hooked(ready, home)
    assert (done.returncode, done.stderr) == (0, b"")
    status = installed.run("pinbox", "status", cwd=ready, home=home)
    assert json.loads(status.stdout)["data"]["running"] is True


def test_the_git_hook_of_an_installed_wheel_resolves(ready, installed, home):
    pin_id = json.loads(installed.run("pinbox", "list", cwd=ready, home=home).stdout)["data"][0][
        "id"
    ]
    author = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@pinbox.example"}
    author |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in author.items()}
    done = subprocess.run(
        ["git", "commit", "-q", "--allow-empty", "-m", f"Fixes {pin_id}"],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", **author},
        cwd=ready,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr.startswith(f"pinbox: resolved {pin_id}".encode())


def test_an_agent_with_a_home_of_its_own_gets_the_pin_from_the_same_hub(ready, tmp_path):
    other = tmp_path / "agents-own"
    other.mkdir()
    done = hooked(ready, other)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Too small" in done.stdout


def test_an_installation_that_moved_is_quiet_and_mends_itself(ready, installed, home):
    moved = Path(f"{installed.bin.parent}-moved")
    installed.run("pinbox", "stop", cwd=ready, home=home)
    os.rename(installed.bin.parent, moved)
    try:
        done = hooked(ready, home)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        again = Installed(
            moved / "bin", moved / installed.site_packages.relative_to(installed.bin.parent)
        )
        again.run("python", "-m", "pinbox", "summary", cwd=ready, home=home)
        assert b"Too small" in hooked(ready, home).stdout
        again.run("python", "-m", "pinbox", "stop", cwd=ready, home=home)
    finally:
        os.rename(moved, installed.bin.parent)


def test_a_new_minor_version_of_python_in_the_same_place_still_runs_the_hook(
    ready, installed, home, tmp_path
):
    """The folder of the package has the version in its name; the launcher then asks the program."""
    launcher = home / ".local" / "state" / "pinbox" / "hook"
    text = launcher.read_text().replace("/lib/python3.", "/lib/python2.")
    launcher.write_text(text)
    done = hooked(ready, home)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Too small" in done.stdout


def test_a_program_that_was_removed_is_silence(ready, installed, home, tmp_path):
    launcher = home / ".local" / "state" / "pinbox" / "hook"
    text = launcher.read_text().replace(str(installed.bin.parent), str(tmp_path / "gone"))
    launcher.write_text(text)
    shutil.rmtree(home / ".local" / "bin", ignore_errors=True)
    done = hooked(ready, home)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
