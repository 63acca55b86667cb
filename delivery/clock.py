"""The clock by which deliveries fall due: it moves forward at the pace of time, whatever is done to
the wall clock. The worker puts both together again, and moves what is due by as much
(`worker.follow_the_wall`), so that a jump neither makes everything due at once nor holds it back.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class SteadyClock:
    """`wall` gives aware instants, `steady` seconds that only move forward."""

    def __init__(
        self,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall = wall
        self._steady = steady
        self.set_to_wall()

    def now(self) -> datetime:
        return self._began + timedelta(seconds=self._steady() - self._began_s)

    def ahead_of_us(self) -> timedelta:
        """By how much the wall clock was set forward (or back, when negative) since we began."""
        return self._wall() - self.now()

    def set_to_wall(self) -> None:
        self._began = self._wall()
        self._began_s = self._steady()


#: This process's own.
clock = SteadyClock()
now = clock.now
