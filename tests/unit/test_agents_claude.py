"""Claude Code's hook payloads and the output it takes, on recorded payloads and on rubbish."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinbox import agents
from pinbox.agents import HookCall, claude
from pinbox.contract import MAX_HOOK_BODY_BYTES

RECORDED = Path(__file__).parent.parent / "fixtures" / "agents"
VERSIONS = sorted(RECORDED.glob("claude-*"))
KEY = "141e878d-5c02-4c88-a7de-4a9522a64a26"


#: the first draw of any text builds tables of Unicode, which a busy machine takes seconds for
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda folder: folder.name)


def payload(**fields: object) -> bytes:
    return json.dumps(
        {"session_id": KEY, "hook_event_name": "UserPromptSubmit", "cwd": "/home/ada"} | fields
    ).encode()


def parsed(**fields: object) -> HookCall:
    call = agents.parse("claude", payload(**fields))
    assert call is not None
    return call


@each_version
@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("SessionStart", {"event": "SessionStart", "source": "startup"}),
        ("SessionStart.resume", {"event": "SessionStart", "source": "resume"}),
        ("tui.SessionStart", {"event": "SessionStart", "source": "startup"}),
        ("UserPromptSubmit", {"event": "UserPromptSubmit", "source": None}),
        ("Stop", {"event": "Stop", "stop_hook_active": False}),
        ("Stop.active", {"event": "Stop", "stop_hook_active": True}),
        ("SessionEnd", {"event": "SessionEnd", "reason": "other"}),
        ("tui.SessionEnd", {"event": "SessionEnd", "reason": "prompt_input_exit"}),
    ],
)
def test_a_recorded_payload_gives_its_facts(version, name, facts):
    body = (version / f"{name}.json").read_bytes()
    call = agents.parse("claude", body)
    assert call is not None
    raw = json.loads(body)
    got = asdict(call)
    assert {key: got[key] for key in facts} == facts
    assert (call.agent, call.key, call.cwd) == ("claude", raw["session_id"], raw["cwd"])
    assert call.prompt_id == raw.get("prompt_id")
    assert call.subagent is False


@pytest.mark.parametrize(
    "fields",
    [
        {"agent_id": "a1b2"},
        {"agent_id": ""},
        {"agent_id": 7},
        {"hook_event_name": "SubagentStop", "agent_id": "unknown", "agent_type": ""},
        {"hook_event_name": "SubagentStop"},
        {"hook_event_name": "SubagentStart"},
        {"hook_event_name": "Stop", "agent_id": "a1b2"},
    ],
)
def test_a_subagents_payload_is_told_apart(fields):
    assert parsed(**fields).subagent is True


def test_the_main_session_under_a_named_agent_is_no_subagent():
    assert parsed(agent_type="reviewer").subagent is False


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00",
        b"null",
        b"[]",
        b"7",
        b'"text"',
        b"{",
        b'{"session_id":',
        b"\xff\xfe\xfa",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"1" * 10_000,
        b"{}",
        payload(session_id=None),
        payload(session_id=7),
        payload(session_id=["x"]),
        payload(session_id=""),
        payload(session_id="--dangerous"),
        payload(session_id="a b"),
        payload(session_id="a\nb"),
        payload(session_id="a\n"),
        payload(session_id="a\0"),
        payload(session_id="\ud83d"),
        payload(session_id="x" * 201),
        payload(session_id="١٢"),
        payload(hook_event_name=None),
        payload(hook_event_name=3),
        payload(hook_event_name={"Stop": 1}),
        payload(hook_event_name="stop"),
        payload(hook_event_name="PreToolUse"),
        payload(hook_event_name="Stop\ud83d"),
        payload(prompt="x" * MAX_HOOK_BODY_BYTES),
    ],
    ids=lambda body: repr(body[:40]),
)
def test_what_cannot_be_used_is_none(body):
    assert agents.parse("claude", body) is None


def test_an_unknown_agent_is_none():
    assert agents.parse("cursor", payload()) is None
    assert agents.parse("", payload()) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"cwd": None},
        {"cwd": 7},
        {"cwd": "relative"},
        {"cwd": "/a\0b"},
        {"cwd": "/\ud83d"},
        {"cwd": "/" + "x" * 5000},
    ],
)
def test_a_cwd_that_is_no_path_is_absent(fields):
    assert parsed(**fields).cwd is None


@pytest.mark.parametrize("value", [None, 7, [], "", "x" * 300, "a\nb", "\ud83d", "\u202e"])
def test_a_name_that_is_no_name_is_absent(value):
    call = parsed(source=value, reason=value, prompt_id=value)
    assert (call.source, call.reason, call.prompt_id) == (None, None, None)


@pytest.mark.parametrize("value", [True, 1, "true", "false", [], {}])
def test_any_value_but_a_plain_no_counts_as_already_held(value):
    assert parsed(hook_event_name="Stop", stop_hook_active=value).stop_hook_active is True


@pytest.mark.parametrize("value", [False, 0, None])
def test_a_plain_no_lets_a_hold_happen(value):
    assert parsed(hook_event_name="Stop", stop_hook_active=value).stop_hook_active is False


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_every_unicode_encoding_reads_the_same(encoding):
    text = json.dumps(
        {"session_id": KEY, "hook_event_name": "Stop", "cwd": '/é/測試"/🎯'}, ensure_ascii=False
    )
    call = agents.parse("claude", text.encode(encoding))
    assert call is not None
    assert call.cwd == '/é/測試"/🎯'


def test_a_lead_byte_does_not_swallow_the_quote_after_it():
    body = payload(prompt="MARK").replace(b"MARK", b"\xe6\xb8")
    call = agents.parse("claude", body)
    assert call is not None
    assert (call.key, call.cwd) == (KEY, "/home/ada")


def test_raw_control_characters_in_a_prompt_cost_nothing():
    assert (
        agents.parse("claude", payload(prompt="MARK").replace(b"MARK", b"a\n\t\x00b")) is not None
    )


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "Stop"])
def test_text_goes_inside_hook_specific_output_under_the_events_own_name(event):
    out = agents.render(parsed(hook_event_name=event), "two pins")
    assert json.loads(out) == {
        "hookSpecificOutput": {"hookEventName": event, "additionalContext": "two pins"}
    }


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"])
def test_no_text_is_no_bytes(event):
    assert agents.render(parsed(hook_event_name=event), "") == b""


@pytest.mark.parametrize(
    "fields",
    [
        {"hook_event_name": "SessionEnd"},
        {"hook_event_name": "SubagentStop"},
        {"hook_event_name": "Stop", "agent_id": "a"},
        {"agent_id": "a"},
    ],
)
def test_nothing_is_said_where_nobody_of_ours_listens(fields):
    assert agents.render(parsed(**fields), "text") == b""


def test_a_hold_is_the_gentler_form():
    assert b"decision" not in claude.hold("go on")
    assert json.loads(claude.hold("go on"))["hookSpecificOutput"]["hookEventName"] == "Stop"


@given(st.text(st.characters(exclude_categories=()), min_size=1))
def test_any_text_leaves_as_one_ascii_line_and_arrives_whole(text):
    out = claude.context(text, "SessionStart")
    assert out.isascii()
    assert out.endswith(b"\n")
    assert out.count(b"\n") == 1
    arrived = json.loads(out)["hookSpecificOutput"]["additionalContext"]
    arrived.encode()
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert arrived == joined


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
FIELDS = ("session_id", "hook_event_name", "cwd", "source", "agent_id", "stop_hook_active")


@given(
    st.dictionaries(st.sampled_from(FIELDS), json_values)
    | st.fixed_dictionaries(
        {
            "session_id": st.just(KEY) | json_values,
            "hook_event_name": st.sampled_from(claude.EVENTS) | json_values,
            "cwd": json_values | st.text().map("/".__add__),
            "source": json_values,
        }
    )
)
def test_a_payload_of_any_shape_is_a_call_or_none(data):
    call = agents.parse("claude", json.dumps(data).encode())
    if call is not None:
        assert call.key == data["session_id"]
        "".join(str(value) for value in asdict(call).values()).encode()
        agents.render(call, "text")


@given(st.binary())
def test_bytes_of_any_kind_never_raise(body):
    agents.parse("claude", body)
