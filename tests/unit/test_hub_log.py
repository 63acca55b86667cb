"""What a library logs of its own ends in the hub's log too: an exception there is its type only."""

import logging
import sys

from pinbox.hub import QuietFormatter


def line_of(error, stack=None):
    try:
        raise error
    except type(error):
        told = sys.exc_info()
    record = logging.LogRecord("library", logging.ERROR, "", 1, "it failed", (), told, sinfo=stack)
    return QuietFormatter("%(levelname)s %(name)s: %(message)s").format(record)


def test_an_exception_is_told_by_its_type_alone():
    assert line_of(KeyError("a pin's text")) == "ERROR library: it failed\n(KeyError)"


def test_a_stack_is_left_out():
    line = line_of(KeyError("x"), "Stack (most recent call last):\n  secret = 1")
    assert line == "ERROR library: it failed\n(KeyError)\n(stack left out)"
