"""When the hub may leave, by a clock that only the test moves."""

import pytest

from pinbox.contract import PinboxError
from pinbox_site import idle


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def hub(clock):
    return idle.Idle(clock)


def test_the_hub_leaves_after_the_limit_and_not_before(hub, clock):
    clock.now += 9.9
    assert not hub.is_over(10)
    clock.now += 0.2
    assert hub.is_over(10)


def test_a_request_starts_the_time_anew(hub, clock):
    clock.now += 9
    hub.touch()
    clock.now += 9
    assert not hub.is_over(10)


def test_an_open_socket_keeps_the_hub_here_and_its_end_starts_the_time(hub, clock):
    with hub.busy():
        with hub.busy():
            clock.now += 100
        assert hub.open == 1
        assert not hub.is_over(10)
        clock.now += 100
    assert not hub.is_over(10)
    clock.now += 11
    assert hub.is_over(10)


def test_a_request_that_fails_is_over_all_the_same(hub, clock):
    with pytest.raises(RuntimeError), hub.busy():
        raise RuntimeError
    clock.now += 11
    assert hub.is_over(10)


def test_due_work_keeps_the_hub_here_until_it_is_done(hub, clock):
    due = [True]
    hub.stay_while(lambda: due[0])
    hub.stay_while(lambda: False)
    clock.now += 11
    assert not hub.is_over(10)
    due[0] = False
    assert hub.is_over(10)


def test_a_reason_that_fails_keeps_nobody(hub, clock, caplog):
    def broken():
        raise ValueError("broken reason")

    hub.stay_while(broken)
    clock.now += 11
    assert hub.is_over(10)
    assert "broken reason" in caplog.text


def test_reasons_are_asked_only_when_the_hub_would_leave(hub, clock):
    asked = []
    hub.stay_while(lambda: bool(asked.append(1)))
    hub.is_over(10)
    assert asked == []


def test_a_jump_of_the_wall_clock_changes_nothing(monkeypatch):
    import time

    hub = idle.Idle()
    monkeypatch.setattr(time, "time", lambda: 1e12)
    assert not hub.is_over(10)


@pytest.mark.parametrize(
    ("text", "seconds"), [("", 1800), ("  ", 1800), ("1", 0.001), ("60000", 60)]
)
def test_the_limit_is_read_in_milliseconds(text, seconds):
    assert idle.limit_s({"PINBOX_IDLE_MS": text}) == seconds


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "soon", "1e3", "٣", "9" * 20])
def test_a_limit_that_makes_no_sense_is_refused_by_name(text):
    with pytest.raises(PinboxError, match="PINBOX_IDLE_MS") as caught:
        idle.limit_s({"PINBOX_IDLE_MS": text})
    assert caught.value.code == "E_INVALID_INPUT"
