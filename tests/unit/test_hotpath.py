"""The hook's own rules for finding a project are those of `pinbox.project`, without its imports."""

import os
import subprocess
from pathlib import Path

import pytest

from pinbox import hotpath, project


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Folders, repositories, linked worktrees and a submodule in a home with a `.pinbox`."""
    home = tmp_path / "home"

    def git(cwd, *words):
        subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *words],
            cwd=cwd,
            check=True,
            capture_output=True,
        )

    for name in ("plain/deep", "with/deep", "repository/deep", "other", "mixed/inner/deep"):
        (home / name).mkdir(parents=True)
    for name in ("with/app/deep", "chosen/app/deep", "mixed/inner/nested"):
        (home / name).mkdir(parents=True)
    for name in ("repository", "other", "mixed", "with/app", "chosen/app", "mixed/inner/nested"):
        git(home / name, "init", "-q")
        git(home / name, "commit", "-q", "--allow-empty", "-m", "first")
    git(home / "repository", "worktree", "add", "-q", str(home / "linked"))
    git(home / "other", "worktree", "add", "-q", str(home / "linked-bare"))
    git(home / "mixed", "submodule", "add", "-q", str(home / "other"), "vendored")
    for name in (".", "with", "repository", "mixed/inner", "chosen"):
        (home / name / ".pinbox").mkdir()
    (home / "chosen" / ".pinbox" / "hook").write_text("")
    (home / "link").symlink_to(home / "with" / "deep")
    (home / "file" / ".pinbox").parent.mkdir()
    (home / "file" / ".pinbox").write_text("")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(hotpath.posix, "environ", {b"HOME": os.fsencode(home)}, raising=True)
    return home


def test_hook_and_commands_agree_on_the_project_everywhere(tree, monkeypatch):
    starts = [folder for folder, _, _ in os.walk(tree, followlinks=True) if "/.git" not in folder]
    assert len(starts) > 15
    found = {}
    for start in starts:
        monkeypatch.chdir(start)
        answer = hotpath.find()
        found[start] = answer
        expected = project.find()
        if (expected / ".pinbox").is_dir():
            assert answer == os.fsencode(expected), start
        else:
            assert answer is None, start
    assert {None} < set(found.values())


def test_hook_and_commands_agree_on_the_state_folder(tree, monkeypatch):
    environ = hotpath.posix.environ
    folder = tree / "with"
    assert hotpath.state_folder(os.fsencode(folder)) == os.fsencode(project.state_path(folder))
    for named in ("/some/where", "/some/where/", "relative", ""):
        monkeypatch.setenv("XDG_STATE_HOME", named)
        environ[b"XDG_STATE_HOME"] = named.encode()
        assert Path(os.fsdecode(hotpath.state_folder(os.fsencode(folder)))) == project.state_path(
            folder
        )
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("HOME")
    environ.clear()
    assert hotpath.state_folder(os.fsencode(folder)) == os.fsencode(project.state_path(folder))


@pytest.mark.parametrize(
    ("tail", "kept"),
    [
        (b"plain", b"plain"),
        (b"ends in \\", b"ends in "),
        (b"ends in \\\\", b"ends in "),
        (b"half an escape \\u00", b"half an escape "),
    ],
)
def test_a_payload_is_cut_before_an_escape_and_closed(monkeypatch, tail, kept):
    front = b'{"a":"'
    monkeypatch.setattr(hotpath, "MAX_BODY_BYTES", len(front) + len(tail) + 2)
    assert hotpath._shortened(front + tail + b" and so on" * 10) == front + kept + b'"}'
