"""Fixtures of the suites that look at the wire and the terminal."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.cli_project import Project
from tests.contract.repository import PINBOX, Repository, make_repository


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A git repository whose hub the first command starts; stopped when the module is done."""
    path = tmp_path_factory.mktemp("project")
    subprocess.run(["git", "init", "-q", path], check=True)
    project = Project(path)
    yield project
    project.run("stop")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """A fresh git repository without hooks, with a home of its own; this process stands in it."""
    found = make_repository(tmp_path)
    monkeypatch.chdir(found.root)
    monkeypatch.delenv("PINBOX_PROJECT", raising=False)
    for name in ("HOME", "PATH", "GIT_CONFIG_NOSYSTEM"):
        monkeypatch.setenv(name, found.environ[name])
    yield found
    if list(found.home.glob(".local/state/pinbox/*/hub.json")):
        found.run(PINBOX, "stop")
