"""When the hub may leave: nothing asked for a while, no socket open, no work due.

All times are of the monotonic clock, so a jump of the wall clock neither ends nor prolongs
anything.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pinbox.contract import PinboxError

logger = logging.getLogger(__name__)

DEFAULT_IDLE_MS: Final = 1_800_000


class Idle:
    """Counts what keeps the hub here. `clock` gives seconds that only move forward."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = clock()
        self._busy = 0
        self._reasons: list[Callable[[], bool]] = []

    def touch(self) -> None:
        """Somebody asked for something: the time starts again."""
        self._last = self._clock()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """A request under way or an open socket; the time starts when the last one ends."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            self.touch()

    @property
    def open(self) -> int:
        """How many requests and sockets are open."""
        return self._busy

    def stay_while(self, is_due: Callable[[], bool]) -> None:
        """Register a reason to stay: while `is_due()` is true, the hub does not leave.

        It is asked at most once a second, and only when the hub would leave otherwise.
        """
        self._reasons.append(is_due)

    def is_over(self, limit_s: float) -> bool:
        """Whether the hub may leave, having been idle for `limit_s` seconds."""
        if self._busy or self._clock() - self._last < limit_s:
            return False
        return not any(self._is_due(reason) for reason in self._reasons)

    @staticmethod
    def _is_due(reason: Callable[[], bool]) -> bool:
        try:
            return reason()
        except Exception:
            logger.exception("a reason to stay could not be asked")
            return False


#: This process's own.
idle = Idle()
touch = idle.touch
stay_while = idle.stay_while


def limit_s(environ: Mapping[str, str] = os.environ) -> float:
    """`PINBOX_IDLE_MS` in seconds; E_INVALID_INPUT unless it is a positive integer."""
    text = environ.get("PINBOX_IDLE_MS", "").strip() or str(DEFAULT_IDLE_MS)
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 16 and int(text) > 0):
        raise PinboxError(
            "E_INVALID_INPUT",
            "PINBOX_IDLE_MS is not a positive number of milliseconds",
            f"unset it for the default of {DEFAULT_IDLE_MS}",
        )
    return int(text) / 1000
