"""Decisions about a hub from outside: which version is newer, what it inherits, when it is deaf."""

import os
import signal
import subprocess
import sys

import pytest

from pinbox import daemon, project
from tests.wait import wait_until


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("0.1.0", "0.1.1"),
        ("0.9.0", "0.10.0"),
        ("0.1", "0.1.1"),
        ("1.0.0.dev3", "1.0.0a1"),
        ("1.0.0a2", "1.0.0b1"),
        ("1.0.0b1", "1.0.0rc1"),
        ("1.0.0rc1", "1.0.0rc2"),
        ("1.0.0rc2", "1.0.0"),
        ("1.0.0", "1.0.0.post1"),
        ("1.0.0.post1", "1.0.1.dev1"),
    ],
)
def test_versions_are_ordered_as_releases_are(older, newer):
    assert daemon.compare_versions(older, newer) == -1
    assert daemon.compare_versions(newer, older) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.0", "1.0.0"),
        ("1.0.0", "1.0.0+local.7"),
        ("", "1.0"),
        ("unknown", "1.0"),
        ("1.0-banana", "1.0"),
        ("²", "1"),
    ],
)
def test_versions_that_are_equal_or_make_no_sense_never_replace_each_other(one, other):
    assert daemon.compare_versions(one, other) == daemon.compare_versions(other, one) == 0


def test_the_hub_inherits_nothing_of_git_agents_python_or_the_application():
    strange = {
        "GIT_DIR": "x",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "x",
        "CODEX_THREAD_ID": "x",
        "CODEX_SANDBOX_NETWORK_DISABLED": "1",
        "HERMES_SESSION_ID": "x",
        "OPENCLAW_SESSION_KEY": "x",
        "DJANGO_SETTINGS_MODULE": "x",
        "PYTHONSTARTUP": "x",
        "VIRTUAL_ENV": "x",
        "DATABASE_URL": "x",
        "REDIS_URL": "x",
        "JWT_ISSUER": "x",
        "ALLOW_UNAUTHENTICATED": "1",
    }
    kept = {"HOME": "/home/a", "LANG": "C", "PINBOX_IDLE_MS": "1", "PATH": "/usr/bin"}
    assert daemon.hub_environment({**strange, **kept}) == kept


def test_the_hub_finds_openclaw_s_gateway_as_its_user_would():
    kept = {"PATH": "/usr/bin", "OPENCLAW_STATE_DIR": "/its/state", "OPENCLAW_GATEWAY_TOKEN": "x"}
    shell = {"OPENCLAW_SHELL": "exec", "OPENCLAW_SESSION_KEY": "agent:main:main"}
    assert daemon.hub_environment({**kept, **shell}) == kept


def test_the_hub_knows_where_agents_keep_their_sessions_and_how_they_reach_their_models():
    kept = {
        "PATH": "/usr/bin",
        "CLAUDE_CONFIG_DIR": "/home/a/work",
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "CODEX_HOME": "/home/a/codex",
        "HERMES_HOME": "/home/a/hermes",
        "ANTHROPIC_API_KEY": "x",
    }
    assert daemon.hub_environment(kept) == kept


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/a:/b", "/a:/b"),
        (".:/a::bin:/b:/a", "/a:/b"),
        ("", "/usr/local/bin:/usr/bin:/bin"),
        (None, "/usr/local/bin:/usr/bin:/bin"),
        ("./only:relative", "/usr/local/bin:/usr/bin:/bin"),
    ],
)
def test_the_hubs_path_has_absolute_folders_only(path, kept):
    environ = {} if path is None else {"PATH": path}
    assert daemon.hub_environment(environ)["PATH"] == kept


@pytest.fixture
def process():
    """A process that sleeps until it is told to end."""
    child = subprocess.Popen(["/bin/sh", "-c", "read line"], stdin=subprocess.PIPE)
    yield child
    child.send_signal(signal.SIGCONT)
    child.stdin.close()
    child.wait()


def state_of(pid):
    return project.HubState(
        pid=pid,
        port=1,
        token="",
        version="",
        page_token="",
        instance="",
        started_at="",
        folder="",
        mark=project.process_mark(pid) or "",
    )


def test_a_stopped_process_is_deaf_after_three_seconds_and_not_before(process):
    process.send_signal(signal.SIGSTOP)
    wait_until(lambda: daemon.process_condition(process.pid) == "T")
    assert not daemon.Silence(state_of(process.pid), 2.0).is_deaf()
    assert daemon.Silence(state_of(process.pid), daemon.DEAF_AFTER_S).is_deaf()


def test_a_sleeping_process_is_merely_slow_until_it_hangs_for_long(process):
    wait_until(lambda: daemon.process_condition(process.pid) == "S")
    assert not daemon.Silence(state_of(process.pid), daemon.HUNG_AFTER_S - 1).is_deaf()
    assert daemon.Silence(state_of(process.pid), daemon.HUNG_AFTER_S).is_deaf()


def test_a_process_that_works_is_never_deaf():
    working = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        silence = daemon.Silence(state_of(working.pid), 1000.0)
        used = daemon.processor_time(working.pid)
        wait_until(lambda: daemon.processor_time(working.pid) > used)
        assert not silence.is_deaf()
    finally:
        working.kill()
        working.wait()


def test_hearing_a_hub_starts_its_silence_anew(process):
    process.send_signal(signal.SIGSTOP)
    wait_until(lambda: daemon.process_condition(process.pid) == "T")
    silence = daemon.Silence(state_of(process.pid), 1000.0)
    silence.heard()
    assert not silence.is_deaf()


def test_this_process_is_never_signalled_by_itself():
    with daemon._Target(state_of(os.getpid())) as target:
        target.send(signal.SIGKILL)


def test_a_process_that_got_the_pid_of_a_hub_is_not_signalled(process):
    stale = state_of(process.pid)
    stale.mark = "1@earlier"
    with daemon._Target(stale) as target:
        assert not target.is_alive()
        target.send(signal.SIGKILL)
    assert process.poll() is None


def test_inside_another_program_the_hub_runs_on_the_installations_python(monkeypatch):
    assert daemon.hub_command()[0] == sys.executable
    for embedding in ("/usr/sbin/uwsgi", "", None):
        monkeypatch.setattr(sys, "executable", embedding)
        assert os.access(daemon.hub_command()[0], os.X_OK)
