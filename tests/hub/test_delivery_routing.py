"""Which session an event goes to, and that it stays with it."""

from datetime import UTC, datetime

import pytest

from delivery import ledger
from delivery.models import Delivery
from pins import event_log, projections
from pins.models import Binding, Event
from sessions_app import selectors as registry
from sessions_app import services as sessions
from sessions_app.models import AgentSession
from tests.hub.loop import drop, end, prompt, resolve, say, start, stop, verify

pytestmark = pytest.mark.django_db

S2_SAME_PROCESS = (4_000_000, "77")


def rows_of(pin):
    return list(Delivery.objects.filter(pin_id=pin["id"]).order_by("event_seq"))


def last_row(pin):
    return rows_of(pin)[-1]


def session(key, agent="claude"):
    return registry.find(agent=agent, key=key)


def bound_to(pin):
    binding = Binding.objects.filter(pk=pin["id"]).first()
    return binding and (binding.agent, binding.key)


def register(key, agent="claude"):
    now = datetime.now(UTC)
    with event_log.writer():
        found, _ = sessions.register(agent=agent, key=key, now=now)
        ledger.adopt(found, now=now)
    return found


def test_the_session_seen_last_gets_a_pin_and_keeps_it():
    start("s1")
    start("s2")
    pin = drop()
    assert bound_to(pin) == ("claude", "s2")
    prompt("s1")
    say(pin, "still too small")
    assert last_row(pin).session_id == session("s2").id


def test_a_pin_bound_by_its_client_goes_to_that_session_and_not_to_the_last_seen():
    start("s1")
    start("s2")
    pin = drop(agentSession={"agent": "claude", "key": "s1"})
    assert last_row(pin).session_id == session("s1").id
    assert bound_to(pin) == ("claude", "s1")


def test_a_bound_session_that_ended_is_still_the_target():
    start("s1")
    pin = drop()
    end("s1")
    start("s2")
    say(pin, "one more thing")
    row = last_row(pin)
    assert (row.session_id, row.status, row.adapter) == (session("s1").id, "pending", "none")
    assert session("s1").ended_at is not None
    assert "one more thing" not in prompt("s2")
    assert "one more thing" in start("s1", source="resume")


def test_a_bound_session_that_the_registry_forgot_is_registered_again():
    start("s1")
    pin = drop()
    AgentSession.objects.all().delete()
    start("s2")
    say(pin, "do you remember?")
    again = session("s1")
    assert last_row(pin).session_id == again.id
    assert again.cwd == "/p/app"
    assert "do you remember?" in prompt("s1")


@pytest.mark.parametrize("key", ["-rf", "", "a\x1b[2J"])
def test_a_client_cannot_bind_a_pin_to_a_session_that_cannot_be(hub, key):
    body = {
        "text": "x",
        "author": {"userId": "u"},
        "agentSession": {"agent": "claude", "key": key},
    }
    status, error = hub.post("/pins", body)
    assert (status, error["code"]) == (400, "E_INVALID_INPUT")
    assert error["message"].startswith("agentSession.key")
    assert not Event.objects.exists()


def test_a_page_cannot_bind_a_pin_to_a_session(page):
    body = {"text": "x", "author": {"userId": "u"}, "agentSession": {"agent": "claude", "key": "k"}}
    status, error = page.post("/pins", body)
    assert (status, error["code"]) == (403, "E_AUTH")
    assert not AgentSession.objects.exists()


def test_what_waits_for_nobody_is_adopted_and_bound_by_the_next_session_that_registers():
    pins = [drop(f"pin {number}") for number in range(3)]
    say(pins[0], "more")
    taker = register("s1")
    other = register("s2")
    assert {row.session_id for pin in pins for row in rows_of(pin)} == {taker.id}
    assert {bound_to(pin) for pin in pins} == {("claude", "s1")}
    assert not Delivery.objects.filter(session_id=other.id).exists()


@pytest.mark.parametrize("pull", [prompt, stop])
def test_what_waits_for_nobody_is_adopted_by_a_known_session_that_pulls(pull):
    start("s1")
    end("s1")
    pin = drop("nobody is here")
    assert last_row(pin).session_id is None
    assert "nobody is here" in pull("s1")
    assert bound_to(pin) == ("claude", "s1")


def test_a_probe_neither_adopts_nor_becomes_the_target():
    pin = drop()
    register("probe", agent="doctor")
    assert last_row(pin).session_id is None
    again = drop()
    assert (last_row(again).session_id, bound_to(again)) == (None, None)


def test_a_pin_that_waited_goes_whole_to_the_session_it_is_bound_to_later():
    pin = drop()
    now = datetime.now(UTC)
    # Registered without taking anything over: as if it had come between the two events.
    sessions.register(agent="claude", key="s1", now=now)
    say(pin, "and this")
    assert {row.session_id for row in rows_of(pin)} == {session("s1").id}


@pytest.mark.parametrize("source", ["clear", "compact", "resume", "fork"])
def test_a_session_whose_id_rotates_keeps_its_pins_and_what_waits_for_it(source):
    start("s1", process=S2_SAME_PROCESS)
    pin = drop("shown before")
    prompt("s1", process=S2_SAME_PROCESS)
    say(pin, "waiting since before")
    text = start("s2", source=source, process=S2_SAME_PROCESS)
    assert "waiting since before" in text
    assert bound_to(pin) == ("claude", "s2")
    say(pin, "after the change")
    assert last_row(pin).session_id == session("s2").id
    assert session("s1").superseded_by == session("s2").id
    assert session("s1").ended_at is not None


def test_the_goodbye_before_a_clear_does_not_break_the_chain():
    start("s1", process=S2_SAME_PROCESS)
    pin = drop()
    end("s1", reason="clear", process=S2_SAME_PROCESS)
    start("s2", source="clear", process=S2_SAME_PROCESS)
    assert bound_to(pin) == ("claude", "s2")


def test_the_goodbye_of_an_old_id_after_its_successor_came_ends_nobody_else():
    start("s1", process=S2_SAME_PROCESS)
    start("s2", source="clear", process=S2_SAME_PROCESS)
    end("s1", reason="clear", process=S2_SAME_PROCESS)
    assert session("s2").ended_at is None
    assert last_row(drop()).session_id == session("s2").id


def test_a_late_stop_under_an_old_id_takes_nothing_and_revives_nobody():
    start("s1", process=S2_SAME_PROCESS)
    start("s2", source="clear", process=S2_SAME_PROCESS)
    end("s2", process=S2_SAME_PROCESS)
    pin = drop()
    assert stop("s1", process=S2_SAME_PROCESS) == ""
    assert session("s1").ended_at is not None
    assert last_row(pin).session_id is None


def test_a_person_who_goes_back_to_the_old_conversation_finds_it_alive():
    start("s1", process=S2_SAME_PROCESS)
    start("s2", source="clear", process=S2_SAME_PROCESS)
    end("s2", process=S2_SAME_PROCESS)
    pin = drop("for whoever is there")
    assert pin["id"] in prompt("s1", process=S2_SAME_PROCESS)
    assert session("s1").superseded_by == ""


def test_a_binding_to_an_id_that_was_left_behind_leads_to_its_successor():
    start("s1", process=S2_SAME_PROCESS)
    start("s2", source="compact", process=S2_SAME_PROCESS)
    pin = drop(agentSession={"agent": "claude", "key": "s1"})
    assert last_row(pin).session_id == session("s2").id
    assert bound_to(pin) == ("claude", "s2")


@pytest.mark.parametrize("source", ["startup", None])
def test_a_new_conversation_of_the_same_process_takes_nothing_over(source):
    start("s1", process=S2_SAME_PROCESS)
    pin = drop()
    start("s2", source=source, process=S2_SAME_PROCESS)
    assert bound_to(pin) == ("claude", "s1")


def test_a_known_session_that_is_resumed_takes_nothing_over():
    start("s2", process=(5, "5"))
    start("s1", process=S2_SAME_PROCESS)
    pin = drop()
    start("s2", source="resume", process=S2_SAME_PROCESS)
    assert bound_to(pin) == ("claude", "s1")


def test_the_end_told_by_a_refused_resume_changes_nothing():
    start("s1", process=S2_SAME_PROCESS)
    end("never-seen")
    end("s1", process=(123, "9"))
    assert session("s1").ended_at is None
    assert AgentSession.objects.count() == 1
    end("s1", process=S2_SAME_PROCESS)
    assert session("s1").ended_at is not None


def test_subagents_leave_no_trace_and_take_nothing():
    start("s1")
    prompt("s1")
    drop("for the main conversation")
    before = list(AgentSession.objects.values()), list(Delivery.objects.values())
    assert stop("s1", agent_id="a1", agent_type="Explore") == ""
    assert prompt("s1", agent_id="a1") == ""
    assert start("sub", agent_id="a1") == ""
    assert end("s1", agent_id="a1") == ""
    assert (list(AgentSession.objects.values()), list(Delivery.objects.values())) == before
    assert "for the main conversation" in stop("s1")


def test_a_rebuild_changes_no_delivery_and_no_binding():
    start("s1")
    pin = drop()
    say(pin, "more")
    resolve(pin)
    verify(pin, "reopened")
    before = list(Delivery.objects.values()), list(Binding.objects.values())
    assert projections.rebuild() == 4
    assert (list(Delivery.objects.values()), list(Binding.objects.values())) == before
    assert Delivery.objects.count() == Event.objects.count()


def test_a_failed_write_leaves_no_row():
    pin = drop()

    def fails_after_writing():
        with event_log.writer():
            say(pin, "never mind")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails_after_writing()
    assert Delivery.objects.count() == Event.objects.count() == 1
