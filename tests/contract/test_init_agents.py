"""init beyond Claude Code: which agents it finds, what each gets, and that it comes out again."""

import json
import os

import pytest

from delivery.adapters import openclaw
from delivery.adapters.hooks import HOOK_AGENTS
from pinbox.agents import AGENTS, INSTALLS, RESUMES
from pinbox.agents.pieces import Assets, Block, JsonFile, YamlItem
from pinbox.checks import machine, registered
from pinbox.contract import AGENT_SESSION_ENV
from pinbox.install import command, guide, kinds, planning
from pinbox.install.block_text import END, START
from pinbox.install.planning import Options

from .repository import PINBOX

YES = Options(yes=True)
UNDO = Options(undo=True)
EVERY = tuple(INSTALLS)


def options(*agents, **more):
    return Options(yes=True, agents=agents, **more)


# --- which ----------------------------------------------------------------------------------------


def named(data):
    return [agent["agent"] for agent in data["agents"]]


def test_without_a_sign_of_any_agent_claude_code_is_set_up(repository):
    assert named(command.run(Options(dry_run=True))) == ["claude"]


@pytest.mark.parametrize("name", EVERY)
def test_the_project_s_folder_of_an_agent_is_a_sign_of_it(repository, name):
    (repository.root / INSTALLS[name].FOLDER).mkdir()
    expected = ["claude", "copilot"] if name == "copilot" else [name]
    assert named(command.run(Options(dry_run=True))) == expected


def test_beside_an_agent_that_is_here_github_brings_no_claude_code(repository):
    for folder in (".github", ".cursor"):
        (repository.root / folder).mkdir()
    assert named(command.run(Options(dry_run=True))) == ["cursor", "copilot"]


@pytest.mark.parametrize("name", [name for name in EVERY if INSTALLS[name].HOME is not None])
def test_its_own_folder_is_a_sign_of_it(repository, name):
    (repository.home / INSTALLS[name].HOME.folder).mkdir()
    assert named(command.run(Options(dry_run=True))) == [name]


@pytest.mark.parametrize("name", [name for name in EVERY if INSTALLS[name].PROGRAM])
def test_its_program_on_the_path_is_a_sign_of_it(repository, monkeypatch, tmp_path, name):
    program = tmp_path / "bin" / INSTALLS[name].PROGRAM
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert named(command.run(Options(dry_run=True))) == [name]


def test_undo_names_files_of_the_home_as_the_plan_did(repository):
    command.run(Options(yes=True, agents=("hermes",)))
    said = [step["detail"] for step in command.run(Options(undo=True))["steps"]]
    assert "~/.hermes/config.yaml: removed" in said
    assert not [detail for detail in said if str(repository.home) in detail]


# --- what every agent's module keeps to -----------------------------------------------------------


def test_each_module_is_known_by_its_own_name():
    for registry in (AGENTS, INSTALLS, RESUMES):
        assert all(name == module.NAME for name, module in registry.items())
    assert AGENTS.keys() <= INSTALLS.keys()


def test_an_agent_of_the_registry_is_known_wherever_it_has_to_be():
    assert set(AGENT_SESSION_ENV.values()) <= AGENTS.keys()
    # `doctor` looks for every one that calls us.
    assert set(machine.AGENTS) == registered.FINDERS.keys() == registered.TRUST.keys()
    assert AGENTS.keys() == registered.FINDERS.keys()
    # What is delivered to it is either fetched by its hooks or pushed.
    assert AGENTS.keys() == HOOK_AGENTS | {openclaw.AGENT}
    assert RESUMES.keys() <= AGENTS.keys()


@pytest.mark.parametrize("name", EVERY)
def test_a_dry_run_writes_nothing_init_is_idempotent_and_undo_leaves_no_trace(repository, name):
    before = repository.snapshot()
    planned = command.run(options(name, dry_run=True))
    assert repository.snapshot() == before
    applied = command.run(options(name))
    assert planned | {"applied": True} == applied
    assert all(step["ok"] for step in applied["steps"])
    assert applied["after"]
    written = repository.snapshot()
    again = command.run(options(name))
    assert repository.snapshot() == written
    assert again["after"] == []
    assert all("unchanged" in step["detail"] for step in again["steps"])
    command.run(UNDO)
    assert repository.snapshot() == before


@pytest.mark.parametrize("name", EVERY)
def test_for_all_projects_nothing_of_an_agent_goes_into_this_one(repository, name):
    before = repository.snapshot()
    command.run(options(name, user_scope=True))
    assert repository.git("status", "--porcelain") == ""
    command.run(Options(undo=True, user_scope=True))
    assert repository.snapshot() == before


@pytest.mark.parametrize("name", EVERY)
def test_an_agent_that_was_there_before_keeps_its_files(repository, name):
    """Every file it would change holds something of the user's own, or cannot be changed."""
    agent = INSTALLS[name]
    place = planning.place_of(agent, repository.root)
    for piece in agent.pieces(place):
        for target in kinds.targets(piece):
            target.path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(piece, Block):
                target.path.write_bytes(b"Mine.\r\n")
            elif isinstance(piece, YamlItem):
                target.path.write_bytes(b"# mine\nmodel: x\n")
            elif isinstance(piece, Assets):
                target.path.write_bytes(b"mine")
            elif target.path.suffix == ".json":
                target.path.write_bytes(b'{"mine":  [1, 2]}')
            else:
                target.path.write_bytes(b"mine")
    before = repository.snapshot()
    command.run(options(name))
    for path in repository.root.rglob("*"):
        if path.is_file() and ".git" not in path.parts and ".pinbox" not in path.parts:
            assert b"ine" in path.read_bytes(), path
    command.run(UNDO)
    assert repository.snapshot() == before


def test_all_at_once(repository):
    before = repository.snapshot()
    data = command.run(options(*EVERY))
    assert named(data) == list(EVERY)
    assert all(agent["ok"] for agent in data["agents"])
    command.run(UNDO)
    assert repository.snapshot() == before


def is_shared(repository, name):
    """Whether its files are in the user's folders even for one project."""
    place = planning.place_of(INSTALLS[name], repository.root)
    targets = [t for piece in INSTALLS[name].pieces(place) for t in kinds.targets(piece)]
    return not all(target.path.is_relative_to(repository.root) for target in targets)


def test_what_is_in_the_user_s_folders_stays_while_another_project_needs_it(repository, tmp_path):
    shared = [name for name in EVERY if is_shared(repository, name)]
    other = tmp_path / "other"
    other.mkdir()
    (repository.home / ".local" / "state").mkdir(parents=True)
    for name in shared:
        for piece in INSTALLS[name].pieces(planning.place_of(INSTALLS[name], repository.root)):
            piece.path.parent.mkdir(parents=True, exist_ok=True)
    before = repository.snapshot()
    command.run(options(*shared))
    done = repository.run(
        PINBOX, "init", "--yes", f"--agent={','.join(shared) or 'none'}", cwd=other
    )
    assert done.returncode == 0
    command.run(UNDO)
    for name in shared:
        for piece in INSTALLS[name].pieces(planning.place_of(INSTALLS[name], repository.root)):
            for target in kinds.targets(piece):
                is_project_s = target.path.is_relative_to(repository.root)
                assert target.path.exists() is not is_project_s, target.path
    assert repository.run(PINBOX, "init", "--undo", cwd=other).returncode == 0
    command.run(Options(undo=True, user_scope=True))
    assert repository.snapshot() == before


def test_the_last_project_s_undo_takes_out_what_they_shared(repository, tmp_path):
    shared = [name for name in EVERY if is_shared(repository, name)]
    other = tmp_path / "other"
    other.mkdir()
    command.run(options(*shared))
    agents = f"--agent={','.join(shared)}"
    assert repository.run(PINBOX, "init", "--yes", agents, cwd=other).returncode == 0
    steps = command.run(UNDO)["steps"]
    kept = [s["detail"] for s in steps if "kept for your other projects" in s["detail"]]
    assert kept
    assert all(detail.startswith("~/") for detail in kept)
    assert repository.run(PINBOX, "init", "--undo", cwd=other).returncode == 0
    left = [path for path in repository.home.rglob("*") if path.is_file()]
    assert left == [repository.home / ".gitconfig"]


def test_the_record_keeps_nothing_of_what_stands_around_ours(repository):
    """The user's own configuration may hold keys."""
    secret = "sk-invented-and-not-a-key"
    for name in EVERY:
        for piece in INSTALLS[name].pieces(planning.place_of(INSTALLS[name], repository.root)):
            if isinstance(piece, JsonFile):
                piece.path.parent.mkdir(parents=True, exist_ok=True)
                piece.path.write_text(json.dumps({"gateway": {"token": secret}}))
            if isinstance(piece, YamlItem):
                piece.path.parent.mkdir(parents=True, exist_ok=True)
                piece.path.write_text(f"token: {secret}\n")
    before = repository.snapshot()
    command.run(options(*EVERY))
    record = (repository.root / ".pinbox" / "init.json").read_text()
    import base64

    kept = [part for part in record.replace('"', " ").split() if len(part) > 12]
    for part in kept:
        try:
            assert secret.encode() not in base64.b64decode(part)
        except ValueError:
            continue
    command.run(UNDO)
    assert repository.snapshot() == before


# --- Cursor and Copilot ---------------------------------------------------------------------------


def test_cursor_gets_a_rule_that_always_applies(repository):
    data = command.run(options("cursor"))
    text = (repository.root / ".cursor/rules/pinbox.mdc").read_text()
    head, _, body = text.removeprefix("---\n").partition("---\n")
    assert "alwaysApply: true" in head.splitlines()
    assert body.strip() == f"{START}\n{guide.block().strip()}\n{END}"
    assert data["markers"] == ["created"]


def test_copilot_s_instructions_keep_what_the_project_says(repository):
    path = repository.root / ".github/copilot-instructions.md"
    path.parent.mkdir()
    path.write_text("Use tabs.\n")
    data = command.run(options("copilot"))
    assert path.read_text().startswith("Use tabs.\n\n" + START)
    assert data["markers"] == ["appended"]
    path.write_text(path.read_text() + "\nAnd no semicolons.\n")
    command.run(UNDO)
    assert path.read_text().split("\n\n") == ["Use tabs.", "And no semicolons.\n"]


@pytest.mark.parametrize("damaged", [START, END, f"{START}{END}{START}{END}"])
def test_damaged_marks_leave_the_file_alone_and_the_exit_code_is_1(repository, damaged):
    path = repository.root / ".github/copilot-instructions.md"
    path.parent.mkdir()
    path.write_text(damaged)
    before = repository.snapshot()
    done = repository.run(PINBOX, "init", "--yes", "--agent", "copilot")
    assert done.returncode == 1
    step = json.loads(done.stdout)["data"]["steps"][1]
    assert step["ok"] is False
    assert "damaged" in step["detail"]
    assert path.read_text() == damaged
    path.write_text("")
    repository.run(PINBOX, "init", "--undo")
    path.write_text(damaged)
    assert repository.snapshot() == before


# --- OpenClaw -------------------------------------------------------------------------------------


def test_a_configuration_with_comments_is_left_alone_and_the_commands_are_said(repository):
    path = repository.home / ".openclaw" / "openclaw.json"
    path.parent.mkdir()
    path.write_text("{\n  // mine\n  gateway: { port: 18789 },\n}\n")
    before = path.read_bytes()
    data = command.run(options("openclaw"))
    (step,) = [step for step in data["steps"] if not step["ok"]]
    assert path.read_bytes() == before
    assert "openclaw plugins install --link" in step["detail"]
    assert str(path.parent / "pinbox") in step["detail"]
    assert "plugins.entries.pinbox.hooks.allowConversationAccess true" in step["detail"]
    command.run(UNDO)
    assert path.read_bytes() == before
    assert not (path.parent / "pinbox").exists()


def test_what_a_gateway_s_owner_has_set_stays(repository):
    path = repository.home / ".openclaw" / "openclaw.json"
    path.parent.mkdir()
    mine = {"hooks": {"allowPromptInjection": False, "timeoutMs": 5000}}
    settings = {"plugins": {"load": {"paths": ["/mine"]}, "entries": {"pinbox": mine}}}
    path.write_text(json.dumps(settings))
    command.run(options("openclaw"))
    now = json.loads(path.read_text())["plugins"]
    assert now["load"]["paths"] == ["/mine", str(path.parent / "pinbox")]
    assert now["entries"]["pinbox"] == {
        "hooks": {**mine["hooks"], "allowConversationAccess": True},
        "enabled": True,
    }
    command.run(UNDO)
    assert json.loads(path.read_text()) == settings


def test_a_configuration_that_the_environment_names_is_edited_where_it_is(
    repository, tmp_path, monkeypatch
):
    path = tmp_path / "elsewhere" / "openclaw.json"
    path.parent.mkdir()
    path.write_text('{"gateway": {"port": 1}}')
    monkeypatch.setenv("OPENCLAW_CONFIG_PATH", str(path))
    assert all(step["ok"] for step in command.run(options("openclaw"))["steps"])
    assert "pinbox" in json.loads(path.read_text())["plugins"]["entries"]
    command.run(UNDO)
    assert path.read_text() == '{"gateway": {"port": 1}}'


# --- what an agent reads --------------------------------------------------------------------------


def test_the_guide_is_small_says_first_that_pins_are_data_and_names_verbs_that_exist():
    from pinbox.cli import all_verbs

    names = {verb.name for verb in all_verbs()}
    for text in (guide.skill().decode(), guide.block()):
        assert len(text.encode()) < 2_500
        body = text.split("---\n")[-1]
        assert body.index("not\ninstructions") < body.index("```sh")
        spoken = {line.split()[1] for line in body.splitlines() if line.startswith("pinbox ")}
        assert spoken == set(guide.VERBS)
        assert spoken <= names
