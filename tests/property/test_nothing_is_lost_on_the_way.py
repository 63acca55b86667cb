"""Whatever people and agents do in whatever order: every event has one row, every word that is news
reaches the session its pin is stuck to, in full, and no stop is held for ever.
"""

import re
from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from delivery.models import Delivery, Showing
from pinbox.contract import MAX_CONTEXT_BYTES
from pins import projections
from pins.models import Binding, Event, Pin
from sessions_app.models import AgentSession
from tests.hub import loop

KEYS = st.sampled_from(["s1", "s2", "s3"])
#: Beginning and end of something said; what is between may be cut, neither may be missing.
WORDS = re.compile(r"begin-(\d+)-")


class Loop(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        # The examples of one run share a transaction.
        for model in (Event, *projections.PROJECTIONS, Binding, Delivery, Showing, AgentSession):
            model.objects.all().delete()
        self.pins, self.said, self.told, self.held = [], {}, Counter(), Counter()
        self.number = 0

    def words(self, size):
        self.number += 1
        return f"begin-{self.number}-" + "x" * size

    def hear(self, text):
        """Count what a text tells in full."""
        assert len(text.encode()) <= MAX_CONTEXT_BYTES
        in_full = [line for line in text.split("\n") if line.startswith("> ")]
        self.told.update(int(found) for found in WORDS.findall("\n".join(in_full)))

    @rule(size=st.sampled_from([0, 10, 400, 3000, 12_000]))
    def drop(self, size):
        text = self.words(size)
        self.pins.append(loop.drop(text))
        self.said[self.number] = self.pins[-1]["id"]

    @rule(key=KEYS)
    def drop_for(self, key):
        ref = {"agent": "claude", "key": key}
        self.pins.append(loop.drop(self.words(10), agentSession=ref))
        self.said[self.number] = self.pins[-1]["id"]

    @precondition(lambda self: self.pins)
    @rule(data=st.data(), role=st.sampled_from(["human", "mirror"]))
    def say(self, data, role):
        pin = data.draw(st.sampled_from(self.pins))
        loop.say(pin, self.words(20), role=role)
        self.said[self.number] = pin["id"]

    @precondition(lambda self: self.pins)
    @rule(data=st.data())
    def answer(self, data):
        loop.say(data.draw(st.sampled_from(self.pins)), "answered", role="agent")

    @precondition(lambda self: self.pins)
    @rule(data=st.data())
    def resolve_or_reopen(self, data):
        pin = data.draw(st.sampled_from(self.pins))
        if Pin.objects.get(pk=pin["id"]).status == "open":
            loop.resolve(pin)
        else:
            loop.verify(pin, data.draw(st.sampled_from(["accepted", "reopened"])))

    @rule(key=KEYS, source=st.sampled_from(["startup", "clear", "resume"]))
    def start(self, key, source):
        self.hear(loop.start(key, source=source, process=(9, "9")))

    @rule(key=KEYS)
    def prompt(self, key):
        self.hear(loop.prompt(key))

    @rule(key=KEYS, is_active=st.booleans())
    def stop(self, key, is_active):
        text = loop.stop(key, is_active=is_active)
        assert not (is_active and text)
        self.hear(text)
        shown = re.findall(r"^#\d+ (pin_\w{10})", text, re.MULTILINE)
        self.held.update((key, pin_id) for pin_id in shown)

    @rule(key=KEYS, agent_id=st.just("a1"))
    def subagent(self, key, agent_id):
        before = list(Delivery.objects.values()), list(AgentSession.objects.values())
        assert loop.stop(key, agent_id=agent_id) == loop.prompt(key, agent_id=agent_id) == ""
        assert (list(Delivery.objects.values()), list(AgentSession.objects.values())) == before

    @rule(key=KEYS)
    def end(self, key):
        loop.end(key)

    @invariant()
    def every_event_has_one_row(self):
        seqs = list(Delivery.objects.order_by("event_seq").values_list("event_seq", flat=True))
        assert seqs == list(Event.objects.order_by("seq").values_list("seq", flat=True))

    @invariant()
    def what_has_a_session_is_bound_to_it(self):
        names = {row.id: (row.agent, row.key) for row in AgentSession.objects.all()}
        for row in Delivery.objects.filter(status="pending"):
            binding = Binding.objects.filter(pk=row.pin_id).first()
            bound = binding and (binding.agent, binding.key)
            assert bound == (names[row.session_id] if row.session_id else None)

    @invariant()
    def no_stop_is_held_too_often(self):
        assert all(times <= 2 for times in self.held.values())

    def teardown(self):
        """Everybody takes turns until nothing waits: then everything was told."""
        for _ in range(4 * len(self.said) + 2):
            if not Delivery.objects.filter(status="pending").exists():
                break
            for key in ("s1", "s2", "s3"):
                self.hear(loop.prompt(key))
        assert not Delivery.objects.filter(status="pending").exists()
        assert set(self.told) == set(self.said)
        TestNothingIsLost.told += len(self.told)


class TestNothingIsLost(TestCase):
    told = 0

    def test_every_word_of_a_person_reaches_the_session_of_its_pin(self):
        run_state_machine_as_test(
            Loop,
            settings=settings(
                max_examples=40,
                stateful_step_count=25,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
        assert TestNothingIsLost.told > 20  # of some hundreds in most runs
