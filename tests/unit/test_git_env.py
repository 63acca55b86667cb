"""Branch and commit as read from files are what git itself says."""

import subprocess

import pytest

from pins.git_env import branch_and_commit


def git(folder, *arguments):
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def said_by_git(folder):
    return {
        "branch": git(folder, "rev-parse", "--abbrev-ref", "HEAD"),
        "commit": git(folder, "rev-parse", "HEAD"),
    }


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


@pytest.mark.parametrize(
    "change",
    [
        [],
        [["checkout", "-q", "-b", "feature/a#1"]],
        [["pack-refs", "--all"]],
        [["pack-refs", "--all"], ["commit", "-q", "--allow-empty", "-m", "second"]],
        [["checkout", "-q", "--detach"]],
    ],
)
def test_a_repository_in_any_state(repository, change):
    assert branch_and_commit(repository) == said_by_git(repository)
    for arguments in change:
        git(repository, *arguments)
    assert branch_and_commit(repository) == said_by_git(repository)


def test_a_folder_inside_the_repository(repository):
    inside = repository / "a" / "b"
    inside.mkdir(parents=True)
    assert branch_and_commit(inside) == said_by_git(repository)


def test_a_linked_worktree_has_its_own_branch(repository, tmp_path):
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", "-b", "other", str(linked))
    git(linked, "commit", "-q", "--allow-empty", "-m", "there")
    assert branch_and_commit(linked) == said_by_git(linked)
    assert branch_and_commit(linked) != branch_and_commit(repository)


def test_a_submodule_has_its_own_commit(repository, tmp_path):
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "sub")
    assert branch_and_commit(outer / "sub") == said_by_git(outer / "sub")


def test_nothing_is_invented_where_there_is_no_commit(tmp_path):
    assert branch_and_commit(None) == {}
    git(tmp_path, "init", "-q")
    assert branch_and_commit(tmp_path) == {}
    (tmp_path / ".git" / "HEAD").write_bytes(b"\xff\xfe broken")
    assert branch_and_commit(tmp_path) == {}
