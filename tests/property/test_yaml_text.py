"""An item in a YAML list of others, put in and taken out, against PyYAML as the reader."""

import copy
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pinbox.agents.pieces import YamlItem
from pinbox.install import yaml_text
from pinbox.install.settings import Refused

PIECE = YamlItem(path=Path("/config.yaml"), keys=("plugins", "enabled"), item="pinbox")

#: the first draw of any text builds tables of Unicode, which a busy machine takes seconds for
patient = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def with_item(text: str) -> str:
    return yaml_text.with_item(text.encode(), PIECE).decode()


def without_item(text: str) -> str | None:
    found = yaml_text.without_item(text.encode(), PIECE)
    return None if found is None else found.decode()


def entered(data):
    """What a reader has to see after the item was put into `data`."""
    data = {} if data is None else copy.deepcopy(data)
    plugins = data["plugins"] = data.get("plugins") or {}
    enabled = plugins["enabled"] = plugins.get("enabled") or []
    if "pinbox" not in enabled:
        enabled.append("pinbox")
    return data


# --- by example -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "plugins:\n  enabled:\n    - pinbox\n"),
        ("# mine\n", "# mine\nplugins:\n  enabled:\n    - pinbox\n"),
        ("---\na: 1\n", "---\na: 1\nplugins:\n  enabled:\n    - pinbox\n"),
        ("a: 1", "a: 1\nplugins:\n  enabled:\n    - pinbox"),
        ("a:\n    b: 1\n", "a:\n    b: 1\nplugins:\n    enabled:\n        - pinbox\n"),
        (
            "plugins:\n  enabled:\n  - one  # first\n\nz: 1\n",
            "plugins:\n  enabled:\n  - one  # first\n  - pinbox\n\nz: 1\n",
        ),
        (
            "plugins:\n  enabled:\n    -   'one'\n  disabled: []\n",
            "plugins:\n  enabled:\n    -   'one'\n    -   pinbox\n  disabled: []\n",
        ),
        (
            'plugins:\n  enabled: [one, "two" ] # mine\n',
            'plugins:\n  enabled: [one, "two", pinbox ] # mine\n',
        ),
        ("plugins:\n  enabled: []  # none\n", "plugins:\n  enabled: [pinbox]  # none\n"),
        ("plugins:\n  enabled:\nz: 1\n", "plugins:\n  enabled:\n    - pinbox\nz: 1\n"),
        ("plugins: {} # none\n", "plugins: # none\n  enabled:\n    - pinbox\n"),
        (
            "plugins:\n  # of mine\n  disabled: [x]\nz: |\n  plugins:\n",
            "plugins:\n  enabled:\n    - pinbox\n  # of mine\n  disabled: [x]\nz: |\n  plugins:\n",
        ),
        ('"plugins":\n  "enabled": [one]\n', '"plugins":\n  "enabled": [one, pinbox]\n'),
        (
            "\ufeffplugins:\r\n  enabled:\r\n  - one\r\n",
            "\ufeffplugins:\r\n  enabled:\r\n  - one\r\n  - pinbox\r\n",
        ),
        (
            "a: \"two\n  lines: of it\"\nb: 'it''s\n  - one'\nplugins: {}\n",
            "a: \"two\n  lines: of it\"\nb: 'it''s\n  - one'\nplugins:\n  enabled:\n    - pinbox\n",
        ),
    ],
)
def test_the_item_goes_into_the_list_and_every_other_byte_stays(before, after):
    assert with_item(before) == after
    assert yaml.safe_load(after) == entered(yaml.safe_load(before))
    assert with_item(after) == after


@pytest.mark.parametrize(
    "before",
    [
        "a: 1\n",
        "plugins:\n  enabled:\n  - one\n  - two\nz: 1\n",
        "plugins:\n  enabled: [one]\n",
        "plugins:\n  disabled: [x]\n",
        "a: 1\r\nb:\r\n   - 2\r\n",
        "# only words\n",
    ],
)
def test_taken_out_again_the_file_is_as_it_was(before):
    assert without_item(with_item(before)) == before


@pytest.mark.parametrize("before", [b"", None])
def test_of_a_file_that_held_nothing_else_nothing_is_left(before):
    assert yaml_text.without_item(yaml_text.with_item(before, PIECE), PIECE) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("plugins:\n  enabled: [pinbox, two]\n", "plugins:\n  enabled: [two]\n"),
        ("plugins:\n  enabled: [one, 'pinbox', two]\n", "plugins:\n  enabled: [one, two]\n"),
        ("plugins:\n  enabled: ['pinbox']  # x\n  disabled: []\n", "plugins:\n  disabled: []\n"),
        ("plugins:\n- pinbox\n", "plugins:\n- pinbox\n"),
        ("plugins:\n  enabled: [other]\n", "plugins:\n  enabled: [other]\n"),
        ("plugins:\n  other:\n  - pinbox\n", "plugins:\n  other:\n  - pinbox\n"),
    ],
)
def test_only_our_item_is_taken_out(before, after):
    try:
        assert without_item(before) == after
    except Refused:
        assert before == after


@pytest.mark.parametrize(
    "text",
    [
        "plugins: &mine\n  enabled: []\n",
        "plugins: *mine\n",
        "base: &b {}\n<<: *b\nplugins:\n  enabled: [one]\n",
        "plugins:\n\tenabled: []\n",
        "a: 1\n---\nb: 2\n",
        "%YAML 1.1\n---\na: 1\n",
        "a: 1\n...\n",
        "plugins: {enabled: [one]}\n",
        "plugins:\n  enabled: [one,\n    two]\n",
        "plugins:\n  enabled: [[one]]\n",
        "plugins:\n  enabled: one\n",
        "plugins:\n  enabled:\n  - name: one\n",
        "plugins:\n  enabled:\n  - |\n    one\n",
        "plugins:\n  enabled:\n  - *one\n",
        "plugins:\n  enabled: !!set {}\n",
        "plugins: {}\nplugins: {}\n",
        "- a\n- b\n",
        "just words\n",
        "{}\n",
        "? complex\n: 1\n",
        "  plugins: {}\n",
        'a: "text that goes on\nplugins: at the margin"\n',
        "a: [1,\nplugins, 2]\n",
        '"plug\\u0069ns": {}\n',
        "a: 1\r\nb: 2\n",
        "a: 1\u2028b: 2\n",
        "a: |\n  no end",
    ],
)
def test_what_could_be_misread_is_refused(text):
    with pytest.raises(Refused):
        with_item(text)


@pytest.mark.parametrize("content", [b"plugins: &a {}\n", b"\xff\xfea\0", b"a: [\n", b""])
def test_from_a_file_without_our_word_nothing_is_taken_however_it_is_written(content):
    assert yaml_text.without_item(content, PIECE) == content


def test_a_file_that_has_our_word_and_cannot_be_read_is_refused():
    with pytest.raises(Refused):
        without_item("plugins: &a\n  enabled: [pinbox]\n")


@pytest.mark.parametrize("content", [b"\xff\xfea\0:\0", b"a: \xe9\n"])
def test_what_is_no_utf_8_is_refused(content):
    with pytest.raises(Refused):
        yaml_text.with_item(content, PIECE)


# --- by chance ------------------------------------------------------------------------------------

words = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30) | st.sampled_from(
    ["plugins", "enabled", "pinbox", "a: b", "- a", "it's", "# no", "|", "two\nlines\n\n", "x\n y"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
lists = st.none() | st.lists(st.sampled_from(["one", "two-three", "pinbox", "4", "on"]), max_size=3)
configs = st.builds(
    lambda some, plugins: some | plugins,
    st.dictionaries(words, values, max_size=4).filter(lambda data: "plugins" not in data),
    st.just({})
    | st.builds(lambda value: {"plugins": value}, st.none() | st.just({}))
    | st.builds(
        lambda value, more: {"plugins": {**more, "enabled": value}},
        lists,
        st.dictionaries(words, values, max_size=2),
    ),
)


@patient
@given(
    configs,
    st.sampled_from([None, False]),
    st.integers(2, 6),
    st.sampled_from([20, 80]),
    st.sampled_from([None, '"', "'", "|", ">"]),
    st.booleans(),
)
def test_whatever_a_program_wrote_is_changed_by_one_item_or_refused(
    data, flow, indent, width, quotes, is_shuffled
):
    text = yaml.safe_dump(
        data,
        default_flow_style=flow,
        indent=indent,
        width=width,
        default_style=quotes,
        allow_unicode=is_shuffled,
        sort_keys=is_shuffled,
    )
    hold(text)


#: Lines and ends of lines that lead a reader astray.
pieces = st.sampled_from(
    [
        *("plugins:", "enabled:", "plugins: ", "  enabled:", "  - one", "- one", "    - pinbox"),
        *("  enabled: [one]", " enabled: []", "a: |", "  b: >-", "  text", "- |", "- b: |"),
        *('a: "', "a: '", 'b"', "b'", "a: [", "a: {", "]", "}", "# plugins:", "  # no", ": x"),
        *("- - a", "-", "? a", "a: !!str", "a: &x", "b: *x", "key: value # no", "a:b: c", "- 'a"),
        *("\\", '"a\\"": "', "'it''s': '", "  enabled: one", "  disabled:", "- a: [", "null"),
    ]
)


@patient
@given(st.lists(st.tuples(pieces, st.sampled_from(["\n", "\n", "\n", " ", "\n\n", "\n  "]))))
def test_any_lines_that_a_reader_takes_are_changed_by_one_item_or_refused(parts):
    hold("".join(piece + end for piece, end in parts))


def hold(text: str) -> None:
    """Put in, the item is all that a reader sees changed; taken out, all is as it was."""
    try:
        before = yaml.safe_load(text)
        json.dumps(before, default=str)  # nothing that holds itself
    except (yaml.YAMLError, ValueError, TypeError):
        assume(False)
    try:
        after = with_item(text)
    except Refused:
        return
    assert yaml.safe_load(after) == entered(before)
    assert with_item(after) == after
    if after == text:
        return
    rest = without_item(after)
    seen = yaml.safe_load(rest) if rest is not None else None
    had = isinstance(before, dict) and (before.get("plugins") or {}).get("enabled")
    if had or "plugins" not in (before or {}):
        assert (rest or "") == text or seen == before
    assert rest is None or without_item(rest) == rest
