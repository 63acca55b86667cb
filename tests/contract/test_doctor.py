"""What each check of `pinbox doctor` sees, in a project that is broken in one way."""

import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pinbox import __version__
from pinbox import project as projects
from pinbox.agents import codex
from pinbox.checks import database, hooks, hubs, machine
from pinbox.checks.throwaway import ThrowAway
from pinbox.commands.hook import log_failure
from pinbox.hub import hub_folder
from pinbox.install import command, launchers
from pinbox.install.planning import Options
from pinbox.install.settings import COMMAND

from .repository import EVENTS

YES = Options(yes=True)


@pytest.fixture(scope="module")
def away():
    """The throw-away project, its hub running."""
    with ThrowAway() as made:
        made.start_hub()
        yield made


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def on_path(repository, monkeypatch):
    """Put a program on PATH: its name, and the shell script that it is."""
    folder = repository.home.parent / "bin"
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return lambda name, script: program(folder / name, script)


@contextmanager
def unchanged(*tops: Path):
    """Nothing in these folders changes meanwhile, not even a time."""

    def seen():
        paths = [path for top in tops for path in [top, *top.rglob("*")]]
        return {
            path: (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
            for path in paths
        }

    before = seen()
    yield
    assert seen() == before


def make_database(root: Path, *, seen: dict[str, datetime] | None = None) -> Path:
    """A database as a hub makes it, with a session of each agent in `seen`."""
    path = projects.pinbox_dir(root) / "pinbox.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA journal_mode = WAL")
        made.executescript((hub_folder() / "pinbox_site" / "schema.sql").read_text())
        table = "agent_sessions_agentsession"
        # Whatever further columns there are: nothing is in them.
        row = {
            name: ""
            for _, name, _, needed, *_ in made.execute(f"PRAGMA table_info({table})")
            if needed
        }
        for number, (agent, at) in enumerate((seen or {}).items()):
            when = at.strftime("%Y-%m-%d %H:%M:%S.%f")
            row |= {"id": f"ses_{number:010}", "agent": agent, "key": "k", "pid_is_ours": 0}
            row |= {"registered_at": when, "last_seen_at": when}
            marks = ",".join("?" * len(row))
            made.execute(f"INSERT INTO {table} ({','.join(row)}) VALUES ({marks})", [*row.values()])
        made.commit()
    return path


def ago(**time) -> datetime:
    return datetime.now(UTC) - timedelta(**time)


# --- hooks: registered, and run -------------------------------------------------------------------


def claude(repository, away):
    return hooks.hooks("claude", repository.root, away)


def install(repository, *, seen: bool = True):
    command.run(YES)
    if seen:
        make_database(repository.root, seen={"claude": ago(minutes=5)})


def test_hooks_that_work_and_were_seen_are_ok(repository, away):
    install(repository)
    with unchanged(repository.root, repository.home):
        found = claude(repository, away)
    assert found.status == "ok"
    assert found.detail == ".claude/settings.json: 4 events, answered here, last ran 5m ago"


def test_hooks_that_never_ran_are_said_to_be_so_with_the_step_that_is_missing(repository, away):
    install(repository, seen=False)
    found = claude(repository, away)
    assert (found.status, found.detail) == ("warn", ".claude/settings.json: written, never ran")
    assert found.hint == f"start claude in {repository.root} and accept its trust dialog"


def test_a_folder_that_is_trusted_needs_only_a_start(repository, away):
    install(repository, seen=False)
    trusted = {"projects": {str(repository.root): {"hasTrustDialogAccepted": True}}}
    (repository.home / ".claude.json").write_text(json.dumps(trusted))
    found = claude(repository, away)
    assert found.status == "warn"
    assert "accept" not in found.hint


@pytest.mark.parametrize("content", ["", "{", "[]", '{"projects": 1}', '{"projects": {"/": 2}}'])
def test_what_claude_keeps_may_be_anything(repository, away, content):
    install(repository, seen=False)
    (repository.home / ".claude.json").write_text(content)
    assert claude(repository, away).hint.endswith("trust dialog")


def test_a_session_of_another_agent_is_no_run_of_this_one(repository, away):
    command.run(YES)
    make_database(repository.root, seen={"codex": ago(minutes=5)})
    assert "never ran" in claude(repository, away).detail


def test_a_hook_that_failed_after_it_was_seen_last_is_named(repository, away):
    install(repository)
    log = projects.state_dir(repository.root) / "hook.log"
    when = ago(minutes=1).strftime("%Y-%m-%dT%H:%M:%SZ")
    log.write_text(f"{when} 'claude' Trouble: no answer\n{when} 'codex' Trouble: other\n")
    found = claude(repository, away)
    assert found.status == "warn"
    assert "its last run failed 1m ago: Trouble: no answer" in found.detail
    before = ago(minutes=9).strftime("%Y-%m-%dT%H:%M:%SZ")
    log.write_text(f"{before} 'claude' Trouble: no answer\n")
    assert claude(repository, away).status == "ok"


def test_an_agent_without_hooks_is_told_how_to_get_them(repository, away, on_path):
    projects.pinbox_dir(repository.root)
    assert claude(repository, away).status == "skip"
    on_path("claude", "exit 0")
    found = claude(repository, away)
    assert (found.status, found.hint) == ("warn", "pinbox init --yes")


def test_hooks_that_are_turned_off_fail(repository, away):
    install(repository)
    (repository.root / ".claude/settings.local.json").write_text('{"disableAllHooks": true}')
    found = claude(repository, away)
    assert found.status == "fail"
    assert "settings.local.json" in found.hint


def test_an_event_without_a_hook_fails(repository, away):
    install(repository)
    value = json.loads(repository.settings.read_text())
    del value["hooks"]["UserPromptSubmit"]
    repository.settings.write_text(json.dumps(value))
    found = claude(repository, away)
    assert (found.status, found.hint) == ("fail", "pinbox init --yes")
    assert "UserPromptSubmit" in found.detail


def test_settings_that_cannot_be_read_are_named(repository, away):
    projects.pinbox_dir(repository.root)
    repository.settings.parent.mkdir()
    repository.settings.write_text("{ // mine\n}")
    found = claude(repository, away)
    assert found.status == "warn"
    assert ".claude/settings.json cannot be read" in found.detail


def test_hooks_in_a_clone_without_a_folder_of_ours_do_nothing_and_say_so(repository, away):
    command.run(YES)
    shutil.rmtree(repository.root / ".pinbox")
    found = claude(repository, away)
    assert (found.status, found.hint) == ("warn", "pinbox init --yes")


# --- hooks: registered twice ----------------------------------------------------------------------


def add_plugin(folder: Path) -> None:
    plugin = folder / "skills" / "pinbox"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text("{}")
    (plugin / "hooks").mkdir()
    entry = {"type": "command", "command": '"$CLAUDE_PLUGIN_ROOT/hooks/inject.sh"'}
    events = {"UserPromptSubmit": [{"hooks": [entry]}]}
    (plugin / "hooks" / "hooks.json").write_text(json.dumps({"hooks": events}))


@pytest.mark.parametrize("where", ["project", "user"])
def test_a_plugin_beside_the_settings_is_a_double_registration(repository, away, where):
    install(repository)
    add_plugin((repository.root if where == "project" else repository.home) / ".claude")
    found = claude(repository, away)
    assert found.status == "warn"
    assert found.detail.startswith("registered twice for UserPromptSubmit: ")
    assert found.hint == "pinbox init --yes"
    command.run(YES)  # which is what the hint says
    assert claude(repository, away).status == "ok"


def register(path: Path, *commands: str) -> None:
    path.parent.mkdir(exist_ok=True)
    entries = [{"type": "command", "command": one} for one in commands]
    groups = {event: [{"hooks": [entry]} for entry in entries] for event in EVENTS}
    path.write_text(json.dumps({"hooks": groups}))


def test_the_same_command_for_the_user_too_is_run_once_and_is_no_double(repository, away):
    install(repository)
    register(repository.home / ".claude/settings.json", COMMAND)
    assert claude(repository, away).status == "ok"


@pytest.mark.parametrize(
    ("name", "options", "hint"),
    [
        ("app/.claude/settings.local.json", YES, "pinbox init --yes"),
        (
            "home/.claude/settings.json",
            Options(yes=True, user_scope=True),
            "pinbox init --global --yes",
        ),
    ],
)
def test_older_words_beside_ours_are_a_double_registration(repository, away, name, options, hint):
    install(repository)
    register(repository.root.parent / name, "pinbox session inject --hook")
    found = claude(repository, away)
    assert found.status == "warn"
    assert "registered twice" in found.detail
    assert found.hint == hint
    command.run(options)
    assert claude(repository, away).status == "ok"


# --- hooks: a launcher that does not run ----------------------------------------------------------


def both(repository) -> list[Path]:
    return [repository.root / ".pinbox/hook", repository.home / ".local/state/pinbox/hook"]


def point_at(repository, *, python: str, package: str) -> None:
    for path in both(repository):
        path.write_bytes(launchers._rendered(python, package))


def test_a_launcher_that_is_missing_fails(repository, away):
    install(repository)
    for path in both(repository):
        path.unlink()
    found = claude(repository, away)
    assert (found.status, found.hint) == ("fail", "pinbox init --yes")
    assert "no launcher" in found.detail
    command.run(YES)
    assert claude(repository, away).status == "ok"


def test_a_launcher_that_lost_its_mode_fails(repository, away):
    install(repository)
    both(repository)[0].chmod(0o600)
    assert claude(repository, away).status == "ok"
    both(repository)[1].chmod(0o600)
    assert claude(repository, away).status == "fail"


def test_a_launcher_whose_program_is_gone_fails_and_init_mends_it(repository, away, tmp_path):
    install(repository)
    point_at(repository, python=str(tmp_path / "gone/python"), package="/gone")
    found = claude(repository, away)
    assert found.status == "fail"
    assert f"{tmp_path}/gone/python is gone, and no other pinbox was found" in found.detail
    assert found.hint == "pinbox init --yes"
    command.run(YES)
    assert claude(repository, away).status == "ok"


def test_a_program_that_moved_and_is_found_again_is_ok(repository, away, tmp_path):
    install(repository)
    point_at(repository, python=str(tmp_path / "gone/python"), package="/gone")
    hook = Path(hooks.__file__).parents[1] / "hook.py"
    moved = f'[ "$1" = hook ] && exec {sys.executable} -I -S {hook} "$2"'
    program(repository.home / ".local/bin/pinbox", moved)
    assert claude(repository, away).status == "ok"


def package_that_says(folder: Path, said: str) -> str:
    (folder / "pinbox").mkdir(parents=True)
    (folder / "pinbox" / "hook.py").write_text(f"import sys\nsys.stdin.read()\nprint({said!r})\n")
    return str(folder)


@pytest.mark.parametrize(
    "said",
    [
        '{"additionalContext": "the pins"}',
        '{"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "the pins"}}',
        '{"hookSpecificOutput": {"hookEventName": "SessionStart"}, "additionalContext": "x"}',
        '{"hookSpecificOutput": []}',
        "plain words",
    ],
)
def test_an_answer_in_a_shape_that_claude_ignores_fails(repository, away, tmp_path, said):
    install(repository)
    package = package_that_says(tmp_path / "other", said)
    point_at(repository, python=sys.executable, package=package)
    found = claude(repository, away)
    assert found.status == "fail"
    assert "its answer to SessionStart is not in the shape that the agent reads" in found.detail


def test_an_answer_without_the_pin_fails(repository, away, tmp_path):
    install(repository)
    said = {"hookEventName": "SessionStart", "additionalContext": "nothing new"}
    package = package_that_says(tmp_path / "other", json.dumps({"hookSpecificOutput": said}))
    point_at(repository, python=sys.executable, package=package)
    assert "does not have the pin" in claude(repository, away).detail


# --- hooks: nothing that a repository brings is run -----------------------------------------------


def test_a_command_that_is_not_ours_word_for_word_is_not_run(repository, away, tmp_path):
    install(repository)
    register(repository.settings, f"touch {tmp_path}/owned; pinbox hook claude")
    found = claude(repository, away)
    assert (found.status, found.hint) == ("warn", "pinbox init --yes")
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("whose", ["project", "user"])
@pytest.mark.parametrize("kind", ["foreign", "edited", "inside", "link"])
def test_a_launcher_that_a_repository_brings_is_not_run(repository, away, tmp_path, kind, whose):
    install(repository)
    touch = f"touch {tmp_path}/owned"
    evil = program(repository.root / "evil", touch)
    own = both(repository)[whose == "user"]
    match kind:
        case "foreign":
            program(own, touch)
        case "edited":
            own.write_bytes(own.read_bytes() + f"{touch}\n".encode())
        case "inside":
            own.write_bytes(launchers._rendered(str(evil), "/gone"))
        case "link":
            (repository.root / "python").symlink_to(evil)
            linked = str(repository.root / "python")
            own.write_bytes(launchers._rendered(linked, "/gone"))
    found = claude(repository, away)
    if whose == "user":
        assert found.status in ("warn", "fail")
        assert "not tried" in found.detail
    else:  # nothing looks at it
        assert found.status == "ok"
    machine.python(repository.root, away)
    hubs.delivery(repository.root, away)
    assert not (tmp_path / "owned").exists()
    assert repository.root.joinpath("evil").exists()


# --- hooks of other agents ------------------------------------------------------------------------


def test_a_plugin_of_openclaw_that_init_entered_only_waits_for_its_gateway(repository, away):
    command.run(Options(yes=True, agents=("openclaw",)))
    found = hooks.hooks("openclaw", repository.root, away)
    assert found.detail == "~/.openclaw/openclaw.json: written, never ran"
    assert found.hint.startswith("run `openclaw gateway restart`")


def test_codex_hooks_that_never_ran_name_the_two_trusts(repository, away):
    command.run(YES)
    register(repository.root / ".codex/hooks.json", codex.COMMAND)
    found = hooks.hooks("codex", repository.root, away)
    assert (found.status, found.detail) == ("warn", ".codex/hooks.json: written, never ran")
    assert "trust the folder, then /hooks" in found.hint
    (repository.home / ".codex").mkdir()
    (repository.home / ".codex/config.toml").write_text(
        f'[projects."{repository.root}"]\ntrust_level = "trusted"\n'
    )
    assert hooks.hooks("codex", repository.root, away).hint == (
        "start codex, then /hooks and trust ours"
    )


def test_codex_hooks_in_toml_are_found_and_so_is_their_switch(repository, away):
    command.run(YES)
    (repository.home / ".codex").mkdir()
    (repository.home / ".codex/config.toml").write_text(
        "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\n"
        'type = "command"\ncommand = "pinbox hook codex"\n[features]\nhooks = false\n'
    )
    found = hooks.hooks("codex", repository.root, away)
    assert found.status == "fail"
    assert "turns all hooks off" in found.detail
    assert "hooks = false" in found.hint


def test_hermes_hooks_are_found_by_their_line(repository, away):
    command.run(YES)
    (repository.home / ".hermes").mkdir()
    config = repository.home / ".hermes/config.yaml"
    config.write_text("hooks:\n  pre_llm_call:\n    - command: pinbox hook hermes\n")
    assert "never ran" in hooks.hooks("hermes", repository.root, away).detail
    config.write_text("hooks:\n  # - command: pinbox hook hermes\n")
    assert hooks.hooks("hermes", repository.root, away).status == "skip"


# --- the database ---------------------------------------------------------------------------------


def checked(repository, away):
    with unchanged(repository.root):
        return database.db_writable(repository.root, away)


def test_a_whole_database_is_read_without_a_trace(repository, away):
    make_database(repository.root)
    assert checked(repository, away).status == "ok"
    assert [path.name for path in (repository.root / ".pinbox").glob("pinbox.db*")] == ["pinbox.db"]


def test_no_database_yet_is_nothing_to_look_at(repository, away):
    assert checked(repository, away).status == "skip"
    projects.pinbox_dir(repository.root).joinpath("pinbox.db").touch()
    assert checked(repository, away).status == "skip"


def test_no_database_yet_where_none_can_be_made_fails(repository, away):
    place = repository.root / ".pinbox"
    place.write_text("")
    found = checked(repository, away)
    assert (found.status, found.hint) == ("fail", f"make {place} writable, or free some space")


def test_no_database_yet_in_a_read_only_project_fails(repository, away):
    repository.root.chmod(0o500)
    if os.access(repository.root, os.W_OK):
        pytest.skip("root writes everywhere")
    found = checked(repository, away)
    repository.root.chmod(0o700)
    assert f"{repository.root} takes no files" in found.detail


@pytest.mark.parametrize("offset", [0, 4096, "end"])
def test_a_damaged_database_fails_and_says_how_to_go_on(repository, away, offset):
    path = make_database(repository.root)
    with path.open("rb+") as file:
        if offset == "end":
            file.truncate(path.stat().st_size // 2)
        else:
            file.seek(offset)
            file.write(b"\xa5" * 4000)
    found = checked(repository, away)
    assert found.status == "fail"
    assert "is damaged" in found.detail
    assert ".recover" in found.hint


def test_a_database_that_a_newer_pinbox_made_fails(repository, away):
    path = make_database(repository.root)
    with closing(sqlite3.connect(path)) as made:
        made.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('pins', '0099', 0)"
        )
        made.commit()
    found = checked(repository, away)
    assert (found.status, found.hint) == ("fail", "upgrade: pipx upgrade pinbox")
    assert "pins.0099" in found.detail


def test_a_newer_django_is_no_newer_pinbox(repository, away):
    path = make_database(repository.root)
    with closing(sqlite3.connect(path)) as made:
        made.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('auth', '0099', 0)"
        )
        made.commit()
    assert checked(repository, away).status == "ok"


def test_a_database_of_an_older_pinbox_is_brought_up_to_date_later(repository, away):
    path = make_database(repository.root)
    with closing(sqlite3.connect(path)) as made:
        made.execute("DROP TABLE pins_tally")
        made.execute("DELETE FROM django_migrations WHERE app = 'pins'")
        made.commit()
    found = checked(repository, away)
    assert found.status == "ok"
    assert "up to date when it starts next" in found.detail


@pytest.mark.parametrize("index", ["kept", "lost"])
def test_what_a_killed_hub_left_in_its_log_is_read_and_left_there(repository, away, index):
    path = make_database(repository.root)
    script = (
        "import os, sqlite3, sys; db = sqlite3.connect(sys.argv[1]); "
        "db.execute(\"INSERT INTO pins_tally VALUES ('open', 7)\"); db.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, path], check=True)
    assert Path(f"{path}-wal").stat().st_size > 0
    if index == "lost":
        Path(f"{path}-shm").unlink()
    assert "7 pins: whole" in checked(repository, away).detail


def test_a_database_that_cannot_be_written_fails(repository, away):
    path = make_database(repository.root)
    path.chmod(0o400)
    if os.access(path, os.W_OK):
        pytest.skip("root writes everywhere")
    found = checked(repository, away)
    assert (found.status, found.hint) == ("fail", f"chmod u+w {path}")


# --- the state folder -----------------------------------------------------------------------------


def test_a_state_folder_that_is_not_there_yet_is_not_made(repository):
    with unchanged(repository.home):
        found = machine.state_dir(repository.root)
    assert found.status == "ok"
    assert "not there yet" in found.detail


def test_a_state_folder_takes_a_file_without_a_trace(repository):
    folder = projects.state_dir(repository.root)
    with unchanged(repository.home):
        assert machine.state_dir(repository.root).status == "ok"
    folder.chmod(0o755)
    found = machine.state_dir(repository.root)
    assert (found.status, found.hint) == ("fail", f"chmod go= {folder}")


def test_a_private_file_that_is_open_to_others_is_named(repository):
    path = projects.state_dir(repository.root) / "hub.keep"
    path.write_text("{}")
    path.chmod(0o644)
    found = machine.state_dir(repository.root)
    assert (found.status, found.hint) == ("warn", f"chmod go= {path}")


def test_what_a_failing_hook_writes_is_private(repository):
    projects.state_dir(repository.root)
    before = os.umask(0o022)
    try:
        log_failure("no answer")
    finally:
        os.umask(before)
    assert machine.state_dir(repository.root).status == "ok"
    assert (projects.state_path(repository.root) / "hook.log").read_text().endswith(" no answer\n")


def test_a_file_in_the_place_of_the_state_folder_fails(repository):
    (repository.home / ".local").touch()
    found = machine.state_dir(repository.root)
    assert found.status == "fail"
    assert "is no folder" in found.detail


def test_a_state_folder_where_nobody_can_write_fails(repository, monkeypatch):
    if os.access("/", os.W_OK):
        pytest.skip("root writes everywhere")
    monkeypatch.setenv("XDG_STATE_HOME", "/gone")
    assert machine.state_dir(repository.root).status == "fail"


# --- this project's hub ---------------------------------------------------------------------------


@pytest.fixture
def process():
    """A process that state files call the hub: it lives, and does nothing."""
    with subprocess.Popen(["sleep", "600"]) as made:
        yield made.pid
        made.kill()


def record(
    root: Path, pid: int, *, port: int = 1, version: str = __version__, mark: str | None = None
) -> Path:
    """State files of a hub that is process `pid`; their folder."""
    folder = projects.state_dir(root)
    state = projects.HubState(
        pid=pid,
        port=port,
        token="T" * 32,
        version=version,
        page_token="P" * 32,
        instance="i" * 16,
        started_at="2026-01-01T00:00:00.000Z",
        folder=str(folder),
    )
    projects.private_write(folder / "hub.json", state.encode())
    mark = projects.process_mark(pid) if mark is None else mark
    projects.private_write(folder / "hub.pid", f"{pid} {mark}".encode())
    return folder


@contextmanager
def listener(answer: bytes):
    """Something on a port that answers everything so."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(10)


def http(body: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def own_hub(repository):
    with unchanged(repository.root, repository.home):
        return hubs.own_hub(repository.root)


def test_a_project_without_a_hub_is_fine(repository):
    assert own_hub(repository).status == "ok"


def test_a_hub_whose_process_is_gone_is_fine(repository, process):
    record(repository.root, process, mark="another life")
    found = own_hub(repository)
    assert found.status == "ok"
    assert "was killed" in found.detail


@pytest.mark.parametrize("content", [b"", b"{", b'{"pid": "x"}', b"\xff\xfe", b"[" * 100_000])
def test_a_broken_state_file_is_named_and_can_be_removed(repository, process, content):
    path = record(repository.root, process) / "hub.json"
    path.write_bytes(content)
    found = own_hub(repository)
    assert (found.status, found.hint) == ("warn", f"rm -r {path}")


@pytest.mark.parametrize(
    "answer",
    [
        http("{}"),
        http("[]"),
        http('{"ok":true,"data":{"instance":"somebody else"}}'),
        http("<html>"),
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"",
    ],
)
def test_another_program_on_the_recorded_port_is_told_from_the_hub(repository, process, answer):
    with listener(answer) as port:
        record(repository.root, process, port=port)
        found = own_hub(repository)
    assert (found.status, found.hint) == ("fail", "pinbox stop")


def test_nobody_on_the_recorded_port_fails(repository, process):
    with listener(b"") as port:
        pass
    record(repository.root, process, port=port)
    assert own_hub(repository).status == "fail"


@pytest.mark.parametrize(
    ("version", "status", "said"),
    [
        ("99.0", "warn", "99.0"),
        ("0.0.1", "ok", "replaces"),
        (__version__, "ok", "answers, version"),
    ],
)
def test_the_version_of_a_hub_is_compared(repository, process, version, status, said):
    body = json.dumps({"ok": True, "data": {"instance": "i" * 16, "version": version}})
    with listener(http(body)) as port:
        record(repository.root, process, port=port, version=version)
        found = own_hub(repository)
    assert found.status == status
    assert said in found.detail


# --- programs -------------------------------------------------------------------------------------


def test_an_agent_is_asked_under_a_home_of_its_own_and_gets_no_secret(
    repository, away, on_path, monkeypatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("PINBOX_TOKEN", "secret")
    seen = repository.home.parent / "seen"
    on_path("claude", f"env > {seen}; pwd >> {seen}; echo '2.1.332 (Claude Code)'")
    with unchanged(repository.root, repository.home):
        found = machine.agents(away)
    assert found.detail == "claude 2.1.332"
    said = seen.read_text()
    assert "secret" not in said
    assert f"HOME={away.home}\n" in said
    assert said.endswith(f"{away.project}\n")


@pytest.mark.parametrize("script", ["exit 3", "echo", "echo 1.2.3; exit 1", "kill -9 $$"])
def test_an_agent_that_says_no_version_is_still_there(repository, away, on_path, script):
    on_path("hermes", script)
    assert machine.agents(away).detail == "hermes (does not say its version)"


def test_an_agent_that_cannot_be_run_is_still_there(repository, away, on_path):
    on_path("codex", "").write_text("#!/gone/interpreter\n")
    assert machine.agents(away).detail == "codex (does not say its version)"


def test_no_agent_at_all_is_a_warning(repository, away):
    assert machine.agents(away).status == "warn"


def test_the_token_of_gh_is_never_seen(repository, away, on_path):
    on_path("gh", '[ "$1" = auth ] && { echo gho_secret; echo gho_secret >&2; } || echo gh 2.63.0')
    found = machine.gh(away)
    assert (found.status, found.detail) == ("ok", "2.63.0: logged in")


def test_gh_without_a_login_and_no_gh_at_all(repository, away, on_path):
    assert machine.gh(away).status == "skip"
    on_path("gh", 'case "$1" in auth) exit 1;; *) echo gh 2.63.0;; esac')
    found = machine.gh(away)
    assert (found.status, found.hint) == ("warn", "gh auth login")


def test_gh_is_asked_about_its_real_login_and_writes_no_state(repository, away, on_path):
    seen = repository.home.parent / "seen"
    on_path("gh", f'[ "$1" = auth ] && env > {seen}; echo gh 2.63.0')
    with unchanged(repository.root, repository.home):
        machine.gh(away)
    said = seen.read_text()
    assert f"HOME={repository.home}\n" in said
    assert f"XDG_STATE_HOME={away.state_home}\n" in said


def test_the_interpreter_of_the_launcher_is_the_one_that_is_run(repository, away, tmp_path):
    install(repository)
    old = program(tmp_path / "python3", "echo 3.9.1")
    point_at(repository, python=str(old), package="/gone")
    found = machine.python(repository.root, away)
    assert found.status == "fail"
    assert f"{old} is 3.9.1; 3.11 or newer is needed" in found.detail
    program(old, "exit 1")
    assert machine.python(repository.root, away).status == "fail"
    old.unlink()
    assert machine.python(repository.root, away).status == "fail"
    shutil.rmtree(repository.root / ".pinbox")
    (repository.home / ".local/state/pinbox/hook").unlink()
    assert machine.python(repository.root, away).status == "ok"


# --- settings -------------------------------------------------------------------------------------


def test_without_settings_there_is_nothing_to_say(repository, away, monkeypatch):
    monkeypatch.delenv("PINBOX_TEST_DB")
    assert hubs.configuration(repository.root, away).status == "ok"


@pytest.mark.parametrize(
    ("environ", "status", "said"),
    [
        ({"PINBOX_AUTH": "jwt"}, "fail", "PINBOX_JWT_ISSUER"),
        (
            {"PINBOX_TOKEN": "short-secret", "PINBOX_ALLOWED_HOSTS": "hub.example"},
            "fail",
            "PINBOX_TOKEN has fewer",
        ),
        ({"PINBOX_WEBHOOK_SECRET": "short-secret"}, "fail", "without PINBOX_WEBHOOK_URL"),
        ({"PINBOX_IDLE_MS": "soon"}, "fail", "PINBOX_IDLE_MS is not"),
        ({"PINBOX_IDLE_MS": "60000"}, "ok", "set here: PINBOX_IDLE_MS; consistent"),
        ({"PINBOX_AUTH": "none", "PINBOX_ALLOW_UNAUTHENTICATED": "1"}, "warn", "Everyone"),
        ({"PINBOX_DEBUG": "1"}, "ok", "nothing is set"),
    ],
)
def test_settings_are_put_before_a_hub_and_only_named(
    repository, away, monkeypatch, environ, status, said
):
    for name in ("PINBOX_TEST_DB", "PINBOX_RESUME"):  # the suite's own
        monkeypatch.delenv(name)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with unchanged(repository.root, repository.home):
        found = hubs.configuration(repository.root, away)
    assert found.status == status
    assert said in found.detail
    assert "short-secret" not in found.detail + (found.hint or "")


# --- the whole ------------------------------------------------------------------------------------


def test_a_delivery_is_made_acknowledged_and_timed(repository, away):
    found = hubs.delivery(repository.root, away)
    assert found.status == "ok"
    said = r"queued, handed over by the hook in \d+ ms, acknowledged"
    assert re.fullmatch(said, found.detail)


def test_without_a_hub_what_needs_one_fails_and_says_so(repository, monkeypatch, tmp_path):
    broken = program(tmp_path / "python3", "echo pinbox: no room >&2; exit 1")
    monkeypatch.setattr("sys.executable", str(broken))
    with ThrowAway() as away:
        found = hubs.hub(repository.root, away)
        assert found.status == "fail"
        assert "did not start: no room" in found.detail
        for found in (hubs.fts5(away), hubs.delivery(repository.root, away)):
            assert (found.status, found.hint) == ("fail", "see hub above")
    assert not away.root.exists()
