"""Four workers at once: each delivery goes out once, and no session has two under way."""

import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from delivery import clock, reach
from delivery.adapters.hooks import HooksAdapter
from delivery.models import Delivery
from delivery.worker import Worker
from tests.hub.loop import drop
from tests.hub.ways import Way, is_openclaw

pytestmark = pytest.mark.django_db(transaction=True)

WORKERS = 4
SESSIONS = 8
ROWS = 200


class Busy(Way):
    """Notes how many deliveries of one session are under way at once."""

    def __init__(self, name, **more):
        super().__init__(name, **more)
        self.lock, self.under_way, self.most = threading.Lock(), Counter(), Counter()

    def deliver(self, parcel, *, spawned, stop):
        to = parcel.target and parcel.target.id
        with self.lock:
            self.under_way[to] += 1
            self.most[to] = max(self.most[to], self.under_way[to])
        os.sched_yield()  # let the others run
        try:
            return super().deliver(parcel, spawned=spawned, stop=stop)
        finally:
            with self.lock:
                self.under_way[to] -= 1


def test_four_workers_deliver_two_hundred_rows_once_each(monkeypatch):
    ways = {
        "hooks": HooksAdapter(),
        "openclaw": Busy("openclaw", needs=is_openclaw),
        "webhook": Busy("webhook"),
    }
    monkeypatch.setattr(reach, "adapter", ways.__getitem__)
    monkeypatch.setattr(reach, "ADAPTERS", ways)
    for number in range(ROWS):
        ref = {"agent": "openclaw", "key": f"k{number % SESSIONS}"}
        # Every fifth is for nobody: the webhook alone gets it.
        drop(f"pin {number}", **({"agentSession": ref} if number % 5 else {}))
    Delivery.objects.filter(session_id=None).update(adapter="webhook", due_at=clock.now())

    def work(name):
        try:
            worker, done = Worker(f"worker {name}"), 0
            while Delivery.objects.filter(status="pending").exists():
                done += worker.tick()[0]
            return done
        finally:
            connection.close()

    with ThreadPoolExecutor(WORKERS) as threads:
        done = list(threads.map(work, range(WORKERS)))
    assert sum(done) == ROWS
    assert set(Delivery.objects.values_list("status", flat=True)) == {"delivered"}
    out = Counter(parcel.id for name in ("openclaw", "webhook") for parcel in ways[name].parcels)
    assert len(out) == ROWS
    assert set(out.values()) == {1}
    assert set(ways["openclaw"].most.values()) == {1}
    assert sum(count > 0 for count in done) > 1, "one worker did it all"
