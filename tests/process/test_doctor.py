"""`pinbox doctor` as a process: it finds out by doing, and nothing of the user's is touched."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pinbox.checks import DEADLINE_S
from tests.process.conftest import Place
from tests.wait import wait_until

pytestmark = pytest.mark.process

NAMES = [
    *("python", "sqlite", "fts5", "state-dir", "db-writable", "hub", "configuration", "agents"),
    *("hooks-claude", "hooks-codex", "hooks-hermes", "hooks-openclaw", "gh", "delivery"),
]


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def temporary(place, tmp_path) -> Path:
    """The folder for temporary files; what doctor makes is found by it."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    place.environ["TMPDIR"] = str(folder)
    place.environ["PATH"] = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    return folder


def examined(place: Place, *, code: int = 0, **options) -> dict[str, dict[str, str]]:
    """What doctor says, by the names of its checks."""
    done = place.run("doctor", check=False, **options)
    answer = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (code, b""), answer
    assert answer["ok"] is True
    return {one["name"]: one for one in answer["data"]["checks"]}


def tree(*tops: Path) -> dict[str, object]:
    """Every file and folder with its mode, its time of change and its bytes."""
    found: dict[str, object] = {}
    for top in tops:
        for path in [top, *top.rglob("*")]:
            at = path.lstat()
            content = path.read_bytes() if path.is_file() else None
            found[str(path)] = (at.st_mode, at.st_mtime_ns, content)
    return found


def children_of(folder: Path) -> list[str]:
    """Processes that were started with something of `folder` on their command line or in their
    environment.
    """
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                said = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if os.fsencode(f"{folder}/pinbox-doctor-") in said:
                found.append(entry.name)
    return found


def nothing_is_left(temporary: Path) -> bool:
    return list(temporary.iterdir()) == [] and children_of(temporary) == []


def hook(place: Place, event: str, key: str) -> bytes:
    """What the registered hook of a session says."""
    from pinbox.install.settings import COMMAND

    payload = {"session_id": key, "hook_event_name": event, "cwd": str(place.project)}
    done = subprocess.run(
        ["/bin/sh", "-c", COMMAND],
        env={**place.environ, "CLAUDE_PROJECT_DIR": str(place.project)},
        cwd=place.project,
        input=json.dumps(payload).encode(),
        capture_output=True,
        timeout=30,
        check=True,
    )
    return done.stdout


# --- nothing is touched --------------------------------------------------------------------------


@pytest.mark.parametrize("hub", ["running", "stopped", "killed"])
def test_nothing_of_the_user_changes_by_a_byte(place, temporary, tmp_path, hub):
    program(tmp_path / "bin" / "claude", "echo 2.1.0; echo x > $HOME/mine; echo x > mine")
    place.run("init", "--yes")
    place.run("list")  # a hook on a cold project may run out of time
    hook(place, "SessionStart", "s-1")
    place.run("pin", "Waits for its session")
    if hub == "stopped":
        place.run("stop")
    if hub == "killed":
        os.kill(place.state().pid, signal.SIGKILL)
        wait_until(lambda: not place.hubs())
    sessions = place.run("session", "list").stdout if hub == "running" else b""
    before = tree(place.project, place.home)

    # As from the agent's own shell, which commands acknowledge by.
    shell = {**place.environ, "CLAUDE_CODE_SESSION_ID": "s-1", "CLAUDECODE": "1"}
    found = examined(place, env=shell)

    assert tree(place.project, place.home) == before
    assert nothing_is_left(temporary)
    assert place.has_hub() is (hub == "running")
    assert found["hooks-claude"]["status"] == "ok", found["hooks-claude"]
    assert {name: one["status"] for name, one in found.items() if one["status"] != "skip"} == {
        **dict.fromkeys(NAMES[:9], "ok"),
        "delivery": "ok",
    }
    assert "1 pin:" in found["db-writable"]["detail"]
    if hub == "running":
        assert place.run("session", "list").stdout == sessions
    # The pin still waits for its session, and the next one has the next number.
    place.run("list")
    assert b"Waits for its session" in hook(place, "UserPromptSubmit", "s-1")
    assert json.loads(place.run("pin", "Another").stdout)["data"]["n"] == 2


def test_without_a_project_only_the_throw_away_one_is_used(place, temporary):
    before = tree(place.home)
    done = place.run("doctor", cwd="/proc")  # where nobody can write
    answer = json.loads(done.stdout)["data"]
    assert "project" not in answer
    statuses = {one["name"]: one["status"] for one in answer["checks"]}
    assert [*statuses] == NAMES
    assert (statuses["hub"], statuses["delivery"]) == ("ok", "ok")
    assert (statuses["db-writable"], statuses["hooks-claude"]) == ("skip", "skip")
    assert tree(place.home) == before
    assert nothing_is_left(temporary)


def test_no_project_is_made_by_looking(place, temporary):
    subprocess.run(["git", "init", "-q", str(place.project)], check=True)
    before = tree(place.project, place.home)
    examined(place)
    assert tree(place.project, place.home) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_being_stopped_leaves_no_process_and_no_file(place, temporary, tmp_path, number):
    program(tmp_path / "bin" / "claude", "sleep 600")
    place.run("init", "--yes")
    before = tree(place.project, place.home)
    process = subprocess.Popen(
        place.command("doctor"), cwd=place.project, env=place.environ, stdout=subprocess.PIPE
    )
    with process:
        wait_until(lambda: [*temporary.glob("*/state/pinbox/*/hub.json")], what="its hub runs")
        process.send_signal(number)
        process.send_signal(number)  # of an impatient person
        assert process.communicate(timeout=20) == (b"", None)
    assert process.returncode == 130
    assert nothing_is_left(temporary)
    assert tree(place.project, place.home) == before


# --- bounded -------------------------------------------------------------------------------------


def test_an_agent_that_hangs_and_ignores_signals_costs_seconds_only(place, temporary, tmp_path):
    program(tmp_path / "bin" / "claude", "trap '' TERM INT HUP; while :; do sleep 600; done")
    program(tmp_path / "bin" / "codex", "sleep 600 & echo codex-cli 0.171.0")  # keeps its output
    began = time.monotonic()
    found = examined(place)
    assert time.monotonic() - began < DEADLINE_S + 5
    assert found["agents"]["status"] == "ok"
    assert found["agents"]["detail"] == "claude (does not say its version), codex 0.171.0"
    assert nothing_is_left(temporary)


# --- two readers ---------------------------------------------------------------------------------


def test_a_person_sees_one_line_for_each_check(place, temporary):
    from tests.terminal import on_terminal

    process, out = on_terminal(
        place.command("doctor"),
        deadline_s=60,
        cwd=place.project,
        env=place.environ,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    with process.stderr:
        talk = process.stderr.read().decode()
    assert process.wait(timeout=20) == 0
    lines = out.splitlines()
    assert [line[4:].split()[0] for line in lines] == NAMES
    assert {line[:4] for line in lines} == {"ok  ", "!   ", "-   "}
    warned = [line for line in lines if line.startswith("!")]
    assert warned
    assert all(" → " in line for line in warned)
    assert talk == "no project here\n14 checks, 1 warning\n"


def test_manage_py_has_the_same_command(place, temporary):
    manage = Path(__file__).resolve().parents[2] / "manage.py"
    command = [place.command()[0], str(manage), "pinbox", "doctor"]
    done = subprocess.run(
        command, cwd=place.project, env=place.environ, capture_output=True, timeout=60, check=True
    )
    assert [one["name"] for one in json.loads(done.stdout)["data"]["checks"]] == NAMES


# --- what is wrong is found ----------------------------------------------------------------------


def test_a_hub_that_stopped_answering_fails(daemon, temporary):
    pid = daemon.state().pid
    os.kill(pid, signal.SIGSTOP)
    try:
        found = examined(daemon, code=1)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert found["hub"]["status"] == "fail"
    assert f"process {pid}" in found["hub"]["detail"]
    assert found["hub"]["hint"] == "pinbox stop"
    assert found["delivery"]["status"] == "ok"


def test_a_hub_that_a_setting_closed_says_why(place, temporary):
    place.environ["PINBOX_AUTH"] = "jwt"
    command = place.command("serve")  # a hub that a command starts for itself would leave at once
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=place.project, env=place.environ, **quiet) as serving:
        wait_until(place.has_hub, timeout=30)
        found = examined(place, code=1)
        serving.kill()
    assert found["hub"]["status"] == found["configuration"]["status"] == "fail"
    assert "PINBOX_JWT_ISSUER" in found["hub"]["detail"]
    assert "PINBOX_AUTH" in found["configuration"]["detail"]
    assert found["delivery"]["status"] == "ok"


def test_a_setting_is_named_and_never_shown_and_the_hub_that_lacks_it_is_noticed(daemon, temporary):
    secret = "s3cr3t-" * 5
    daemon.environ["PINBOX_TOKEN"] = secret
    done = daemon.run("doctor")
    assert secret.encode() not in done.stdout + done.stderr
    found = {one["name"]: one for one in json.loads(done.stdout)["data"]["checks"]}
    assert found["configuration"]["status"] == "warn"
    assert (
        "set here: PINBOX_TOKEN; the running hub was started without"
        in (found["configuration"]["detail"])
    )
