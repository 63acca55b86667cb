"""init --undo: everything is as it was, byte for byte; what others wrote since stays."""

import base64
import json
import os
import shutil
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinbox.install import command, files
from pinbox.install.planning import Options
from pinbox.install.settings import merged
from tests.unit.test_settings_merge import OLDER, texts

from .repository import PINBOX, REGISTERED, Repository, make_repository

YES = Options(yes=True)
UNDO = Options(undo=True)


def settle(repository: Repository, content: bytes, mode: int = 0o644) -> None:
    repository.settings.parent.mkdir(exist_ok=True)
    repository.settings.write_bytes(content)
    repository.settings.chmod(mode)


def test_undo_leaves_no_trace(repository):
    before = repository.snapshot()
    command.run(YES)
    data = command.run(UNDO)
    assert data["undone"] is True
    assert data["pinboxDir"] == "removed"
    assert repository.snapshot() == before


KILLED = """if True:
    import os, sys
    from pathlib import Path
    from pinbox.install import command, files, planning
    from pinbox.install.planning import Options
    left = int(sys.argv[1])
    def counted(real):
        def counting(self, *rest):
            global left
            left -= 1
            if left < 0:
                os._exit(9)
            return real(self, *rest)
        return counting
    Path.replace = counted(Path.replace)
    Path.mkdir = counted(Path.mkdir)
    command.run(Options(yes=True))
"""


@pytest.mark.parametrize("steps", range(12))
def test_an_init_that_was_killed_at_any_step_can_be_undone_and_done_again(repository, steps):
    settle(repository, b'{"a": 1}')
    before = repository.snapshot()
    done = repository.run(sys.executable, "-c", KILLED, str(steps))
    assert done.returncode in (0, 9), done.stderr
    assert json.loads(repository.settings.read_bytes())["a"] == 1
    command.run(UNDO)
    assert repository.snapshot() == before
    repository.run(sys.executable, "-c", KILLED, str(steps))
    command.run(YES)
    assert repository.commands() == REGISTERED
    command.run(UNDO)
    assert repository.snapshot() == before


def test_undo_where_init_never_ran_changes_nothing(repository):
    settle(repository, b'{"hooks": {}}')
    before = repository.snapshot()
    assert all(step["ok"] for step in command.run(UNDO)["steps"])
    assert repository.snapshot() == before


def test_undo_twice_is_undo_once(repository):
    before = repository.snapshot()
    command.run(YES)
    command.run(UNDO)
    command.run(UNDO)
    assert repository.snapshot() == before


def test_undo_as_a_dry_run_changes_nothing(repository):
    command.run(YES)
    before = repository.snapshot()
    assert command.run(Options(undo=True, dry_run=True))["undone"] is False
    assert repository.snapshot() == before


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o664])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"{ }",
        b'{\n  "a": 1\n}',
        b'{"hooks": {"Stop": []}}\n',
        b'\xef\xbb\xbf{\r\n\t"a": [ ]\r\n}\r\n',
        json.dumps(
            {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": OLDER[2]}]}]}}
        ).encode(),
    ],
)
def test_settings_come_back_byte_for_byte_with_their_mode(repository, content, mode):
    settle(repository, content, mode)
    before = repository.snapshot()
    command.run(YES)
    assert repository.commands() == REGISTERED
    assert repository.settings.stat().st_mode & 0o777 == mode
    command.run(UNDO)
    assert repository.snapshot() == before


def test_init_undo_init_undo_is_the_same_as_once(repository):
    settle(repository, b'{"a": 1}')
    before = repository.snapshot()
    for _ in range(3):
        command.run(YES)
        command.run(YES)
        command.run(UNDO)
        assert repository.snapshot() == before


def test_what_was_added_to_the_settings_since_stays(repository):
    settle(repository, b'{\n  "a": 1\n}\n')
    command.run(YES)
    edited = repository.settings.read_bytes().replace(b'"a": 1,', b'"a": 1,\n  "mine": [1,2],')
    repository.settings.write_bytes(edited)
    command.run(UNDO)
    assert repository.settings.read_bytes() == b'{\n  "a": 1,\n  "mine": [1,2]\n}\n'


def test_a_settings_file_of_ours_that_got_other_content_stays_with_that(repository):
    command.run(YES)
    data = json.loads(repository.settings.read_text())
    repository.settings.write_text(json.dumps(data | {"mine": 1}))
    command.run(UNDO)
    assert json.loads(repository.settings.read_text()) == {"mine": 1}


def test_a_settings_file_that_was_broken_since_is_left_and_can_be_undone_later(repository):
    settle(repository, b'{"a": 1}')
    command.run(YES)
    good = repository.settings.read_bytes()
    repository.settings.write_bytes(good + b"//")
    data = command.run(UNDO)
    assert [s["ok"] for s in data["steps"] if s["name"] == "claude"] == [False]
    assert repository.settings.read_bytes() == good + b"//"
    assert not repository.hook.exists()
    repository.settings.write_bytes(good)
    command.run(UNDO)
    assert repository.settings.read_bytes() == b'{"a": 1}'
    assert not (repository.root / ".pinbox").exists()


def test_files_that_are_gone_are_no_trouble(repository):
    command.run(YES)
    shutil.rmtree(repository.root / ".claude")
    repository.hook.unlink()
    assert all(step["ok"] for step in command.run(UNDO)["steps"])
    assert not (repository.root / ".pinbox").exists()


def test_without_the_record_our_part_is_taken_out_all_the_same(repository):
    settle(repository, b'{\n  "a": 1\n}\n')
    command.run(YES)
    shutil.rmtree(repository.root / ".pinbox")
    command.run(UNDO)
    assert repository.settings.read_bytes() == b'{\n  "a": 1\n}\n'
    assert not repository.hook.exists()
    assert not (repository.root / ".claude/skills/pinbox/SKILL.md").exists()


@pytest.mark.parametrize(
    "record",
    [b"", b"{", b"[]", b'{"files": 3}', b'{"files": {"x": {}}, "folders": []}', b"\xff", b"null"],
)
def test_a_damaged_record_counts_as_none(repository, record):
    command.run(YES)
    (repository.root / ".pinbox" / files.RECORD).write_bytes(record)
    command.run(UNDO)
    assert not repository.settings.exists()
    assert not repository.hook.exists()


@pytest.mark.parametrize("steps", [[UNDO], [YES, UNDO], [YES, YES, UNDO]])
def test_a_record_that_the_repository_brought_is_not_believed(repository, steps):
    targets = [repository.home / ".bashrc", repository.root / ".git" / "config"]
    targets[0].write_text("# as every machine has it\n")
    before = [path.read_bytes() for path in targets]
    entries = {
        str(path): {
            "kind": "asset",
            "before": base64.b64encode(b"not theirs").decode(),
            "after": files.digest(path.read_bytes()),
        }
        for path in targets
    }
    (repository.root / ".pinbox").mkdir(mode=0o700)
    (repository.root / ".pinbox" / files.RECORD).write_text(
        json.dumps({"version": 1, "files": entries, "folders": [], "signature": ""})
    )
    for step in steps:
        command.run(step)
    assert [path.read_bytes() for path in targets] == before


def test_what_cannot_be_taken_out_keeps_the_folder_and_undo_runs_again(repository):
    before = repository.snapshot()
    command.run(YES)
    written = repository.settings.read_bytes()
    settle(repository, b"{ // a comment")
    data = command.run(UNDO)
    assert data["pinboxDir"] == "unchanged"
    said = {step["name"]: (step["ok"], step["detail"]) for step in data["steps"]}
    assert said["claude"][0] is False
    assert said["pinbox"] == (True, ".pinbox: kept, so that undo can be run again")
    assert (repository.root / ".pinbox" / files.RECORD).is_file()
    settle(repository, written)
    assert command.run(UNDO)["pinboxDir"] == "removed"
    assert repository.snapshot() == before


@pytest.mark.parametrize("name", [files.RECORD, ".gitignore"])
def test_a_folder_in_the_place_of_our_own_file_keeps_nothing_from_being_undone(repository, name):
    command.run(YES)
    (repository.root / ".pinbox" / name).unlink()
    (repository.root / ".pinbox" / name).mkdir()
    assert command.run(UNDO)["undone"] is True
    assert not repository.settings.exists()
    assert not repository.hook.exists()


def without_rights() -> list[str]:
    """Words before a command by which it may read no more than its user, were that root."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root reads everywhere")
    rights = "-dac_override,-dac_read_search"
    return ["/usr/bin/env", "setpriv", f"--inh-caps={rights}", f"--bounding-set={rights}"]


@pytest.mark.parametrize("name", [".claude", ".codex", ".git/hooks", "src", ".hermes", "~/.claude"])
def test_a_folder_that_cannot_be_looked_into_keeps_nothing_from_being_undone(repository, name):
    own = name.removeprefix("~/")
    folder = (repository.home if name in (".hermes", "~/.claude") else repository.root) / own
    folder.mkdir()
    (folder / "main.py").write_text("Flask(__name__)")
    before = repository.snapshot()
    agents = "--agent=claude,codex,hermes,cursor"
    folder.chmod(0o400)  # what is in it has a name, and no more
    try:
        done = [
            repository.run(*without_rights(), PINBOX, "init", *words)
            for words in (["--yes", agents], ["--undo"])
        ]
    finally:
        folder.chmod(0o755)
    planned, undone = (json.loads(one.stdout) for one in done)
    left = [step["detail"] for step in planned["data"]["steps"] if not step["ok"]]
    assert name in ("src", "~/.claude") or left, planned
    assert undone["ok"] is True, undone
    assert repository.snapshot() == before


def test_the_pins_are_kept(repository):
    command.run(YES)
    (repository.root / ".pinbox" / "pinbox.db").write_bytes(b"pins")
    data = command.run(UNDO)
    assert data["pinboxDir"] == "unchanged"
    left = sorted(path.name for path in (repository.root / ".pinbox").iterdir())
    assert left == [".gitignore", "pinbox.db"]


def test_an_edited_skill_is_kept(repository):
    command.run(YES)
    skill = repository.root / ".claude/skills/pinbox/SKILL.md"
    skill.write_text(skill.read_text() + "\nMine.\n")
    command.run(UNDO)
    assert skill.read_text().endswith("\nMine.\n")


def test_the_launcher_of_the_user_stays_while_another_project_may_need_it(repository, tmp_path):
    command.run(YES)
    launcher = repository.home / ".local/state/pinbox/hook"
    other = repository.home / ".local/state/pinbox/0123456789ab"
    other.mkdir()
    command.run(UNDO)
    assert launcher.exists()
    other.rmdir()
    command.run(YES)
    command.run(UNDO)
    assert not launcher.exists()


def test_a_checkout_that_brought_the_hooks_keeps_them_in_git_but_not_in_the_file(repository):
    command.run(YES)
    repository.git("add", ".claude")
    repository.git("commit", "-q", "-m", "hooks for all")
    clone = Repository(root=repository.root.parent / "clone", home=repository.home)
    repository.git("clone", "-q", repository.root, clone.root, cwd=repository.root.parent)
    os.chdir(clone.root)
    assert command.run(YES)["claudeSettings"] == "unchanged"
    command.run(UNDO)
    assert not clone.settings.exists()


def test_a_project_that_moved_is_undone(repository, monkeypatch):
    settle(repository, b'{"a":  1}')
    command.run(YES)
    moved = Repository(root=repository.root.with_name("moved"), home=repository.home)
    repository.root.rename(moved.root)
    monkeypatch.chdir(moved.root)
    command.run(UNDO)
    assert moved.settings.read_bytes() == b'{"a":  1}'
    assert not moved.hook.exists()


def test_a_symlinked_settings_file_inside_the_project_stays_a_link(repository):
    (repository.root / "config").mkdir()
    (repository.root / "config" / "claude.json").write_text('{"a": 1}')
    (repository.root / ".claude").mkdir()
    repository.settings.symlink_to("../config/claude.json")
    before = repository.snapshot()
    command.run(YES)
    assert repository.settings.is_symlink()
    assert repository.commands() == REGISTERED
    command.run(UNDO)
    assert repository.snapshot() == before


@pytest.mark.parametrize("what", ["file", "folder", "skills", "dangling", "loop"])
def test_a_link_out_of_the_project_is_never_followed(repository, tmp_path, what):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "settings.json").write_text("{}")
    claude = repository.root / ".claude"
    if what == "folder":
        claude.symlink_to(outside)
    else:
        claude.mkdir()
        if what == "file":
            repository.settings.symlink_to(outside / "settings.json")
        elif what == "dangling":
            repository.settings.symlink_to(outside / "new.json")
        elif what == "loop":
            repository.settings.symlink_to("settings.json")
        else:
            (claude / "skills").symlink_to(outside)
    data = command.run(YES)
    assert [path.name for path in outside.iterdir()] == ["settings.json"]
    assert (outside / "settings.json").read_text() == "{}"
    failed = [step["name"] for step in data["steps"] if not step["ok"]]
    assert failed == {"folder": ["claude", "skill"], "skills": ["skill"]}.get(what, ["claude"])
    command.run(UNDO)
    assert (outside / "settings.json").read_text() == "{}"


def test_a_settings_file_that_is_a_folder_is_left(repository):
    repository.settings.mkdir(parents=True)
    assert command.run(YES)["claudeSettings"] == "failed"


def test_local_settings_that_have_the_hooks_are_enough(repository):
    command.run(YES)
    repository.settings.rename(repository.settings.with_name("settings.local.json"))
    before = repository.snapshot()
    data = command.run(YES)
    assert not repository.settings.exists()
    assert repository.snapshot() == before
    assert data["claudeSettings"] == "unchanged"
    assert "settings.local.json has the hooks" in data["agents"][0]["detail"]


def test_an_older_command_in_local_settings_goes_and_comes_back(repository):
    local = repository.settings.with_name("settings.local.json")
    local.parent.mkdir()
    hook = {"hooks": [{"type": "command", "command": OLDER[1]}]}
    local.write_text(json.dumps({"x": 1, "hooks": {"Stop": [hook]}}))
    before = repository.snapshot()
    command.run(YES)
    assert json.loads(local.read_text()) == {"x": 1, "hooks": {"Stop": []}}
    assert repository.commands() == REGISTERED
    command.run(UNDO)
    assert repository.snapshot() == before


@pytest.mark.parametrize("where", ["project", "user"])
def test_a_plugin_of_ours_is_not_doubled(repository, where):
    base = repository.root if where == "project" else repository.home
    plugin = base / ".claude/skills/pinbox"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin/plugin.json").write_text('{"name": "pinbox"}')
    (plugin / "hooks").mkdir()
    command_line = '"${CLAUDE_PLUGIN_ROOT}/hooks/inject.sh"'
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": command_line}]}]}
    (plugin / "hooks/hooks.json").write_text(json.dumps({"hooks": hooks}))
    command.run(YES)
    assert "UserPromptSubmit" not in repository.commands()


def test_an_enabled_plugin_of_a_marketplace_is_not_doubled(repository):
    settle(repository, b'{"enabledPlugins": {"pinbox@pinbox": true}}')
    assert command.run(YES)["claudeSettings"] == "unchanged"
    settle(repository, b'{"enabledPlugins": {"pinbox@pinbox": false}}')
    assert command.run(YES)["claudeSettings"] == "updated"


@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(content=texts(st.sampled_from([*OLDER, *REGISTERED["Stop"], "echo"])))
def test_whatever_the_settings_were_undo_brings_their_bytes_back(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("any")
    found = make_repository(folder)
    settle(found, content)
    before = found.snapshot()
    with found_here(found):
        command.run(YES)
        command.run(YES)
        command.run(UNDO)
    if merged(content).content != content:  # else all was there, and undo takes that out
        assert found.snapshot() == before


class found_here:
    """Stand in the repository, with its home, as hypothesis has no fixtures for each example."""

    def __init__(self, found: Repository) -> None:
        self.found = found

    def __enter__(self) -> None:
        self.before = (os.getcwd(), dict(os.environ))
        os.chdir(self.found.root)
        os.environ |= {"HOME": str(self.found.home)}
        os.environ.pop("PINBOX_PROJECT", None)

    def __exit__(self, *_: object) -> None:
        os.chdir(self.before[0])
        os.environ.clear()
        os.environ.update(self.before[1])
