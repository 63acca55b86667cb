"""Our hooks in Claude Code's settings file: put in once, everything else kept, taken out again."""

import json

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from pinbox.install.settings import COMMAND, EVENTS, Refused, events_of, merged, without_ours

patient = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])

OURS = {"hooks": [{"type": "command", "command": COMMAND, "timeout": 10}]}
ORIGINAL = '"$CLAUDE_PROJECT_DIR/.claude/skills/pinbox/hooks/{}"'
OLDER = [
    ORIGINAL.format("session-start.sh"),
    ORIGINAL.format("inject.sh"),
    ORIGINAL.format("stop.sh"),
    "pinbox hook claude",
    "/home/ada/.local/bin/pinbox hook claude",
    '"/opt/my tools/pinbox" hook claude || true',
    "pinbox session inject --hook",
    "cd /tmp; pinbox session register --hook --agent claude",
    '"$CLAUDE_PROJECT_DIR/.pinbox/hook" claude',
]
NOT_OURS = ["pinbox list", "echo pinbox hooks", "mypinbox hook claude", "./run-hooks.sh", ""]


def command_of(content: bytes) -> dict[str, list[str]]:
    hooks = json.loads(content.removeprefix(b"\xef\xbb\xbf"))["hooks"]
    return {
        event: [entry["command"] for group in groups for entry in group["hooks"]]
        for event, groups in hooks.items()
    }


def registered(entry: dict[str, object], event: str = "Stop", **group: object) -> bytes:
    data = {"hooks": {event: [{"hooks": [entry], **group}]}, "model": "opus"}
    return json.dumps(data, indent=2).encode()


def test_an_absent_file_becomes_one_with_our_hooks():
    assert json.loads(merged(None).content) == {"hooks": {event: [OURS] for event in EVENTS}}


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"  \r\n", b"{}", b"{ }", b"{\n}\n", b"\xef\xbb\xbf{}"]
)
def test_an_empty_file_gets_our_hooks(content):
    assert merged(content).added == EVENTS
    assert command_of(merged(content).content) == {event: [COMMAND] for event in EVENTS}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "line 1"),
        (b"// comment\n{}", "not plain JSON"),
        (b'{"a": 1, // why\n"b": 2}', "line 1, column 10"),
        (b"{/* x */}", "not plain JSON"),
        (b'{"a": 1,}', "not plain JSON"),
        (b"{'a': 1}", "not plain JSON"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"hooks": {"Stop": [], "Stop": []}}', "twice"),
        (b"[]", "no JSON object"),
        (b"null", "no JSON object"),
        (b'"x"', "no JSON object"),
        (b'{"hooks": []}', '"hooks" is no object'),
        (b'{"hooks": null}', '"hooks" is no object'),
        (b'{"hooks": {"Stop": {}}}', '"hooks.Stop" is no list'),
        (b'{"hooks": {"Stop": null}}', '"hooks.Stop" is no list'),
        (b"\xff\xfe{}", "not UTF-8"),
        ("{}".encode("utf-16"), "not UTF-8"),
        (b'{"a": "\xe9"}', "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"a": ' + b"1" * 5000 + b"}", "not plain JSON"),
        (b" " * (5 * 1024 * 1024), "larger"),
        (b"{} {}", "not plain JSON"),
    ],
    ids=lambda value: repr(value[:30]),
)
def test_a_file_that_is_not_plain_json_is_refused_with_the_reason(content, reason):
    with pytest.raises(Refused, match=reason):
        merged(content)


@pytest.mark.parametrize(
    "text",
    [
        '{\n    "b": 1,\n    "a": [1, 2,3]\n}\n',
        '{\n\t"b": 1.50e+3,\n\t"a": "\\u00e9\\/"\n}',
        '{"b":1,"a":2}',
        '{"b": 1, "a": 2}\n\n',
        '{\r\n  "b": 1\r\n}\r\n',
        '\ufeff{\n  "b": "ü"\n}\n',
        '{ "b" : 1 , "a" : { } }',
        '{\n  "hooks": {\n    "Stop": [\n      {"hooks": []}\n    ]\n  },\n  "z": null\n}\n',
        '{\n  "permissions": {"allow": ["Bash(ls:*)"]}, "hooks": {}\n}',
    ],
)
def test_every_byte_that_was_there_stays_in_its_order(text):
    content = text.encode()
    after = merged(content).content
    at = 0
    for byte in content:
        at = after.index(bytes([byte]), at) + 1
    stripped = json.loads(without_ours(after, before=content) or b"{}")
    assert stripped == json.loads(content.removeprefix(b"\xef\xbb\xbf"))


def test_the_indentation_and_line_ends_of_the_file_are_used():
    after = merged(b'{\r\n\t"a": 1\r\n}\r\n').content
    assert after.count(b"\n") == after.count(b"\r\n")
    assert b'\r\n\t"hooks": {\r\n\t\t"SessionStart": [\r\n\t\t\t{' in after
    assert after.endswith(b"\r\n}\r\n")
    assert b"\n" not in merged(b'{"a":1}').content
    assert merged(b'{"a":1}').content.startswith(b'{"a":1,"hooks":{"SessionStart":[{"hooks":[{')


@pytest.mark.parametrize("command", OLDER)
def test_an_older_command_of_ours_is_renewed_where_it_stands(command):
    other = {"type": "command", "command": "echo"}
    data = {"hooks": {"Stop": [{"hooks": [other, {"type": "command", "command": command}]}]}}
    result = merged(json.dumps(data).encode())
    assert result.renewed == ("Stop",)
    assert json.loads(result.content)["hooks"]["Stop"] == [{"hooks": [other, OURS["hooks"][0]]}]


@pytest.mark.parametrize("command", NOT_OURS)
def test_a_strangers_command_is_neither_counted_nor_touched(command):
    content = registered({"type": "command", "command": command})
    assert merged(content).added == EVENTS
    assert command_of(merged(content).content)["Stop"] == [command, COMMAND]


@pytest.mark.parametrize(
    "entries",
    [
        [COMMAND, COMMAND],
        [COMMAND, OLDER[0]],
        [OLDER[0], COMMAND],
        [OLDER[0], OLDER[3], OLDER[4]],
        [OLDER[0], "echo", COMMAND, OLDER[3]],
    ],
)
@pytest.mark.parametrize("grouped", [True, False])
def test_however_often_we_were_registered_it_is_once_after(entries, grouped):
    hooks = [{"type": "command", "command": command} for command in entries]
    groups = [{"hooks": hooks}] if grouped else [{"hooks": [hook]} for hook in hooks]
    content = json.dumps({"hooks": {"Stop": groups}}, indent=1).encode()
    after = merged(content)
    assert "Stop" in after.renewed
    left = command_of(after.content)["Stop"]
    assert left.count(COMMAND) == 1
    assert [x for x in left if x != COMMAND] == [x for x in entries if x == "echo"]


def test_an_older_command_for_some_sources_only_becomes_one_for_all():
    content = registered(
        {"type": "command", "command": OLDER[0]}, event="SessionStart", matcher="startup"
    )
    assert json.loads(merged(content).content)["hooks"]["SessionStart"] == [OURS]


@pytest.mark.parametrize("timeout", [5, 60, None])
def test_a_timeout_that_the_user_changed_is_kept(timeout):
    entry = {"type": "command", "command": COMMAND} | ({"timeout": timeout} if timeout else {})
    after = merged(registered(entry))
    assert "Stop" not in after.renewed + after.added
    assert json.loads(after.content)["hooks"]["Stop"] == [{"hooks": [entry]}]


def test_events_that_a_plugin_answers_get_nothing_here():
    plugin = frozenset(("Stop", "SessionStart"))
    assert merged(b"{}", elsewhere=plugin).added == ("UserPromptSubmit", "SessionEnd")
    after = merged(merged(b"{}").content, elsewhere=plugin)
    assert after.renewed == ("SessionStart", "Stop")
    assert events_of(after.content) == {"UserPromptSubmit", "SessionEnd"}


def test_events_that_the_local_file_has_are_not_added_but_kept():
    local = frozenset(EVENTS)
    assert merged(b"{}", enough=local).added == ()
    assert merged(b"{}", enough=local).content == b"{}"
    both = merged(b"{}").content
    assert merged(both, enough=local).content == both


def test_hooks_that_are_turned_off_are_told():
    assert merged(b'{"disableAllHooks": true}').hooks_disabled is True
    assert merged(b'{"disableAllHooks": false}').hooks_disabled is False


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"hooks": 3}', b"{}"])
def test_a_file_that_cannot_be_read_registers_nothing(content):
    assert events_of(content) == frozenset()


# --- any file -------------------------------------------------------------------------------------

words = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
commands = st.sampled_from([*NOT_OURS, *OLDER, COMMAND, "echo hi"])
strangers = st.sampled_from(NOT_OURS)


def hook_files(command: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, object]]:
    entry = st.fixed_dictionaries(
        {"type": st.just("command"), "command": command}, optional={"timeout": st.integers(1, 60)}
    )
    group = st.fixed_dictionaries(
        {"hooks": st.lists(entry, max_size=3)},
        optional={"matcher": st.sampled_from(["", "*", "startup", "Bash"])},
    )
    hooks = st.dictionaries(
        st.sampled_from([*EVENTS, "PreToolUse"]), st.lists(group, max_size=3), max_size=4
    )
    return st.builds(
        lambda rest, hooks, at_end: (rest | hooks) if at_end else (hooks | rest),
        st.dictionaries(words.filter(lambda key: key not in ("hooks", "disableAllHooks")), plain),
        st.just({}) | hooks.map(lambda value: {"hooks": value}),
        st.booleans(),
    )


@st.composite
def texts(draw: st.DrawFn, command: st.SearchStrategy[str]) -> bytes:
    """A settings file in one of the styles that people and programs write."""
    data = draw(hook_files(command))
    style = draw(
        st.sampled_from(
            [
                {"indent": 2},
                {"indent": 4},
                {"indent": "\t"},
                {"indent": 0},
                {"separators": (",", ":")},
                {},
                {"indent": 2, "separators": (" ,", " : ")},
            ]
        )
    )
    text = json.dumps(data, ensure_ascii=draw(st.booleans()), **style)
    text = draw(st.sampled_from(["", "\n", " "])) + text + draw(st.sampled_from(["", "\n", "\n\n"]))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from(["", "\ufeff"])).encode() + text.encode()


@patient
@given(texts(commands))
def test_merged_twice_is_merged_once(content):
    once = merged(content)
    twice = merged(once.content)
    assert twice.content == once.content
    assert twice.added == twice.renewed == ()


@patient
@given(texts(commands))
def test_after_a_merge_each_event_is_registered_exactly_once(content):
    after = merged(content).content
    found = command_of(after)
    for event in EVENTS:
        assert found[event].count(COMMAND) == 1
        assert not set(found[event]) & set(OLDER)


@patient
@given(texts(strangers))
@example(b"{ }")
@example(b'{"hooks":{"Stop":[]}}')
@example(b'{\n"hooks": {\n"Stop": [\n]\n}\n}')
def test_what_others_wrote_means_the_same_after_merge_and_after_undo(content):
    after = merged(content).content
    before = json.loads(content.removeprefix(b"\xef\xbb\xbf"))
    now = json.loads(after.removeprefix(b"\xef\xbb\xbf"))
    assert {k: v for k, v in now.items() if k != "hooks"} == {
        k: v for k, v in before.items() if k != "hooks"
    }
    assert [k for k in now if k in before] == list(before)
    for event, groups in before.get("hooks", {}).items():
        assert now["hooks"][event][: len(groups)] == groups
    undone = without_ours(after, before=content)
    assert undone is not None
    assert json.loads(undone.removeprefix(b"\xef\xbb\xbf")) == before


@patient
@given(texts(strangers))
def test_undo_without_a_record_gives_the_bytes_back_where_nothing_was_an_empty_container(content):
    text = content.decode("utf-8-sig")
    before = json.loads(text)
    assume(
        before and "hooks" not in before or all(before.get("hooks", {}).get(e, 1) for e in EVENTS)
    )
    assume(before.get("hooks") != {})
    undone = without_ours(merged(content).content)
    assume(before != {})
    assert undone == content


@patient
@given(texts(strangers), st.sampled_from(EVENTS))
def test_what_a_user_adds_after_us_survives_undo(content, event):
    after = merged(content).content
    bom = b"\xef\xbb\xbf" if after.startswith(b"\xef\xbb\xbf") else b""
    data = json.loads(after.removeprefix(bom))
    theirs = {"matcher": "theirs", "hooks": [{"type": "command", "command": "theirs"}]}
    data["hooks"][event].append(theirs)
    data["added later"] = True
    undone = without_ours(bom + json.dumps(data, indent=2).encode(), before=content)
    assert undone is not None
    left = json.loads(undone.removeprefix(bom))
    assert left["added later"] is True
    assert left["hooks"][event][-1] == theirs
    assert events_of(undone) == frozenset()
