"""OpenClaw's plugin at the hub: it asks at each turn, so a push to its session only wakes it."""

import json
import os
from datetime import UTC, datetime, timedelta

import pytest

from delivery import reach
from delivery.adapters import DeliveryFailed, Outcome
from delivery.adapters.hooks import HooksAdapter
from delivery.models import Delivery
from delivery.worker import Worker
from pinbox import project
from sessions_app import services as sessions
from sessions_app.models import AgentSession

from .loop import drop, say
from .ways import Way, is_openclaw

pytestmark = pytest.mark.django_db

KEY = "agent:main:main"
ACCEPTED = Outcome(is_accepted_only=True)


@pytest.fixture
def ways(monkeypatch):
    """The adapters by name. The pull is the real one."""
    known = {
        "hooks": HooksAdapter(),
        "openclaw": Way("openclaw", needs=is_openclaw),
        "webhook": Way("webhook"),
    }
    monkeypatch.setattr(reach, "adapter", known.__getitem__)
    monkeypatch.setattr(reach, "ADAPTERS", known)
    known["webhook"].is_there = False
    return known


def now(**later):
    return datetime.now(UTC) + timedelta(**later)


def asked(hub, event, key=KEY, **payload):
    """What the gateway's plugin gets at that event, with the gateway as the process behind it."""
    context = {"sessionKey": key, "sessionId": "id-1", "workspaceDir": "/p/app"}
    body = json.dumps({"event": event, "payload": payload, "ctx": context}).encode()
    gateway = f"{os.getpid()}:{project.process_start(os.getpid())}"
    answer = hub.raw("POST", "/hooks/openclaw", body, headers={"X-Pinbox-Ppid": gateway})
    assert answer.status_code == 200
    return json.loads(answer.content) if answer.content else None


def prompt(hub, **more):
    return (asked(hub, "before_prompt_build", **more) or {}).get("appendContext", "")


def stop(hub, **more):
    return asked(hub, "before_agent_finalize", stopHookActive=False, **more)


def of(pin):
    return Delivery.objects.filter(pin_id=pin["id"]).latest("id")


def tries(pin):
    return list(of(pin).tries.values_list("adapter", "outcome"))


def test_the_first_prompt_registers_the_session_by_its_key_and_the_end_ends_it(hub, ways):
    pin = drop()
    said = asked(hub, "session_start")
    assert set(said) == {"appendContext"}
    assert pin["id"] in said["appendContext"]
    session = AgentSession.objects.get()
    assert (session.agent, session.key, session.cwd) == ("openclaw", KEY, "/p/app")
    assert session.pid == os.getpid()
    assert asked(hub, "session_end", reason="shutdown") is None
    session.refresh_from_db()
    assert session.ended_at is not None


def test_without_pins_nothing_is_said_at_any_event(hub, ways):
    for event in ("session_start", "before_prompt_build", "before_agent_finalize", "session_end"):
        assert asked(hub, event) is None


def test_a_stop_is_revised_with_what_came_meanwhile_and_only_once(hub, ways):
    ways["openclaw"].is_there = False
    prompt(hub)
    pin = drop("Wait: the logo is gone")
    said = stop(hub)
    assert (said["action"], set(said)) == ("revise", {"action", "reason"})
    assert pin["id"] in said["reason"]
    assert stop(hub) is None


def test_a_push_to_a_session_that_asks_wakes_it_and_its_turn_brings_the_words_once(hub, ways):
    prompt(hub)
    ways["openclaw"].script = [ACCEPTED]
    pin = drop("the save button is purple")
    Worker().tick(now())
    (told,) = ways["openclaw"].parcels
    assert told.is_wake
    assert (of(pin).status, tries(pin)) == ("pending", [("openclaw", "accepted")])
    said = prompt(hub)
    assert said.count("the save button is purple") == 1
    delivery = of(pin)
    assert (delivery.status, delivery.handed_over_by) == ("delivered", "hooks")
    assert (delivery.due_at, delivery.pushed_at) == (None, None)
    assert Worker().tick(now(hours=1))[0] == 0
    assert "new" not in prompt(hub).split("Open besides")[0]


def test_words_that_were_pushed_are_not_told_again_when_the_plugin_comes(hub, ways):
    """Registered by hand, or the gateway was just started anew: nobody has asked yet."""
    sessions.register(agent="openclaw", key=KEY, cwd="/p/app", now=now())
    ways["openclaw"].script = [ACCEPTED]
    pin = drop("the save button is purple")
    Worker().tick(now())
    (told,) = ways["openclaw"].parcels
    assert not told.is_wake
    assert "the save button is purple" in told.text
    said = asked(hub, "session_start")["appendContext"]
    assert f"{pin['id']}, open" not in said, "it is told in full"
    assert stop(hub) is None


def test_what_was_tried_with_its_words_keeps_them_for_they_may_have_arrived(hub, ways):
    sessions.register(agent="openclaw", key=KEY, cwd="/p/app", now=now())
    lost = DeliveryFailed("no answer", reason="timeout", may_have_arrived=True)
    ways["openclaw"].script = [lost, ACCEPTED]
    drop("the save button is purple")
    Worker().tick(now())
    asked(hub, "before_prompt_build", key="agent:main:another")
    AgentSession.objects.filter(key=KEY).update(
        pid=os.getpid(), pid_started=project.process_start(os.getpid()), pid_is_ours=True
    )
    Worker().tick(now(minutes=1))
    assert [one.is_wake for one in ways["openclaw"].parcels] == [False, False]


def test_several_pins_in_a_row_wake_a_session_once(hub, ways):
    prompt(hub)
    ways["openclaw"].script = [ACCEPTED] * 3
    pins = [drop("one"), drop("two")]
    worker = Worker()
    worker.tick(now())
    pins.append(drop("three"))
    worker.tick(now(seconds=1))
    assert len(ways["openclaw"].parcels) == 1
    said = prompt(hub)
    assert all(said.count(pin["id"]) == 1 for pin in pins)
    assert {of(pin).status for pin in pins} == {"delivered"}
    later = drop("four")
    worker.tick(now(seconds=2))
    assert [one.pin_id for one in ways["openclaw"].parcels] == [pins[0]["id"], later["id"]]


def test_a_wake_that_nothing_comes_of_goes_the_next_way(hub, ways):
    prompt(hub)
    ways["openclaw"].script = [ACCEPTED]
    ways["webhook"].is_there = True
    pins = [drop("one"), drop("two")]
    worker = Worker()
    worker.tick(now())
    assert worker.tick(now(minutes=9))[0] == 0
    worker.tick(now(minutes=11))
    worker.tick(now(minutes=11))
    assert [of(pin).handed_over_by for pin in pins] == ["webhook", "webhook"]
    assert [of(pin).attempts for pin in pins] == [1, 1]


def test_a_stop_before_the_woken_turn_brings_the_words_and_that_turn_has_nothing_new(hub, ways):
    prompt(hub)
    ways["openclaw"].script = [ACCEPTED]
    pin = drop("the save button is purple")
    Worker().tick(now())
    assert "the save button is purple" in stop(hub)["reason"]
    assert of(pin).status == "delivered"
    assert f"{pin['id']}, open" not in prompt(hub)


def test_the_pull_of_a_session_comes_while_its_wake_is_in_hand(hub, ways):
    prompt(hub)
    pin = drop("the save button is purple")
    worker = Worker()
    (job,) = worker.claim(now())
    assert "the save button is purple" in prompt(hub)
    worker.fold(worker.perform(job, spawned=lambda _: None), now())
    delivery = of(pin)
    assert (delivery.status, delivery.handed_over_by) == ("delivered", "hooks")
    assert (delivery.claimed_by, delivery.pushed_at) == ("", None)
    assert worker.tick(now(hours=1))[0] == 0


def test_where_no_push_is_possible_it_waits_for_the_session_to_ask(hub, ways):
    ways["openclaw"].is_there = False
    prompt(hub)
    pin = drop("the save button is purple")
    assert of(pin).adapter == "hooks"
    say(pin, "and the other one too")
    assert "and the other one too" in prompt(hub)


def test_an_old_gateway_s_session_is_pushed_to_with_words(hub, ways):
    """Its process is gone, so no plugin would ask."""
    prompt(hub)
    AgentSession.objects.update(pid_started="another life")
    drop("the save button is purple", agentSession={"agent": "openclaw", "key": KEY})
    Worker().tick(now())
    assert [one.is_wake for one in ways["openclaw"].parcels] == [False]
