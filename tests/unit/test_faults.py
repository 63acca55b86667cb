"""Where an exception comes from, without a word of what it says."""

import json
import logging

import pytest

from pinbox import light_json
from pinbox.faults import Outage, place_of


def test_the_last_lines_of_ours_are_told_and_not_what_they_say():
    with pytest.raises(ValueError, match=".") as caught:
        light_json.loads(b'{"secret":')
    place = place_of(caught.value)
    assert "pinbox/light_json.py:" in place
    assert "secret" not in place


def test_what_a_library_raises_is_told_by_its_innermost_line():
    with pytest.raises(ValueError, match=".") as caught:
        json.loads("{")
    assert place_of(caught.value).startswith("json/decoder.py:")


def test_what_never_was_raised_comes_from_nowhere():
    assert place_of(KeyError("x")) == "nowhere"


def test_an_outage_is_told_once_and_once_that_it_is_over(caplog):
    caplog.set_level(logging.INFO)
    outage = Outage(logging.getLogger("pins"), "nothing comes", "it comes again")
    outage.ends()
    for _ in range(3):
        outage.begins(ValueError("words of a pin"))
    for _ in range(2):
        outage.ends()
    assert caplog.messages == ["nothing comes: ValueError", "it comes again"]
    outage.begins(OSError())
    assert caplog.messages[2:] == ["nothing comes: OSError"]
