"""Codex's hook payloads and the output it takes, on what was recorded of each version."""

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinbox import agents
from pinbox.agents import HookCall, codex
from pinbox.agents.pieces import Place
from pinbox.contract import MAX_CONTEXT_BYTES
from pinbox.install import settings as hook_files

RECORDED = Path(__file__).parent.parent / "fixtures" / "agents"
VERSIONS = sorted(RECORDED.glob("codex-*"))
KEY = "01a22d56-e5e3-7081-8605-170838a5bec3"
#: Bytes of a hook's text that Codex keeps whole.
CODEX_CAP_BYTES = 10_000

#: the first draw of any text builds tables of Unicode, which a busy machine takes seconds for
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda folder: folder.name)


def payload(**fields: object) -> bytes:
    return json.dumps(
        {"session_id": KEY, "hook_event_name": "UserPromptSubmit", "cwd": "/home/ada"} | fields
    ).encode()


def parsed(**fields: object) -> HookCall:
    call = agents.parse("codex", payload(**fields))
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
    ],
)
def test_a_recorded_payload_gives_its_facts(version, name, facts):
    body = (version / f"{name}.json").read_bytes()
    call = agents.parse("codex", body)
    assert call is not None
    raw = json.loads(body)
    got = asdict(call)
    assert {key: got[key] for key in facts} == facts
    assert (call.agent, call.key, call.cwd) == ("codex", raw["session_id"], raw["cwd"])
    assert call.prompt_id == raw.get("turn_id")
    assert call.subagent is False


@each_version
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "Stop"])
def test_what_we_say_fits_the_schema_that_the_program_holds(version, event):
    schema = json.loads((version / "output-schemas.json").read_text())[event]
    assert schema["additionalProperties"] is False
    said = json.loads(agents.render(parsed(hook_event_name=event), "two pins"))
    jsonschema.validate(said, schema)
    assert "two pins" in json.dumps(said)


def test_context_goes_inside_and_a_hold_is_a_block_with_a_reason_and_nothing_else():
    for event in ("SessionStart", "UserPromptSubmit"):
        assert json.loads(agents.render(parsed(hook_event_name=event), "two pins")) == {
            "hookSpecificOutput": {"hookEventName": event, "additionalContext": "two pins"}
        }
    assert json.loads(agents.render(parsed(hook_event_name="Stop"), "two pins")) == {
        "decision": "block",
        "reason": "two pins",
    }


@pytest.mark.parametrize("event", codex.EVENTS)
@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_a_blank_text_is_no_bytes_at_all(event, text):
    assert agents.render(parsed(hook_event_name=event), text) == b""


@pytest.mark.parametrize(
    "fields",
    [
        {"hook_event_name": "SessionEnd"},
        {"hook_event_name": "SubagentStart"},
        {"hook_event_name": "SubagentStop"},
        {"agent_id": "a"},
        {"hook_event_name": "Stop", "agent_id": ""},
    ],
)
def test_nothing_is_said_where_nobody_of_ours_listens(fields):
    assert agents.render(parsed(**fields), "text") == b""


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"null", b"[]", b"{", b"[" * 200_000, b"{}"),
        payload(session_id=None),
        payload(session_id="--last"),
        payload(session_id="a\n"),
        payload(hook_event_name="PreToolUse"),
        payload(hook_event_name="Interrupt"),
        payload(hook_event_name=["Stop"]),
    ],
    ids=lambda body: repr(body[:40]),
)
def test_what_cannot_be_used_is_none(body):
    assert agents.parse("codex", body) is None


@pytest.mark.parametrize(
    ("value", "is_active"),
    [(True, True), ("false", True), ([], True), (False, False), (None, False)],
)
def test_any_value_but_a_plain_no_counts_as_already_held(value, is_active):
    call = parsed(hook_event_name="Stop", stop_hook_active=value)
    assert call.stop_hook_active is is_active


def test_our_texts_are_below_the_size_from_which_codex_cuts():
    assert MAX_CONTEXT_BYTES < CODEX_CAP_BYTES


@given(st.text(st.characters(exclude_categories=()), min_size=1), st.sampled_from(codex.EVENTS))
def test_any_text_leaves_as_one_ascii_line_or_not_at_all(text, event):
    out = agents.render(parsed(hook_event_name=event), text)
    assert out.isascii()
    assert out.count(b"\n") == (1 if out else 0)
    if event == "Stop" and text.strip():
        assert json.loads(out)["reason"].strip()


# --- what init puts in place ----------------------------------------------------------------------


def test_the_command_stays_word_for_word_for_codex_trusts_it_by_its_hash():
    assert codex.COMMAND == (
        'p="${XDG_STATE_HOME:-$HOME/.local/state}/pinbox/hook"; [ -x "$p" ] && "$p" codex; exit 0'
    )
    assert hook_files.is_ours(codex.COMMAND)


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_the_command_is_silent_and_succeeds_where_there_is_no_launcher(tmp_path, shell):
    done = subprocess.run(
        [shell, "-c", codex.COMMAND],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        input=payload(),
        capture_output=True,
        timeout=30,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_command_hands_the_payload_to_the_users_launcher(tmp_path):
    launcher = tmp_path / "state of mine" / "pinbox" / "hook"
    launcher.parent.mkdir(parents=True)
    launcher.write_text('#!/bin/sh\necho "$1"; cat; exit 7\n')
    launcher.chmod(0o700)
    done = subprocess.run(
        ["/bin/sh", "-c", codex.COMMAND],
        env={"XDG_STATE_HOME": str(tmp_path / "state of mine"), "PATH": "/usr/bin:/bin"},
        input=payload(),
        capture_output=True,
        timeout=30,
    )
    assert (done.returncode, done.stdout) == (0, b"codex\n" + payload())


def test_a_project_has_its_own_files_and_a_user_has_their_own(tmp_path):
    place = Place(root=tmp_path / "app", home=tmp_path / "moved")
    hooks, skill = codex.pieces(place)
    assert hooks.path == tmp_path / "app/.codex/hooks.json"
    assert skill.path == tmp_path / "app/.agents/skills/pinbox"
    assert str(hooks.path) in codex.after(place)
    assert "only in a folder that it trusts" in codex.after(place)

    own = Place(root=tmp_path / "app", home=tmp_path / "moved", user_scope=True)
    hooks, skill = codex.pieces(own)
    assert hooks.path == tmp_path / "moved/hooks.json"
    assert skill.path == tmp_path / "moved/skills/pinbox"
    assert str(hooks.path) in codex.after(own)
    assert "folder" not in codex.after(own)
