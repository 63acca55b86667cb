"""Which process a hook takes for its agent."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import pinbox

pytestmark = pytest.mark.process

ROOT = Path(pinbox.__file__).resolve().parent.parent


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no process table to look into")
def test_the_shell_and_the_launcher_between_them_are_not_taken_for_the_agent(
    tmp_path: Path,
) -> None:
    ask = "import sys; sys.path.append(sys.argv[1]); from pinbox import hotpath; "
    ask += "print(hotpath.agent_process())"
    launcher = tmp_path / "hook"
    command = [sys.executable, "-I", "-S", "-c", ask, str(ROOT)]
    launcher.write_text(f"#!/bin/sh\n{shlex.join(command)} && exit 0\nexit 0\n")
    launcher.chmod(0o700)

    # As an agent runs the line that `init` wrote: a shell, in it the launcher, in it the program.
    said = subprocess.run(
        ["/bin/sh", "-c", f"[ -x {launcher} ] && {launcher} claude; exit 0"],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    ).stdout

    stat = Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()
    assert said.strip() == f"{os.getpid()}:{stat[19]}"
