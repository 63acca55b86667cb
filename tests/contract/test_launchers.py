"""The launchers: they find the program wherever it went, and are quiet when it is gone."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pinbox.install import command, launchers, refresh_launchers
from pinbox.install.planning import Options
from pinbox.install.settings import COMMAND

from .repository import Repository

YES = Options(yes=True)
PAYLOAD = b'{"session_id": "s"}'
QUIET = (0, b"", b"")


def program(path: Path, says: str) -> Path:
    """A stand-in for an installed `pinbox` that says how it was called, and with what."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\nprintf "%s " {says} "$@"; cat\n')
    path.chmod(0o755)
    return path


def called(
    repository: Repository, *, env: dict[str, str] | None = None, cwd: Path | None = None
) -> tuple[int, bytes, bytes]:
    """Exit code, stdout and stderr of the command in settings.json, as an agent started from a
    desktop runs it: an empty environment, a plain PATH.
    """
    environ = {"HOME": str(repository.home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["/bin/sh", "-c", COMMAND],
        env=environ | {"CLAUDE_PROJECT_DIR": str(repository.root)} | (env or {}),
        cwd=cwd or repository.root,
        input=PAYLOAD,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def point_at(repository: Repository, *, python: str, root: str) -> None:
    """Launchers that name another interpreter and package than those that run the tests."""
    for path in (repository.root / ".pinbox/hook", repository.home / ".local/state/pinbox/hook"):
        text = path.read_text().replace(os.path.dirname(sys.executable), "/gone/bin")
        named = {"py": shlex.quote(python), "root": shlex.quote(root)}
        lines = [line.partition("=") for line in text.splitlines()]
        path.write_text("".join(f"{k}{eq}{named.get(k, v)}\n" for k, eq, v in lines))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with a package whose hook says so."""
    folder = tmp_path / "it's a venv" / "lib"
    (folder / "pinbox").mkdir(parents=True)
    (folder / "pinbox" / "hook.py").write_text(
        "import sys\nprint('hook.py', *sys.argv[1:], sys.stdin.read(), end='')\n"
    )
    return folder


def test_the_installed_hook_runs_from_an_empty_environment(repository, package):
    command.run(YES)
    point_at(repository, python=sys.executable, root=str(package))
    assert called(repository) == (0, b"hook.py claude " + PAYLOAD, b"")


def test_the_launcher_names_the_program_that_wrote_it(repository):
    command.run(YES)
    text = (repository.root / ".pinbox/hook").read_text()
    named = {line.partition("=")[0]: line.partition("=")[2] for line in text.splitlines()}
    assert os.path.samefile(shlex.split(named["py"])[0], sys.executable)
    assert (Path(shlex.split(named["root"])[0]) / "pinbox" / "install").is_dir()


def test_a_worktree_without_a_folder_of_ours_uses_the_launcher_of_the_user(
    repository, package, tmp_path
):
    command.run(YES)
    point_at(repository, python=sys.executable, root=str(package))
    code, out, err = called(repository, env={"CLAUDE_PROJECT_DIR": str(tmp_path)})
    assert (code, err) == (0, b"")
    assert out.startswith(b"hook.py claude")


@pytest.mark.parametrize("python", ["/gone/bin/python", "dangling", "broken", "not executable"])
def test_an_interpreter_that_went_is_replaced_by_the_program_on_the_path(
    repository, package, tmp_path, python
):
    if python == "dangling":
        (tmp_path / python).symlink_to("/gone/python3.11")
    elif python == "broken":
        (tmp_path / python).write_text("#!/gone/python\n")
        (tmp_path / python).chmod(0o755)
    elif python == "not executable":
        (tmp_path / python).write_text("")
    command.run(YES)
    path = python if python.startswith("/") else str(tmp_path / python)
    point_at(repository, python=path, root=str(package))
    program(repository.home / ".local/bin/pinbox", "found")
    assert called(repository) == (0, b"found hook claude " + PAYLOAD, b"")


def test_a_package_that_went_is_replaced_by_the_program_on_the_path(repository, tmp_path):
    command.run(YES)
    point_at(repository, python=sys.executable, root=str(tmp_path / "gone"))
    program(tmp_path / "bin/pinbox", "on-path")
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    assert called(repository, env={"PATH": path}) == (0, b"on-path hook claude " + PAYLOAD, b"")


def test_a_program_on_the_path_that_is_broken_too_is_quiet(repository, tmp_path):
    command.run(YES)
    point_at(repository, python="/gone/python", root="/gone")
    broken = program(tmp_path / "bin/pinbox", "x")
    broken.write_text("#!/gone/python\n")
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    assert called(repository, env={"PATH": path}) == QUIET


@pytest.mark.parametrize("harm", ["program", "launchers", "project", "home", "everything"])
def test_what_is_missing_is_silence_and_exit_0(repository, harm):
    command.run(YES)
    point_at(repository, python="/gone/python", root="/gone")
    env = {}
    if harm in ("launchers", "everything"):
        (repository.root / ".pinbox/hook").unlink()
        (repository.home / ".local/state/pinbox/hook").unlink()
    if harm == "project":
        env = {"CLAUDE_PROJECT_DIR": "/gone"}
    if harm in ("home", "everything"):
        env = {"HOME": "", "CLAUDE_PROJECT_DIR": ""}
    assert called(repository, env=env) == QUIET


def test_without_a_home_or_a_path_it_is_silence_and_exit_0(repository):
    command.run(YES)
    point_at(repository, python="/gone/python", root="/gone")
    done = subprocess.run(
        ["/bin/sh", "-c", COMMAND], env={}, cwd="/", input=PAYLOAD, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == QUIET


def test_an_interpreter_that_fails_says_nothing(repository, package):
    (package / "pinbox" / "hook.py").write_text("raise SystemError('not shown')\n")
    command.run(YES)
    point_at(repository, python=sys.executable, root=str(package))
    assert called(repository) == QUIET


def test_the_current_folder_is_never_imported_from(repository, package):
    command.run(YES)
    point_at(repository, python=sys.executable, root=str(package))
    (repository.root / "sys.py").write_text("raise SystemExit(9)\n")
    (repository.root / "site.py").write_text("raise SystemExit(9)\n")
    env = {"PYTHONPATH": str(repository.root), "PYTHONSTARTUP": str(repository.root / "sys.py")}
    assert called(repository, env=env)[1].startswith(b"hook.py claude")


def test_a_starting_hub_writes_both_launchers_anew(repository):
    command.run(YES)
    good = launchers.script()
    point_at(repository, python="/gone/python", root="/gone")
    refresh_launchers(repository.root)
    for path in (repository.root / ".pinbox/hook", repository.home / ".local/state/pinbox/hook"):
        assert path.read_bytes() == good
        assert path.stat().st_mode & 0o777 == 0o700


def test_a_launcher_that_lost_its_mode_gets_it_back(repository):
    command.run(YES)
    (repository.root / ".pinbox/hook").chmod(0o600)
    refresh_launchers(repository.root)
    assert os.access(repository.root / ".pinbox/hook", os.X_OK)


def test_nothing_is_refreshed_where_init_never_ran_or_was_undone(repository):
    (repository.root / ".pinbox").mkdir(mode=0o700)
    before = repository.snapshot()
    refresh_launchers(repository.root)
    assert repository.snapshot() == before
    command.run(YES)
    command.run(Options(undo=True))
    refresh_launchers(repository.root)
    assert not (repository.root / ".pinbox/hook").exists()


def test_a_foreign_file_is_not_refreshed(repository):
    command.run(YES)
    (repository.root / ".pinbox/hook").write_text("mine")
    refresh_launchers(repository.root)
    assert (repository.root / ".pinbox/hook").read_text() == "mine"


@pytest.mark.parametrize("where", ["/gone", "folder"])
def test_refreshing_never_raises(repository, monkeypatch, where):
    if where == "folder":
        (repository.root / ".pinbox/hook").mkdir(parents=True)
        refresh_launchers(repository.root)
    monkeypatch.delenv("HOME")
    refresh_launchers(where)


def test_a_moved_environment_mends_itself_when_its_hub_starts(repository, tmp_path):
    """A copy of the interpreter under another name stands for the environment that moved."""
    moved = tmp_path / "moved" / "bin"
    moved.mkdir(parents=True)
    (moved / "python").symlink_to(sys.executable)
    command.run(YES)
    point_at(repository, python="/gone/python", root="/gone")
    root = Path(launchers.__file__).parents[2]
    script = "import sys; sys.path.append(sys.argv[1]); import pinbox.install as install; "
    script += "install.refresh_launchers(sys.argv[2])"
    repository.run(moved / "python", "-c", script, root, repository.root)
    text = (repository.root / ".pinbox/hook").read_text()
    assert f"py={moved / 'python'}\n" in text


def test_the_launcher_of_an_interpreter_prefers_the_name_without_a_version(tmp_path, monkeypatch):
    for name in ("python3.11", "python3", "python"):
        (tmp_path / name).symlink_to(sys.executable)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python3.11"))
    assert f"py={tmp_path / 'python3'}\n".encode() in launchers.script()


def test_shell_words_in_paths_are_only_paths(tmp_path, monkeypatch):
    folder = tmp_path / "a $(touch owned) `touch owned` \"b\" 'c' \\ d"
    folder.mkdir()
    shutil.copy("/bin/true", folder / "python")
    monkeypatch.setattr("sys.executable", str(folder / "python"))
    (tmp_path / "hook").write_bytes(launchers.script())
    done = subprocess.run(["/bin/sh", tmp_path / "hook", "claude"], cwd=tmp_path, check=False)
    assert done.returncode == 0
    assert not (tmp_path / "owned").exists()
