"""The turn and the gate as Hermes calls for them: what it does not read is not handed over."""

import json
from datetime import UTC, datetime

import pytest

from delivery import hooks
from delivery.models import Delivery
from pinbox import agents
from sessions_app.liveness import Process
from sessions_app.models import AgentSession
from tests.hub.loop import drop

pytestmark = pytest.mark.django_db

PROCESS = Process(4_000_001, "1")


def call(event, key="20261130_163022_6bc6d8", **extra):
    payload = {"hook_event_name": event, "session_id": key, "cwd": "/p/app"}
    found = agents.parse("hermes", json.dumps({**payload, "extra": extra}).encode())
    assert found is not None
    return hooks.answer(found, process=PROCESS, now=datetime.now(UTC))


def keys():
    return {one.key: (one.cwd, one.ended_at is not None) for one in AgentSession.objects.all()}


def test_a_start_registers_and_leaves_the_news_to_the_first_turn():
    drop("the total")
    assert call("on_session_start", platform="cli") == ""
    assert keys() == {"20261130_163022_6bc6d8": ("/p/app", False)}
    assert [row.status for row in Delivery.objects.all()] == ["pending"]
    assert "the total" in call("pre_llm_call", is_first_turn=True)
    assert [row.status for row in Delivery.objects.all()] == ["delivered"]


def test_a_resumed_session_is_registered_by_its_first_turn():
    call("pre_llm_call", is_first_turn=False)
    assert keys() == {"20261130_163022_6bc6d8": ("/p/app", False)}


def test_a_turn_that_edits_is_held_for_what_came_meanwhile_and_not_twice():
    call("pre_llm_call", is_first_turn=True)
    drop("the total")
    assert "the total" in call("pre_verify", attempt=0)
    drop("the date")
    assert call("pre_verify", attempt=1) == ""
    assert "the date" in call("pre_llm_call", is_first_turn=False)


def test_the_finalized_session_has_ended():
    call("pre_llm_call", is_first_turn=True)
    call("on_session_finalize", reason="shutdown")
    assert keys() == {"20261130_163022_6bc6d8": ("/p/app", True)}


def test_what_waits_goes_on_with_the_session_under_its_next_key():
    call("pre_llm_call", key="one", is_first_turn=True)
    drop("the total")
    call("on_session_start", key="two", source="compact")
    assert {key: ended for key, (_, ended) in keys().items()} == {"one": True, "two": False}
    assert "the total" in call("pre_llm_call", key="two", is_first_turn=False)
