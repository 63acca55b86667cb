"""Our plugin for Hermes, without Hermes: what it runs, where, and that it never raises."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

import pinbox

PLUGIN = Path(pinbox.__file__).parent / "assets" / "hermes"
KEY = "20261130_163022_6bc6d8"
EVENTS = ("on_session_start", "pre_llm_call", "pre_verify", "on_session_end", "on_session_finalize")


class Context:
    """What Hermes gives to `register`, with its signatures (0.19.0)."""

    def __init__(self):
        self.hooks, self.tools, self.commands, self.skills = {}, {}, {}, {}

    def register_hook(self, hook_name, callback):
        self.hooks[hook_name] = callback

    def register_tool(
        self,
        name,
        toolset,
        schema,
        handler,
        check_fn=None,
        requires_env=None,
        is_async=False,
        description="",
        emoji="",
        override=False,
    ):
        self.tools[name] = (toolset, schema, handler, check_fn)

    def register_command(self, name, handler, description="", args_hint=""):
        self.commands[name] = handler

    def register_skill(self, name, path, description=""):
        self.skills[name] = path


@pytest.fixture
def plugin(monkeypatch, tmp_path):
    """The plugin as Hermes loads it, on a machine of its own: `launcher` and `pinbox` write down
    how they were run, and say what stands in the files `answer` and `output`.
    """
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    spec = importlib.util.spec_from_file_location("hermes_plugins.pinbox", PLUGIN / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    project = tmp_path / "a project"
    (project / ".pinbox").mkdir(parents=True)
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/elsewhere")
    script(
        tmp_path / ".local/state/pinbox/hook",
        f'(pwd; echo "$*|$HERMES_SESSION_ID|$CLAUDE_PROJECT_DIR"; cat; echo) >> {tmp_path}/asked\n'
        f"cat {tmp_path}/answer 2>/dev/null\n",
    )
    script(
        tmp_path / ".local/bin/pinbox",
        f'for word in "$@"; do printf "%s\\0" "$word"; done >> {tmp_path}/words\n'
        f"cat {tmp_path}/output 2>/dev/null\n",
    )
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return module


def script(path, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}")
    path.chmod(0o755)


@pytest.fixture
def hermes(plugin):
    context = Context()
    plugin.register(context)
    return context


@pytest.fixture
def asked(tmp_path):
    """How often the launcher was run: (folder, words, payload)."""

    def read():
        path = tmp_path / "asked"
        lines = path.read_text().splitlines() if path.exists() else []
        return [
            (lines[at], lines[at + 1], json.loads(lines[at + 2])) for at in range(0, len(lines), 3)
        ]

    return read


def call(hermes, event, **told):
    return hermes.hooks[event](**{"session_id": KEY, "platform": "cli", **told})


# --- hooks ----------------------------------------------------------------------------------------


def test_a_turn_asks_in_the_session_s_folder_and_tells_no_word_of_the_conversation(
    hermes, asked, tmp_path
):
    (tmp_path / "answer").write_text('{"context": "two pins"}\n')
    answer = call(
        hermes,
        "pre_llm_call",
        user_message="a secret",
        conversation_history=[{"role": "user", "content": "a secret"}],
        is_first_turn=True,
        telemetry_schema_version="hermes.observer.v1",
    )
    assert answer == {"context": "two pins"}
    ((folder, words, payload),) = asked()
    assert folder == str(tmp_path / "a project" / "src")
    assert words == f"hermes|{KEY}|"
    assert payload == {
        "hook_event_name": "pre_llm_call",
        "tool_name": None,
        "tool_input": None,
        "session_id": KEY,
        "cwd": folder,
        "extra": {"platform": "cli", "is_first_turn": True},
    }


def test_a_turn_with_edits_is_held_once(hermes, asked, tmp_path):
    (tmp_path / "answer").write_text('{"action": "continue", "message": "one more pin"}\n')
    held = {"action": "continue", "message": "one more pin"}
    assert call(hermes, "pre_verify", attempt=0, changed_paths=["/a"]) == held
    assert call(hermes, "pre_verify") is None
    assert call(hermes, "pre_verify", attempt=1, session_id="another") is None
    call(hermes, "pre_llm_call")
    assert call(hermes, "pre_verify", attempt=0) == held
    assert len(asked()) == 3


def test_a_turn_that_was_not_held_is_asked_for_again(hermes, asked):
    assert [call(hermes, "pre_verify", attempt=0) for _ in range(2)] == [None, None]
    assert len(asked()) == 2


def test_the_end_of_a_turn_runs_nothing(hermes, asked):
    call(hermes, "on_session_end", completed=True)
    assert asked() == []


def test_a_finalized_session_is_told_of(hermes, asked):
    call(hermes, "on_session_finalize", reason="shutdown")
    ((_, _, payload),) = asked()
    assert (payload["hook_event_name"], payload["extra"]["reason"]) == (
        "on_session_finalize",
        "shutdown",
    )


def test_a_session_that_goes_on_under_another_key_starts_by_it(hermes, asked):
    call(hermes, "pre_llm_call")
    call(hermes, "pre_llm_call", session_id="compacted", is_first_turn=False)
    call(hermes, "on_session_end", session_id="in the turn")
    call(hermes, "on_session_start", session_id="after /new")
    call(hermes, "on_session_finalize", session_id="never began")
    told = [
        (payload["session_id"], payload["hook_event_name"], payload["extra"].get("source"))
        for _, _, payload in asked()
    ]
    assert told == [
        (KEY, "pre_llm_call", None),
        ("compacted", "on_session_start", "compact"),
        ("compacted", "pre_llm_call", None),
        ("in the turn", "on_session_start", "compact"),
        ("after /new", "on_session_start", "clear"),
        ("never began", "on_session_finalize", None),
    ]


def test_sessions_of_a_gateway_have_nothing_to_do_with_each_other(hermes, asked):
    for key in ("one", "two", "one"):
        call(hermes, "pre_llm_call", session_id=key, platform="telegram")
    assert [payload["hook_event_name"] for _, _, payload in asked()] == 3 * ["pre_llm_call"]


@pytest.mark.parametrize(
    "told",
    [
        {"platform": "subagent"},
        {"user_message": "You can only call memory and skill management tools."},
        {"session_id": None},
    ],
)
def test_helpers_and_looks_back_run_nothing(hermes, asked, told):
    for event in EVENTS:
        assert call(hermes, event, **told) is None
    assert asked() == []


def test_without_a_project_nothing_is_run_and_no_tool_is_offered(
    hermes, asked, tmp_path, monkeypatch
):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for event in EVENTS:
        assert call(hermes, event) is None
    assert asked() == []
    assert not any(check() for _, _, _, check in hermes.tools.values())


def test_the_folder_is_the_one_that_hermes_itself_works_in(hermes, asked, tmp_path, monkeypatch):
    """A gateway's sessions work elsewhere than its process."""
    (tmp_path / "other" / ".pinbox").mkdir(parents=True)
    (tmp_path / "lib" / "agent").mkdir(parents=True)
    (tmp_path / "lib" / "agent" / "runtime_cwd.py").write_text(
        f"def resolve_agent_cwd():\n    return {str(tmp_path / 'other')!r}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    try:
        call(hermes, "pre_llm_call")
    finally:
        for name in ("agent.runtime_cwd", "agent"):
            sys.modules.pop(name, None)
    ((folder, _, payload),) = asked()
    assert folder == payload["cwd"] == str(tmp_path / "other")


@pytest.mark.parametrize("said", ["", "no json", "[1]", '{"context": ', "null"])
def test_what_is_no_answer_is_none(hermes, tmp_path, said):
    (tmp_path / "answer").write_text(said)
    assert call(hermes, "pre_llm_call") is None


def test_nothing_of_ours_raises_into_hermes(hermes, plugin, tmp_path, monkeypatch):
    monkeypatch.setattr(plugin, "HOOK_S", 0.2)
    script(tmp_path / ".local/state/pinbox/hook", "exec sleep 60\n")
    assert call(hermes, "pre_llm_call") is None  # too late
    (tmp_path / ".local/state/pinbox/hook").write_bytes(b"\x7fELF no program")
    assert call(hermes, "pre_llm_call") is None
    (tmp_path / ".local/state/pinbox/hook").unlink()
    assert call(hermes, "pre_llm_call") is None
    (tmp_path / "a project" / "src").rmdir()
    assert call(hermes, "pre_llm_call") is None
    for event in EVENTS:
        assert hermes.hooks[event]() is None
        assert hermes.hooks[event](session_id=object(), platform=[], attempt="x") is None


# --- tools ----------------------------------------------------------------------------------------


@pytest.fixture
def words(tmp_path):
    def read():
        return (tmp_path / "words").read_bytes().decode().split("\0")[:-1]

    return read


@pytest.mark.parametrize(
    ("name", "args", "line"),
    [
        ("pin_list", {}, ["list", "--limit=20", "--status=open", "--json"]),
        (
            "pin_list",
            {"status": "all", "search": "--help"},
            ["list", "--limit=20", "--search=--help", "--json"],
        ),
        ("pin_show", {"pin_id": "-h"}, ["show", "--json", "--", "-h"]),
        (
            "pin_reply",
            {"pin_id": "pin_0123456789", "text": "--as human\n$(id) '\""},
            ["reply", "--as=agent", "--json", "--", "pin_0123456789", "--as human\n$(id) '\""],
        ),
        (
            "pin_resolve",
            {"pin_id": "--help", "note": "-x"},
            ["resolve", "--as=agent", "--note=-x", "--json", "--", "--help"],
        ),
        ("pin_resolve", {"pin_id": "p"}, ["resolve", "--as=agent", "--json", "--", "p"]),
    ],
)
def test_what_the_model_wrote_is_a_value_and_never_an_option(
    hermes, words, tmp_path, name, args, line
):
    (tmp_path / "output").write_text('{"ok": true}\n')
    toolset, schema, handler, check = hermes.tools[name]
    assert (toolset, schema["name"], check()) == ("pinbox", name, True)
    answer = handler(args, task_id="t", session_id=KEY, user_task="x")
    assert json.loads(answer) == {"ok": True}
    assert words() == line


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("pin_show", {}),
        ("pin_show", None),
        ("pin_show", {"pin_id": ["pin_0123456789"]}),
        ("pin_reply", {"pin_id": "p", "text": "a\0b"}),
        ("pin_list", {"search": 7}),
        ("pin_show", "pin_0123456789"),
    ],
)
def test_what_no_command_can_take_is_an_error_that_the_model_reads(hermes, name, args):
    answer = json.loads(hermes.tools[name][2](args))
    assert answer["ok"] is False
    assert answer["error"]["message"]


@pytest.mark.parametrize("body", ["exit 1\n", "exec sleep 60\n", "echo no json\n"])
def test_a_command_that_does_not_answer_is_an_error_too(
    hermes, plugin, tmp_path, monkeypatch, body
):
    monkeypatch.setattr(plugin, "TOOL_S", 0.2 if "sleep" in body else 20)
    script(tmp_path / ".local/bin/pinbox", body)
    assert "pinbox did not answer" in hermes.tools["pin_list"][2]({})


def test_the_program_is_the_one_that_the_launcher_runs(hermes, tmp_path):
    launcher = tmp_path / ".local/state/pinbox/hook"
    launcher.write_text(f"#!/bin/sh\n# Made by Pinbox\npy='{tmp_path}/the env/python3'\n")
    script(tmp_path / "the env" / "pinbox", "echo '{\"ours\": 1}'\n")
    assert json.loads(hermes.tools["pin_list"][2]({})) == {"ours": 1}


def test_the_command_lists_the_open_pins_that_have_the_words(hermes, words, tmp_path):
    pins = [{"n": 3, "id": "pin_0123456789", "text": "the\ntotal\x1b[2J" + 200 * "x"}]
    (tmp_path / "output").write_text(json.dumps({"ok": True, "data": pins}))
    said = hermes.commands["pinbox"]("  --total ")
    assert said.startswith("   3  pin_0123456789  the total [2Jxxx")
    assert len(said.splitlines()) == 1
    assert words()[2:] == ["--status=open", "--search=--total", "--json"]


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ('{"ok": true, "data": []}', "No open pins."),
        ('{"ok": false, "error": {"message": "no project here"}}', "pinbox: no project here"),
        ("", "pinbox: pinbox did not answer"),
    ],
)
def test_the_command_always_says_something(hermes, tmp_path, output, said):
    (tmp_path / "output").write_text(output)
    assert hermes.commands["pinbox"]("") == said


def test_the_skill_is_offered_where_init_has_put_it(hermes, plugin, monkeypatch, tmp_path):
    assert hermes.skills == {}, "without it the rest works"
    monkeypatch.setattr(plugin, "__file__", str(tmp_path / "__init__.py"))
    skill = tmp_path / "SKILL.md"
    skill.write_text("x")
    context = Context()
    plugin.register(context)
    assert context.skills == {"pinbox": skill}
