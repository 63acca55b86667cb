"""After any sequence of operations the projections are what the log says.

And whoever applies the tail to an older state has what a fresh fetch gives.
"""

import json

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from delivery.models import Delivery, Showing
from pins import projections
from pins.models import Binding, Event
from sessions_app.models import AgentSession
from tests.hub.conftest import TOKEN, HubClient, installed_tokens

#: Any text the wire can carry: no NUL, no lone surrogates.
TEXTS = st.text(
    st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=40
)
AGENTS = st.sampled_from(["claude", "codex", "hermes"])
KEYS = st.sampled_from(["k1", "k2", "k3"])


class Reader:
    """A client that remembers its last seq and applies what follows, as a toolbar does."""

    def __init__(self):
        self.seq, self.pins, self.threads = 0, {}, {}

    def catch_up(self, hub):
        for event in hub.get(f"/events?after={self.seq}")[1]:
            assert event["seq"] == self.seq + 1
            self.seq, payload = event["seq"], event["payload"]
            if event["type"] == "thread.message":
                self.threads.setdefault(payload["pinId"], []).append(payload)
            else:
                self.pins[payload["id"]] = payload


def without_binding(pin):
    """No event says that a pin was bound, so a reader of the log cannot know."""
    return {key: value for key, value in pin.items() if key != "agentSession"}


class Operations(RuleBasedStateMachine):
    pins = Bundle("pins")
    sessions = Bundle("sessions")

    def __init__(self):
        super().__init__()
        # The examples of one run share a transaction.
        for model in (Event, *projections.PROJECTIONS, Binding, Delivery, Showing, AgentSession):
            model.objects.all().delete()
        self.hub = HubClient(TOKEN)
        self.reader = Reader()
        self.writes = 0

    def write(self, path, body=None):
        status, data = self.hub.post(path, body)
        assert status in {200, 201, 409}, data
        self.writes += status != 409
        return data

    @initialize(target=pins, text=TEXTS)
    def first_pin(self, text):
        return self.create(text, None, None)

    @rule(
        target=pins,
        text=TEXTS,
        bound=st.none() | st.tuples(AGENTS, KEYS),
        selector=st.none() | TEXTS,
    )
    def create_pin(self, text, bound, selector):
        return self.create(text, bound, selector)

    def create(self, text, bound, selector):
        body = {"text": text, "author": {"userId": ""}}
        if bound:
            body["agentSession"] = {"agent": bound[0], "key": bound[1]}
        if selector:
            body["target"] = {"selector": selector, "source": {"file": text, "via": "none"}}
        return self.write("/pins", body)["id"]

    @rule(pin=pins, role=st.sampled_from(["human", "agent", "mirror"]), text=TEXTS)
    def reply(self, pin, role, text):
        self.write(f"/pins/{pin}/thread", {"role": role, "text": text})

    @rule(pin=pins, by=st.sampled_from(["human", "agent"]), note=st.none() | TEXTS)
    def resolve(self, pin, by, note):
        self.write(f"/pins/{pin}/resolve", {"by": by, **({"note": note} if note else {})})

    @rule(pin=pins, outcome=st.sampled_from(["accepted", "reopened"]))
    def verify(self, pin, outcome):
        self.write(f"/pins/{pin}/verify", {"outcome": outcome})

    @rule(target=sessions, agent=AGENTS, key=KEYS)
    def register(self, agent, key):
        return self.hub.post("/sessions", {"agent": agent, "key": key, "cwd": "/p"})[1]["id"]

    @rule(session=consumes(sessions))
    def end(self, session):
        assert self.hub.delete(f"/sessions/{session}")[0] == 200

    @rule(target=sessions, session=consumes(sessions))
    def inject(self, session):
        assert self.hub.post(f"/sessions/{session}/inject")[0] == 200
        return multiple(session)

    @rule(
        key=KEYS,
        event=st.sampled_from(["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]),
    )
    def hook(self, key, event):
        payload = {"session_id": key, "cwd": "/p", "hook_event_name": event}
        answer = self.hub.raw("POST", "/hooks/claude", json.dumps(payload).encode())
        assert answer.status_code == 200

    @rule()
    def catch_up(self):
        self.reader.catch_up(self.hub)

    @rule()
    def rebuild(self):
        projections.rebuild()

    @invariant()
    def the_log_says_it_all(self):
        assert projections.check() == {}

    @invariant()
    def every_event_has_exactly_one_delivery(self):
        seqs = list(Event.objects.values_list("seq", flat=True))
        assert sorted(Delivery.objects.values_list("event_seq", flat=True)) == seqs

    def teardown(self):
        self.reader.catch_up(self.hub)
        fetched = self.hub.get("/pins")[1]
        assert [without_binding(pin) for pin in fetched] == [
            without_binding(pin)
            for pin in sorted(self.reader.pins.values(), key=lambda pin: -pin["n"])
        ]
        for pin in fetched:
            thread = self.hub.get(f"/pins/{pin['id']}/thread")[1]
            assert thread == self.reader.threads.get(pin["id"], [])
        summary = self.hub.get("/summary")[1]
        assert summary["lastEventSeq"] == self.writes > 0
        assert summary["open"] + summary["resolved"] == len(fetched)
        super().teardown()


class TestOperations(TestCase):
    def setUp(self):
        self.enterContext(installed_tokens())

    def test_any_sequence_of_operations_leaves_what_the_log_says(self):
        run_state_machine_as_test(
            Operations,
            settings=settings(
                max_examples=25,
                stateful_step_count=25,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
