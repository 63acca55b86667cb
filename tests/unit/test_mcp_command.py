"""`pinbox mcp` without its extra, and a server that only listens in a project without a hub."""

import json
import os
import pty
import subprocess
import sys

import anyio
import pytest

from pinbox import project
from pinbox_site.mcp import stdio
from pinbox_site.mcp.feed import Feed
from tests.wait import wait_until


@pytest.mark.parametrize("missing", ["mcp", "websockets", "jsonschema"])
def test_without_the_extra_it_says_how_to_install_it(tmp_path, missing):
    script = (
        f"import sys; sys.modules[{missing!r}] = None; from pinbox.cli import main;"
        f"sys.exit(main(['mcp', '--project', {str(tmp_path)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "E_INVALID_INPUT"
    assert "pip install 'pinbox[mcp]'" in error["hint"]
    assert error["hint"] in done.stderr  # where clients look
    assert list(tmp_path.iterdir()) == []


def test_a_person_who_starts_it_on_a_terminal_is_told_what_it_waits_for(tmp_path):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "pinbox", "mcp", "--project", str(tmp_path)]
    with subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        os.close(theirs)
        assert process.stderr is not None
        assert b"waits for an agent" in process.stderr.readline()
        os.write(ours, b"\x04")
        assert process.wait(timeout=30) == 0
    os.close(ours)


def test_a_watcher_looks_again_and_again_and_starts_nothing(tmp_path, monkeypatch):
    looks = []

    def look(folder):
        looks.append(folder)
        raise project.NoHub("missing", "none")

    monkeypatch.setattr(project, "read_hub", look)
    monkeypatch.setattr(stdio, "_FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(stdio, "_LONGEST_PAUSE_S", 0.001)

    async def main():
        watcher = stdio.Watcher(tmp_path, Feed())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watcher.run)
            await anyio.to_thread.run_sync(wait_until, lambda: len(looks) > 3)
            tasks.cancel_scope.cancel()

    anyio.run(main)
    assert list(tmp_path.iterdir()) == []
