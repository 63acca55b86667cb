"""kill -9 of whoever brings deliveries out, at random instants: each arrives, under one id.

`KILLS=300 python -m pytest tests/process/test_kill_delivery.py` for a long run.
"""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from collections import defaultdict
from pathlib import Path

import pytest

from pinbox import client, project
from pinbox.contract import PinboxError
from pinbox.project import NoHub
from tests.hub.receiver import read_request, reply, serving
from tests.wait import wait_until

KILLS = int(os.environ.get("KILLS", "6"))
ROOT = Path(project.__file__).parent.parent
MARK = re.compile(r"mark-(\d+)-end")
#: Takes what `claude -p --resume` takes, keeps what it is told, answers as it does.
AGENT = """#!/bin/sh
text=$(cat)
said=$(mktemp {folder}/said.XXXXXXXX)
printf '%s' "$text" > "$said"
sleep 0.$((${{#text}} % 5))
printf '{{"type":"result","subtype":"success","is_error":false,"num_turns":1,'
printf '"session_id":"%s","result":"Done."}}' "$3"
"""

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(180 + 20 * KILLS)]


class Sink:
    """A webhook's receiver: mostly it answers, sometimes late, with an error, or never."""

    def __init__(self):
        self.ids = defaultdict(set)  # event seq -> ids under which it came
        self.times = defaultdict(int)
        self.marks = set()
        self.is_well = False

    def __call__(self, connection, over):
        request = read_request(connection)
        event = json.loads(request.body)["event"]
        self.ids[event["seq"]].add(request.headers["webhook-id"])
        self.times[event["seq"]] += 1
        self.marks.update(MARK.findall(json.dumps(event["payload"])))
        fate = 1 if self.is_well else random.random()
        if fate < 0.05:
            over.wait(30)  # never
        elif fate < 0.15:
            connection.sendall(reply(500))
        else:
            over.wait(random.uniform(0, 0.3) if fate < 0.5 else 0)
            connection.sendall(reply(204))


@pytest.fixture
def sink():
    made = Sink()
    with serving(made) as port:
        made.url = f"http://127.0.0.1:{port}/hook"
        yield made


@pytest.fixture
def said(tmp_path):
    """Where the fake agent keeps what it was told."""
    folder = tmp_path / "said"
    folder.mkdir()
    return folder


@pytest.fixture
def delivering(place, sink, said, tmp_path, monkeypatch):
    """A project whose hub, whoever starts it, has a webhook and an agent to resume."""
    programs = tmp_path / "bin"
    programs.mkdir()
    agent = programs / "claude"
    agent.write_text(AGENT.format(folder=said))
    agent.chmod(0o755)
    more = {
        "PATH": f"{programs}:{place.environ['PATH']}",
        "PINBOX_WEBHOOK_URL": sink.url,
        "PINBOX_WEBHOOK_SECRET": "a secret of this test",
        "PINBOX_HOOKS_ESCALATE_MS": "300",
        "PINBOX_RESUME": "1",  # tests resume nothing unless they say so
    }
    place.environ |= more
    for name, value in more.items():
        monkeypatch.setenv(name, value)
    place.agent = str(agent)
    place.run("list")
    yield place
    wait_until(lambda: not agents_of(place), what="every agent has ended")


def agents_of(place):
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if os.fsencode(place.agent) in (entry / "cmdline").read_bytes().split(b"\0"):
                    found.add(int(entry.name))
    return found


def ended_session(place):
    """The key of a session whose process is gone without a word."""
    key, state = str(uuid.uuid4()), place.state()
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as process:
        call = urllib.request.Request(
            f"http://127.0.0.1:{state.port}/hooks/claude",
            json.dumps(
                {
                    "session_id": key,
                    "cwd": str(place.project),
                    "hook_event_name": "SessionStart",
                    "source": "startup",
                }
            ).encode(),
            {
                "Authorization": f"Bearer {state.token}",
                "Content-Type": "application/json",
                "x-pinbox-ppid": f"{process.pid}:{project.process_start(process.pid)}",
            },
        )
        urllib.request.urlopen(call, timeout=20).read()
    return key


class Writers:
    """Post pins, bound to `keys` or to nobody, and replies, until told to end."""

    def __init__(self, place, keys):
        self.place, self.keys = place, keys
        self.acknowledged, self.failed = set(), []
        self.done = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(2)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        for thread in self._threads:
            thread.join(90)

    def _write(self, writer):
        hub, number, pin = client.connect(self.place.project), 0, None
        while not self.done.wait(0.05):
            number += 1
            mark = f"{writer}{number:05}"
            text = f"mark-{mark}-end"
            try:
                if pin and number % 3 == 0:
                    hub.request("POST", f"/pins/{pin}/thread", {"role": "human", "text": text})
                else:
                    body = {"text": text, "kind": "note", "env": {}, "author": {"userId": "u"}}
                    if number % 2:
                        key = self.keys[number // 2 % len(self.keys)]
                        body["agentSession"] = {
                            "agent": "claude",
                            "key": key,
                            "cwd": str(self.place.project),
                        }
                    pin = hub.request("POST", "/pins", body)["id"]
            except PinboxError as error:
                self.failed.append(error)
            else:
                self.acknowledged.add(mark)


def told(folder):
    found = set()
    for path in folder.iterdir():
        found.update(MARK.findall(path.read_text("utf-8", "replace")))
    return found


def rows(hub, status):
    return hub.request("GET", f"/deliveries?status={status}&limit=1000")


def everything_arrives(place, writers, sink, said):
    """What still waits is tried at once, as a person would who does not want to wait."""
    sink.is_well = True
    hub = client.connect(place.project)

    def is_all_there():
        for status in ("pending", "failed"):
            for row in rows(hub, status):
                with contextlib.suppress(PinboxError):
                    hub.request("POST", f"/deliveries/{row['id']}/retry", {})
        return writers.acknowledged <= sink.marks | told(said) and not rows(hub, "pending")

    wait_until(is_all_there, timeout=150, what="every event has arrived")
    assert all(len(ids) == 1 for ids in sink.ids.values()), "two ids for one delivery"
    assert len(set().union(*sink.ids.values())) == len(sink.ids), "one id for two deliveries"
    assert sink.marks, "nothing went to the webhook"
    # About half of it is for ended sessions: hardly anything else would mean that none is resumed.
    assert len(told(said)) > len(writers.acknowledged) / 4, "hardly anything went to an agent"
    assert {error.code for error in writers.failed} <= {"E_HUB_UNREACHABLE"}
    place.run("rebuild", "--check")
    again = sum(sink.times.values()) - len(sink.times)
    print(f"\n{len(writers.acknowledged)} acknowledged, {len(sink.ids)} events by webhook")
    print(f"({again} calls more than events), {len(told(said))} told to an agent")


def test_every_event_arrives_under_one_id_however_often_the_hub_is_killed(delivering, sink, said):
    keys = [ended_session(delivering) for _ in range(3)]
    killed = set()
    with delivering.as_environment():
        with Writers(delivering, keys) as writers:
            for _ in range(KILLS):
                before = len(writers.acknowledged)
                wait_until(lambda before=before: len(writers.acknowledged) > before + 2, timeout=90)
                writers.done.wait(random.uniform(0, 0.6))  # the instant is the point of the test
                with contextlib.suppress(NoHub, ProcessLookupError):
                    pid = delivering.state().pid
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
        everything_arrives(delivering, writers, sink, said)
    assert len(killed) >= KILLS / 2


def deliver(place):
    """`manage.py deliver` of this project, as its own process."""
    environ = {**place.environ, "PINBOX_PROJECT": str(place.project)}
    environ |= {"DJANGO_SETTINGS_MODULE": "pinbox_site.settings"}
    command = [sys.executable, str(ROOT / "manage.py"), "deliver"]
    return subprocess.Popen(command, cwd=place.project, env=environ, stderr=subprocess.DEVNULL)


def test_a_worker_of_its_own_is_killed_beside_a_hub_that_lives_on(delivering, sink, said):
    keys = [ended_session(delivering) for _ in range(3)]
    hub_pid = delivering.state().pid
    with delivering.as_environment():
        with Writers(delivering, keys) as writers:
            for _ in range(max(2, KILLS // 2)):
                worker = deliver(delivering)
                before = len(writers.acknowledged)
                try:
                    wait_until(
                        lambda before=before: len(writers.acknowledged) > before + 20, timeout=90
                    )
                    writers.done.wait(random.uniform(0, 0.6))
                    assert worker.poll() is None
                finally:
                    worker.kill()
                    worker.wait()
        everything_arrives(delivering, writers, sink, said)
    assert delivering.state().pid == hub_pid


@pytest.mark.parametrize("who", ["hub", "worker"])
def test_who_is_told_to_end_in_the_middle_of_a_slow_call_gives_it_back_at_once(
    delivering, sink, who
):
    called = threading.Event()

    def slow(connection, over):
        read_request(connection)
        called.set()
        over.wait(30)

    with serving(slow) as port, delivering.as_environment():
        delivering.run("stop")
        good = sink.url
        os.environ["PINBOX_WEBHOOK_URL"] = f"http://127.0.0.1:{port}/"
        delivering.environ["PINBOX_WEBHOOK_URL"] = f"http://127.0.0.1:{port}/"
        hub = client.connect(delivering.project)
        body = {"text": "mark-1-end", "kind": "note", "env": {}, "author": {"userId": "u"}}
        if who == "worker":
            delivering.run("pin", "mark-1-end")
            assert called.wait(20)
            called.clear()
            delivering.run("stop")
            worker = deliver(delivering)
            assert called.wait(30)
            worker.terminate()
            assert worker.wait(8) == 0
        else:
            hub.request("POST", "/pins", body)
            assert called.wait(20)
            delivering.run("stop", timeout=8)
        os.environ["PINBOX_WEBHOOK_URL"] = delivering.environ["PINBOX_WEBHOOK_URL"] = good
        sink.is_well = True
        delivering.run("list")
        wait_until(lambda: "1" in sink.marks, timeout=8, what="the next worker delivers at once")
        (row,) = wait_until(lambda: rows(hub, "delivered"))
        attempts = hub.request("GET", f"/deliveries/{row['id']}/attempts")
    outcomes = [attempt["outcome"] for attempt in attempts]
    assert set(outcomes) == {"released", "handed_over"}


def test_a_hub_stays_for_what_is_due_soon_and_leaves_when_it_waits_for_its_session_only(place):
    place.environ |= {"PINBOX_IDLE_MS": "300", "PINBOX_HOOKS_ESCALATE_MS": "5000"}
    place.run("list")
    place.run("session", "register", "--agent", "claude", "--key", str(uuid.uuid4()))
    began = time.monotonic()
    place.run("pin", "who fetches it?")
    pid = place.state().pid
    wait_until(lambda: pid not in place.hubs(), timeout=30, what="the hub has left")
    assert time.monotonic() - began > 4.5, "it left within the first window"
    (row,) = json.loads(place.run("deliveries").stdout)["data"]
    assert (row["status"], row["adapter"]) == ("pending", "hooks")
