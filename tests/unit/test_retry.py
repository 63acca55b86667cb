"""What follows a delivery that did not come to its end, case by case."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.adapters import ORDER
from delivery.retry import (
    MAX_ATTEMPTS,
    PULLS,
    Failure,
    Verdict,
    after_failure,
    after_window,
    backoff,
    following,
)

WINDOW = timedelta(minutes=10)
BUSY = Failure(message="busy")
GONE = Failure(message="no such session", code="E_SESSION_GONE", is_terminal=True)


@pytest.mark.parametrize(
    ("attempts_before", "wait"),
    [(0, 30), (1, 120), (2, 480), (3, 900), (4, 900), (50, 900), (10**6, 900)],
)
def test_the_wait_is_30_s_times_4_each_time_and_at_most_15_min(attempts_before, wait):
    assert backoff(attempts_before) == timedelta(seconds=wait)


@given(st.integers(0, 10**9), st.floats(0, 1), st.floats(0, 1))
def test_jitter_stays_within_ten_percent_and_never_reorders_the_waits(attempts, one, other):
    wait = backoff(attempts)
    assert wait * 0.9 <= backoff(attempts, fraction=one) <= wait * 1.1
    assert backoff(attempts, fraction=one) <= backoff(attempts + 1, fraction=other) or wait >= (
        timedelta(minutes=15)
    )


@pytest.mark.parametrize(
    ("adapter", "reachable", "wanted"),
    [
        ("hooks", ["hooks", "resume", "webhook"], "resume"),
        ("resume", ["hooks", "resume", "webhook"], "webhook"),
        ("webhook", ["hooks", "resume", "webhook"], "hooks"),
        ("webhook", ["openclaw", "webhook"], "openclaw"),
        ("webhook", ["webhook"], None),
        ("resume", ["resume"], None),
        ("resume", [], None),
        ("none", ["webhook"], "webhook"),
        ("none", [], None),
    ],
)
def test_the_next_reachable_adapter_in_the_order_follows_and_never_itself(
    adapter, reachable, wanted
):
    assert following(adapter, reachable) == wanted


def failed(adapter, attempts, reachable, failure=BUSY):
    return after_failure(
        adapter=adapter,
        attempts=attempts,
        failure=failure,
        reachable=reachable,
        window=WINDOW,
        fraction=0.5,
    )


@pytest.mark.parametrize(
    ("adapter", "attempts", "reachable", "failure", "wanted"),
    [
        pytest.param(
            *("webhook", 0, ["webhook"], BUSY),
            Verdict(adapter="webhook", wait=timedelta(seconds=30), attempts=1, error="busy"),
            id="a sole adapter tries again itself",
        ),
        pytest.param(
            *("resume", 1, ["resume", "webhook"], BUSY),
            Verdict(adapter="webhook", wait=timedelta(minutes=2), attempts=2, error="busy"),
            id="another reachable one takes the next attempt",
        ),
        pytest.param(
            *("webhook", 1, ["hooks", "webhook"], BUSY),
            Verdict(adapter="hooks", wait=WINDOW, attempts=2, error="busy"),
            id="a pull gets its whole window",
        ),
        pytest.param(
            *("webhook", 4, ["webhook"], BUSY),
            Verdict(
                has_failed=True,
                adapter="webhook",
                wait=None,
                attempts=5,
                error="E_DELIVERY: busy",
            ),
            id="the fifth failure is the last",
        ),
        pytest.param(
            *("resume", 0, ["resume", "webhook"], GONE),
            Verdict(
                has_failed=True,
                adapter="resume",
                wait=None,
                attempts=1,
                error="E_SESSION_GONE: no such session",
            ),
            id="a refusal is final at once, whoever else could be reached",
        ),
        pytest.param(
            *("webhook", 0, ["webhook"], Failure(message="later", retry_after_s=300)),
            Verdict(adapter="webhook", wait=timedelta(minutes=5), attempts=1, error="later"),
            id="who asks for more time gets it",
        ),
        pytest.param(
            *("webhook", 2, ["webhook"], Failure(message="later", retry_after_s=1)),
            Verdict(adapter="webhook", wait=timedelta(minutes=8), attempts=3, error="later"),
            id="but never less than our own wait",
        ),
        pytest.param(
            *("webhook", 0, ["webhook"], Failure(message="later", retry_after_s=1e12)),
            Verdict(adapter="webhook", wait=timedelta(hours=24), attempts=1, error="later"),
            id="nor more than a day",
        ),
        pytest.param(
            *("webhook", 0, ["openclaw", "webhook"]),
            Failure(message="later", retry_after_s=3000),
            Verdict(adapter="openclaw", wait=timedelta(seconds=30), attempts=1, error="later"),
            id="another adapter does not wait for it",
        ),
    ],
)
def test_a_failed_attempt(adapter, attempts, reachable, failure, wanted):
    assert failed(adapter, attempts, reachable, failure) == wanted


@pytest.mark.parametrize(
    ("adapter", "attempts", "reachable", "wanted"),
    [
        pytest.param(
            *("hooks", 0, ["hooks", "resume", "webhook"]),
            Verdict(adapter="resume", wait=timedelta(), attempts=0),
            id="a pull moves on at once and costs no attempt",
        ),
        pytest.param(
            *("hooks", 3, ["hooks"]),
            Verdict(adapter="hooks", wait=WINDOW, attempts=3),
            id="a pull that is the only way waits on",
        ),
        pytest.param(
            *("hooks", 0, []),
            Verdict(adapter="none", wait=WINDOW, attempts=0),
            id="what nothing reaches is looked at again",
        ),
        pytest.param(
            *("none", 0, ["hooks", "webhook"]),
            Verdict(adapter="hooks", wait=WINDOW, attempts=0),
            id="what became reachable starts from the first",
        ),
        pytest.param(
            *("openclaw", 0, ["openclaw", "webhook"]),
            Verdict(
                adapter="webhook",
                wait=timedelta(),
                attempts=1,
                error="it was accepted, but the session gave no sign of it",
            ),
            id="an accepted push without a sign moves on",
        ),
        pytest.param(
            *("openclaw", 4, ["openclaw"]),
            Verdict(
                has_failed=True,
                adapter="openclaw",
                wait=None,
                attempts=5,
                error="E_DELIVERY: it was accepted, but the session gave no sign of it",
            ),
            id="but not for ever",
        ),
    ],
)
def test_a_window_that_ended(adapter, attempts, reachable, wanted):
    assert (
        after_window(adapter=adapter, attempts=attempts, reachable=reachable, window=WINDOW)
        == wanted
    )


@given(st.sampled_from([*ORDER, "none"]), st.lists(st.sampled_from(ORDER), unique=True))
def test_whatever_is_reachable_a_delivery_ends_after_five_failures(adapter, reachable):
    attempts = 0
    for _ in range(MAX_ATTEMPTS):
        # Only a push can fail; a pull that is next moves on when its window ends.
        while adapter in PULLS and (other := following(adapter, reachable)):
            adapter = other
            if other in PULLS:
                break
        verdict = failed(adapter, attempts, reachable)
        attempts, adapter = verdict.attempts, verdict.adapter
    assert verdict.has_failed
    assert attempts == MAX_ATTEMPTS
