"""The one place where a test waits: for a condition, under a deadline."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: Seconds between two looks. Short, because most conditions come true within a few milliseconds.
_INTERVAL_S = 0.01


def wait_until(condition: Callable[[], T], timeout: float = 10.0, what: str = "") -> T:
    """Call `condition` until it returns something true, and return that.

    Fails with AssertionError after `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise AssertionError(f"not true within {timeout:g} s: {what or condition!r}")
        time.sleep(_INTERVAL_S)
