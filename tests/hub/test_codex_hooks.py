"""Codex's hooks at the hub: its own dialect, and a turn that always ends. Codex ends no loop."""

import json

import pytest

from sessions_app.models import AgentSession
from tests.hub.loop import drop, payload, say

pytestmark = pytest.mark.django_db

STOPS = 10


def asked(hub, event, key="c1", *, process="7:70", **more):
    """What Codex reads from the hook of that event; None for nothing."""
    body = payload(event, key, **more)
    answer = hub.raw("POST", "/hooks/codex", body, {"x-pinbox-ppid": process})
    assert answer.status_code == 200
    return json.loads(answer.content) if answer.content else None


def stop(hub, **more):
    return asked(hub, "Stop", stop_hook_active=False, **more)


def test_the_first_prompt_registers_and_brings_the_pin_as_context(hub):
    pin = drop("The total ignores the discount")
    said = asked(hub, "SessionStart", source="startup")
    assert set(said) == {"hookSpecificOutput"}
    assert said["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert pin["id"] in said["hookSpecificOutput"]["additionalContext"]
    session = AgentSession.objects.get()
    assert (session.agent, session.key, session.cwd) == ("codex", "c1", "/p/app")
    assert asked(hub, "SessionEnd", reason="other") is None
    session.refresh_from_db()
    assert session.ended_at is not None


def test_without_pins_nothing_is_said_at_any_event(hub):
    assert asked(hub, "SessionStart", source="startup") is None
    assert asked(hub, "UserPromptSubmit", prompt="go on") is None
    assert stop(hub) is None


def test_a_stop_is_held_by_a_reason_and_by_nothing_else(hub):
    asked(hub, "UserPromptSubmit", prompt="go on")
    pin = drop("Wait: the logo is gone")
    said = stop(hub)
    assert set(said) == {"decision", "reason"}
    assert said["decision"] == "block"
    assert pin["id"] in said["reason"]


def test_ten_stops_in_a_row_hold_once_even_if_codex_never_says_that_it_was_held(hub):
    asked(hub, "UserPromptSubmit", prompt="go on")
    drop("Wait: the logo is gone")
    held = [stop(hub) is not None for _ in range(STOPS)]
    assert held == [True] + [False] * (STOPS - 1)


def test_a_person_who_writes_on_and_on_holds_a_turn_twice_for_one_pin(hub):
    asked(hub, "UserPromptSubmit", prompt="go on")
    pin = drop("Wait: the logo is gone")
    held = []
    for number in range(STOPS):
        say(pin, f"and another thing, {number}")
        held.append(stop(hub) is not None)
    assert held.count(True) == 2
    # What came is not lost: the next turn begins with it.
    context = asked(hub, "UserPromptSubmit", prompt="go on")["hookSpecificOutput"]
    assert f"and another thing, {STOPS - 1}" in context["additionalContext"]


def test_a_stop_that_follows_a_hold_is_let_go(hub):
    asked(hub, "UserPromptSubmit", prompt="go on")
    drop("Wait: the logo is gone")
    assert asked(hub, "Stop", stop_hook_active=True) is None


def superseded():
    return dict(AgentSession.objects.exclude(superseded_by="").values_list("key", "superseded_by"))


def test_after_clear_the_new_thread_takes_over_from_the_only_one_of_its_process(hub):
    asked(hub, "SessionStart", "c1", source="startup")
    pin = drop("Wait: the logo is gone")
    asked(hub, "UserPromptSubmit", "c1", prompt="go on")
    said = asked(hub, "SessionStart", "c2", source="clear")
    assert pin["id"] in said["hookSpecificOutput"]["additionalContext"]
    assert superseded() == {"c1": AgentSession.objects.get(key="c2").id}


def test_threads_of_other_terminals_in_one_process_keep_their_pins(hub):
    for key in ("c1", "c2"):
        asked(hub, "SessionStart", key, source="startup")
    pin = drop("Wait: the logo is gone", agentSession={"agent": "codex", "key": "c1"})
    said = asked(hub, "SessionStart", "c3", source="clear")
    assert "another session has it" in said["hookSpecificOutput"]["additionalContext"]
    assert superseded() == {}
    context = asked(hub, "UserPromptSubmit", "c1", prompt="go on")["hookSpecificOutput"]
    assert pin["id"] in context["additionalContext"]


def test_a_resumed_thread_that_was_not_known_takes_over_from_no_other(hub):
    asked(hub, "SessionStart", "c1", source="startup")
    asked(hub, "SessionStart", "c2", source="resume")
    assert superseded() == {}


def test_a_helper_inside_a_session_is_told_nothing_and_takes_no_pin(hub):
    drop("The total ignores the discount")
    assert asked(hub, "UserPromptSubmit", prompt="look", agent_id="a1", agent_type="worker") is None
    assert not AgentSession.objects.exists()
    assert asked(hub, "UserPromptSubmit", prompt="go on") is not None


def test_an_answer_of_the_largest_size_stays_below_codexs_own_cut(hub):
    for number in range(30):
        drop(f"{number} " + "é" * 1900)
    said = asked(hub, "UserPromptSubmit", prompt="go on")["hookSpecificOutput"]["additionalContext"]
    assert 8_000 < len(said.encode()) < 10_000
    assert "pinbox list" in said
