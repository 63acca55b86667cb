"""The hub starts itself once, outlives who started it, is replaced and stopped in good order."""

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from pinbox import __version__, client, wire
from pinbox import daemon as daemons
from pinbox import project as projects
from pinbox.contract import PinboxError
from tests.process.conftest import PACKAGE, Place
from tests.process.versions import run_code, run_copy
from tests.wait import wait_until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processes in /proc"),
]


def answer_of(done):
    assert done.returncode == 0, (done.stdout, done.stderr)
    return json.loads(done.stdout)["data"]


def pin(text):
    return {"text": text, "kind": "note", "env": {}, "author": {"userId": "tester"}}


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def has_ended(pid):
    fields = projects.process_fields(pid)
    return fields is None or fields[0] == b"Z"


# --- one hub ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_sixty_four_first_commands_at_once_make_one_hub_and_all_succeed(place):
    started = time.monotonic()
    running = [
        subprocess.Popen(
            place.command("list"),
            cwd=place.project,
            env=place.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(64)
    ]
    ended = [(process.communicate(timeout=60), process.returncode) for process in running]
    assert [(code, err) for (_, err), code in ended if code or err] == []
    assert {out for (out, _), _ in ended} == {place.run("list").stdout}
    assert place.hubs() == {place.state().pid}
    assert time.monotonic() - started < 60


def test_a_second_command_uses_the_same_hub(daemon):
    first = daemon.state()
    daemon.run("list")
    assert daemon.state() == first


def test_two_homes_share_the_one_hub_of_a_project(daemon, tmp_path):
    other = tmp_path / "another-home"
    other.mkdir()
    daemon.run("list", env={**daemon.environ, "HOME": str(other)})
    assert daemon.hubs() == {daemon.state().pid}


def test_two_homes_at_once_on_a_cold_project_make_one_hub(place, tmp_path):
    homes = [place.home, tmp_path / "another-home"]
    homes[1].mkdir()
    running = [
        subprocess.Popen(
            place.command("list"),
            cwd=place.project,
            env={**place.environ, "HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for home in homes * 4
    ]
    ended = [(process.communicate(timeout=60)[1], process.returncode) for process in running]
    assert [end for end in ended if end != (b"", 0)] == []
    wait_until(lambda: len(place.hubs()) == 1)


def test_a_command_in_a_subdirectory_uses_the_hub_of_the_project(daemon):
    below = daemon.project / "deep" / "below"
    below.mkdir(parents=True)
    daemon.run("list", cwd=below)
    assert not (below / ".pinbox").exists()
    assert daemon.hubs() == {daemon.state().pid}


# --- what is written --------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_every_file_is_private_under_any_umask(place, umask):
    place.run("list", umask=umask)
    for folder in (place.project / ".pinbox", place.state_dir):
        assert mode(folder) == 0o700
        assert {path.name: mode(path) for path in folder.iterdir() if mode(path) != 0o600} == {}
    assert {"pinbox.db", "server.json", "hub.lock", ".gitignore"} <= {
        path.name for path in (place.project / ".pinbox").iterdir()
    }


def test_the_state_files_say_where_the_hub_is(daemon):
    fields = json.loads((daemon.state_dir / "hub.json").read_bytes())
    names = ["pid", "port", "token", "version", "pageToken", "instance", "startedAt"]
    assert list(fields) == names
    assert fields["pid"] in daemon.hubs()
    assert len(fields["token"]) == len(fields["pageToken"]) == 32
    assert fields["version"] == __version__
    beside = (daemon.project / ".pinbox" / "server.json").read_bytes()
    assert json.loads(beside) == {"port": fields["port"]}


def _empty(path):
    path.write_bytes(b"")


def _noise(path):
    path.write_bytes(os.urandom(300))


def _open_to_all(path):
    path.chmod(0o666)


def _link(path):
    path.unlink()
    path.symlink_to("/etc/hostname")


def _pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("spoil", [_empty, _noise, _open_to_all, _link, _pipe, Path.unlink])
def test_a_running_hub_writes_its_spoilt_state_files_anew(daemon, spoil):
    before = daemon.state()
    for name in ("hub.json", "hub.pid"):
        spoil(daemon.state_dir / name)
    assert answer_of(daemon.run("list")) == []
    assert daemon.state() == before
    wait_until(lambda: daemon.hubs() == {before.pid}, what="no second hub stays")
    assert mode(daemon.state_dir / "hub.json") == 0o600


def test_another_home_finds_the_hub_again_after_the_lock_file_was_emptied(daemon, tmp_path):
    (daemon.project / ".pinbox" / "hub.lock").write_bytes(b"")
    other = tmp_path / "other"
    other.mkdir()
    done = daemon.run("list", env={**daemon.environ, "HOME": str(other)})
    assert answer_of(done) == []
    pid = daemon.state().pid
    wait_until(lambda: daemon.hubs() == {pid}, what="no second hub stays")


def test_health_names_the_instance_without_a_token(daemon):
    state = daemon.state()
    status, body = wire.exchange(state.port, "GET", "/health")
    assert status == 200
    assert json.loads(body) == {
        "ok": True,
        "data": {
            "version": __version__,
            "schemaVersion": 1,
            "wsProtocol": 1,
            "instance": state.instance,
        },
    }


def test_port_and_tokens_are_kept_across_restarts_and_the_instance_is_not(daemon):
    first = daemon.state()
    daemon.run("stop")
    assert not (daemon.state_dir / "hub.json").exists()
    daemon.run("list")
    second = daemon.state()
    assert (second.port, second.token, second.page_token) == (
        first.port,
        first.token,
        first.page_token,
    )
    assert second.instance != first.instance


def test_a_taken_port_is_not_waited_for(daemon):
    port = daemon.state().port
    daemon.run("stop")
    with socket.create_server(("127.0.0.1", port)):
        daemon.run("list")
        assert daemon.state().port != port


def test_tokens_never_reach_the_log(daemon):
    state = daemon.state()
    for token in (state.token, state.page_token):
        wire.exchange(state.port, "GET", f"/nowhere?token={token}")
    daemon.run("stop")
    assert "serves" in daemon.log()
    assert state.token not in daemon.log()
    assert state.page_token not in daemon.log()


# --- detached ---------------------------------------------------------------------------------


def test_the_pipes_of_the_command_that_started_the_hub_are_closed_when_it_exits(place):
    command = subprocess.Popen(
        place.command("list"),
        cwd=place.project,
        env=place.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    closed = {}

    def watch(name, stream):
        stream.read()
        closed[name] = time.monotonic()

    readers = [
        threading.Thread(target=watch, args=(name, getattr(command, name)))
        for name in ("stdout", "stderr")
    ]
    for reader in readers:
        reader.start()
    command.wait(60)
    exited = time.monotonic()
    with pytest.raises(BrokenPipeError):
        os.write(command.stdin.fileno(), b"x")
    for reader in readers:
        reader.join(3)
    assert set(closed) == {"stdout", "stderr"}
    assert max(closed.values()) - exited < 3
    assert place.has_hub()
    for stream in (command.stdin, command.stdout, command.stderr):
        stream.close()


def test_the_hub_has_its_own_session_and_inherits_no_descriptor(place):
    extra, other = os.pipe()
    os.set_inheritable(extra, True)
    try:
        place.run("list", pass_fds=(extra,))
        pid = place.state().pid
        assert os.getsid(pid) == pid
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
        log = str(place.state_dir / "hub.log")
        assert {os.readlink(f"/proc/{pid}/fd/{number}") for number in (1, 2)} == {log}
        pipe = os.readlink(f"/proc/self/fd/{extra}")
        held = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
        assert pipe not in held
    finally:
        os.close(extra)
        os.close(other)


def test_the_hub_survives_the_death_of_the_process_group_that_started_it(place):
    shell = subprocess.Popen(
        ["/bin/sh", "-c", '"$@"; read line', "sh", *place.command("list")],
        cwd=place.project,
        env=place.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    state = wait_until(lambda: place.has_hub() and place.state(), timeout=30)
    os.killpg(shell.pid, signal.SIGHUP)
    os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()
    shell.stdin.close()
    assert daemons.health(state, 5) is not None


def test_the_hubs_environment_has_nothing_of_git_agents_or_django(place):
    strange = {
        "GIT_DIR": "/nowhere",
        "GIT_INDEX_FILE": "/nowhere/index",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "s",
        "CODEX_THREAD_ID": "t",
        "HERMES_SESSION_ID": "h",
        "OPENCLAW_SESSION_KEY": "o",
        "DJANGO_SETTINGS_MODULE": "their.settings",
        "PYTHONPATH": "/nowhere",
        "PYTHONWARNINGS": "error",
        "DATABASE_URL": "sqlite://their-database",
        "PATH": "./node_modules/.bin:/usr/bin:/bin:",
        "PINBOX_IDLE_MS": "60000",
    }
    place.run("list", env={**place.environ, **strange})
    raw = Path(f"/proc/{place.state().pid}/environ").read_bytes()
    environ = dict(line.split(b"=", 1) for line in raw.split(b"\0") if line)
    kept = {"HOME": str(place.home), "PATH": "/usr/bin:/bin", "PINBOX_IDLE_MS": "60000"}
    assert environ == {
        name.encode(): value.encode() for name, value in {**kept, "LC_ALL": "C.UTF-8"}.items()
    }


def test_folders_of_the_users_that_are_named_like_our_libraries_shadow_nothing(place):
    for name in ("django", "channels", "pins", "pinbox", "json", "socket"):
        (place.project / name).mkdir()
        (place.project / name / "__init__.py").write_text("raise SystemExit('shadowed')")
    place.run("list")
    assert place.has_hub()


# --- whose process it is ----------------------------------------------------------------------


def record_pid(place, pid):
    """The state files a hub would have left if it had had this pid; its mark is of another life."""
    place.state_dir.mkdir(parents=True, mode=0o700)
    fields = {
        "pid": pid,
        "port": 9,
        "token": "t" * 32,
        "version": "0.0.1",
        "pageToken": "p" * 32,
        "instance": "0" * 16,
        "startedAt": "2026-01-01T00:00:00.000Z",
    }
    (place.state_dir / "hub.json").write_text(json.dumps(fields, separators=(",", ":")))
    (place.state_dir / "hub.pid").write_text(f"{pid} 1@an-earlier-boot")


@pytest.mark.parametrize("verb", ["list", "stop"])
def test_a_recorded_pid_that_a_strange_process_has_now_is_never_signalled(place, verb):
    stranger = subprocess.Popen(["sleep", "999"])
    try:
        record_pid(place, stranger.pid)
        place.run(verb)
        assert place.has_hub() == (verb == "list")
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_recorded_pid_that_our_own_shell_has_now_is_never_signalled(place):
    script = 'trap "echo signalled" TERM INT HUP CONT; echo $$; read go; "$@" || exit 9; echo alive'
    shell = subprocess.Popen(
        ["/bin/sh", "-c", script, "sh", *place.command("list")],
        cwd=place.project,
        env=place.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    record_pid(place, int(shell.stdout.readline()))
    out, _ = shell.communicate("go\n", timeout=60)
    assert shell.returncode == 0
    assert out.endswith("alive\n")
    assert "signalled" not in out
    assert place.has_hub()


def test_a_recorded_pid_1_is_never_signalled(place, monkeypatch):
    record_pid(place, 1)
    place.run("list")
    assert place.state().pid != 1
    # And the last barrier itself: a state that names pid 1 with its true mark.
    sent = []
    state = projects.HubState(
        pid=1,
        port=place.state().port,
        token="",
        version="0.0.1",
        page_token="",
        instance="",
        started_at="",
        folder=str(place.state_dir),
        mark=projects.process_mark(1) or "",
    )
    with monkeypatch.context() as patched, daemons._Target(state) as target:
        patched.setattr(os, "kill", lambda *args: sent.append(args))
        patched.setattr(signal, "pidfd_send_signal", lambda *args: sent.append(args))
        target.send(signal.SIGTERM)
    assert sent == []


def test_another_server_on_the_recorded_port_never_gets_the_token(place):
    seen = []
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                seen.append(connection.recv(65536))
                connection.sendall(b'HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{"ok":true}')

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        record_pid(place, os.getpid())
        path = place.state_dir / "hub.json"
        path.write_text(path.read_text().replace('"port":9,', f'"port":{port},'))
        place.run("list")
        assert [data for data in seen if b"t" * 32 in data] == []
        assert place.state().port != port
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


# --- deaf, slow, dead -------------------------------------------------------------------------


def test_a_stopped_hub_is_replaced_and_the_command_succeeds(daemon):
    first = daemon.state()
    os.kill(first.pid, signal.SIGSTOP)
    started = time.monotonic()
    daemon.run("list")
    assert time.monotonic() - started < 15
    assert daemon.state().pid != first.pid
    assert daemon.state().port == first.port
    wait_until(lambda: has_ended(first.pid))
    assert daemon.hubs() == {daemon.state().pid}


def test_a_slow_hub_is_waited_for_and_not_killed(daemon):
    """SIGCONT before the hub counts as deaf: to the client it was silent for two seconds."""
    first = daemon.state()
    os.kill(first.pid, signal.SIGSTOP)
    command = subprocess.Popen(
        daemon.command("list"),
        cwd=daemon.project,
        env=daemon.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        command.wait(2)
    os.kill(first.pid, signal.SIGCONT)
    out, err = command.communicate(timeout=30)
    assert command.returncode == 0, err
    assert json.loads(out)["data"] == []
    assert daemon.state() == first


def test_after_kill_9_the_next_command_works_on_the_same_port(daemon):
    first = daemon.state()
    os.kill(first.pid, signal.SIGKILL)
    daemon.run("list")
    assert daemon.state().pid != first.pid
    assert daemon.state().port == first.port


def test_a_hub_lost_between_two_requests_of_one_client_is_started_again(daemon):
    with daemon.as_environment():
        hub = client.connect(daemon.project)
        assert hub.request("GET", "/pins") == []
        os.kill(hub.state.pid, signal.SIGKILL)
        assert hub.request("POST", "/pins", pin("after the crash"))["n"] == 1
        assert [pin["text"] for pin in hub.request("GET", "/pins")] == ["after the crash"]


def test_without_permission_to_start_a_missing_hub_is_an_error_and_nothing_is_made(place):
    with place.as_environment(), pytest.raises(PinboxError) as caught:
        client.connect(place.project, start=False)
    assert caught.value.code == "E_HUB_UNREACHABLE"
    assert caught.value.hint
    assert list(place.project.iterdir()) == list(place.home.iterdir()) == []


def test_a_project_folder_removed_under_a_running_hub_gets_a_new_hub(daemon):
    daemon.run("pin", "old")
    first = daemon.state()
    shutil.rmtree(daemon.project / ".pinbox")
    assert answer_of(daemon.run("list")) == []
    assert daemon.state().instance != first.instance
    wait_until(lambda: daemon.hubs() == {daemon.state().pid})


def test_a_hub_that_cannot_start_says_why_and_names_its_log(place):
    (place.project / ".pinbox").mkdir(mode=0o700)
    (place.project / ".pinbox" / "pinbox.db").write_bytes(b"this is no database" * 100)
    done = place.run("list", check=False)
    assert done.returncode == 5
    said = (done.stdout + done.stderr).decode()
    assert "not a database" in said
    assert "hub.log" in said
    assert place.hubs() == set()


def test_a_wrong_idle_limit_stops_the_start_with_its_name(place):
    done = place.run("list", check=False, env={**place.environ, "PINBOX_IDLE_MS": "soon"})
    assert done.returncode == 5
    assert b"could not start: PINBOX_IDLE_MS" in done.stdout + done.stderr


def test_a_wrong_set_up_of_delivery_is_said_by_the_command_that_would_have_started_the_hub(place):
    wrong = {**place.environ, "PINBOX_WEBHOOK_URL": "https://app.example/hidden"}
    done = place.run("list", check=False, env=wrong)
    assert done.returncode == 5
    said = done.stdout + done.stderr
    assert b"could not start: delivery is misconfigured: PINBOX_WEBHOOK_URL is set" in said
    assert b"hidden" not in said


def test_a_home_that_cannot_be_written_is_one_error_with_a_hint(place):
    place.home.rmdir()
    place.home.write_text("a file")
    done = place.run("list", check=False)
    assert done.returncode == 1
    assert b"XDG_STATE_HOME" in done.stdout + done.stderr
    assert b"Traceback" not in done.stderr


def test_a_full_disk_is_one_error_and_no_hub_is_left_behind(place):
    def no_space():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = place.run("list", check=False, preexec_fn=no_space)
    assert done.returncode in (1, 5)
    assert b"Traceback" not in done.stderr
    assert place.hubs() == set()


# --- stopping ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_hub_in_order(daemon, number):
    state = daemon.state()
    os.kill(state.pid, number)
    wait_until(lambda: has_ended(state.pid))
    assert not (daemon.state_dir / "hub.json").exists()
    assert not (daemon.project / ".pinbox" / "server.json").exists()
    assert "stopped" in daemon.log()


def test_more_idle_connections_than_a_shell_allows_make_no_hub_deaf(place):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    place.run("list", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (96, hard)))
    address = ("127.0.0.1", place.state().port)
    with contextlib.ExitStack() as idle:
        for _ in range(128):
            idle.enter_context(socket.create_connection(address, 10))
        assert answer_of(place.run("list")) == []


def test_the_database_file_of_a_stopped_hub_holds_everything_by_itself(daemon, tmp_path):
    daemon.run("pin", "kept")
    daemon.run("stop")
    shutil.copy(daemon.project / ".pinbox" / "pinbox.db", tmp_path / "copy.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        assert copy.execute("SELECT count(*) FROM pins_event").fetchone() == (1,)


def test_a_database_that_is_none_is_an_error_that_keeps_the_file(daemon):
    daemon.run("pin", "kept")
    daemon.run("stop")
    path = daemon.project / ".pinbox" / "pinbox.db"
    path.write_bytes(b"no database " * 1000)
    done = daemon.run("list", check=False)
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["code"]) == (5, "E_HUB_UNREACHABLE")
    assert "not a database" in error["message"]
    assert path.read_bytes() == b"no database " * 1000
    wait_until(lambda: not daemon.hubs(), what="no hub stays")


def test_a_request_under_way_is_answered_before_the_hub_stops(daemon):
    """The hub has the head of a request; the body comes after the signal."""
    state = daemon.state()
    body = json.dumps(pin("in flight")).encode()
    with socket.create_connection(("127.0.0.1", state.port)) as connection:
        connection.sendall(
            b"POST /pins HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            b"authorization: Bearer %s\r\ncontent-length: %d\r\n\r\n"
            % (state.token.encode(), len(body))
        )
        connection.sendall(body[:5])
        os.kill(state.pid, signal.SIGTERM)
        wait_until(lambda: "stopping" in daemon.log())
        connection.sendall(body[5:])
        connection.settimeout(10)
        assert connection.recv(65536).startswith(b"HTTP/1.1 201")
    wait_until(lambda: has_ended(state.pid))


def test_a_request_that_never_ends_holds_the_stop_up_for_two_seconds_only(daemon):
    state = daemon.state()
    with socket.create_connection(("127.0.0.1", state.port)) as connection:
        connection.sendall(
            b"POST /pins HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 10\r\n\r\nhalf"
        )
        os.kill(state.pid, signal.SIGTERM)
        wait_until(lambda: has_ended(state.pid), timeout=8)


def test_stop_ends_a_stopped_hub_too(daemon):
    pid = daemon.state().pid
    os.kill(pid, signal.SIGSTOP)
    assert answer_of(daemon.run("stop"))["pid"] == pid
    wait_until(lambda: has_ended(pid))


def test_stop_without_a_hub_is_a_success_that_creates_nothing(place):
    assert answer_of(place.run("stop"))["stopped"] is False
    assert list(place.project.iterdir()) == list(place.home.iterdir()) == []


def test_an_idle_hub_leaves_and_the_next_command_brings_it_back(place):
    place.environ["PINBOX_IDLE_MS"] = "1"
    place.run("list")
    wait_until(lambda: not place.hubs(), timeout=15, what="the idle hub has left")
    assert "idle" in place.log()
    assert not (place.state_dir / "hub.json").exists()
    place.run("list")


# --- versions ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_older_hub_is_replaced_with_its_port_token_and_pins(place, other_version):
    old = other_version("0.0.9")
    made = run_copy(old, place, "pin", "kept over the upgrade")
    assert made.returncode == 0, made.stderr
    before = place.state()
    assert before.version == "0.0.9"

    pins = answer_of(place.run("list"))

    after = place.state()
    assert [pin["text"] for pin in pins] == ["kept over the upgrade"]
    assert after.version == __version__
    assert (after.port, after.token) == (before.port, before.token)
    assert place.hubs() == {after.pid}


@pytest.mark.slow
def test_a_newer_hub_is_used_as_it_is_with_a_notice(daemon, other_version):
    old = other_version("0.0.9")
    before = daemon.state()
    done = run_copy(old, daemon, "list")
    assert done.returncode == 0, done.stderr
    assert daemon.state() == before
    # People read it; a program reads stdout only.
    said = run_code(old, daemon, "from pinbox import client; print(client.connect().notice)")
    assert b"upgrade this one" in said.stdout


def test_versions_that_take_turns_replace_the_hub_once(place, other_version):
    old = other_version("0.0.9")
    instances = []
    for _ in range(2):
        assert run_copy(old, place, "list").returncode == 0
        instances.append(place.state().instance)
        place.run("list")
        instances.append(place.state().instance)
    assert instances[0] != instances[1]
    assert instances[1] == instances[2] == instances[3]


# --- while the stack loads --------------------------------------------------------------------


@contextmanager
def starting_hub(place: Place):
    """A hub just spawned, from the moment its state file exists."""
    with place.as_environment():
        projects.pinbox_dir(place.project)
        projects.state_dir(place.project)
    process = subprocess.Popen(
        daemons.spawn_command(place.project),
        cwd="/",
        env=place.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield wait_until(lambda: place.has_hub() and place.state(), timeout=30)
    finally:
        process.kill()
        process.wait()


def test_health_answers_the_same_before_and_after_the_stack_is_up(place):
    with starting_hub(place) as state:
        early = wire.exchange(state.port, "GET", "/health", timeout_s=30)
        assert "serves" not in place.log(), "the stack was up too soon for this test to mean much"
        ready = wire.exchange(state.port, "GET", "/health?ready=1", timeout_s=30)
        assert "serves" in place.log()
        late = wire.exchange(state.port, "GET", "/health", timeout_s=30)
    assert early == ready == late


def test_requests_that_come_while_the_stack_loads_are_answered_once_it_is_up(place):
    with starting_hub(place) as state:
        answers = []
        askers = [
            threading.Thread(
                target=lambda: answers.append(
                    wire.exchange(
                        state.port,
                        "GET",
                        "/pins",
                        (("authorization", f"Bearer {state.token}"),),
                        timeout_s=30,
                    )
                )
            )
            for _ in range(40)
        ]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join(30)
    assert answers == [(200, b'{"ok":true,"data":[]}')] * 40


@pytest.mark.parametrize(
    "head",
    [
        "host: evil.example",
        "host: 127.0.0.1:{port}\r\norigin: https://evil.example",
        "host: 127.0.0.1:{port}\r\nhost: 127.0.0.1:{port}",
        "host: 127.0.0.1:{port}\r\nsec-fetch-site: cross-site",
    ],
)
def test_what_the_gate_refuses_is_refused_while_the_stack_loads(place, head):
    with starting_hub(place) as state, socket.create_connection(("127.0.0.1", state.port)) as link:
        link.settimeout(30)
        text = "GET /health HTTP/1.1\r\n" + head.format(port=state.port) + "\r\n\r\n"
        link.sendall(text.encode())
        answer = link.recv(65536)
    assert answer.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400"))
    assert state.instance.encode() not in answer


def test_a_hub_told_to_stop_while_it_loads_takes_its_state_files_back(place):
    with starting_hub(place) as state:
        os.kill(state.pid, signal.SIGTERM)
        wait_until(lambda: has_ended(state.pid))
        assert not (place.state_dir / "hub.json").exists()


# --- the log and the foreground ---------------------------------------------------------------


def test_the_log_is_rotated_and_stays_private(place, tmp_path):
    script = (
        "import logging, sys\n"
        "from pathlib import Path\n"
        "from pinbox import hub\n"
        "hub.LOG_BYTES = 1000\n"
        "hub._set_up_logging(Path(sys.argv[1]), detached=True)\n"
        "for number in range(100):\n"
        "    logging.getLogger('x').info('line %d', number)\n"
        "print('to the newest', flush=True)\n"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=PACKAGE.parent,
        env=place.environ,
        check=True,
        umask=0,
    )
    logs = sorted(path for path in tmp_path.iterdir() if path.name.startswith("hub.log"))
    assert [path.name for path in logs] == ["hub.log", "hub.log.1", "hub.log.2", "hub.log.3"]
    assert {mode(path) for path in logs} == {0o600}
    assert max(path.stat().st_size for path in logs) < 1100
    assert logs[0].read_text().endswith("to the newest\n")


def test_serve_in_the_foreground_says_so_and_ends_with_ctrl_c(place):
    process = subprocess.Popen(
        place.command("serve"),
        cwd=place.project,
        env=place.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: place.has_hub() and process.pid == place.state().pid, timeout=30)
    daemons.health(place.state(), 30, ready=True)
    second = place.run("serve", check=False)
    assert second.returncode == 4
    assert b"already serves" in second.stderr + second.stdout
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=15)
    assert process.returncode == 0
    assert b"serves" in err
    assert b"stopped" in err
