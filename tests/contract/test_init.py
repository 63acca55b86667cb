"""init: plan, ask, apply. What is written, when, and what is left alone."""

import fcntl
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pinbox.cli import main
from pinbox.contract import PinboxError
from pinbox.install import command, files, guide, planning
from pinbox.install.planning import Options

from .repository import EVENTS, PINBOX, REGISTERED, Repository

YES = Options(yes=True)


def test_init_makes_the_folder_the_hooks_the_skill_and_the_git_hook(repository):
    data = command.run(YES)
    assert data["applied"] is True
    assert (data["pinboxDir"], data["gitignore"]) == ("created", "unchanged")
    assert (data["gitHook"], data["claudeSettings"]) == ("installed", "installed")
    assert [(a["agent"], a["method"], a["ok"]) for a in data["agents"]] == [
        ("claude", "skills-dir", True)
    ]
    assert data["markers"] == []
    assert repository.commands() == REGISTERED
    assert (repository.root / ".claude/skills/pinbox/SKILL.md").read_bytes() == guide.skill()
    assert (repository.root / ".pinbox/.gitignore").read_bytes() == b"*\n"
    assert os.access(repository.hook, os.X_OK)
    assert repository.git("status", "--porcelain") == "?? .claude/"


def test_every_hook_has_a_timeout_and_nothing_else(repository):
    command.run(YES)
    hooks = json.loads(repository.settings.read_text())["hooks"]
    for event in EVENTS:
        (group,) = hooks[event]
        (entry,) = group["hooks"]
        assert group.keys() == {"hooks"}
        assert entry == {"type": "command", "command": REGISTERED[event][0], "timeout": 10}


def test_what_is_written_into_shared_files_names_no_machine(repository):
    command.run(YES)
    for path in (repository.settings, repository.hook):
        text = path.read_text()
        assert str(repository.root) not in text
        assert str(repository.home) not in text
        assert os.path.dirname(sys.executable) not in text


def test_no_permission_is_added(repository):
    command.run(YES)
    assert json.loads(repository.settings.read_text()).keys() == {"hooks"}


def test_a_second_init_changes_nothing(repository):
    command.run(YES)
    before = repository.snapshot()
    data = command.run(YES)
    assert repository.snapshot() == before
    assert (data["pinboxDir"], data["gitHook"]) == ("unchanged", "kept")
    assert data["claudeSettings"] == "unchanged"
    assert all("unchanged" in step["detail"] for step in data["steps"])


@pytest.mark.parametrize(
    "options",
    [Options(), Options(ask=False), Options(dry_run=True), Options(yes=True, dry_run=True)],
)
def test_a_plan_writes_nothing_at_all_and_foretells_the_rest(repository, options):
    before = repository.snapshot()
    planned = command.run(options)
    assert repository.snapshot() == before
    assert planned["applied"] is False
    applied = command.run(YES)
    assert planned | {"applied": True} == applied


def test_a_dry_run_asks_nobody(repository):
    def ask(plan):
        raise AssertionError(plan)

    assert command.run(Options(dry_run=True, ask=True), ask=ask)["applied"] is False


def test_who_is_asked_sees_the_plan_and_may_refuse(repository):
    before = repository.snapshot()
    shown = []

    def refuse(plan):
        shown.append(planning.report(plan.steps))
        return False

    assert command.run(Options(), ask=refuse)["applied"] is False
    assert repository.snapshot() == before
    assert "settings.json" in shown[0]
    assert command.run(Options(), ask=lambda plan: True)["applied"] is True
    assert repository.commands() == REGISTERED


def test_nobody_is_asked_when_there_is_nothing_to_do(repository):
    command.run(YES)
    command.run(Options(), ask=lambda plan: pytest.fail("asked"))


def test_inits_at_the_same_moment_end_as_one(repository):
    repository.settings.parent.mkdir()
    repository.settings.write_text('{"a": 1}')
    before = repository.snapshot()
    started = [
        subprocess.Popen(
            [PINBOX, "init", "--yes"],
            cwd=repository.root,
            env=repository.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        for _ in range(6)
    ]
    answers = [json.loads(process.communicate(timeout=60)[0]) for process in started]
    assert [process.returncode for process in started] == [0] * 6, answers
    assert repository.commands() == REGISTERED
    assert repository.hook.read_text().count(">>> pinbox") == 1
    command.run(Options(undo=True))
    assert repository.snapshot() == before


def test_the_first_inits_of_two_projects_do_not_hinder_each_other(
    repository, tmp_path, monkeypatch
):
    other = tmp_path / "other"
    other.mkdir()
    real = files.check

    def check(changes):
        monkeypatch.setattr(files, "check", real)
        assert repository.run(PINBOX, "init", "--yes", cwd=other).returncode == 0
        real(changes)

    monkeypatch.setattr(files, "check", check)
    assert command.run(YES)["pinboxDir"] == "created"
    assert repository.commands() == REGISTERED
    assert repository.run(PINBOX, "init", "--undo", cwd=other).returncode == 0


def meanwhile(repository, monkeypatch, *words):
    """Somebody else's init or undo, done just before this one gets its lock."""
    real = fcntl.flock

    def flock(descriptor, kind):
        monkeypatch.setattr(fcntl, "flock", real)
        assert repository.run(PINBOX, "init", *words).returncode == 0
        real(descriptor, kind)

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.parametrize("kept", [False, True])
def test_an_init_that_waited_for_an_undo_does_all_of_it(repository, monkeypatch, kept):
    before = repository.snapshot()
    command.run(YES)
    if kept:  # the folder stays
        (repository.root / ".pinbox" / "pinbox.db").write_bytes(b"pins")
    (repository.root / ".claude/skills/pinbox/SKILL.md").unlink()
    meanwhile(repository, monkeypatch, "--undo")
    assert command.run(YES)["claudeSettings"] == "installed"
    assert repository.commands() == REGISTERED
    (repository.root / ".pinbox" / "pinbox.db").unlink(missing_ok=True)
    command.run(Options(undo=True))
    assert repository.snapshot() == before


def test_an_undo_that_waited_for_an_init_takes_out_what_that_put_in(repository, monkeypatch):
    before = repository.snapshot()
    command.run(YES)
    (repository.root / ".claude/skills/pinbox/SKILL.md").unlink()
    meanwhile(repository, monkeypatch, "--yes")
    command.run(Options(undo=True))
    assert repository.snapshot() == before


@pytest.mark.parametrize("extra", [[], ["--json"], ["--no-input"], ["--agent", "claude"]])
def test_a_program_that_reads_the_answer_gets_only_the_plan(repository, extra):
    before = repository.snapshot()
    assert repository.pinbox("init", *extra)["applied"] is False
    assert repository.snapshot() == before


@pytest.mark.parametrize("name", ["bogus", "claude,bogus", "emacs", "", "claude,", "none,claude"])
def test_an_unknown_agent_is_refused_before_anything_is_written(repository, name):
    before = repository.snapshot()
    done = repository.run(PINBOX, "init", "--yes", f"--agent={name}")
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "E_INVALID_INPUT"
    assert "claude" in error["hint"]
    assert repository.snapshot() == before


@pytest.mark.parametrize("name", ["claude", " Claude ", "claude,claude"])
def test_an_agent_can_be_named(repository, name):
    assert planning.agents_asked_for(name) == ("claude",)


def test_none_installs_no_agent(repository):
    data = command.run(Options(yes=True, agents=planning.agents_asked_for("none")))
    assert data["agents"] == []
    assert data["claudeSettings"] == "unchanged"
    assert data["gitHook"] == "installed"
    assert not (repository.root / ".claude").exists()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o177])
def test_everything_of_ours_is_private_whatever_the_umask(repository, umask):
    before = os.umask(umask)
    try:
        command.run(Options(yes=True, agents=()) if umask == 0o177 else YES)
    finally:
        os.umask(before)
    for path in [repository.root / ".pinbox", *(repository.root / ".pinbox").iterdir()]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode & 0o077 == 0, path
    for name in (repository.root / ".pinbox/hook", repository.home / ".local/state/pinbox/hook"):
        assert stat.S_IMODE(name.stat().st_mode) == 0o700
    assert stat.S_IMODE((repository.home / ".local/state/pinbox").stat().st_mode) == 0o700


def test_outside_git_there_is_no_git_hook(tmp_path, monkeypatch, repository):
    folder = tmp_path / "plain"
    folder.mkdir()
    monkeypatch.chdir(folder)
    data = command.run(YES)
    assert data["gitHook"] == "skipped-no-git"
    assert (folder / ".claude/settings.json").exists()


def test_without_the_git_program_there_is_no_git_hook(repository, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    data = command.run(YES)
    assert data["gitHook"] == "skipped-no-git"


def test_in_a_bare_repository_there_is_no_git_hook(repository, tmp_path, monkeypatch):
    repository.git("init", "-q", "--bare", tmp_path / "bare.git")
    monkeypatch.chdir(tmp_path / "bare.git")
    assert command.run(Options())["gitHook"] == "skipped-no-git"


@pytest.mark.parametrize(
    "name", ["my app", "it's", 'a "b" $c', "naïve 日本", "-x", "a;b&c", "back\\slash"]
)
def test_a_project_may_have_any_name(tmp_path, monkeypatch, repository, name):
    folder = tmp_path / name
    repository.root.rename(folder)
    monkeypatch.chdir(folder)
    before = Repository(root=folder, home=repository.home).snapshot()
    assert command.run(YES)["gitHook"] == "installed"
    moved = Repository(root=folder, home=repository.home)
    assert moved.commands() == REGISTERED
    done = moved.run("sh", folder / ".pinbox/hook", "git")
    assert (done.returncode, done.stderr) == (0, b"")
    command.run(Options(undo=True))
    assert moved.snapshot() == before


def test_from_a_subfolder_the_project_is_set_up(repository, monkeypatch):
    (repository.root / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(repository.root / "src" / "deep")
    command.run(YES)
    assert repository.commands() == REGISTERED
    assert repository.hook.exists()


def test_a_folder_that_cannot_be_written_is_an_error_and_nothing_is_half_done(repository):
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    (repository.root / ".claude").mkdir()
    (repository.root / ".claude").chmod(0o500)
    before = repository.snapshot()
    with pytest.raises(PinboxError) as refused:
        command.run(YES)
    assert refused.value.code == "E_INTERNAL"
    assert ".claude" in refused.value.message
    assert repository.snapshot() == before


@pytest.mark.parametrize("folder", [".claude", ".git"])
def test_a_read_only_folder_is_found_before_anything_is_written(repository, monkeypatch, folder):
    (repository.root / ".claude").mkdir()
    before = repository.snapshot()
    real = os.access
    refused_for = str(repository.root / folder)

    def access(path, mode):
        return real(path, mode) and not (mode & os.W_OK and str(path) == refused_for)

    monkeypatch.setattr("os.access", access)
    with pytest.raises(PinboxError) as refused:
        command.run(YES)
    assert refused.value.code == "E_INTERNAL"
    assert refused_for in refused.value.message
    assert repository.snapshot() == before


@pytest.mark.parametrize("broken", [".claude/skills/pinbox/SKILL.md", ".git/hooks/post-commit"])
def test_a_disk_that_refuses_in_the_middle_leaves_everything_as_it_was(
    repository, monkeypatch, broken
):
    repository.settings.parent.mkdir()
    repository.settings.write_text('{"a": 1}')
    before = repository.snapshot()
    replace = Path.replace

    def failing(self, target):
        if str(target).endswith(broken):
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(PinboxError) as refused:
        command.run(YES)
    assert "No space left" in refused.value.message
    assert repository.snapshot() == before


def test_a_file_that_changes_between_plan_and_apply_is_a_conflict(repository):
    repository.settings.parent.mkdir()
    repository.settings.write_text("{}")
    plan = planning.plan(repository.root, YES)
    repository.settings.write_text('{"a": 1}')
    with pytest.raises(PinboxError) as refused:
        command.apply(plan)
    assert refused.value.code == "E_CONFLICT"
    assert repository.settings.read_text() == '{"a": 1}'
    assert not (repository.root / ".pinbox").exists()


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_pinbox_that_is_no_folder_is_refused(repository, tmp_path, kind):
    (tmp_path / "elsewhere").mkdir()
    if kind == "link":
        (repository.root / ".pinbox").symlink_to(tmp_path / "elsewhere")
    else:
        (repository.root / ".pinbox").write_text("")
    before = repository.snapshot()
    with pytest.raises(PinboxError) as refused:
        command.run(YES)
    assert refused.value.code == "E_CONFLICT"
    assert repository.snapshot() == before
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_foreign_file_in_the_place_of_a_launcher_is_refused(repository):
    (repository.root / ".pinbox").mkdir(mode=0o700)
    (repository.root / ".pinbox" / "hook").write_text("#!/bin/sh\nmine\n")
    before = repository.snapshot()
    with pytest.raises(PinboxError) as refused:
        command.run(YES)
    assert refused.value.code == "E_CONFLICT"
    assert repository.snapshot() == before


@pytest.mark.parametrize(
    "name",
    [".claude/settings.local.json", "package.json", "requirements.txt", ".git/hooks/post-commit"],
)
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(repository, name):
    path = repository.root / name
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    command.run(YES)
    command.run(Options(undo=True))
    assert stat.S_ISFIFO(path.lstat().st_mode)


@pytest.mark.parametrize("name", [".local", ".local/state/pinbox"])
def test_a_file_in_the_place_of_the_state_folder_is_named(repository, name):
    path = repository.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    before = repository.snapshot()
    with pytest.raises(PinboxError, match=f"{path} is no folder; nothing was written"):
        command.run(YES)
    command.run(Options(undo=True))
    assert repository.snapshot() == before


def test_a_skill_that_is_not_ours_is_kept(repository):
    skill = repository.root / ".claude/skills/pinbox/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("mine")
    data = command.run(YES)
    assert skill.read_text() == "mine"
    assert any("kept" in step["detail"] for step in data["steps"] if step["name"] == "skill")
    assert repository.commands() == REGISTERED


def test_user_scope_goes_into_the_home_folder(repository):
    command.run(Options(yes=True, user_scope=True))
    assert not (repository.root / ".claude").exists()
    assert json.loads((repository.home / ".claude/settings.json").read_text())[
        "hooks"
    ].keys() == set(EVENTS)
    assert (repository.home / ".claude/skills/pinbox/SKILL.md").exists()
    command.run(Options(undo=True))
    assert not (repository.home / ".claude").exists()


def test_the_report_has_a_line_for_each_step(repository, capfd, monkeypatch):
    monkeypatch.setattr("os.isatty", lambda fd: True)
    assert main(["init", "--yes"]) == 0
    out, err = capfd.readouterr()
    assert [line[:14] for line in out.splitlines()] == [
        "ok  pinbox    ",
        "ok  claude    ",
        "ok  skill     ",
        "ok  git       ",
    ]
    assert "--undo" in err


def test_a_plan_says_what_yes_would_write_and_when_nothing_is_left(repository, capfd, monkeypatch):
    monkeypatch.setattr("os.isatty", lambda fd: True)

    def said() -> str:
        assert main(["init", "--dry-run"]) == 0
        return capfd.readouterr().err

    assert said() == "nothing was written; pinbox init --yes writes this\n"
    (repository.root / "app.py").write_text("app = Flask(__name__)\n")  # the task stands between
    assert said() == "nothing was written; pinbox init --yes writes the files\n"
    command.run(YES)
    assert said() == "nothing is left to write\n"


def test_a_step_that_failed_is_no_and_exit_code_1(repository, capfd, monkeypatch):
    monkeypatch.setattr("os.isatty", lambda fd: True)
    repository.settings.parent.mkdir()
    repository.settings.write_text("{// mine\n}")
    assert main(["init", "--yes"]) == 1
    out, _ = capfd.readouterr()
    assert "no  claude    .claude/settings.json is left as it is: it is not plain JSON" in out
    assert repository.settings.read_text() == "{// mine\n}"
    assert repository.hook.exists()


@pytest.mark.parametrize(
    ("typed", "done"), [("y\n", True), ("\n", True), ("n\n", False), ("", False)]
)
def test_a_person_is_asked_on_a_terminal(repository, capfd, monkeypatch, typed, done):
    import io

    monkeypatch.setattr("os.isatty", lambda fd: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert main(["init"]) == 0
    out, err = capfd.readouterr()
    assert "settings.json" in err
    assert "[Y/n]" in err
    assert repository.settings.exists() is done
    assert ("nothing was written" in err) is not done


@pytest.mark.parametrize("name", ["CLAUDECODE", "CI", "CODEX_SANDBOX", "HERMES_SESSION_ID"])
def test_an_agent_on_a_terminal_is_not_asked(repository, capfd, monkeypatch, name):
    monkeypatch.setattr("os.isatty", lambda fd: True)
    monkeypatch.setenv(name, "1")
    assert main(["init"]) == 0
    assert not repository.settings.exists()
    assert "nothing was written" in capfd.readouterr().err
