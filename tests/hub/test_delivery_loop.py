"""From an event to the session that is told of it, through the hooks."""

import pytest

from delivery.models import Delivery
from sessions_app.models import AgentSession
from tests.hub.loop import drop, prompt, resolve, say, start, stop, verify

pytestmark = pytest.mark.django_db


def rows_of(pin):
    return list(Delivery.objects.filter(pin_id=pin["id"]).order_by("event_seq"))


def test_a_pin_of_nobody_is_adopted_and_bound_by_the_session_that_starts():
    pin = drop()
    assert [(row.status, row.session_id, row.adapter) for row in rows_of(pin)] == [
        ("pending", None, "none")
    ]
    text = start("s1")
    session = AgentSession.objects.get()
    assert "Save button too small" in text
    (row,) = rows_of(pin)
    assert (row.status, row.session_id, row.handed_over_by) == ("delivered", session.id, "hooks")
    say(pin, "still too small")
    start("s2")
    assert "still too small" in prompt("s1")


def test_without_pins_no_hook_says_a_word():
    assert [start(), prompt(), stop(), stop(is_active=True)] == ["", "", "", ""]


def test_a_reply_on_a_resolved_pin_reaches_the_session():
    pin = drop()
    start()
    resolve(pin)
    say(pin, "not in the dark theme")
    assert "not in the dark theme" in prompt()


def test_a_reopened_pin_is_news_again():
    pin = drop()
    start()
    resolve(pin)
    verify(pin, "reopened")
    assert "reopened" in stop()
    assert stop() == ""


def test_a_pin_dropped_in_the_middle_of_a_turn_holds_the_stop_once():
    start()
    prompt()
    drop("urgent")
    assert "urgent" in stop()
    assert stop(is_active=True) == ""
    assert stop() == ""


def test_every_event_has_one_row_and_the_skipped_say_why():
    pin = drop()
    say(pin, "done", role="agent")
    resolve(pin)
    verify(pin, "accepted")
    assert [(row.status, bool(row.last_error)) for row in rows_of(pin)] == [
        ("pending", False),
        ("skipped", True),
        ("skipped", True),
        ("skipped", True),
    ]
