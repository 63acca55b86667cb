"""Values of ours in somebody's JSON: there, once, and gone again without a trace."""

import json

import pytest
from hypothesis import given

from pinbox.agents.pieces import JsonFile
from pinbox.install.json_values import with_values, without_values
from pinbox.install.settings import Refused
from tests.unit.test_settings_merge import commands, patient, texts

ENTRY = {"enabled": True, "hooks": {"allowConversationAccess": True}}
PIECE = JsonFile(
    path=None,
    values={("plugins", "entries", "pinbox"): ENTRY},
    items={("plugins", "load", "paths"): "/x/pinbox"},
)


def test_a_new_file_has_the_values_and_nothing_else():
    made = with_values(None, PIECE)
    assert json.loads(made) == {
        "plugins": {"entries": {"pinbox": ENTRY}, "load": {"paths": ["/x/pinbox"]}}
    }
    assert without_values(made, PIECE) is None


def test_they_stand_beside_what_others_have_there():
    before = b'{"plugins": {"load": {"paths": ["/y"]}, "entries": {"a": {}}}, "z": 1}'
    made = with_values(before, PIECE)
    assert json.loads(made)["plugins"]["load"]["paths"] == ["/y", "/x/pinbox"]
    assert json.loads(made)["plugins"]["entries"]["a"] == {}
    assert without_values(made, PIECE) == before


@patient
@given(texts(commands))
def test_whatever_the_file_they_are_there_once_and_go_without_a_trace(before):
    made = with_values(before, PIECE)
    assert with_values(made, PIECE) == made
    value = json.loads(made.decode("utf-8-sig"))
    assert value["plugins"]["entries"]["pinbox"] == ENTRY
    assert value["plugins"]["load"]["paths"].count("/x/pinbox") == 1
    left = without_values(made, PIECE)
    assert json.loads((left or b"{}").decode("utf-8-sig")) == json.loads(
        before.decode("utf-8-sig") or "{}"
    )


def test_another_value_of_ours_is_renewed_where_it_stands():
    made = with_values(b'{"plugins": {"entries": {"pinbox": {"old": 1}, "b": 2}}}', PIECE)
    assert list(json.loads(made)["plugins"]["entries"].items()) == [("pinbox", ENTRY), ("b", 2)]


@pytest.mark.parametrize(
    "content",
    [
        b"{// a comment\n}",
        b"[]",
        b'{"plugins": []}',
        b'{"plugins": {"load": {"paths": "x"}}}',
        b"\xff",
        b'{"a": 1, "a": 2}',
    ],
)
def test_a_file_that_cannot_be_edited_is_refused(content):
    with pytest.raises(Refused):
        with_values(content, PIECE)


def test_a_path_that_json_cannot_hold_is_refused():
    with pytest.raises(Refused):
        with_values(None, JsonFile(path=None, items={("paths",): "/home/\udcff"}))
