"""Eight writers at once and a reader that follows the tail: nothing is missed, nothing drifts,
nothing locks.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from delivery.models import Delivery
from pinbox.contract import Caller, PinboxError
from pins import event_log, projections, services
from pins.models import Pin

pytestmark = pytest.mark.django_db(transaction=True)

FULL = Caller(scope="full")
WRITERS = 8
ROUNDS = 12


def closing(work):
    """Run in a thread of its own, whose connection goes with it."""

    def run(*args):
        try:
            return work(*args)
        finally:
            connection.close()

    return run


def happened(change, **arguments):
    """1 for a change that was made, 0 for one that another writer made first."""
    try:
        change(**arguments)
    except PinboxError as refused:
        if refused.code != "E_CONFLICT":
            raise
        return 0
    return 1


@closing
def write(writer):
    """Creates, replies, resolves; every writer also fights for the first pin. Returns its number of
    events.
    """
    events = 0
    for round_ in range(ROUNDS):
        data = {"text": f"{writer}/{round_}", "kind": "note", "author": {"userId": ""}}
        pin = services.create_pin(data=data, caller=FULL, git={})
        services.post_message(pin_id=pin["id"], data={"role": "human", "text": "and?"}, caller=FULL)
        events += 2
        first = Pin.objects.order_by("n").values_list("id", flat=True)[0]
        events += happened(services.resolve_pin, pin_id=first, data={"by": "agent"}, caller=FULL)
        events += happened(services.verify_pin, pin_id=first, outcome="reopened")
    return events


@closing
def follow(done):
    """Every seq a reader sees that only ever asks for what follows its last one."""
    seen = []
    while True:
        last_look = done.is_set()
        page = event_log.tail(seen[-1] if seen else 0, 50)
        seen += [event.seq for event in page]
        if last_look and not page:
            return seen


def test_a_tailing_reader_misses_no_event_of_eight_writers():
    done = threading.Event()
    with ThreadPoolExecutor(WRITERS + 1) as threads:
        reader = threads.submit(follow, done)
        try:
            written = sum(threads.map(write, range(WRITERS)))
        finally:
            done.set()
    assert reader.result() == list(range(1, written + 1))
    assert written >= WRITERS * ROUNDS * 2
    assert projections.check() == {}
    assert Delivery.objects.count() == written
    assert sorted(Pin.objects.values_list("n", flat=True)) == list(range(1, WRITERS * ROUNDS + 1))
