"""The worker, step by step: what is due goes out once, and the ledger says what was seen."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from delivery import acknowledge, clock, ledger, reach, services
from delivery import worker as workers
from delivery.adapters import DeliveryFailed, Outcome
from delivery.adapters.hooks import HooksAdapter
from delivery.models import Attempt, Delivery
from delivery.worker import Worker
from pinbox.contract import PinboxError
from pins.event_log import writer
from pins.models import Binding
from sessions_app import services as sessions
from sessions_app.liveness import Farewell, Process
from sessions_app.models import AgentSession

from .loop import drop, end, prompt, say, start
from .ways import Way, busy, is_openclaw, is_over, refused

pytestmark = pytest.mark.django_db
WINDOW = timedelta(minutes=10)


@pytest.fixture(autouse=True)
def ways(monkeypatch):
    """The adapters by name. The pull is the real one."""
    known = {
        "hooks": HooksAdapter(),
        "openclaw": Way("openclaw", needs=is_openclaw),
        "resume": Way("resume", takes_many=True, needs=is_over),
        "webhook": Way("webhook"),
    }
    monkeypatch.setattr(reach, "adapter", known.__getitem__)
    monkeypatch.setattr(reach, "ADAPTERS", known)
    known["webhook"].is_there = False
    return known


def now(**later):
    return datetime.now(UTC) + timedelta(**later)


def over(key="s1"):
    """A session that is over by evidence: it said goodbye a minute ago."""
    session, _ = sessions.register(agent="claude", key=key, cwd="/p/app", now=now(minutes=-1))
    with writer():
        ledger.end_session(session, now=now(minutes=-1))
    return session


def bound(session, text="Save button too small"):
    ref = {"agent": session.agent, "key": session.key}
    return drop(text, agentSession=ref)


def row(pin=None):
    rows = Delivery.objects.filter(status="pending") if pin is None else Delivery.objects
    return rows.filter(**({"pin_id": pin["id"]} if pin else {})).order_by("id").last()


def outcomes(delivery):
    return list(delivery.tries.values_list("adapter", "outcome"))


def test_a_fresh_row_of_a_live_session_waits_for_its_pull_within_the_window():
    start()
    pin = drop()
    assert row(pin).adapter == "hooks"
    assert timedelta(0) <= row(pin).due_at - row(pin).updated_at - WINDOW < timedelta(seconds=1)
    assert Worker().tick(now()) == (0, row(pin).due_at)


def test_a_pull_that_nobody_collects_moves_on_at_no_cost_and_is_delivered_by_who_acted(ways):
    ways["webhook"].is_there = True
    start()
    pin = drop()
    assert Worker().tick(now(minutes=9))[0] == 0
    assert Worker().tick(now(minutes=11))[0] == 1
    delivery = row(pin)
    assert (delivery.status, delivery.adapter, delivery.attempts) == ("delivered", "webhook", 0)
    assert (delivery.handed_over_by, delivery.due_at) == ("webhook", None)
    assert outcomes(delivery) == [("webhook", "handed_over")]
    assert delivery.acknowledged_at is None


def test_a_pull_that_is_the_only_way_waits_on_and_is_handed_over_at_the_next_turn():
    start()
    pin = drop()
    before = row(pin)
    Worker().tick(now(minutes=11))
    after = row(pin)
    assert after.status == "pending"
    assert (after.adapter, after.attempts, after.updated_at) == ("hooks", 0, before.updated_at)
    assert after.due_at > now(minutes=20)
    assert pin["id"] in prompt()
    assert row(pin).handed_over_by == "hooks"


def test_an_adopted_row_gets_an_adapter_and_a_deadline():
    pin = drop()
    assert (row(pin).adapter, row(pin).due_at) == ("none", None)
    sessions.register(agent="claude", key="s1", now=now())
    with writer():
        ledger.adopt(AgentSession.objects.get(), now=now())
    assert row(pin).adapter == "hooks"
    assert row(pin).due_at is not None


def test_a_row_that_nothing_reaches_is_looked_at_again_and_moves_on_when_something_does(ways):
    session, _ = sessions.register(agent="other", key="s1", now=now())
    pin = bound(session)
    assert row(pin).adapter == "none"
    assert Worker().tick(now(minutes=11))[0] == 0
    ways["webhook"].is_there = True
    assert Worker().tick(now(minutes=22))[0] == 1
    assert row(pin).handed_over_by == "webhook"


def test_what_waits_for_a_session_that_ends_takes_the_next_way_at_once(ways):
    start()
    pin = drop()
    end()
    assert row(pin).adapter == "resume"
    assert Worker().tick(now(seconds=20))[0] == 1
    assert row(pin).handed_over_by == "resume"
    assert pin["id"] in ways["resume"].parcels[0].text


def test_a_session_that_said_goodbye_just_now_is_not_resumed_yet(ways):
    start()
    drop()
    end()
    assert Worker().tick(now(seconds=2))[0] == 0
    assert ways["resume"].parcels == []
    assert row().due_at < now(seconds=10)


def test_a_session_whose_process_runs_is_not_resumed_even_if_it_was_ended(ways, own_process):
    session, _ = sessions.register(
        agent="claude", key="s1", cwd="/p", process=own_process, now=now(hours=-3)
    )
    with writer():
        ledger.end_session(session, now=now(hours=-2))
    pin = bound(session)
    for minutes in (1, 12, 25):
        Worker().tick(now(minutes=minutes))
    assert ways["resume"].parcels == []
    assert row(pin).status == "pending"


@pytest.fixture
def own_process():
    import os

    from pinbox import project

    return Process(os.getpid(), project.process_start(os.getpid()))


def test_a_session_whose_process_is_gone_without_a_word_is_over(ways):
    import subprocess
    import sys

    from pinbox import project

    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = Process(child.pid, project.process_start(child.pid))
    sessions.register(agent="claude", key="s1", cwd="/p", process=process, now=now())
    pin = drop()
    assert row(pin).adapter == "hooks"
    child.communicate()
    from delivery.worker import _notice_the_dead

    _notice_the_dead(now())
    assert AgentSession.objects.get().ended_by == Farewell.PROCESS.value
    assert Worker().tick(now())[0] == 1
    assert row(pin).handed_over_by == "resume"


def test_silence_is_no_evidence_of_an_end(ways):
    sessions.register(agent="claude", key="s1", cwd="/p", now=now(days=-30))
    pin = bound(AgentSession.objects.get())
    drop("another")  # looks for a live session, and ends the silent one
    assert AgentSession.objects.get().ended_by == Farewell.SILENCE.value
    for minutes in (1, 12, 25):
        Worker().tick(now(minutes=minutes))
    assert ways["resume"].parcels == []
    assert row(pin).status == "pending"


def test_one_resume_brings_everything_that_waits_for_an_ended_session(ways):
    session = over()
    pins = [bound(session, f"pin {number}") for number in range(3)]
    assert Worker().tick(now())[0] == 3
    (parcel,) = ways["resume"].parcels
    assert all(pin["id"] in parcel.text for pin in pins)
    assert set(Delivery.objects.values_list("status", "handed_over_by")) == {
        ("delivered", "resume")
    }


def test_while_one_worker_has_a_session_in_hand_another_takes_nothing_of_it():
    session = over()
    bound(session)
    one = Worker("one")
    (job,) = one.claim(now())
    bound(session, "second")
    assert Worker("two").claim(now()) == []
    one.fold(one.perform(job, spawned=lambda _: None), now())
    assert len(Worker("two").claim(now())) == 1


def test_a_busy_session_keeps_no_other_waiting(ways):
    first, second = over("s1"), over("s2")
    bound(first)
    assert len(Worker("one").claim(now())) == 1
    bound(first, "more")
    bound(second)
    (job,) = Worker("two").claim(now())
    assert job.session_id == second.id


def test_an_agent_that_does_not_know_the_session_fails_all_of_it_at_once_and_frees_its_pins(ways):
    session = over()
    ways["resume"].script = [refused("no conversation of that id")]
    ways["webhook"].is_there = True
    pin = bound(session)
    Worker().tick(now())
    delivery = row(pin)
    assert delivery.status == "failed"
    assert delivery.last_error == "E_SESSION_GONE: no conversation of that id"
    assert outcomes(delivery) == [("resume", "refused")]
    assert not Binding.objects.exists()
    start("s2")
    say(pin, "anybody?")
    assert row(pin).session_id == AgentSession.objects.get(key="s2").id


def test_a_failed_attempt_goes_to_the_next_adapter_and_five_end_it(ways):
    session = over()
    ways["webhook"].is_there = True
    ways["resume"].script = [busy(), busy(), busy()]
    ways["webhook"].script = [busy("no answer"), busy("no answer")]
    pin = bound(session)
    worker, at = Worker(), now()
    for _ in range(5):
        done, due = worker.tick(at)
        assert done == 1
        assert due is None or due > at + timedelta(seconds=26)
        at = due or at
    delivery = row(pin)
    assert delivery.status == "failed"
    assert delivery.last_error == "E_DELIVERY: the other side is busy"
    assert delivery.attempts == 5
    assert [adapter for adapter, _ in outcomes(delivery)] == [
        *("resume", "webhook", "resume", "webhook", "resume")
    ]
    assert worker.tick(at + timedelta(days=1)) == (0, None)


def test_every_retry_has_the_same_id(ways):
    ways["webhook"].is_there = True
    ways["webhook"].script = [busy(), busy()]
    drop()
    worker, at = Worker(), now()
    for _ in range(3):
        _, due = worker.tick(at)
        at = due or at
    assert len({parcel.id for parcel in ways["webhook"].parcels}) == 1
    assert [parcel.attempt for parcel in ways["webhook"].parcels] == [1, 2, 3]


def test_a_webhook_alone_gets_what_waits_for_nobody(ways):
    ways["webhook"].is_there = True
    pin = drop()
    assert Worker().tick(now())[0] == 1
    assert (row(pin).session_id, row(pin).handed_over_by) == (None, "webhook")
    assert ways["webhook"].parcels[0].target is None


def test_a_session_that_registers_does_not_take_what_a_webhook_has_in_hand(ways):
    ways["webhook"].is_there = True
    pin = drop()
    worker = Worker()
    (job,) = worker.claim(now())
    start()
    assert row(pin).session_id is None
    worker.fold(worker.perform(job, spawned=lambda _: None), now())
    assert row(pin).handed_over_by == "webhook"


def test_an_address_that_wants_no_more_calls_gets_none_until_a_person_says_so(ways):
    ways["webhook"].is_there = True
    ways["webhook"].script = [busy("it answered 410", disables=True)]
    pin, worker = drop(), Worker()
    worker.tick(now())
    assert row(pin).status == "failed"
    other = drop("second")
    assert row(other).adapter == "none"
    services.retry(delivery_id=row(pin).id, now=now())
    assert worker.tick(now())[0] == 1
    assert row(pin).status == "delivered"


def openclaw():
    session, _ = sessions.register(agent="openclaw", key="agent:main:main", now=now())
    return session


def test_what_was_only_accepted_stays_pending_until_the_session_gives_a_sign(ways):
    session = openclaw()
    ways["openclaw"].script = [Outcome(is_accepted_only=True)]
    pin = bound(session)
    Worker().tick(now())
    waiting = row(pin)
    assert (waiting.status, waiting.handed_over_at) == ("pending", None)
    acknowledge.observe(
        session="openclaw/agent:main:main", pin_id=pin["id"], sign="reply", now=now()
    )
    seen = row(pin)
    assert (seen.status, seen.handed_over_by, seen.acknowledged_by) == (
        *("delivered", "openclaw"),
        "reply",
    )
    assert Worker().tick(now(minutes=30))[0] == 0


def test_what_was_only_accepted_moves_on_after_the_window(ways):
    session = openclaw()
    ways["openclaw"].script = [Outcome(is_accepted_only=True)]
    ways["webhook"].is_there = True
    pin = bound(session)
    Worker().tick(now())
    assert Worker().tick(now(minutes=5))[0] == 0
    Worker().tick(now(minutes=11))
    Worker().tick(now(minutes=11))
    assert row(pin).handed_over_by == "webhook"


def test_what_is_in_hand_is_not_told_again_by_a_pull(ways):
    ways["webhook"].is_there = True
    start()
    pin = drop()
    worker = Worker()
    (job,) = worker.claim(now(minutes=11))
    assert f"{pin['id']}, open, new" not in prompt()
    ways["webhook"].script = [busy()]
    worker.fold(worker.perform(job, spawned=lambda _: None), now(minutes=11))
    assert f"{pin['id']}, open, new" in prompt()
    assert row(pin).handed_over_by == "hooks"


def test_a_sign_of_the_session_while_the_push_runs_counts_and_the_end_of_it_changes_nothing(ways):
    session = over()
    pin = bound(session)
    worker = Worker()
    (job,) = worker.claim(now())
    acknowledge.observe(session="claude/s1", pin_id=pin["id"], sign="resolve", now=now(seconds=1))
    ways["resume"].script = [busy()]
    worker.fold(worker.perform(job, spawned=lambda _: None), now())
    delivery = row(pin)
    assert (delivery.status, delivery.handed_over_by) == ("delivered", "resume")
    assert outcomes(delivery) == [("resume", "failed")]
    assert delivery.claimed_by == ""


def test_a_lease_that_ran_out_is_counted_as_lost_and_delivered_again_under_the_same_id(ways):
    session = over()
    pin = bound(session)
    (job,) = Worker("crashed").claim(now())
    assert Worker("next").claim(now(seconds=30)) == []
    assert Worker("next").tick(now(minutes=3))[0] == 1
    delivery = row(pin)
    assert delivery.status == "delivered"
    assert outcomes(delivery) == [("resume", "lost"), ("resume", "handed_over")]
    assert ways["resume"].parcels[0].id == job.parcel.id


def test_who_comes_back_after_its_lease_ran_out_changes_nothing(ways):
    bound(over())
    late = Worker("late")
    (job,) = late.claim(now())
    result = late.perform(job, spawned=lambda _: None)
    (again,) = Worker("next").claim(now(minutes=3))
    late.fold(result, now(minutes=3))
    assert row().claimed_by == "next"
    assert again.parcel.id == job.parcel.id


def test_what_comes_back_after_its_lease_ran_out_leaves_alone_what_the_same_worker_does_since(ways):
    pin, worker = bound(over()), Worker("one")
    (job,) = worker.claim(now())
    ways["resume"].script = [busy()]
    result = worker.perform(job, spawned=lambda _: None)
    (again,) = worker.claim(now(minutes=3))
    worker.fold(result, now(minutes=3))
    assert (row().claimed_by, row().attempts) == ("one", 0)
    worker.fold(worker.perform(again, spawned=lambda _: None), now(minutes=3))
    assert row(pin).status == "delivered"


def test_a_hub_that_dies_every_time_ends_it():
    pin, at = bound(over()), now()
    for _ in range(10):
        assert len(Worker("crashing").claim(at)) == 1
        at += timedelta(minutes=3)
    assert Worker("last").claim(at) == []
    assert row(pin).last_error.startswith("E_DELIVERY: the hub ended 10 times")


def test_a_started_agent_is_the_session_s_process_before_it_begins(ways, own_process):
    session = over()
    seen = []

    def began(parcel, spawned):
        spawned(own_process)
        seen.append(AgentSession.objects.get(pk=session.id).pid)
        return Outcome()

    ways["resume"].script = [began]
    bound(session)
    Worker().tick(now())
    assert seen == [own_process.pid]


def test_a_failed_row_is_retried_from_the_start(ways):
    ways["webhook"].is_there = True
    ways["webhook"].script = [busy() for _ in range(5)]
    pin, worker, at = drop(), Worker(), now()
    for _ in range(5):
        _, due = worker.tick(at)
        at = due or at
    assert row(pin).status == "failed"
    retried = services.retry(delivery_id=row(pin).id, now=at)
    assert (retried.status, retried.attempts, retried.last_error) == ("pending", 0, None)
    assert worker.tick(at)[0] == 1
    assert row(pin).status == "delivered"
    assert Attempt.objects.count() == 6


def test_what_is_over_or_under_way_is_not_retried():
    start()
    pin = drop()
    prompt()
    with pytest.raises(PinboxError, match="delivered") as refusal:
        services.retry(delivery_id=row(pin).id, now=now())
    assert refusal.value.code == "E_CONFLICT"
    other = bound(over("s2"))
    assert Worker().claim(now())
    with pytest.raises(PinboxError, match="under way"):
        services.retry(delivery_id=row(other).id, now=now())
    for unknown in (0, -1, 10**30):
        with pytest.raises(PinboxError, match="no delivery") as refusal:
            services.retry(delivery_id=unknown, now=now())
        assert refusal.value.code == "E_NOT_FOUND"


def test_a_pin_that_is_bound_anew_takes_along_what_is_not_delivered(ways):
    session = over()
    ways["resume"].script = [refused()]
    pin = bound(session)
    Worker().tick(now())
    start("s2")
    other = AgentSession.objects.get(key="s2")
    assert services.rebind(pin_id=pin["id"], session_id=other.id, now=now()) == 1
    assert f"{pin['id']}, open, new" in prompt("s2")
    assert row(pin).session_id == other.id
    say(pin, "and this")
    assert row(pin).session_id == other.id


def test_what_failed_in_flight_goes_on_with_the_session_the_pin_was_bound_to_meanwhile(ways):
    session = over()
    pin = bound(session)
    worker = Worker()
    (job,) = worker.claim(now())
    start("s2")
    other = AgentSession.objects.get(key="s2")
    services.rebind(pin_id=pin["id"], session_id=other.id, now=now())
    ways["resume"].script = [busy()]
    worker.fold(worker.perform(job, spawned=lambda _: None), now())
    assert (row(pin).session_id, row(pin).adapter) == (other.id, "hooks")


def test_a_session_whose_push_still_runs_gets_no_second_one_though_it_gave_a_sign(ways):
    session = openclaw()
    pin = bound(session)
    one = Worker("one")
    (job,) = one.claim(now())
    name = "openclaw/agent:main:main"
    acknowledge.observe(session=name, pin_id=pin["id"], sign="reply", now=now(seconds=1))
    assert row(pin).status == "delivered"
    bound(session, "second")
    assert Worker("two").claim(now()) == []
    one.fold(one.perform(job, spawned=lambda _: None), now())
    assert len(Worker("two").claim(now())) == 1


def test_a_sign_of_the_session_says_nothing_of_a_webhook_that_is_being_called(ways):
    ways["webhook"].is_there = True
    ways["webhook"].script = [busy()]
    start()
    pin = drop()
    worker = Worker()
    (job,) = worker.claim(now(minutes=11))
    later = now(minutes=11, seconds=1)
    acknowledge.observe(session="claude/s1", pin_id=pin["id"], sign="reply", now=later)
    assert (row(pin).status, row(pin).handed_over_by) == ("pending", "")
    acknowledge.observe(session="claude/s1", pin_id=pin["id"], sign="show", now=later)
    assert (row(pin).status, row(pin).handed_over_by) == ("delivered", "show")
    worker.fold(worker.perform(job, spawned=lambda _: None), later)
    assert row(pin).handed_over_by == "show"


@pytest.mark.parametrize("how", ["lost", "stopped", "accepted"])
def test_what_was_in_hand_while_its_agent_changed_its_key_goes_to_the_one_that_took_over(ways, how):
    ways["webhook"].is_there = True
    start(process=(9, "9"))
    pin = drop()
    worker = Worker("one")
    (job,) = worker.claim(now(minutes=11))
    ways["webhook"].is_there = False
    start("s2", source="clear", process=(9, "9"))
    if how == "lost":
        Worker("two").claim(now(minutes=15))
    else:
        stopped = DeliveryFailed("the hub is leaving", reason="stopped")
        ways["webhook"].script = [stopped if how == "stopped" else Outcome(is_accepted_only=True)]
        worker.fold(worker.perform(job, spawned=lambda _: None), now(minutes=11))
    assert row(pin).session_id == AgentSession.objects.get(key="s2").id
    assert f"{pin['id']}, open, new" in prompt("s2", process=(9, "9"))


def test_a_refusal_of_the_old_session_does_not_fail_what_was_bound_to_another_meanwhile(ways):
    session = over()
    pin = bound(session)
    worker = Worker()
    (job,) = worker.claim(now())
    start("s2")
    other = AgentSession.objects.get(key="s2")
    services.rebind(pin_id=pin["id"], session_id=other.id, now=now())
    ways["resume"].script = [refused()]
    worker.fold(worker.perform(job, spawned=lambda _: None), now())
    delivery = row(pin)
    assert (delivery.status, delivery.session_id) == ("pending", other.id)
    assert (delivery.adapter, delivery.attempts) == ("hooks", 1)


def test_what_a_webhook_alone_had_in_hand_goes_to_the_session_its_pin_was_stuck_to(ways):
    ways["webhook"].is_there = True
    pin, worker = drop(), Worker()
    (job,) = worker.claim(now())
    sessions.register(agent="claude", key="s1", now=now())
    say(pin, "and this")  # finds a live session, which has the pin from now on
    ways["webhook"].script = [busy()]
    worker.fold(worker.perform(job, spawned=lambda _: None), now())
    first = Delivery.objects.get(event_seq=1)
    assert (first.session_id, first.adapter) == (AgentSession.objects.get().id, "hooks")


def test_a_failed_row_is_retried_for_the_session_its_pin_is_stuck_to_now(ways):
    ways["resume"].script = [refused()]
    pin = bound(over())
    Worker().tick(now())
    start("s2")
    say(pin, "anybody?")
    failed = Delivery.objects.get(status="failed")
    retried = services.retry(delivery_id=failed.id, now=now())
    assert retried.session_id == AgentSession.objects.get(key="s2").id
    assert retried.adapter == "hooks"


def test_hubs_that_ended_before_a_retry_do_not_count_after_it():
    pin, at = bound(over()), now()
    for _ in range(10):
        Worker("crashing").claim(at)
        at += timedelta(minutes=3)
    Worker("next").claim(at)
    assert row(pin).status == "failed"
    services.retry(delivery_id=row(pin).id, now=at)
    Worker("crashing").claim(at)
    Worker("next").claim(at + timedelta(minutes=3))
    assert row(pin).status == "pending"


def test_what_arrived_after_a_failure_shows_no_error_any_more(ways):
    ways["webhook"].is_there = True
    ways["webhook"].script = [busy()]
    start()
    pin = drop()
    Worker().tick(now(minutes=11))
    assert row(pin).last_error == "the other side is busy"
    prompt()
    assert (row(pin).status, row(pin).last_error) == ("delivered", None)


def test_a_refusal_does_not_end_a_session_that_was_heard_of_meanwhile(ways):
    def comes_back(parcel, spawned):
        start(now=now())
        return refused()

    ways["resume"].script = [comes_back]
    pin = bound(over())
    Worker().tick(now())
    assert row(pin).status == "failed"
    assert AgentSession.objects.get().ended_at is None
    assert Binding.objects.exists()


def test_a_process_that_stayed_after_its_goodbye_and_is_gone_now_is_resumed_at_once(ways):
    import subprocess
    import sys

    from pinbox import project

    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = Process(child.pid, project.process_start(child.pid))
    session, _ = sessions.register(
        agent="claude", key="s1", cwd="/p", process=process, now=now(minutes=-3)
    )
    sessions.end(session, now=now(minutes=-2))
    pin = bound(session)
    assert row(pin).adapter == "hooks"
    child.communicate()
    workers._notice_the_dead(now())
    assert row(pin).adapter == "resume"


@pytest.fixture
def hands(monkeypatch):
    """The clock of this process, and how to set the wall's by so many hours."""
    set_by = [timedelta()]
    steady = clock.SteadyClock(lambda: datetime.now(UTC) + set_by[0])
    monkeypatch.setattr(clock, "clock", steady)
    monkeypatch.setattr(clock, "now", steady.now)

    def set_the_wall(hours):
        set_by[0] += timedelta(hours=hours)
        workers.follow_the_wall()

    return set_the_wall


@pytest.mark.parametrize("hours", [2, -2])
def test_a_clock_that_is_set_neither_hastens_nor_delays_anything(ways, hands, hours):
    ways["webhook"].is_there = True
    ways["webhook"].script = [busy()]
    start(now=clock.now())
    pins = [drop(f"pin {number}") for number in range(20)]
    late = drop("fails first", agentSession={"agent": "other", "key": "x"})
    assert Worker().tick(clock.now())[0] == 1
    hands(hours)
    assert Worker().tick(clock.now())[0] == 0, "an escalation or a retry before its time"
    assert {row(pin).adapter for pin in pins} == {"hooks"}
    assert Worker().tick(clock.now() + timedelta(seconds=40))[0] == 1, "a retry after its time"
    assert row(late).status == "delivered"
    assert workers._keeps_awake(clock.now()), "the hub leaves within the first window"
    assert Worker().tick(clock.now() + WINDOW + timedelta(seconds=5))[0] == 20


@pytest.mark.parametrize("hours", [2, -2])
def test_a_clock_that_is_set_keeps_no_sign_from_counting(ways, hands, hours):
    session, _ = sessions.register(agent="openclaw", key="k", now=clock.now())
    ways["openclaw"].script = [Outcome(is_accepted_only=True)]
    pin = bound(session)
    Worker().tick(clock.now())
    hands(hours)
    acknowledge.observe(session="openclaw/k", pin_id=pin["id"], sign="reply", now=clock.now())
    assert row(pin).handed_over_by == "openclaw"


@pytest.mark.parametrize("hours", [2, -2])
def test_a_clock_that_is_set_leaves_the_newest_session_the_newest(hands, hours):
    sessions.register(agent="claude", key="old", now=clock.now() - timedelta(minutes=5))
    sessions.register(agent="claude", key="left", now=clock.now() - timedelta(minutes=1))
    hands(hours)
    sessions.register(agent="claude", key="new", now=clock.now())
    pin = drop()
    assert row(pin).session_id == AgentSession.objects.get(key="new").id


@pytest.mark.parametrize("hours", [2, -2])
def test_a_clock_that_is_set_neither_hastens_nor_delays_a_resume(ways, hands, hours):
    session, _ = sessions.register(agent="claude", key="s1", cwd="/p", now=clock.now())
    with writer():
        ledger.end_session(session, now=clock.now())
    bound(session)
    hands(hours)
    assert Worker().tick(clock.now())[0] == 0
    assert Worker().tick(clock.now() + timedelta(seconds=16))[0] == 1


@pytest.mark.skipif(connection.vendor != "sqlite", reason="reads SQLite's query plan")
def test_no_statement_of_a_round_reads_a_table_or_everything_that_an_adapter_brought(ways):
    ways["webhook"].is_there = True
    start()
    for number in range(30):
        drop(f"pin {number}")
    worker = Worker()
    with CaptureQueriesContext(connection) as queries:
        for at in (now(), now(minutes=11), now(minutes=11)):
            workers._notice_the_dead(at)
            jobs = worker.claim(at)
            worker.next_due(at)
            workers._keeps_awake(at)
            for job in jobs:
                worker.fold(worker.perform(job, spawned=lambda _: None), at)
    asked = [query["sql"] for query in queries if query["sql"].startswith(("SELECT", "UPDATE"))]
    assert len(asked) > 30
    for sql in asked:
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN QUERY PLAN " + sql)
            plan = " | ".join(row[-1] for row in cursor.fetchall())
        assert "SCAN delivery" not in plan, (sql, plan)
        assert "SCAN agent" not in plan, (sql, plan)
        assert "delivery_status" not in plan, (sql, plan)
        assert "delivery_adapter" not in plan, (sql, plan)


def test_a_row_whose_event_is_not_in_the_log_fails_and_holds_nothing_up(ways):
    session = over()
    pin = bound(session)
    Delivery.objects.update(event_seq=900)
    good = bound(session, "good")
    start("s2")
    Worker().tick(now())
    Worker().tick(now())
    assert row(good).status == "delivered"
    assert row(pin).status in ("failed", "delivered")


def test_five_pushes_that_were_accepted_and_never_confirmed_are_five_attempts(ways):
    pin = bound(openclaw())
    ways["openclaw"].script = [Outcome(is_accepted_only=True)] * 6
    worker, at = Worker(), now()
    for _ in range(6):
        worker.tick(at)
        at += WINDOW
    delivery = row(pin)
    assert (delivery.status, delivery.attempts) == ("failed", 5)
    assert delivery.last_error.startswith("E_DELIVERY: it was accepted")
    assert len(outcomes(delivery)) == 5
