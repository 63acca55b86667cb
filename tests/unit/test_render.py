"""What people and programs are shown, whatever a pin's text contains."""

import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pinbox import render

NOW = 1_786_032_000.0  # 2026-08-06T16:00:00Z

HOSTILE = [
    "\x1b[2Jcleared",
    "\x1b]52;c;c2VjcmV0\x07clipboard",
    "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "bell\x07",
    "c1 \x9b31m red",
    "\u202egnp.exe",
    "\u2066isolate\u2069",
    "\u200e\u200f\u061cmarks",
    "line\u2028separator\u2029s\x85",
    "back\x08space \x7f",
    "carriage\rreturn\r\nover",
    "lone \ud83d surrogate",
]

json_values = st.recursive(
    st.text() | st.integers() | st.none(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def is_obeyed_by_a_terminal(char: str) -> bool:
    code = ord(char)
    return (
        (code < 0x20 and char not in "\n\t")
        or 0x7F <= code <= 0x9F
        or unicodedata.bidirectional(char)
        in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
        or char in "\u200e\u200f\u061c\u2028\u2029"
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_no_control_or_bidi_character_reaches_a_person(text):
    shown = render.for_people(text).decode()
    assert not [char for char in shown if is_obeyed_by_a_terminal(char)]


@given(st.text(st.characters(codec=None)))
@example("".join(HOSTILE))
def test_cleaned_text_is_clean_and_cleaning_again_changes_nothing(text):
    shown = render.plain(text)
    assert not any(is_obeyed_by_a_terminal(char) for char in shown)
    assert render.plain(shown) == shown
    shown.encode()


@given(
    st.text(
        st.characters(
            exclude_categories=["Cc", "Cs", "Zl", "Zp"],
            exclude_characters="\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
        )
    )
)
def test_harmless_text_is_shown_as_it_is(text):
    assert render.plain(text) == text


@given(json_values)
@example({"text": "".join(HOSTILE), "日本語": "\x7f\u202e"})
def test_the_envelope_keeps_every_character_and_prints_none_that_a_terminal_obeys(data):
    document = render.envelope(data)
    assert json.loads(document) == {"ok": True, "data": data}
    assert not [char for char in document.decode() if is_obeyed_by_a_terminal(char)]


def test_the_envelope_is_one_document_with_two_spaces_an_indent():
    assert render.envelope({"open": 1}) == b'{\n  "ok": true,\n  "data": {\n    "open": 1\n  }\n}\n'


def test_a_missing_hint_is_absent_from_an_error():
    assert json.loads(render.error_envelope("E_INTERNAL", "no", None)) == {
        "ok": False,
        "error": {"code": "E_INTERNAL", "message": "no"},
    }


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "just now"),
        (0, "just now"),
        (29, "just now"),
        (30, "1m ago"),
        (150, "3m ago"),
        (59 * 60, "59m ago"),
        (59.6 * 60, "1h ago"),
        (90 * 60, "2h ago"),
        (23.4 * 3600, "23h ago"),
        (23.6 * 3600, "1d ago"),
        (36 * 3600, "2d ago"),
        (400 * 86400, "400d ago"),
    ],
)
def test_ages_are_rounded(seconds, said):
    assert render.age("2026-08-06T16:00:00.000Z", NOW + seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-3600, "now"),
        (0.9, "now"),
        (1, "in 1s"),
        (59.9, "in 59s"),
        (60, "in 1m"),
        (570, "in 10m"),
        (3570, "in 1h"),
        (90_000, "in 25h"),
    ],
)
def test_what_is_left_is_rounded_and_never_negative(seconds, said):
    assert render.left("2026-08-06T16:00:00.000Z", NOW - seconds) == said


def test_wide_characters_take_two_columns_and_line_up():
    table = render.columns([("日本", "a"), ("x", "b"), ("e\u0301", "c")])
    assert table == "日本  a\nx     b\ne\u0301     c"


@given(st.text(), st.integers(1, 40))
def test_a_cut_line_is_never_wider_than_asked(text, columns):
    line = render.one_line(text)
    assert render.width_of(render.cut(line, columns)) <= columns


def test_text_that_fits_is_not_cut():
    assert render.cut("abc", 3) == "abc"
    assert render.cut("abcd", 3) == "ab…"


def test_a_newline_in_a_pin_cannot_make_a_row():
    pin = {
        "id": "pin_aaaaaaaaaa",
        "status": "open",
        "createdAt": "2026-08-06T15:00:00.000Z",
        "text": "first\npin_bbbbbbbbbb  resolved  1h ago",
    }
    table = render.pin_table([pin], now=NOW, screen=None)
    assert table == "pin_aaaaaaaaaa  open  1h ago   —  first pin_bbbbbbbbbb resolved 1h ago"


def test_a_list_fits_its_terminal():
    pin = {
        "id": "pin_aaaaaaaaaa",
        "status": "open",
        "createdAt": "2026-08-06T15:00:00.000Z",
        "target": {"selector": "main > section:nth-of-type(3) > div.card > button.save"},
        "text": "The save button is far too small to hit " * 5,
    }
    for screen in (80, 120):
        (line,) = render.pin_table([pin], now=NOW, screen=screen).splitlines()
        assert len(line) <= screen
        assert line.endswith("…")


def test_further_lines_of_a_value_stand_under_it():
    shown = render.facts([("text", "one\nstatus    resolved"), ("url", None)])
    assert shown == "text      one\n          status    resolved"


@pytest.mark.parametrize(
    ("target", "place"),
    [
        (None, None),
        ({}, None),
        ({"selector": "a", "url": "u", "source": {"file": "f", "via": "none"}}, "a"),
        ({"url": "u", "source": {"file": "f", "line": 3, "via": "none"}}, "f:3"),
        ({"url": "u", "source": {"file": "f", "via": "none"}}, "f"),
        ({"url": "u", "source": {"file": "", "via": "none"}}, "u"),
    ],
)
def test_a_place_is_the_selector_else_the_source_else_the_url(target, place):
    assert render.locus(target) == place


def test_a_silly_width_in_the_environment_is_ignored(monkeypatch):
    for silly in ("0", "-1", "many", "9" * 30, ""):
        monkeypatch.setenv("COLUMNS", silly)
        assert render.screen_width(fd=99) is None
    monkeypatch.setenv("COLUMNS", "72")
    assert render.screen_width(fd=99) == 72
