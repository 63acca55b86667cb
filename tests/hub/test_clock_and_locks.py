"""What the hub owes to no clock, and how its database takes turns."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from delivery.models import Delivery
from pinbox.contract import iso
from sessions_app.models import AgentSession
from tests.hub.loop import drop, prompt, say, start, stop

pytestmark = pytest.mark.django_db


@pytest.fixture
def shift(monkeypatch):
    """Sets every wall clock of the hub that many hours off, and gives the time that it then is."""

    def by(hours):
        def now():
            return datetime.now(UTC) + timedelta(hours=hours)

        monkeypatch.setattr("pins.services.now_iso", lambda: iso(now()))
        monkeypatch.setattr("django.utils.timezone.now", now)
        return now()

    return by


@pytest.mark.parametrize("jumps", [(2, -2), (-2, 2)])
def test_a_clock_that_jumps_changes_no_order_and_ends_no_session(hub, shift, jumps):
    start(process=(1, "1"))
    pins = [drop("before the jump")]
    for hours in jumps:
        now = shift(hours)
        pins.append(drop(f"{hours} hours off"))
        say(pins[0], f"a word {hours} hours off")
        assert f"{hours} hours off" in prompt(process=(1, "1"), now=now)
    assert [pin["id"] for pin in hub.get("/pins")[1]] == [pin["id"] for pin in reversed(pins)]
    events = hub.get("/events")[1]
    assert [event["seq"] for event in events] == list(range(1, 6))
    # Each event was handed over once, to the one session there is.
    assert AgentSession.objects.get().ended_at is None
    assert set(Delivery.objects.values_list("status", "attempts")) == {("delivered", 0)}
    assert stop(process=(1, "1"), now=now) == ""


@pytest.mark.skipif("connection.vendor != 'sqlite'")
def test_sqlite_waits_for_its_lock_and_takes_it_at_the_start_of_a_transaction():
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchone()[0] >= 5_000
        cursor.execute("PRAGMA synchronous")
        assert cursor.fetchone()[0] == 2  # FULL
    assert connection.transaction_mode == "IMMEDIATE"
