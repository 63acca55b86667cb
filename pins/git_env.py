"""The project's git branch and commit, read from files: no process is spawned while a pin is
created.

`git rev-parse` costs about 2 ms a spawn; reading HEAD and its ref costs a fortieth of that, and
nothing while their times stand.
"""

import os
from functools import lru_cache
from pathlib import Path


def branch_and_commit(project: Path | None) -> dict[str, str]:
    """`{"branch", "commit"}` as git would say them (branch `HEAD` when detached); empty when there
    is no commit to name.
    """
    try:
        if project is None or (git := _git_dir(project)) is None:
            return {}
        common = _common_dir(git)
        return _read(git, common, _stamp(git / "HEAD"), _stamps_of_ref(git, common))
    except (OSError, ValueError):
        return {}


def _git_dir(project: Path) -> Path | None:
    # Text, not Path: this runs for every pin, and a project without git has it walk to the root.
    folder = str(project)
    while True:
        dot_git = f"{folder.rstrip('/')}/.git"
        if os.path.isdir(dot_git):
            return Path(dot_git)
        if os.path.isfile(dot_git):
            named = Path(dot_git).read_text("utf-8").partition("gitdir:")[2].strip()
            return Path(folder) / named if named else None
        if folder == "/":
            return None
        folder = os.path.dirname(folder)


def _common_dir(git: Path) -> Path:
    """Where the refs are: a linked worktree keeps only its own HEAD."""
    try:
        return git / (git / "commondir").read_text("utf-8").strip()
    except FileNotFoundError:
        return git


def _stamp(path: Path) -> tuple[int, int]:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return (0, 0)
    return (stat.st_mtime_ns, stat.st_ino)


def _stamps_of_ref(git: Path, common: Path) -> tuple[tuple[int, int], ...]:
    ref = _ref((git / "HEAD").read_text("utf-8"))
    return (_stamp(common / ref) if ref else (0, 0), _stamp(common / "packed-refs"))


def _ref(head: str) -> str:
    return head.partition("ref:")[2].strip()


@lru_cache(maxsize=8)
def _read(
    git: Path, common: Path, _head: tuple[int, int], _refs: tuple[tuple[int, int], ...]
) -> dict[str, str]:
    """The stamps are part of the key: another HEAD or ref is another answer."""
    head = (git / "HEAD").read_text("utf-8").strip()
    ref = _ref(head)
    commit = _commit_of(common, ref) if ref else head
    if not _is_commit(commit):
        return {}
    branch = ref.removeprefix("refs/heads/") if ref else "HEAD"
    return {"branch": branch, "commit": commit}


def _commit_of(common: Path, ref: str) -> str:
    try:
        return (common / ref).read_text("utf-8").strip()
    except FileNotFoundError:
        packed = (common / "packed-refs").read_text("utf-8")
    for line in packed.splitlines():
        commit, _, name = line.partition(" ")
        if name == ref:
            return commit
    return ""


def _is_commit(text: str) -> bool:
    return len(text) in {40, 64} and all(c in "0123456789abcdef" for c in text)
