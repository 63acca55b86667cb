"""What OpenClaw's plugin says and takes, on what was recorded of each version of the gateway."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinbox import agents
from pinbox.agents import HookCall, openclaw
from pinbox.agents.pieces import Assets, JsonFile, Place, Skill

VERSIONS = sorted((Path(__file__).parent.parent / "fixtures" / "agents").glob("openclaw-*"))
KEY = "agent:main:main"

#: the first draw of any text builds tables of Unicode, which a busy machine takes seconds for
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda folder: folder.name)


def told(event: str = "before_prompt_build", key: object = KEY, **more: object) -> bytes:
    context = {"sessionKey": key, "workspaceDir": "/home/ada"}
    return json.dumps({"event": event, "payload": more, "ctx": context}).encode()


def parsed(event: str = "before_prompt_build", **more: object) -> HookCall:
    call = agents.parse("openclaw", told(event, **more))
    assert call is not None
    return call


@each_version
@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("session_start", "SessionStart"),
        ("before_prompt_build", "UserPromptSubmit"),
        ("before_agent_finalize", "Stop"),
        ("session_end", "SessionEnd"),
    ],
)
def test_a_recorded_event_gives_its_facts(version, name, event):
    body = (version / f"{name}.json").read_bytes()
    call = agents.parse("openclaw", body)
    assert call is not None
    raw = json.loads(body)
    assert (call.agent, call.event) == ("openclaw", event)
    assert call.key == raw["ctx"]["sessionKey"]
    assert call.cwd == raw["ctx"].get("workspaceDir")
    assert call.reason == raw["payload"].get("reason")
    assert (call.stop_hook_active, call.subagent) == (False, False)


@each_version
@pytest.mark.parametrize("name", ["agent_end", "gateway_start"])
def test_other_events_of_the_gateway_are_none_of_ours(version, name):
    assert agents.parse("openclaw", (version / f"{name}.json").read_bytes()) is None


@pytest.mark.parametrize(
    "key",
    [
        "agent:main:main",
        "global",
        "agent:main:whatsapp:group:120363@g.us",
        "agent:main:direct:+15551234",
        "agent:main:matrix:room:!Ab/c=:example.org",
        "agent:main:grüße",
    ],
)
def test_names_of_channels_and_people_may_be_in_a_key(key):
    assert parsed(key=key).key == key


@pytest.mark.parametrize(
    "key", ["", "-x", "a\nb", "a\0b", "a\u202eb", "\ud800", "x" * 256, "ü" * 128, 7, None, ["a"]]
)
def test_what_could_not_be_stored_or_read_is_no_key(key):
    assert agents.parse("openclaw", told(key=key)) is None


def test_a_subagent_is_told_nothing():
    call = parsed(key="agent:main:subagent:0b1c")
    assert call.subagent
    assert agents.render(call, "two pins") == b""


def test_a_stop_after_a_hold_is_one_whatever_it_is_called():
    for value in (True, 1, "yes"):
        assert parsed("before_agent_finalize", stopHookActive=value).stop_hook_active


def test_context_is_appended_and_a_hold_is_a_revision():
    for event in ("session_start", "before_prompt_build"):
        assert json.loads(agents.render(parsed(event), "two pins")) == {"appendContext": "two pins"}
    assert json.loads(agents.render(parsed("before_agent_finalize"), "two pins")) == {
        "action": "revise",
        "reason": "two pins",
    }
    assert agents.render(parsed("session_end"), "two pins") == b""


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(body):
    agents.parse("openclaw", body)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(_JSON, _JSON, _JSON, st.sampled_from(sorted(openclaw.EVENTS)))
def test_no_payload_makes_it_raise(payload, context, key, event):
    for ctx in (context, {"sessionKey": key, "workspaceDir": context}):
        body = json.dumps({"event": event, "payload": payload, "ctx": ctx}).encode()
        call = agents.parse("openclaw", body)
        assert call is None or agents.render(call, "\ud800 two").isascii()


# --- where it is installed ------------------------------------------------------------------------


def place(tmp_path):
    return Place(root=tmp_path / "app", home=tmp_path / ".openclaw")


def test_the_plugin_is_a_folder_of_ours_and_three_entries_in_the_configuration(tmp_path):
    plugin, config, skill = openclaw.pieces(place(tmp_path))
    # Where OpenClaw looks in an agent's workspace.
    assert skill == Skill(path=place(tmp_path).root / ".agents" / "skills" / "pinbox")
    assert plugin == Assets(path=tmp_path / ".openclaw" / "pinbox", source="openclaw")
    assert isinstance(config, JsonFile)
    assert config.path == tmp_path / ".openclaw" / "openclaw.json"
    assert config.items == {("plugins", "load", "paths"): str(plugin.path)}
    assert set(config.values) == {
        ("plugins", "entries", "pinbox", "enabled"),
        ("plugins", "entries", "pinbox", "hooks", "allowConversationAccess"),
    }
    assert "openclaw plugins install --link" in config.by_hand


def test_a_configuration_that_is_elsewhere_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENCLAW_CONFIG_PATH", str(tmp_path / "other.json"))
    _, config, _ = openclaw.pieces(place(tmp_path))
    assert config.path == tmp_path / "other.json"


def test_the_manifest_names_every_tool_and_the_id_of_the_entry():
    folder = Path(agents.__file__).parent.parent / "assets" / "openclaw"
    manifest = json.loads((folder / "openclaw.plugin.json").read_text())
    assert manifest["id"] == "pinbox"
    tools = manifest["contracts"]["tools"]
    assert tools == ["pin_list", "pin_show", "pin_reply", "pin_resolve"]
    code = (folder / "index.js").read_text()
    assert [tool for tool in tools if f"\n  {tool}: {{" in code] == tools
