"""The hook an agent runs: one answer or nothing, always exit code 0, whatever is broken."""

import json
import os
import pty
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from pinbox import contract, hotpath
from pinbox import project as projects
from tests.process.conftest import PACKAGE, PYTHON
from tests.wait import wait_until

pytestmark = pytest.mark.process

HOOK = [PYTHON, "-I", "-S", str(PACKAGE / "hook.py"), "claude"]


def payload(event="UserPromptSubmit", **more):
    return json.dumps(
        {"hook_event_name": event, "session_id": "s-1", "cwd": "/somewhere", **more},
        ensure_ascii=False,
    ).encode()


def run_hook(place, body=None, *, command=HOOK, **options):
    """The hook to its end: (stdout, stderr), its exit code having been 0."""
    given = {"input": payload() if body is None else body} if "stdin" not in options else {}
    done = subprocess.run(
        command,
        **{
            "cwd": place.project,
            "env": place.environ,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "timeout": 30,
            **given,
            **options,
        },
        check=False,
    )
    assert done.returncode == 0
    return done.stdout, done.stderr


def hook_log(place):
    path = place.state_dir / "hook.log"
    return path.read_text() if path.exists() else ""


@contextmanager
def stub_hub(place, answer=b"{}", *, status=200, silent=False):
    """A listener that the state files call the hub, to see what hooks send and do with answers."""
    requests = []
    done = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(10)
                data = more = connection.recv(1 << 20)
                while more and b"\r\n\r\n" not in data:
                    more = connection.recv(1 << 20)
                    data += more
                head, _, body = data.partition(b"\r\n\r\n")
                lines = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
                length = int(lines.get(b"content-length", b"0"))
                while len(body) < length and (more := connection.recv(1 << 20)):
                    body += more
                requests.append((head.split(b"\r\n")[0], lines, body))
                if silent:
                    done.wait(20)
                else:
                    front = f"HTTP/1.1 {status} X\r\ncontent-length: {len(answer)}\r\n\r\n"
                    connection.sendall(front.encode() + answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with place.as_environment():
            folder = projects.state_dir(place.project)
            projects.pinbox_dir(place.project)
        record(folder, listener.getsockname()[1])
        yield requests
    finally:
        done.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(20)


def record(folder, port, *, pid=None, mark=None):
    pid = os.getpid() if pid is None else pid
    state = projects.HubState(
        pid=pid,
        port=port,
        token="T" * 32,
        version="0.1.0",
        page_token="P" * 32,
        instance="i" * 16,
        started_at="2026-01-01T00:00:00.000Z",
        folder=str(folder),
    )
    projects.private_write(folder / "hub.json", state.encode())
    mark = projects.process_mark(pid) if mark is None else mark
    projects.private_write(folder / "hub.pid", f"{pid} {mark}".encode())


# --- what is sent -----------------------------------------------------------------------------


def test_the_payload_goes_to_the_hub_as_it_came_and_the_answer_to_stdout_as_it_came(place):
    answer = '{"hookSpecificOutput": "測試 \\u00e9"}\n'.encode()
    with stub_hub(place, answer) as requests:
        assert run_hook(place, payload(prompt="é測試")) == (answer, b"")
    [(line, headers, body)] = requests
    assert line == b"POST /hooks/claude HTTP/1.1"
    assert headers[b"authorization"] == b"Bearer " + b"T" * 32
    assert body == payload(prompt="é測試")


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="reads processes in /proc")
def test_the_agent_is_named_by_its_pid_and_start_through_shells(place):
    with stub_hub(place) as requests:
        run_hook(place, command=["/bin/sh", "-c", '"$@"; exit 0', "sh", *HOOK])
    [(_, headers, _)] = requests
    mine = f"{os.getpid()}:{projects.process_start(os.getpid())}"
    assert headers[b"x-pinbox-ppid"] == mine.encode()


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONUTF8": "0", "LC_ALL": "C"},
        {"PYTHONIOENCODING": "cp932"},
        {"LC_ALL": "POSIX", "LANG": "ja_JP.SJIS", "PYTHONWARNINGS": "error"},
    ],
)
def test_no_locale_touches_a_byte(place, environ):
    """The two bytes before the backslash are a lead byte to other encodings."""
    body = '{"prompt":"測試\\" \U0001f4cd"}'.encode() + b"\xff\x83\\"
    answer = '{"context":"測試\\" \U0001f4cd"}'.encode()
    with stub_hub(place, answer) as requests:
        assert run_hook(place, body, env={**place.environ, **environ}) == (answer, b"")
    assert requests[0][2] == body


@pytest.mark.parametrize("interpreter", [["-I", "-S"], ["-I"], [], ["-W", "error", "-X", "dev"]])
def test_it_works_under_any_interpreter_switches(place, interpreter):
    with stub_hub(place, b'{"a":1}'):
        out, err = run_hook(place, command=[PYTHON, *interpreter, *HOOK[3:]])
    assert (out, err) == (b'{"a":1}', b"")


def test_eight_megabytes_are_sent_whole_and_more_is_cut_into_an_object_that_still_parses(place):
    frame = len(payload(prompt=""))
    largest = payload(prompt="x" * (contract.MAX_HOOK_BODY_BYTES - frame))
    with stub_hub(place) as requests:
        run_hook(place, largest)
        run_hook(place, payload(prompt='quote " and \\ and é' * 1_000_000))
    assert requests[0][2] == largest
    cut = requests[1][2]
    assert contract.MAX_HOOK_BODY_BYTES - 100 < len(cut) <= contract.MAX_HOOK_BODY_BYTES
    assert json.loads(cut.decode(errors="replace"))["session_id"] == "s-1"


def test_the_project_is_found_from_claudes_variable_before_the_directory(place, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (place.project / "below").mkdir()
    environ = {**place.environ, "CLAUDE_PROJECT_DIR": str(place.project / "below")}
    with stub_hub(place) as requests:
        run_hook(place, cwd=elsewhere, env=environ)
        run_hook(place, cwd=elsewhere)
    assert len(requests) == 1


# --- silence ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"", 200),
        (b"<html>hello</html>", 200),
        (b'{"half":', 200),
        (b"[1]", 200),
        (b"{" + b" " * 2_000_000 + b"}", 200),
        (b'{"ok":false}', 401),
        (b'{"ok":false}', 404),
        (b'{"ok":false}', 500),
        (b'{"a":1}', 204),
    ],
)
def test_an_answer_that_is_none_prints_nothing(place, answer, status):
    with stub_hub(place, answer, status=status):
        assert run_hook(place) == (b"", b"")
    assert len(hook_log(place).splitlines()) == (0 if answer == b"" else 1)


def test_a_silent_hub_is_given_two_seconds(place):
    with stub_hub(place, silent=True):
        started = time.monotonic()
        assert run_hook(place) == (b"", b"")
        assert 1.5 < time.monotonic() - started < 6
    assert len(hook_log(place).splitlines()) == 1


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"])
def test_without_a_pinbox_folder_nothing_is_said_and_nothing_made(place, event):
    assert run_hook(place, payload(event)) == (b"", b"")
    assert list(place.project.iterdir()) == list(place.home.iterdir()) == []


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"null", b"[" * 100_000])
def test_a_payload_that_is_none_is_silent(daemon, body):
    assert run_hook(daemon, body) == (b"", b"")


def test_a_closed_stdin_is_silent(place):
    with stub_hub(place) as requests:
        closed = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *HOOK]
        assert run_hook(place, command=closed, stdin=subprocess.DEVNULL) == (b"", b"")
        assert run_hook(place, stdin=subprocess.DEVNULL) == (b"", b"")
    assert requests == []


def test_closed_output_is_no_trouble(place):
    with stub_hub(place, b'{"a":1}'):
        run_hook(place, command=["/bin/sh", "-c", '"$@" >&- 2>&-', "sh", *HOOK])


def test_a_terminal_on_stdin_is_not_waited_for(place):
    ours, theirs = pty.openpty()
    try:
        with stub_hub(place) as requests:
            assert run_hook(place, stdin=theirs) == (b"", b"")
        assert requests == []
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_stdin_that_never_ends_is_given_two_seconds(place):
    ours, theirs = os.pipe()
    try:
        with stub_hub(place) as requests:
            started = time.monotonic()
            assert run_hook(place, stdin=ours) == (b"", b"")
            assert time.monotonic() - started < 6
        assert requests == []
    finally:
        os.close(ours)
        os.close(theirs)


def test_an_alarm_that_the_agent_had_blocked_still_ends_the_hook(place):
    ours, theirs = os.pipe()
    block = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # noqa: E731
    try:
        with stub_hub(place):
            assert run_hook(place, stdin=ours, preexec_fn=block) == (b"", b"")
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize("agent", ["", "../pins", "a b", "é", "a\r\nx: y"])
def test_an_agent_that_is_no_name_is_silent(place, agent):
    with stub_hub(place) as requests:
        assert run_hook(place, command=[*HOOK[:-1], agent]) == (b"", b"")
        assert run_hook(place, command=HOOK[:-1]) == (b"", b"")
    assert requests == []


def test_a_state_file_that_others_can_write_is_not_believed(place):
    with stub_hub(place) as requests:
        (place.state_dir / "hub.json").chmod(0o666)
        assert run_hook(place)[1] == b""
    assert requests == []


def test_a_recorded_pid_that_another_process_has_now_gets_no_token(place):
    with stub_hub(place) as requests:
        record(place.state_dir, 9, mark="1@earlier")
        assert run_hook(place)[1] == b""
    assert requests == []


def test_a_full_disk_is_silent(place):
    def no_space():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    with stub_hub(place, b"{}", status=500):
        assert run_hook(place, preexec_fn=no_space, stdout=subprocess.PIPE) == (b"", b"")
    projects.pinbox_dir(place.project)
    (place.state_dir / "hub.json").unlink()
    assert run_hook(place, preexec_fn=no_space) == (b"", b"")


def test_a_log_that_cannot_be_written_is_silent(place):
    with stub_hub(place, b"{}", status=500):
        (place.state_dir / "hook.log").mkdir()
        assert run_hook(place) == (b"", b"")


def test_the_log_is_private_bounded_and_has_no_token(place):
    with stub_hub(place, b"{}", status=500):
        (place.state_dir / "hook.log").write_bytes(b"x" * 300_000)
        (place.state_dir / "hook.log").unlink()
        run_hook(place, umask=0)
        path = place.state_dir / "hook.log"
        assert path.stat().st_mode & 0o777 == 0o600
        assert "T" * 8 not in path.read_text()
        path.write_bytes(b"x" * 300_000)
        run_hook(place)
        assert path.stat().st_size < 1000


# --- no hub, a deaf hub -----------------------------------------------------------------------


def test_a_hook_that_finds_no_hub_starts_one_and_prints_nothing_but_an_answer(place):
    projects.pinbox_dir(place.project)
    started = time.monotonic()
    assert run_hook(place) == (b"", b"")
    assert time.monotonic() - started < 6
    wait_until(place.has_hub, timeout=30)
    assert len(place.hubs()) == 1


def test_a_stopped_hub_is_replaced_by_hooks_alone(daemon):
    first = daemon.state()
    os.kill(first.pid, signal.SIGSTOP)

    def another_turn():
        assert run_hook(daemon) == (b"", b"")
        return daemon.has_hub() and daemon.state().instance != first.instance

    wait_until(another_turn, timeout=40)


def test_two_hooks_at_once_are_both_answered(daemon):
    running = [
        subprocess.Popen(
            HOOK,
            cwd=daemon.project,
            env=daemon.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    ended = [
        (process.communicate(payload("SessionStart")), process.returncode) for process in running
    ]
    assert [code for _, code in ended] == [0, 0]
    assert hook_log(daemon) == ""
    assert json.loads(daemon.run("session", "list").stdout)["data"] != []


# --- cost -------------------------------------------------------------------------------------


def test_it_loads_c_modules_and_itself_only():
    script = (
        "import sys; sys.path.append(sys.argv[1]); before = set(sys.modules); "
        "import pinbox.hotpath; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, str(PACKAGE.parent)],
        capture_output=True,
        check=True,
        text=True,
    )
    ours = {"pinbox", "pinbox.hotpath", "pinbox.wire"}
    assert set(eval(done.stdout)) - ours <= {"_socket", "time", "_signal", "posix"}


def test_its_copies_of_the_contracts_numbers_are_true():
    assert hotpath.MAX_BODY_BYTES == contract.MAX_HOOK_BODY_BYTES
