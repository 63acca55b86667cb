"""Where a project is, and that everything made for it is private."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pinbox import project
from pinbox.contract import PinboxError


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A throw-away HOME without XDG variables."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return folder


@pytest.fixture(params=[0o000, 0o077, 0o022])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def git(cwd, *args):
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *args],
        cwd=cwd,
        env=env,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repository"
    (root / "packages" / "app").mkdir(parents=True)
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root


def test_a_directory_outside_git_is_its_own_project(tmp_path, home):
    assert project.find(tmp_path) == tmp_path


def test_the_current_directory_is_the_default_start(tmp_path, home, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert project.find() == tmp_path


def test_a_subdirectory_belongs_to_the_git_root(repository, home):
    assert project.find(repository / "packages" / "app") == repository


def test_the_nearest_pinbox_folder_wins_over_the_git_root(repository, home):
    package = repository / "packages"
    (package / ".pinbox").mkdir()
    assert project.find(package / "app") == package


def test_a_symlink_leads_to_the_physical_project(repository, home, tmp_path):
    (tmp_path / "link").symlink_to(repository / "packages")
    assert project.find(tmp_path / "link" / "app") == repository
    assert project.project_id(tmp_path / "link") == project.project_id(repository / "packages")


def test_a_linked_worktree_uses_the_main_one(repository, home, tmp_path):
    git(repository, "worktree", "add", "-q", str(tmp_path / "linked"))
    (tmp_path / "linked" / "deep").mkdir()
    assert project.find(tmp_path / "linked" / "deep") == repository


def test_a_linked_worktree_with_its_own_pinbox_folder_is_its_own_project(
    repository, home, tmp_path
):
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", str(linked))
    (linked / ".pinbox").mkdir()
    assert project.find(linked) == linked


def test_a_submodule_is_its_own_project(repository, home, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "first")
    git(repository, "submodule", "add", "-q", str(other), "vendored")
    assert project.find(repository / "vendored") == repository / "vendored"


def test_a_worktree_of_a_bare_repository_is_its_own_project(repository, home, tmp_path):
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(tmp_path / "bare.git"))
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "checkout"))
    assert project.find(tmp_path / "checkout") == tmp_path / "checkout"


def test_the_pinbox_folder_of_home_does_not_swallow_repositories_below_it(repository, monkeypatch):
    home = repository.parent
    (home / ".pinbox").mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert project.find(repository / "packages") == repository
    (home / "notes").mkdir()
    assert project.find(home / "notes") == home


def test_a_pinbox_folder_left_by_chance_does_not_swallow_repositories_below_it(
    repository, home, tmp_path
):
    (tmp_path / ".pinbox").mkdir()
    assert project.find(repository / "packages") == repository
    (tmp_path / "notes").mkdir()
    assert project.find(tmp_path / "notes") == tmp_path


def test_where_init_ran_above_repositories_they_are_one_project(repository, home, tmp_path):
    (tmp_path / ".pinbox").mkdir()
    (tmp_path / ".pinbox" / "hook").write_text("#!/bin/sh\n")
    assert project.find(repository / "packages") == tmp_path


def test_a_submodule_without_a_pinbox_folder_is_part_of_a_project_that_has_one(repository, home):
    (repository / ".pinbox").mkdir()
    (repository / "vendored" / ".git").mkdir(parents=True)
    assert project.find(repository / "vendored") == repository


def test_a_file_called_dot_pinbox_is_not_a_project(repository, home):
    (repository / "packages" / ".pinbox").write_text("")
    assert project.find(repository / "packages") == repository


def test_a_deleted_current_directory_is_a_clear_error(tmp_path, home, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(PinboxError, match="current directory"):
        project.find()


def test_the_project_id_is_twelve_hex_digits_of_the_path_hash(tmp_path):
    import hashlib

    assert project.project_id(tmp_path) == hashlib.sha256(os.fsencode(tmp_path)).hexdigest()[:12]


def test_state_lives_under_xdg_state_home_when_that_is_absolute(tmp_path, home, monkeypatch):
    assert project.state_home() == home / ".local" / "state"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert project.state_home() == home / ".local" / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert project.state_home() == tmp_path / "xdg"


def test_everything_made_is_private_under_any_umask(tmp_path, home, umask):
    state = project.state_dir(tmp_path)
    assert [mode(p) for p in (state, *state.parents)][:4] == [0o700] * 4
    project.secret(tmp_path)
    folder = project.pinbox_dir(tmp_path)
    assert mode(folder) == 0o700
    assert (folder / ".gitignore").read_bytes() == b"*\n"
    assert {mode(p) for p in [*folder.iterdir(), *state.iterdir()]} == {0o600}


def test_the_rights_of_existing_parents_are_left_alone(tmp_path, home):
    (home / ".local").mkdir()
    (home / ".local").chmod(0o755)
    project.state_dir(tmp_path)
    assert mode(home / ".local") == 0o755


def test_an_existing_open_pinbox_folder_is_closed(tmp_path):
    (tmp_path / ".pinbox").mkdir()
    (tmp_path / ".pinbox").chmod(0o755)
    assert mode(project.pinbox_dir(tmp_path)) == 0o700


def test_git_sees_nothing_of_the_pinbox_folder(repository, home):
    project.pinbox_dir(repository)
    shown = subprocess.run(
        ["git", "status", "--porcelain"], cwd=repository, capture_output=True, check=True, text=True
    )
    assert ".pinbox" not in shown.stdout


def test_a_write_replaces_the_file_and_leaves_no_temporary(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    project.private_write(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_made_is_one_error_with_a_hint(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file" / "below"))
    with pytest.raises(PinboxError) as caught:
        project.state_dir(tmp_path)
    assert caught.value.code == "E_INTERNAL"
    assert "XDG_STATE_HOME" in str(caught.value.hint)


def test_a_pinbox_folder_that_cannot_be_made_is_no_matter_of_the_state_folder(tmp_path):
    (tmp_path / ".pinbox").write_text("")
    with pytest.raises(PinboxError) as caught:
        project.pinbox_dir(tmp_path)
    assert caught.value.hint == f"make {tmp_path} writable, or free some space"


def test_a_failed_write_is_one_error_and_keeps_the_old_file(tmp_path):
    """A limit on file size is the portable way to have a full disk."""
    (tmp_path / "file").write_bytes(b"old")
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from pinbox import contract, project\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "try:\n"
        "    project.private_write(Path(sys.argv[1]), b'x' * 100)\n"
        "except contract.PinboxError as error:\n"
        "    print(error.code)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "file")],
        cwd=Path(project.__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "E_INTERNAL\n"
    assert (tmp_path / "file").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_all_who_ask_for_the_secret_at_once_get_the_same_one(tmp_path, home):
    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(lambda _: project.secret(tmp_path), range(64)))
    assert len(found) == 1
    assert len(found.pop()) >= 32
    assert sorted(p.name for p in project.state_dir(tmp_path).iterdir()) == ["secret"]


@pytest.mark.parametrize("content", [b"", b"short", bytes(range(256))])
def test_a_damaged_secret_file_is_replaced(tmp_path, home, content):
    (project.state_dir(tmp_path) / "secret").write_bytes(content)
    assert project.secret(tmp_path) == project.secret(tmp_path) != ""


def state_of(folder, *, pid):
    return project.HubState(
        pid=pid,
        port=4321,
        token="full",
        version="0.1.0",
        page_token="page",
        instance="i",
        started_at="2026-01-01T00:00:00.000Z",
        folder=str(folder),
    )


def record(folder, *, pid, mark=None):
    state = state_of(folder, pid=pid)
    project.private_write(folder / project.STATE_FILE, state.encode())
    mark = project.process_mark(pid) if mark is None else mark
    project.private_write(folder / project.PID_FILE, f"{pid} {mark}".encode())
    state.mark = mark
    return state


def test_a_recorded_live_hub_is_read_back(tmp_path, home):
    state = record(project.state_dir(tmp_path), pid=os.getpid())
    assert project.read_hub(tmp_path) == state


def test_the_state_file_is_compact_json_in_its_promised_order(tmp_path):
    assert state_of(tmp_path, pid=7).encode() == (
        b'{"pid":7,"port":4321,"token":"full","version":"0.1.0","pageToken":"page","instance":"i",'
        b'"startedAt":"2026-01-01T00:00:00.000Z"}'
    )


def test_a_hub_started_under_another_home_is_found_through_the_lock_file(
    tmp_path, home, monkeypatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    state = record(project.state_dir(tmp_path), pid=os.getpid())
    project.private_write(project.pinbox_dir(tmp_path) / "hub.lock", os.fsencode(state.state_dir))
    monkeypatch.delenv("XDG_STATE_HOME")
    assert project.read_hub(tmp_path) == state


def cause_of_no_hub(folder):
    with pytest.raises(project.NoHub) as caught:
        project.read_hub(folder)
    assert str(caught.value)
    return caught.value.cause


def test_a_missing_state_file_is_no_hub(tmp_path, home):
    assert cause_of_no_hub(tmp_path) == "missing"


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"pid":1}', b"\xff", b"[" * 5000, b'{"pid":"1"}']
)
def test_a_damaged_state_file_is_no_hub(tmp_path, home, content):
    project.private_write(project.state_dir(tmp_path) / project.STATE_FILE, content)
    assert cause_of_no_hub(tmp_path) == "malformed"


def test_a_state_file_that_others_can_write_is_no_hub(tmp_path, home):
    state = record(project.state_dir(tmp_path), pid=os.getpid())
    (state.state_dir / project.STATE_FILE).chmod(0o666)
    assert cause_of_no_hub(tmp_path) == "foreign"


def test_a_directory_in_place_of_the_state_file_is_no_hub(tmp_path, home):
    (project.state_dir(tmp_path) / project.STATE_FILE).mkdir()
    assert cause_of_no_hub(tmp_path) == "foreign"


def test_a_reused_pid_is_no_hub(tmp_path, home):
    record(project.state_dir(tmp_path), pid=os.getpid(), mark="1@another boot")
    assert cause_of_no_hub(tmp_path) == "dead"
    record(project.state_dir(tmp_path), pid=1, mark="")
    assert cause_of_no_hub(tmp_path) == "dead"


def test_a_zombie_is_no_hub(tmp_path, home):
    child = subprocess.Popen(["/bin/sh", "-c", "read x"], stdin=subprocess.PIPE)
    record(project.state_dir(tmp_path), pid=child.pid)
    project.read_hub(tmp_path)
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert cause_of_no_hub(tmp_path) == "dead"
    child.wait()
