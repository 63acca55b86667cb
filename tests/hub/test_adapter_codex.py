"""A Codex session that waits for a person is woken by `codex queue`, and takes its pins by its own
hooks. The program is a script on the PATH; the real one is in tests/agents/test_codex.py.
"""

import json
import os
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from delivery import reach, turns
from delivery.adapters import DeliveryFailed, Presence
from delivery.adapters.codex import LINE, CodexAdapter
from delivery.models import Delivery
from delivery.worker import Worker
from pinbox import project
from tests.hub.loop import drop, payload
from tests.hub.parcels import parcel, target

pytestmark = pytest.mark.django_db

RECORDED = Path(__file__).parent.parent / "fixtures" / "agents" / "codex-0.171.0"
KEY = "01a22e9c-cf2a-7180-a0d9-2e6841333695"
SESSION_ID = "ses_0123456789"
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
QUEUED = f"echo 'Queued message 01a2 for thread {KEY}.'"

FAKE = """#!/bin/sh
here={here}
echo "$*" >> $here/calls
case "$*" in *--help) {help}; exit 0;; esac
printf '%s\\n' "$@" > $here/arguments
env > $here/environment
pwd > $here/folder
{then}
"""
HELP = "echo 'Usage: codex queue [OPTIONS] --thread <THREAD> --message <TEXT>'"


class Fake:
    """The program, and what it was started with."""

    def __init__(self, folder):
        self.folder = folder

    def does(self, then=QUEUED, *, help_text=HELP):
        path = self.folder / "bin" / "codex"
        path.parent.mkdir(exist_ok=True)
        path.write_text(FAKE.format(here=self.folder, help=help_text, then=then))
        path.chmod(0o755)
        return self

    def calls(self):
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def got(self, name):
        return (self.folder / name).read_text()


@pytest.fixture(autouse=True)
def codex(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("PINBOX_CODEX_QUEUE", "1")
    turns._idle.clear()
    yield Fake(tmp_path).does()
    turns._idle.clear()


def waiting(**more):
    """A session whose turn ended long ago, in the eyes of this hub."""
    turns.ended(SESSION_ID, now=LONG_AGO)
    return target("codex", KEY, **{"idle_since": LONG_AGO, **more})


def call(adapter=None, aim=None, stop=None):
    adapter = adapter or CodexAdapter()
    return adapter.deliver(
        parcel(target=aim or waiting()),
        spawned=lambda _: None,
        stop=stop or threading.Event(),
    )


# --- whom it reaches ------------------------------------------------------------------------------


def test_only_a_codex_session_that_lives_and_waits_is_reached():
    adapter = CodexAdapter()
    assert adapter.reaches(waiting())
    assert not adapter.reaches(None)
    assert not adapter.reaches(waiting(idle_since=None))
    assert not adapter.reaches(target("claude", KEY, idle_since=LONG_AGO))
    assert not adapter.reaches(target("codex", "a name", idle_since=LONG_AGO))
    for presence in (Presence.LEAVING, Presence.GONE, Presence.QUIET):
        assert not adapter.reaches(waiting(presence=presence))


@pytest.mark.parametrize("value", [None, "", "0", "off", "sometimes"])
def test_it_is_off_unless_somebody_turned_it_on(monkeypatch, value):
    if value is None:
        monkeypatch.delenv("PINBOX_CODEX_QUEUE")
    else:
        monkeypatch.setenv("PINBOX_CODEX_QUEUE", value)
    assert not CodexAdapter().reaches(waiting())


def test_without_the_program_nobody_is_reached(codex):
    (codex.folder / "bin" / "codex").unlink()
    assert not CodexAdapter().reaches(waiting())


# --- what is queued -------------------------------------------------------------------------------


def test_the_line_says_no_word_of_the_pin_and_brings_nothing_by_itself(codex):
    outcome = call()
    assert (outcome.is_accepted_only, outcome.is_only_called) == (True, True)
    assert codex.got("arguments").splitlines() == ["queue", "--thread", KEY, "--message", LINE]
    assert "save button" not in codex.got("arguments")
    assert codex.got("folder") == "/\n"
    names = {line.partition("=")[0] for line in codex.got("environment").splitlines()}
    assert not {name for name in names if name.startswith(("PINBOX_", "DJANGO"))}


def test_a_session_is_called_once_for_each_time_that_it_waits(codex):
    adapter = CodexAdapter()
    call(adapter)
    assert not adapter.reaches(waiting())
    later = LONG_AGO + timedelta(minutes=1)
    assert adapter.reaches(target("codex", KEY, idle_since=later))
    assert codex.calls().count(f"queue --thread {KEY} --message {LINE}") == 1


def test_what_the_program_can_do_is_asked_once(codex):
    adapter = CodexAdapter()
    call(adapter)
    call(adapter)
    assert codex.calls().count("queue --help") == 1


def test_a_session_that_just_ended_its_turn_is_given_a_moment(codex):
    """One without a terminal ends then: it is not called."""
    now = datetime.now(UTC)
    turns.ended(SESSION_ID, now=now)
    adapter = CodexAdapter(settle_s=0.5)
    timer = threading.Timer(0.1, turns.began, [SESSION_ID])
    timer.start()
    outcome = call(adapter, target("codex", KEY, idle_since=now))
    timer.join()
    assert outcome.is_only_called
    assert codex.calls() == []


# --- what may go wrong ----------------------------------------------------------------------------


def failure(codex, then, **more):
    codex.does(then, **more)
    with pytest.raises(DeliveryFailed) as caught:
        call(CodexAdapter(run_s=1))
    return caught.value


def test_a_session_that_codex_does_not_know_is_no_end_of_a_session_that_lives(codex):
    said = json.loads((RECORDED / "queue-refused.json").read_text())
    (codex.folder / "said").write_text(said["stderr"])
    error = failure(codex, f"cat {codex.folder}/said >&2; exit {said['rc']}")
    assert (error.reason, error.is_terminal) == ("missing", False)
    assert "CODEX_HOME" in error.message


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        ("exit 1", "answer"),
        ("exit 0", "answer"),
        ("echo hm", "answer"),
        ("kill -9 $$", "answer"),
        ("sleep 30", "timeout"),
    ],
)
def test_anything_but_a_plain_yes_is_a_failure(codex, then, reason):
    error = failure(codex, then)
    assert (error.reason, error.is_terminal) == (reason, False)


@pytest.mark.parametrize("help_text", ["exit 2", "echo 'Usage: codex [PROMPT]'"])
def test_a_version_that_cannot_queue_is_not_tried_again(codex, help_text):
    codex.does(help_text=help_text)
    adapter = CodexAdapter()
    with pytest.raises(DeliveryFailed) as caught:
        call(adapter)
    assert caught.value.reason == "missing"
    assert not adapter.reaches(waiting(idle_since=LONG_AGO + timedelta(hours=1)))
    assert codex.calls() == ["queue --help"]


def test_a_hub_that_leaves_ends_it_at_once(codex):
    codex.does("sleep 30")
    stop = threading.Event()
    timer = threading.Timer(0.3, stop.set)
    timer.start()
    began = time.monotonic()
    with pytest.raises(DeliveryFailed) as caught:
        call(stop=stop)
    timer.join()
    assert caught.value.reason == "stopped"
    assert time.monotonic() - began < 10


# --- with the hub ---------------------------------------------------------------------------------


@pytest.fixture
def session(hub, monkeypatch):
    """Its hooks, called by this very process, which lives."""
    reach.adapter.cache_clear()
    monkeypatch.setattr(reach.adapter("codex"), "_settle_s", 0.0)
    process = f"{os.getpid()}:{project.process_start(os.getpid())}"

    def hook(event, **more):
        body = payload(event, KEY, **more)
        answer = hub.raw("POST", "/hooks/codex", body, headers={"x-pinbox-ppid": process})
        return answer.content.decode()

    yield hook
    reach.adapter.cache_clear()


def row(pin):
    return Delivery.objects.get(pin_id=pin["id"])


def test_a_session_that_waits_is_woken_and_its_own_hook_takes_the_pin(session, codex):
    session("UserPromptSubmit", prompt="go on")
    session("Stop", stop_hook_active=False)
    pin = drop("The logo is gone")
    assert row(pin).adapter == "codex"
    Worker().tick()
    assert codex.calls().count(f"queue --thread {KEY} --message {LINE}") == 1
    waits = row(pin)
    # Nothing was brought yet, and it waits for its pull as ever.
    assert (waits.status, waits.adapter, waits.pushed_at, waits.attempts) == (
        *("pending", "hooks", None),
        0,
    )
    assert list(waits.tries.values_list("adapter", "outcome")) == [("codex", "accepted")]

    second = drop("And the footer overlaps")
    assert row(second).adapter == "hooks", "it was called already"
    said = session("UserPromptSubmit", prompt=LINE)
    assert "The logo is gone" in said
    assert "And the footer overlaps" in said
    assert [row(one).handed_over_by for one in (pin, second)] == ["hooks", "hooks"]

    # The next wait is another one.
    session("Stop", stop_hook_active=False)
    assert row(drop("The total is wrong")).adapter == "codex"


def test_a_prompt_that_is_typed_while_it_is_called_has_the_pin(session, codex):
    session("UserPromptSubmit", prompt="go on")
    session("Stop", stop_hook_active=False)
    pin = drop("The logo is gone")
    worker = Worker()
    (job,) = worker.claim(datetime.now(UTC))
    assert "The logo is gone" in session("UserPromptSubmit", prompt="go on")
    worker.fold(worker.perform(job, spawned=lambda _: None), datetime.now(UTC))
    done = row(pin)
    assert (done.status, done.handed_over_by, done.pushed_at) == ("delivered", "hooks", None)
    assert codex.calls() == [], "it moved by itself"


def test_a_session_at_work_is_not_called_for_its_hooks_take_the_pin_at_the_stop(session, codex):
    session("UserPromptSubmit", prompt="go on")
    pin = drop("The logo is gone")
    assert row(pin).adapter == "hooks"
    assert json.loads(session("Stop", stop_hook_active=False))["decision"] == "block"
    # Held, so still at work.
    assert row(drop("And the footer overlaps")).adapter == "hooks"
    assert session("Stop", stop_hook_active=True) == ""
    assert row(drop("The total is wrong")).adapter == "codex"
    assert codex.calls() == []


def test_a_session_that_ended_is_not_called(session, codex):
    session("UserPromptSubmit", prompt="go on")
    session("Stop", stop_hook_active=False)
    pin = drop("The logo is gone")
    session("SessionEnd", reason="other")
    assert row(pin).adapter != "codex"
    Worker().tick()
    assert codex.calls() == []


def test_a_call_that_failed_leaves_the_pin_to_the_hooks(session, codex):
    codex.does("exit 1")
    session("UserPromptSubmit", prompt="go on")
    session("Stop", stop_hook_active=False)
    pin = drop("The logo is gone")
    Worker().tick()
    assert (row(pin).status, row(pin).adapter) == ("pending", "hooks")
    assert "The logo is gone" in session("UserPromptSubmit", prompt="go on")


def test_a_session_whose_process_nobody_knows_is_not_called(hub, codex):
    reach.adapter.cache_clear()
    for event in ("UserPromptSubmit", "Stop"):
        hub.raw("POST", "/hooks/codex", payload(event, KEY))
    assert row(drop("The logo is gone")).adapter == "hooks"
