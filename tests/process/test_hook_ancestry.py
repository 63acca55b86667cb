"""Which process the hook takes for the agent: the one that runs the hook command, whatever stands
between."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASK = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from pinbox import hotpath; print(hotpath.agent_process())"
)

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.fixture
def launcher(tmp_path) -> Path:
    """A script named and made like `.pinbox/hook`, that prints the agent's process."""
    path = tmp_path / "hook"
    path.write_text(f"#!/bin/sh\n{sys.executable} -I -S -c '{ASK}' {ROOT}\nexit 0\n")
    path.chmod(0o700)
    return path


def asked(command: str) -> str:
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_launcher_and_its_shells_are_not_the_agent(launcher):
    assert asked(f"{launcher}; exit 0").partition(":")[0] == str(os.getpid())
    assert asked(f"env sh -c '{launcher}; exit 0'; exit 0").partition(":")[0] == str(os.getpid())


def test_two_hooks_of_one_agent_name_the_same_process(launcher):
    assert asked(f"{launcher}; exit 0") == asked(f"{launcher}; exit 0")
