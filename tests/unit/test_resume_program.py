"""A program that is run for somebody else: bounded in time and memory, and never left behind."""

import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from delivery.adapters import program
from pinbox import project
from tests.wait import wait_until

PATH = "/usr/bin:/bin"
#: More than any of these programs needs, on a busy machine.
PATIENT_S = 30
ROOT = Path(__file__).resolve().parents[2]
IN_A_HUB = """
import os, signal, threading
import django
django.setup()
from delivery.adapters import program
from pinbox import project
"""


def in_a_process_of_its_own(tmp_path, script):
    (tmp_path / "project").mkdir()
    return subprocess.run(
        [sys.executable, "-c", IN_A_HUB + script],
        cwd=ROOT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "pinbox_site.settings",
            "PINBOX_PROJECT": str(tmp_path / "project"),
        },
        timeout=PATIENT_S,
    )


def shell(tmp_path, script, *, timeout_s=PATIENT_S, stdin="", spawned=None, stop=None, umask=None):
    return program.run(
        ("/bin/sh", "-c", script),
        cwd=str(tmp_path),
        environ={"PATH": PATH},
        stdin=stdin,
        timeout_s=timeout_s,
        spawned=spawned or (lambda process: None),
        stop=stop or threading.Event(),
    )


def is_alive(pid):
    fields = project.process_fields(pid)
    return fields is not None and fields[0] not in (b"Z", b"X")


def pid_in(path):
    """The number that a program writes into a file."""
    return wait_until(lambda: path.exists() and path.read_text().strip() and int(path.read_text()))


def test_a_program_gets_its_input_and_its_streams_and_exit_code_come_back(tmp_path):
    ended = shell(tmp_path, "pwd; cat; echo trouble >&2; exit 3", stdin="a word\nand more")
    assert ended.cause == "exit"
    assert ended.exit_code == 3
    assert ended.stdout == f"{tmp_path}\na word\nand more"
    assert ended.stderr == "trouble\n"


def test_the_process_that_is_told_is_the_program_itself(tmp_path):
    told = []
    ended = shell(tmp_path, "echo $$", spawned=told.append)
    assert int(ended.stdout) == told[0].pid


def test_the_program_has_not_begun_while_it_is_being_recorded(tmp_path):
    seen = []

    def record(process):
        seen.append(project.process_start(process.pid) == process.started)
        seen.append((tmp_path / "begun").exists())

    shell(tmp_path, "touch begun", spawned=record)
    assert seen == [True, False]
    assert (tmp_path / "begun").exists()


def test_a_program_that_cannot_be_recorded_never_begins(tmp_path):
    told = []

    def fail(process):
        told.append(process)
        raise RuntimeError("no database")

    with pytest.raises(RuntimeError, match="no database"):
        shell(tmp_path, "touch begun", spawned=fail)
    assert not is_alive(told[0].pid)
    assert not (tmp_path / "begun").exists()


def test_a_program_never_begins_when_we_die_before_the_word(tmp_path):
    """The hub's own process, killed while it records the child that waits."""
    script = f"""
def die(process):
    with open({str(tmp_path / "pid")!r}, "w") as file:
        file.write(str(process.pid))
    os.kill(os.getpid(), signal.SIGKILL)

program.run(("/bin/sh", "-c", "touch begun"), cwd={str(tmp_path)!r}, environ={{}}, stdin="",
            timeout_s=30, spawned=die, stop=threading.Event())
"""
    done = in_a_process_of_its_own(tmp_path, script)
    assert done.returncode == -signal.SIGKILL
    pid = pid_in(tmp_path / "pid")
    wait_until(lambda: not is_alive(pid), what="the waiting shell is gone")
    assert not (tmp_path / "begun").exists()


def test_a_program_that_is_too_slow_is_ended_with_all_that_it_started(tmp_path):
    script = "sleep 300 & echo $! > grandchild; echo begun; wait"
    ended = shell(tmp_path, script, timeout_s=0.5)
    assert ended.cause == "timeout"
    assert ended.stdout == "begun\n"
    assert not is_alive(pid_in(tmp_path / "grandchild"))


def test_a_program_that_is_deaf_to_the_request_to_end_is_ended_by_force(tmp_path):
    script = "trap '' TERM; echo $$ > pid; while :; do sleep 1; done"
    began = time.monotonic()
    ended = shell(tmp_path, script, timeout_s=0.3)
    assert ended.cause == "timeout"
    assert ended.exit_code == -signal.SIGKILL
    assert program.TERMINATE_S <= time.monotonic() - began < program.TERMINATE_S + PATIENT_S
    assert not is_alive(pid_in(tmp_path / "pid"))


def test_a_program_may_say_its_last_words_when_it_is_asked_to_end(tmp_path):
    script = "trap 'echo farewell; exit 0' TERM; echo begun; while :; do sleep 0.05; done"
    ended = shell(tmp_path, script, timeout_s=0.5)
    assert ended.cause == "timeout"
    assert ended.stdout == "begun\nfarewell\n"


def test_a_stop_ends_the_program_soon(tmp_path):
    stop = threading.Event()
    began = time.monotonic()
    ended = shell(tmp_path, "sleep 300", stop=stop, spawned=lambda process: stop.set())
    assert ended.cause == "stopped"
    assert time.monotonic() - began < PATIENT_S


def test_what_a_program_leaves_in_its_group_ends_with_it(tmp_path):
    """With the pipes still open in the one that is left: nobody waits for it."""
    ended = shell(tmp_path, "sleep 300 & echo $! > left; exit 0")
    assert (ended.cause, ended.exit_code) == ("exit", 0)
    assert not is_alive(pid_in(tmp_path / "left"))


def test_a_pipe_held_open_by_a_stranger_delays_nobody(tmp_path):
    """A daemon in a session of its own is not ours to end, and need not close our pipe."""
    daemon = f"{shlex.quote(sys.executable)} -c '{DAEMON}'"
    script = f"{daemon} & wait; until [ -s daemon ]; do :; done; exit 0"
    began = time.monotonic()
    ended = shell(tmp_path, script)
    seconds = time.monotonic() - began
    pid = pid_in(tmp_path / "daemon")
    try:
        assert ended.exit_code == 0
        assert seconds < PATIENT_S
        assert is_alive(pid)
    finally:
        os.kill(pid, signal.SIGKILL)


DAEMON = (
    "import os, time\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    'open("daemon", "w").write(str(os.getpid()))\n'
    "time.sleep(300)\n"
)


def test_no_zombie_is_left(tmp_path):
    told = []
    shell(tmp_path, "exit 0", spawned=told.append)
    shell(tmp_path, "sleep 300", spawned=told.append, timeout_s=0.1)
    assert [project.process_fields(process.pid) for process in told] == [None, None]


def test_a_flood_of_output_is_read_to_its_end_and_kept_in_part(tmp_path):
    lines = 3 * program.TAIL_BYTES // 16
    script = f"echo first; yes 'fifteen letters' | head -n {lines}; echo last"
    ended = shell(tmp_path, script)
    assert ended.exit_code == 0
    assert ended.stdout.startswith("first\nfifteen letters\n")
    assert ended.stdout.endswith("fifteen letters\nlast\n")
    assert " bytes left out]\n" in ended.stdout
    assert len(ended.stdout) < program.HEAD_BYTES + program.TAIL_BYTES + 100


def test_both_streams_at_once_do_not_block_each_other(tmp_path):
    script = "yes out | head -n 100000 & yes err | head -n 100000 >&2; wait"
    ended = shell(tmp_path, script)
    assert len(ended.stdout) == len(ended.stderr) == 400_000


def test_input_that_nobody_reads_is_no_trouble(tmp_path):
    ended = shell(tmp_path, "exec 0<&-; echo done", stdin="x" * 500_000)
    assert (ended.exit_code, ended.stdout) == (0, "done\n")


def test_input_larger_than_a_pipe_arrives_whole(tmp_path):
    ended = shell(tmp_path, "wc -c", stdin="x" * 500_000)
    assert ended.stdout.strip() == "500000"


def test_a_program_that_closes_its_streams_is_waited_for(tmp_path):
    ended = shell(tmp_path, "exec >&- 2>&-; sleep 0.4; exit 7")
    assert ended.exit_code == 7


def test_a_program_has_three_descriptors_and_a_group_and_session_of_its_own(tmp_path):
    with open(tmp_path / "held", "w") as held:
        os.set_inheritable(held.fileno(), True)
        script = "ls -l /dev/fd/ >&2; ps -o pid=,pgid=,sid= -p $$"
        ended = shell(tmp_path, script)
    pid, group, session = ended.stdout.split()
    assert pid == group == session
    assert "held" not in ended.stderr


def test_bytes_that_are_no_text_come_back_as_text(tmp_path):
    ended = shell(tmp_path, r"printf 'a\377b\000'")
    assert ended.stdout == "a\ufffdb\0"


def test_no_word_of_the_command_is_read_by_the_shell(tmp_path):
    words = ["$(touch gone)", "`touch gone`", "; touch gone", "--", "-n", "a b", "*", "'\""]
    script = "import sys; print('\\n'.join(sys.argv[1:]))"
    ended = program.run(
        (sys.executable, "-c", script, *words),
        cwd=str(tmp_path),
        environ={"PATH": PATH},
        stdin="",
        timeout_s=PATIENT_S,
        spawned=lambda process: None,
        stop=threading.Event(),
    )
    assert ended.stdout.splitlines() == words
    assert list(tmp_path.iterdir()) == []


def test_a_missing_program_is_said_by_the_shell(tmp_path):
    ended = program.run(
        ("/nowhere/agent",),
        cwd=str(tmp_path),
        environ={"PATH": PATH},
        stdin="",
        timeout_s=PATIENT_S,
        spawned=lambda process: None,
        stop=threading.Event(),
    )
    assert ended.exit_code == 127
    assert ended.stderr.startswith(program.SHELL_NAME)


def test_a_missing_folder_is_an_error_of_ours(tmp_path):
    with pytest.raises(FileNotFoundError):
        shell(tmp_path / "gone", "true")


@pytest.mark.parametrize("umask", [0o022, 0o027])
def test_a_program_writes_with_the_users_umask_and_not_the_hubs(tmp_path, umask):
    script = f"""
os.umask({umask})
project.keep_files_private()
project.keep_files_private()
open({str(tmp_path / "ours")!r}, "w").close()
program.run(("/bin/sh", "-c", "touch theirs"), cwd={str(tmp_path)!r}, environ={{"PATH": {PATH!r}}},
            stdin="", timeout_s=30, spawned=lambda process: None, stop=threading.Event())
"""
    assert in_a_process_of_its_own(tmp_path, script).returncode == 0
    assert (tmp_path / "ours").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "theirs").stat().st_mode & 0o777 == 0o666 & ~umask
