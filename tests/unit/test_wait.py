"""wait_until: what it returns, and that it gives up."""

import pytest

from tests.wait import wait_until


def test_it_returns_the_first_true_value():
    answers = iter([None, 0, "ready"])
    assert wait_until(lambda: next(answers)) == "ready"


def test_it_gives_up_at_the_deadline_and_names_what_it_waited_for():
    with pytest.raises(AssertionError, match="the moon"):
        wait_until(lambda: False, timeout=0.02, what="the moon")
