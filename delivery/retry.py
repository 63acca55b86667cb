"""What follows when a delivery did not come to its end: try again, move on, or give up. Pure.

See docs/architecture.md, "Delivery".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from .adapters import ORDER

#: Attempts in all, before a delivery counts as failed.
MAX_ATTEMPTS: Final = 5
#: Adapters that wait to be asked.
PULLS: Final = frozenset({"hooks", "none"})
#: How often a hub may end in the middle of one delivery before that counts as failed.
MAX_LOSSES: Final = 10
_FIRST_WAIT: Final = timedelta(seconds=30)
_FACTOR: Final = 4
_LONGEST_WAIT: Final = timedelta(minutes=15)
#: The longest wait that the other side may ask for.
_LONGEST_ASKED: Final = timedelta(hours=24)
_JITTER: Final = 0.1
#: An agent that said goodbye is looked for again after so long.
LEAVING_WAIT: Final = timedelta(seconds=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An attempt that came to nothing. `retry_after_s` is what the other side asked for."""

    message: str
    code: str = "E_DELIVERY"
    is_terminal: bool = False
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of the row. `adapter` takes the next attempt, `wait` from now; `wait` is None
    when nothing is to follow by itself. `error` is None where it stays as it was.
    """

    has_failed: bool = False
    adapter: str
    wait: timedelta | None
    attempts: int
    error: str | None = None


def backoff(attempts_before: int, *, fraction: float = 0.5) -> timedelta:
    """The wait after an attempt that had `attempts_before` failed ones before it: 30 s, 2 min,
    8 min, 15 min, and not longer. `fraction` from 0 to 1 places it within ±10 %.
    """
    # Capped before it is multiplied: the power alone would be too large for a timedelta.
    wait = min(_FIRST_WAIT * float(_FACTOR ** min(attempts_before, 8)), _LONGEST_WAIT)
    return wait * (1 + _JITTER * (2 * fraction - 1))


def following(adapter: str, reachable: Sequence[str]) -> str | None:
    """The reachable adapter after `adapter`, the first one again after the last; never itself."""
    if adapter in ORDER:
        at = ORDER.index(adapter)
        order = ORDER[at + 1 :] + ORDER[:at]
    else:
        order = ORDER
    return next((name for name in order if name in reachable), None)


def after_failure(
    *,
    adapter: str,
    attempts: int,
    failure: Failure,
    reachable: Sequence[str],
    window: timedelta,
    fraction: float,
) -> Verdict:
    """`attempts` is without the one that just failed. The next reachable adapter takes the next
    attempt; a sole one tries again itself, and waits at least as long as the other side asked.
    """
    attempts += 1
    told = f"{failure.code}: {failure.message}"
    if failure.is_terminal:
        return Verdict(has_failed=True, adapter=adapter, wait=None, attempts=attempts, error=told)
    if attempts >= MAX_ATTEMPTS:
        told = f"E_DELIVERY: {failure.message}"
        return Verdict(has_failed=True, adapter=adapter, wait=None, attempts=attempts, error=told)
    wait = backoff(attempts - 1, fraction=fraction)
    other = following(adapter, reachable)
    if other in PULLS:
        wait = window
    elif other is None and failure.retry_after_s is not None:
        wait = max(wait, min(timedelta(seconds=failure.retry_after_s), _LONGEST_ASKED))
    return Verdict(
        adapter=other or adapter, wait=wait, attempts=attempts, error=failure.message or told
    )


def after_window(
    *, adapter: str, attempts: int, reachable: Sequence[str], window: timedelta
) -> Verdict:
    """Nobody collected it, or no sign came that it arrived, within the window: the next reachable
    adapter takes over at once. A pull that is the only way waits on, and costs no attempt. A push
    that was accepted and never confirmed is an attempt that came to nothing.
    """
    if adapter in PULLS:
        other = following(adapter, reachable)
        return Verdict(
            adapter=other or ("hooks" if "hooks" in reachable else "none"),
            wait=window if other is None or other in PULLS else timedelta(),
            attempts=attempts,
        )
    silence = "it was accepted, but the session gave no sign of it"
    attempts += 1
    if attempts >= MAX_ATTEMPTS:
        told = f"E_DELIVERY: {silence}"
        return Verdict(has_failed=True, adapter=adapter, wait=None, attempts=attempts, error=told)
    other = following(adapter, reachable)
    return Verdict(
        adapter=other or adapter,
        wait=window if other in PULLS else timedelta(),
        attempts=attempts,
        error=silence,
    )
