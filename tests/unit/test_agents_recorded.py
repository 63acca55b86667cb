"""What was recorded of each agent is of the version that tests/agents runs."""

import re
from pathlib import Path

import pytest

from pinbox.agents import AGENTS, RESUMES
from tests.agents import install

RECORDED = Path(__file__).parent.parent / "fixtures" / "agents"
RUN = {
    "claude": install.CLAUDE,
    "codex": install.CODEX,
    "hermes": install.HERMES,
    "openclaw": install.OPENCLAW,
}


@pytest.mark.parametrize("name", AGENTS)
def test_what_was_recorded_is_of_the_version_that_is_run(name):
    version = re.split("@|==", RUN[name])[-1]
    files = {path.name for path in (RECORDED / f"{name}-{version}").glob("*.json")}
    assert len(files) >= 5
    assert ("resume.json" in files) is (name in RESUMES)
