"""Fixtures of the command line's tests."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.contract.cli_project import Project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A git repository whose hub the first command starts; stopped when the module is done."""
    path = tmp_path_factory.mktemp("project")
    subprocess.run(["git", "init", "-q", path], check=True)
    project = Project(path)
    yield project
    project.run("stop")
