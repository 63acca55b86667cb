"""kill -9 at random instants, under load: what was acknowledged is there, once.

`KILLS=200 python -m pytest tests/process/test_kill.py` for a long run.
"""

import contextlib
import json
import os
import random
import signal
import threading
from collections import Counter

import pytest

from pinbox import client
from pinbox.contract import PinboxError
from pinbox.project import NoHub
from tests.wait import wait_until

KILLS = int(os.environ.get("KILLS", "8"))
WRITERS = 4

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(60 + 20 * KILLS)]


def test_no_acknowledged_write_is_lost_or_doubled_when_the_hub_is_killed(daemon):
    acknowledged = []
    failed = []
    done = threading.Event()

    def write(writer):
        hub = client.connect(daemon.project)
        number = 0
        while not done.is_set():
            number += 1
            text = f"writer {writer} pin {number}"
            body = {"text": text, "kind": "note", "env": {}, "author": {"userId": "tester"}}
            try:
                hub.request("POST", "/pins", body)
            except PinboxError as error:
                failed.append(error)
            else:
                acknowledged.append(text)

    with daemon.as_environment():
        writers = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        try:
            killed = set()
            for _ in range(KILLS):
                before = len(acknowledged)
                wait_until(lambda before=before: len(acknowledged) > before, timeout=60)
                done.wait(random.uniform(0, 0.3))  # the instant is the point of the test
                with contextlib.suppress(NoHub, ProcessLookupError):
                    pid = daemon.state().pid
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
            before = len(acknowledged)
            wait_until(lambda: len(acknowledged) > before, timeout=60)
        finally:
            done.set()
            for writer in writers:
                writer.join(60)
    assert len(killed) >= KILLS / 2

    there = Counter(pin["text"] for pin in json.loads(daemon.run("list").stdout)["data"])
    assert set(acknowledged) <= set(there)
    assert [text for text, count in there.items() if count > 1] == []
    # A write is given up only when the hub was killed again while it was asked for again.
    assert {error.code for error in failed} <= {"E_HUB_UNREACHABLE"}
    daemon.run("rebuild", "--check")
    assert daemon.hubs() == {daemon.state().pid}
