"""What a person sees of deliveries, waits for and does about them: the real `pinbox`, its hub."""

import contextlib
import os
import pty
import re
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from pinbox.client import connect
from tests.contract.cli_project import DEADLINE_S, PINBOX, Done, Project
from tests.hub.receiver import Behaviour, Receiver, read_request, reply, serving
from tests.hub.test_adapter_openclaw import GATEWAY_TOKEN, HOOK_TOKEN, KEY, Gateway
from tests.wait import wait_until

pytestmark = pytest.mark.process

UNKNOWN = "pin_zzzzzzzzzz"


@pytest.fixture
def own(tmp_path) -> Iterator[Project]:
    """A project of this test alone: no session of another test takes its pins."""
    path = tmp_path / "project"
    path.mkdir()
    subprocess.run(["git", "init", "-q", path], check=True)
    project = Project(path)
    yield project
    project.run("stop")


def session(project, key="0b4e6a1c-5d1f0c2e", agent="claude"):
    """A session that just started; its id."""
    return project.data("session", "register", "--agent", agent, "--key", key)["id"]


def inject(project, key="0b4e6a1c-5d1f0c2e", agent="claude"):
    return project.data("session", "inject", "--agent", agent, "--key", key)


def settle(project, delivery_id, **columns):
    """Write into the ledger what only a worker finds out."""
    path = project.path / ".pinbox" / "pinbox.db"
    with contextlib.closing(sqlite3.connect(path, timeout=30)) as ledger, ledger:
        names = ", ".join(f"{name} = ?" for name in columns)
        done = ledger.execute(
            f"UPDATE delivery_delivery SET {names} WHERE id = ?", [*columns.values(), delivery_id]
        )
        assert done.rowcount == 1


def fail(project, delivery_id, error):
    settle(project, delivery_id, status="failed", last_error=error, attempts=5, due_at=None)


def newest(project, pin_id):
    return project.data("deliveries", pin_id, "--limit", "1")[0]


# --- looking --------------------------------------------------------------------------------------


def test_deliveries_can_be_narrowed_to_a_pin_and_a_state(project):
    pin_id = project.pin("deliver me")
    project.data("reply", pin_id, "an agent's word is not delivered", "--as", "agent")
    rows = project.data("deliveries", pin_id)
    assert [row["status"] for row in rows] == ["skipped", "pending"]
    assert [row["pinId"] for row in rows] == [pin_id, pin_id]
    assert [r["status"] for r in project.data("deliveries", pin_id, "--status", "skipped")] == [
        "skipped"
    ]
    assert len(project.data("deliveries", "--limit", "2")) == 2
    seen = project.see("deliveries", pin_id, "--status", "pending")
    assert re.fullmatch(rf"\d+  {pin_id}  queued  unassigned  —  just now\n", seen.out)
    assert seen.err == "1 delivery\n"


def test_a_person_sees_the_state_for_whom_and_by_which_way(own):
    session(own)
    pin_id = own.pin("one")

    def line():
        seen = own.see("deliveries", pin_id)
        assert (seen.code, seen.err) == (0, "1 delivery\n")
        return re.sub(r"seeks another way in \d+m", "seeks another way", seen.out)

    start = f"1  {pin_id}  "
    assert line().startswith(f"{start}queued  claude:5d1f0c2e  hooks  just now")
    inject(own)
    assert line() == f"{start}handed over  claude:5d1f0c2e  inject  just now\n"
    own.data("show", pin_id, CLAUDE_CODE_SESSION_ID="0b4e6a1c-5d1f0c2e")
    assert line() == f"{start}acknowledged  claude:5d1f0c2e  inject  just now\n"


def test_the_page_of_a_pin_tells_what_happened_to_each_of_its_events(own):
    session(own)
    pin_id = own.pin("one")
    inject(own)
    own.data("show", pin_id, CLAUDE_CODE_SESSION_ID="0b4e6a1c-5d1f0c2e")
    own.data("reply", pin_id, "done", "--as", "agent")
    own.data("resolve", pin_id, "--as", "agent")
    own.data("reopen", pin_id, "not quite")
    settle(own, newest(own, pin_id)["id"], status="failed", last_error="E_DELIVERY: no luck")
    seen = own.see("show", pin_id)
    lines = re.sub(r"(?<=collect it); seeks another way in \d+m", "", seen.out).splitlines()[-6:]
    assert lines == [
        "delivery  1  new pin      acknowledged by claude:5d1f0c2e (show), just now; "
        "handed over by inject, just now",
        "delivery  2  agent reply  skipped: an agent wrote it",
        "delivery  3  resolved     skipped: a resolved pin needs nothing from an agent",
        "delivery  4  human reply  queued for claude:5d1f0c2e, whose hooks collect it",
        "delivery  5  reopened     failed for claude:5d1f0c2e by hooks, just now: "
        "E_DELIVERY: no luck",
        "          to try again: pinbox retry 5",
    ]


def test_the_list_of_pins_tells_of_what_was_not_delivered(own):
    pin_id, other = own.pin("one"), own.pin("two")
    assert own.see("list").err == "2 pins (2 open)\n"
    for number in (1, 2):
        fail(own, number, "E_DELIVERY: no luck")
    own.data("reply", other, "more")
    fail(own, 3, "E_DELIVERY: no luck")
    more = "of 2 pins not all was delivered: pinbox deliveries --status failed\n"
    assert own.see("list").err == "2 pins (2 open)\n" + more
    own.data("resolve", other)
    assert own.see("list").err.endswith(more.replace("2 pins", "1 pin"))
    own.data("resolve", pin_id)
    assert own.see("list").err == "2 pins (2 resolved)\n"


# --- waiting --------------------------------------------------------------------------------------


@dataclass
class Waiter:
    """`pinbox deliveries --wait …` on a terminal, under way."""

    process: subprocess.Popen[bytes]
    terminal: int
    told: str

    def end(self) -> Done:
        assert self.process.stderr is not None
        err = self.told + self.process.stderr.read().decode()
        code = self.process.wait(timeout=DEADLINE_S)
        out = b""
        with contextlib.suppress(OSError):
            while chunk := os.read(self.terminal, 65536):
                out += chunk
        return Done(code, out.decode().replace("\r\n", "\n"), err)


@contextlib.contextmanager
def waiting(project: Project, *words: str) -> Iterator[Waiter]:
    """The waiter, once it has said what it waits for."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [*PINBOX, "deliveries", "--wait", *words],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.PIPE,
            cwd=project.path,
            env=project.environment({"COLUMNS": "200"}),
            # As in a terminal, also where the suite itself runs in the background and ignores it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    finally:
        os.close(theirs)
    assert process.stderr is not None
    try:
        told = process.stderr.readline().decode()
        assert told.startswith("waiting for "), told + process.stderr.read().decode()
        yield Waiter(process, ours, told)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
        os.close(ours)


def test_waiting_ends_with_the_list_when_all_was_delivered_or_skipped(own):
    session(own)
    pin_id = own.pin("one")
    own.data("reply", pin_id, "an agent's word", "--as", "agent")
    inject(own)
    rows = own.data("deliveries", "--wait", pin_id)
    assert [row["status"] for row in rows] == ["skipped", "delivered"]
    assert rows == own.data("deliveries", pin_id)
    assert own.data("deliveries", "--wait", pin_id, "--status", "skipped") == rows[:1]
    assert own.data("deliveries", "--wait", pin_id, "--limit", "1") == rows[:1]


def test_a_person_who_waits_is_told_of_each_change_once(own):
    session(own)
    pin_id = own.pin("one")
    with waiting(own, pin_id, "--timeout", "60") as waiter:
        inject(own)
        done = waiter.end()
    assert done.code == 0
    assert done.out == f"1  {pin_id}  handed over  claude:5d1f0c2e  inject  just now\n"
    lines = re.sub(r"; seeks another way in \d+m", "", done.err).splitlines()
    assert lines == [
        f"waiting for 1 delivery of {pin_id}, at most 60 s; Ctrl-C stops the waiting alone",
        "1  queued for claude:5d1f0c2e, whose hooks collect it",
        "1  handed over to claude:5d1f0c2e by inject, just now; not acknowledged yet",
        "1 delivery",
    ]


def test_waiting_for_a_pin_without_deliveries_is_over_at_once(own):
    pin_id = own.pin("one")
    with contextlib.closing(sqlite3.connect(own.path / ".pinbox" / "pinbox.db")) as ledger, ledger:
        ledger.execute("DELETE FROM delivery_delivery")
    assert own.data("deliveries", "--wait", pin_id) == []
    seen = own.see("deliveries", "--wait", pin_id)
    assert (seen.code, seen.out, seen.err) == (0, "", "0 deliveries\n")


@pytest.mark.parametrize(
    ("errors", "code", "exit_code", "reason"),
    [
        (["E_SESSION_GONE: no such conversation"], "E_SESSION_GONE", 6, "no such conversation"),
        (["E_DELIVERY: the webhook said 500"], "E_DELIVERY", 7, "the webhook said 500"),
        (["E_SESSION_GONE: gone", "E_DELIVERY: 500"], "E_DELIVERY", 7, "500"),
        (["E_DELIVERY: 500", "E_SESSION_GONE: gone"], "E_SESSION_GONE", 6, "gone"),
        (["words of another time: here"], "E_DELIVERY", 7, "words of another time: here"),
    ],
)
def test_waiting_fails_as_the_newest_failed_delivery_did(project, errors, code, exit_code, reason):
    pin_id = project.pin("one")
    for number, error in enumerate(errors):
        if number:
            project.data("reply", pin_id, "more")
        row = newest(project, pin_id)
        fail(project, row["id"], error)
    done = project.run("deliveries", "--wait", pin_id)
    assert (done.code, done.err) == (exit_code, "")
    more = " (and 1 more of this pin)" if errors[1:] else ""
    assert done.error == {
        "code": code,
        "message": f"delivery {row['id']} of {pin_id} failed{more}: {reason}",
        "hint": f"pinbox retry {row['id']}",
    }
    seen = project.see("deliveries", "--wait", pin_id)
    assert (seen.code, seen.out) == (exit_code, "")
    assert seen.err.endswith(f"failed{more}: {reason}\npinbox retry {row['id']}\n")


def test_when_the_time_is_up_it_is_said_for_whom_it_waits_and_what_comes_next(own):
    pin_id = own.pin("one")
    done = own.run("deliveries", "--wait", pin_id, "--timeout", "1")
    assert (done.code, done.err) == (7, "")
    assert done.error["code"] == "E_DELIVERY"
    assert done.error["message"] == (
        f"delivery 1 of {pin_id} still waits after 1 s: queued for the next session"
    )
    assert done.error["hint"] == (
        f"start an agent in this project, or pinbox rebind {pin_id} <session> gives it to a "
        "session that is there"
    )
    session(own)
    settle(own, 1, due_at="2099-01-01 00:00:00", adapter="hooks")
    own.data("reply", pin_id, "more")
    done = own.run("deliveries", "--wait", pin_id, "--timeout", "1")
    assert done.code == 7
    message = re.sub(r"in \d+h", "in 9h", done.error["message"])
    assert message == (
        f"delivery 1 of {pin_id} still waits after 1 s (and 1 more of this pin): "
        "queued for claude:5d1f0c2e, whose hooks collect it; seeks another way in 9h "
        "(at 2099-01-01T00:00:00.000Z)"
    )


@pytest.mark.parametrize("seconds", ["0", "-1", "1000000000", "1.5", "", "soon", "9" * 4000])
def test_a_time_that_makes_no_sense_is_refused_with_the_range(project, seconds):
    done = project.run("deliveries", "--wait", UNKNOWN, f"--timeout={seconds}")
    assert (done.code, done.error["code"]) == (2, "E_INVALID_INPUT")
    assert "a whole number from 1 to 86400" in done.error["message"]


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["--wait"], 2, "pinbox deliveries --help"),
        (["--timeout", "5"], 2, "pinbox deliveries --help"),
        ([UNKNOWN, "--timeout", "5"], 2, "pinbox deliveries --help"),
        (["--wait", UNKNOWN], 3, "pinbox list"),
        (["--wait", "../pins"], 3, "pinbox list"),
        (["--wait", ""], 3, "pinbox list"),
        (["--wait", "--", "--wait"], 3, "pinbox list"),
        (["--wait", UNKNOWN, UNKNOWN], 2, "pinbox deliveries --help"),
    ],
)
def test_waiting_for_nothing_that_is_there_is_refused(project, words, code, hint):
    done = project.run("deliveries", *words)
    assert (done.code, done.error["hint"]) == (code, hint)


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_a_hub_that_restarts_meanwhile_is_no_end_of_the_waiting(own, end):
    session(own)
    pin_id = own.pin("one")
    with waiting(own, pin_id) as waiter:
        if end == "stopped":
            own.data("stop")
        else:
            os.kill(own.data("status")["pid"], signal.SIGKILL)
        inject(own)
        assert waiter.end().code == 0


def test_ctrl_c_ends_the_waiting_and_nothing_else(own):
    session(own)
    pin_id = own.pin("one")
    with waiting(own, pin_id) as waiter:
        waiter.process.send_signal(signal.SIGINT)
        done = waiter.end()
    assert (done.code, done.out) == (130, "")
    assert "Traceback" not in done.err
    assert newest(own, pin_id)["status"] == "pending"


def test_waiting_in_an_agent_s_own_shell_acknowledges_nothing(own):
    session(own)
    pin_id = own.pin("one")
    inject(own)
    shell = {"CLAUDE_CODE_SESSION_ID": "0b4e6a1c-5d1f0c2e"}
    assert "acknowledgedAt" not in own.data("deliveries", "--wait", pin_id, **shell)[0]
    assert "acknowledgedAt" not in newest(own, pin_id)


@contextlib.contextmanager
def webhook(project: Project, behaviour: Behaviour) -> Iterator[None]:
    """Pins of the project go there."""
    with serving(behaviour) as port:
        project.env |= {
            "PINBOX_WEBHOOK_URL": f"http://127.0.0.1:{port}/pins",
            "PINBOX_WEBHOOK_SECRET": "a secret of this test",
        }
        yield


def test_a_push_that_nobody_takes_fails_where_a_person_waits_and_arrives_when_retried(own):
    receiver = Receiver([reply(410), reply(204)])
    with webhook(own, receiver):
        pin_id = own.pin("one")
        done = own.run("deliveries", "--wait", pin_id)
        assert (done.code, done.error["code"]) == (7, "E_DELIVERY")
        assert done.error["message"].startswith(f"delivery 1 of {pin_id} failed: the webhook at ")
        assert done.error["hint"] == "pinbox retry 1"
        assert own.see(*done.error["hint"].split()[1:]).code == 0
        (row,) = own.data("deliveries", "--wait", pin_id)
        assert (row["status"], row["handedOverBy"], row["lastError"]) == (
            "delivered",
            "webhook",
            None,
        )
        first, second = receiver.requests
        assert first.headers["webhook-id"] == second.headers["webhook-id"]
    hub = connect(own.path)
    attempts = hub.request("GET", "/deliveries/1/attempts")
    assert [(one["adapter"], one["outcome"]) for one in attempts] == [
        ("webhook", "failed"),
        ("webhook", "handed_over"),
    ]
    assert attempts[0]["code"] == "E_DELIVERY"
    assert "code" not in attempts[1]


@contextlib.contextmanager
def openclaw(project: Project) -> Iterator[Gateway]:
    """Pins of OpenClaw's sessions go to a gateway that knows one of them."""
    gateway = Gateway()
    with serving(gateway) as port:
        project.env |= {
            "PINBOX_OPENCLAW_URL": f"http://127.0.0.1:{port}",
            "PINBOX_OPENCLAW_TOKEN": HOOK_TOKEN,
            "PINBOX_OPENCLAW_GATEWAY_TOKEN": GATEWAY_TOKEN,
        }
        yield gateway


def test_a_session_that_its_agent_does_not_know_any_more_is_gone_where_a_person_waits(own):
    with openclaw(own):
        session(own, "agent:main:forgotten", agent="openclaw")
        pin_id = own.pin("one")
        done = own.run("deliveries", "--wait", pin_id)
        assert (done.code, done.error["code"]) == (6, "E_SESSION_GONE")
        assert done.error["message"].startswith(f"delivery 1 of {pin_id} failed: ")
        assert "no such session" in done.error["message"]
        assert done.error["hint"] == "pinbox retry 1"
        there = session(own, KEY, agent="openclaw")
        assert [row["id"] for row in own.data("rebind", pin_id, there)["moved"]] == [1]
        wait_until(lambda: "pushedAt" in newest(own, pin_id))


def test_a_push_that_was_taken_is_accepted_and_delivered_by_a_sign_of_the_session(own):
    with openclaw(own) as gateway:
        session(own, KEY, agent="openclaw")
        pin_id = own.pin("one")
        wait_until(
            lambda: own.see("deliveries").out.startswith(f"1  {pin_id}  accepted  openclaw:")
        )
        done = own.run("deliveries", "--wait", pin_id, "--timeout", "1")
        assert done.code == 7
        assert "accepted by openclaw" in done.error["message"]
        with waiting(own, pin_id) as waiter:
            own.data("show", pin_id, OPENCLAW_SESSION_KEY=KEY)
            ended = waiter.end()
        assert ended.code == 0
        assert ended.err.count("acknowledged by openclaw:") == 1
        assert len(gateway.pushes) == 1


def test_a_push_under_way_is_in_flight_and_is_not_pushed_twice(own):
    may_answer = threading.Event()

    def slow(connection, over):
        read_request(connection)
        may_answer.wait(DEADLINE_S)
        connection.sendall(reply(204))

    with webhook(own, slow):
        pin_id = own.pin("one")
        wait_until(lambda: "claimedUntil" in newest(own, pin_id))
        seen = own.see("deliveries", pin_id)
        assert seen.out == f"1  {pin_id}  in flight  —  webhook  just now\n"
        assert own.see("show", pin_id).out.endswith("delivery  1  new pin  in flight by webhook\n")
        again = own.run("retry", "1")
        assert (again.code, again.error["code"]) == (4, "E_CONFLICT")
        assert again.error["hint"] == f"pinbox deliveries --wait {pin_id}"
        may_answer.set()
        assert own.data("deliveries", "--wait", pin_id)[0]["status"] == "delivered"


def test_a_delivery_waits_for_its_next_attempt_until_it_is_retried(own):
    with webhook(own, Receiver([reply(500), reply(204)])):
        pin_id = own.pin("one")
        wait_until(lambda: newest(own, pin_id)["attempts"] == 1)
        done = own.run("deliveries", "--wait", pin_id, "--timeout", "1")
        assert done.code == 7
        assert re.search(
            r"queued for webhook; attempt 2 in \d+s; last error: ", done.error["message"]
        )
        own.data("retry", "1")
        assert own.data("deliveries", "--wait", pin_id)[0]["status"] == "delivered"


# --- retry ----------------------------------------------------------------------------------------


def test_a_failed_delivery_is_tried_again(own):
    session(own)
    pin_id = own.pin("one")
    fail(own, 1, "E_DELIVERY: no luck")
    (row,) = own.data("retry", "1")
    assert (row["id"], row["status"], row["attempts"], row["lastError"]) == (1, "pending", 0, None)
    assert row["dueAt"] is not None
    fail(own, 1, "E_DELIVERY: no luck")
    seen = own.see("retry", "1")
    assert seen.code == 0
    assert seen.out.startswith("1  queued for claude:5d1f0c2e")
    assert seen.err == (
        f"1 delivery to be tried again; to see it out: pinbox deliveries --wait {pin_id}\n"
    )


def test_all_of_a_pin_that_failed_is_tried_again(own):
    session(own)
    pin_id = own.pin("one")
    for words in ("two", "three"):
        own.data("reply", pin_id, words)
    inject(own)
    own.data("reply", pin_id, "four")
    for number in (1, 3):
        fail(own, number, "E_SESSION_GONE: gone")
    assert [row["id"] for row in own.data("retry", pin_id)] == [1, 3]
    states = [row["status"] for row in reversed(own.data("deliveries", pin_id))]
    assert states == ["pending", "delivered", "pending", "pending"]
    again = own.run("retry", pin_id)
    assert (again.code, again.error) == (
        4,
        {
            "code": "E_CONFLICT",
            "message": f"no delivery of {pin_id} has failed",
            "hint": f"pinbox deliveries {pin_id}",
        },
    )


def test_what_was_delivered_or_skipped_is_not_tried_again(own):
    session(own)
    pin_id = own.pin("one")
    own.data("reply", pin_id, "an agent's word", "--as", "agent")
    inject(own)
    for number in ("1", "2"):
        done = own.run("retry", number)
        assert (done.code, done.error["code"]) == (4, "E_CONFLICT")
        assert done.error["hint"].startswith("pinbox ")
        assert pin_id in done.error["hint"]


@pytest.mark.parametrize(
    "name",
    ["999999", "0", "007", "9" * 18, "9" * 4000, "", " ", "1.0", "１", "1 ", "one", UNKNOWN, "pin_"]
    + ["../pins", "1/attempts", "dlv_000000000000000000000001", "x" * 100_000],
)
def test_a_delivery_that_is_not_there_is_not_found(project, name):
    done = project.run("retry", name)
    assert (done.code, done.error["code"]) == (3, "E_NOT_FOUND")
    assert done.error["hint"] == "pinbox deliveries"
    assert len(done.error["message"]) < 200


@pytest.mark.parametrize("words", [[], ["-1"], ["1", "2"], ["--all"]])
def test_a_retry_of_nothing_in_particular_is_refused(project, words):
    done = project.run("retry", *words)
    assert (done.code, done.error["hint"]) == (2, "pinbox retry --help")


# --- rebind ---------------------------------------------------------------------------------------


def test_a_pin_goes_to_another_session_with_all_that_waits(own):
    session(own, "first-11111111")
    pin_id = own.pin("one")
    inject(own, "first-11111111")
    for words in ("two", "three"):
        own.data("reply", pin_id, words)
    fail(own, 2, "E_SESSION_GONE: gone")
    other = session(own, "second-22222222")
    data = own.data("rebind", pin_id, other)
    assert data["pin"]["agentSession"]["key"] == "second-22222222"
    assert [(row["id"], row["sessionId"]) for row in data["moved"]] == [(3, other), (2, other)]
    assert own.data("rebind", pin_id, other)["moved"] == []
    third = session(own, "third-33333333")
    seen = own.see("rebind", pin_id, third)
    assert (seen.code, seen.out) == (0, f"{pin_id} bound to claude:33333333\n")
    assert seen.err == "deliveries 2, 3 moved with it\n"
    seen = own.see("rebind", pin_id, third)
    assert seen.err == "nothing of it waited for another session\n"


@pytest.mark.parametrize("name", ["", "claude", "ses_", "-x", "../s", "ses_zzzzzzzzzz", "x" * 9000])
def test_a_pin_goes_to_no_session_that_is_not_there(project, name):
    pin_id = project.pin("stay")
    done = project.run("rebind", "--", pin_id, name)
    assert (done.code, done.error["code"]) == (3, "E_NOT_FOUND")
    assert done.error["hint"] == "pinbox session list"
    assert "agentSession" not in project.data("show", pin_id)["pin"]


@pytest.mark.parametrize("name", ["", UNKNOWN, "../pins", "x" * 9000])
def test_only_a_pin_that_is_there_goes_to_another_session(project, name):
    done = project.run("rebind", name, "ses_zzzzzzzzzz")
    assert (done.code, done.error["hint"]) == (3, "pinbox list")


def test_a_pin_and_a_session_are_both_needed(project):
    done = project.run("rebind", UNKNOWN)
    assert (done.code, done.error["message"]) == (2, "missing argument: <session>")
