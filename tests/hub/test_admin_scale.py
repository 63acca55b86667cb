"""A page of the admin costs the same however much there is.

Counted in steps of SQLite's own machine, which no noisy neighbour changes.
"""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from . import crowd
from .test_admin import LISTS, detail

pytestmark = pytest.mark.django_db

#: More than any count of the code stops at.
FEW = 1_200
#: Most that a page at the large size may cost of one at the small size.
RATIO = 1.3
#: Steps that are nothing (0.2 ms): the search index has some segments more or less.
SLACK = 2_500
#: Instructions between two calls of the counter.
GRAIN = 10


def steps_of(client, url):
    """Instructions that SQLite's machine runs for one page."""
    assert client.get(url).status_code == 200
    calls = 0

    def count():
        nonlocal calls
        calls += 1
        return 0

    connection.connection.set_progress_handler(count, GRAIN)
    try:
        client.get(url)
    finally:
        connection.connection.set_progress_handler(None, GRAIN)
    return calls * GRAIN


def pages(count):
    """What is opened when there are `count` of everything: first, deep and filtered pages."""
    middle, ancient = count // 2, crowd.pin_id(1)
    pins, events, deliveries, sessions = (LISTS[name] for name in LISTS)
    return {
        "pins": pins,
        "pins, oldest": f"{pins}?p=after.{ancient}",
        "pins, middle": f"{pins}?p=before.{crowd.pin_id(middle)}",
        "resolved pins": f"{pins}?status=resolved",
        "resolved pins, oldest": f"{pins}?status=resolved&p=after.{ancient}",
        "pins of a rare word": f"{pins}?q=quixotic",
        "pins of a common word": f"{pins}?q=label",
        "pins of two common words": f"{pins}?q=label+cut",
        "pins of a common and a rare word": f"{pins}?q=label+quixotic",
        "pins of a short common word": f"{pins}?q=is",
        "resolved pins of a common word": f"{pins}?q=label&status=resolved",
        "events": events,
        "events, oldest": f"{events}?p=after.1",
        "events of a type": f"{events}?type=thread.message",
        "events of a type, oldest": f"{events}?type=thread.message&p=after.1",
        "events of a type that there is none of": f"{events}?type=pin.linked",
        "events of a pin": f"{events}?q={ancient}",
        "deliveries": deliveries,
        "deliveries, middle": f"{deliveries}?p=before.{middle}",
        "pending deliveries": f"{deliveries}?status=pending",
        "failed deliveries": f"{deliveries}?status=failed",
        "deliveries by an adapter": f"{deliveries}?adapter=hooks",
        "deliveries by an adapter never used": f"{deliveries}?adapter=webhook",
        "deliveries not acknowledged": f"{deliveries}?acknowledged=no",
        "deliveries of a pin": f"{deliveries}?q={ancient}",
        "sessions": sessions,
        "sessions, oldest": f"{sessions}?p=after.{crowd.session_id(1)}",
        "live sessions": f"{sessions}?state=live",
        "ended sessions": f"{sessions}?state=ended",
        "a pin": detail("pins_pin", ancient),
        "an event": detail("pins_event", "1"),
        "a session": detail("agent_sessions_agentsession", crowd.session_id(1)),
    }


@pytest.mark.parametrize(
    "many",
    [3_000, pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])],
)
def test_a_page_costs_the_same_however_much_there_is(many):
    if connection.vendor != "sqlite":
        pytest.skip("the steps counted are SQLite's")
    client = Client()
    client.force_login(User.objects.create_user("pinbox", is_staff=True))
    crowd.fill(1, FEW)
    before = {name: steps_of(client, url) for name, url in pages(FEW).items()}
    crowd.fill(FEW + 1, many)
    after = {name: steps_of(client, url) for name, url in pages(many).items()}
    dearer = {
        name: (before[name], after[name])
        for name in before
        if after[name] > before[name] * RATIO + SLACK
    }
    assert dearer == {}


def test_the_first_page_stops_counting_deliveries_where_nobody_reads_on():
    crowd.fill(1, 6_000)
    client = Client()
    client.force_login(User.objects.create_user("pinbox", is_staff=True))
    page = client.get("/admin/").content.decode()
    assert "<strong>5,400</strong> open pins" in page
    assert "<strong>1,000+</strong> pending deliveries" in page
