"""Hermes' hook payloads and the output it takes: recorded ones, and rubbish."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinbox import agents
from pinbox.agents import HookCall, hermes

RECORDED = Path(__file__).parent.parent / "fixtures" / "agents"
VERSIONS = sorted(RECORDED.glob("hermes-*"))
KEY = "20261130_163022_6bc6d8"

#: the first draw of any text builds tables of Unicode, which a busy machine takes seconds for
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda folder: folder.name)


def payload(event: str = "pre_llm_call", **extra: object) -> bytes:
    return json.dumps(
        {"hook_event_name": event, "session_id": KEY, "cwd": "/home/ada", "extra": extra}
    ).encode()


def parsed(event: str = "pre_llm_call", **extra: object) -> HookCall:
    call = agents.parse("hermes", payload(event, **extra))
    assert call is not None
    return call


@each_version
@pytest.mark.parametrize(
    ("name", "event", "is_heard"),
    [
        ("on_session_start", "SessionStart", False),
        # Of a new conversation: Hermes reads here what other agents read at their SessionStart.
        ("pre_llm_call", "SessionStart", True),
        ("pre_llm_call.resume", "UserPromptSubmit", True),
        ("pre_verify", "Stop", True),
        ("on_session_finalize", "SessionEnd", False),
    ],
)
def test_a_recorded_payload_gives_its_facts(version, name, event, is_heard):
    body = (version / f"{name}.json").read_bytes()
    raw = json.loads(body)
    call = agents.parse("hermes", body)
    assert call is not None
    assert (call.agent, call.event, call.is_heard) == ("hermes", event, is_heard)
    assert (call.key, call.cwd) == (raw["session_id"], raw["cwd"])
    assert call.reason == raw["extra"].get("reason")
    assert (call.source, call.subagent, call.stop_hook_active) == (None, False, False)


@each_version
def test_the_end_of_a_turn_is_not_the_end_of_the_session(version):
    assert agents.parse("hermes", (version / "on_session_end.json").read_bytes()) is None
    assert agents.parse("hermes", payload("post_llm_call")) is None


@pytest.mark.parametrize("attempt", [1, 2, "1", True, [0]])
def test_a_turn_that_was_held_already_is_not_held_again(attempt):
    assert parsed("pre_verify", attempt=attempt).stop_hook_active is True


@pytest.mark.parametrize("extra", [{"attempt": 0}, {}, {"attempt": None}])
def test_a_turn_that_was_not_held_yet_may_be(extra):
    assert parsed("pre_verify", **extra).stop_hook_active is False


@pytest.mark.parametrize(
    "extra",
    [
        {"platform": "subagent"},
        {
            "platform": "cli",
            "user_message": "Review the conversation above and …\n\nYou can only call memory and "
            "skill management tools. Other tools will be denied at runtime.",
        },
    ],
)
def test_a_helper_and_a_look_back_are_told_nothing(extra):
    call = parsed(**extra)
    assert call.subagent is True
    assert agents.render(call, "text") == b""


def test_a_session_that_goes_on_under_another_key_says_so():
    assert parsed("on_session_start", source="compact").source == "compact"


@pytest.mark.parametrize("is_first_turn", [True, False])
def test_a_turn_is_given_context(is_first_turn):
    out = agents.render(parsed(is_first_turn=is_first_turn), "two pins")
    assert json.loads(out) == {"context": "two pins"}


def test_a_stop_is_held_by_a_message():
    out = agents.render(parsed("pre_verify", attempt=0), "one more")
    assert json.loads(out) == {"action": "continue", "message": "one more"}


@pytest.mark.parametrize("event", ["on_session_start", "on_session_finalize"])
def test_nothing_is_said_where_hermes_reads_nothing(event):
    assert agents.render(parsed(event), "text") == b""


def test_no_text_is_no_bytes():
    assert agents.render(parsed(), "") == b""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {
            "session_id": st.just(KEY) | json_values,
            "hook_event_name": st.sampled_from([*hermes.EVENTS]) | json_values,
            "cwd": json_values | st.text().map("/".__add__),
            "extra": json_values
            | st.dictionaries(
                st.sampled_from(["platform", "source", "attempt", "user_message", "reason"]),
                json_values,
            ),
        }
    )
)
def test_a_payload_of_any_shape_is_a_call_or_none(data):
    call = agents.parse("hermes", json.dumps(data).encode())
    if call is not None:
        assert call.key == data["session_id"]
        agents.render(call, "text")


@given(st.binary())
def test_bytes_of_any_kind_never_raise(body):
    agents.parse("hermes", body)
