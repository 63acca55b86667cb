"""Steps of the loop, for tests: a person drops, answers and reopens; an agent's hooks call."""

import json
from datetime import UTC, datetime

from delivery import hooks
from pinbox import agents
from pinbox.contract import Caller
from pins import services as pins
from sessions_app.liveness import Process

FULL = Caller(scope="full")


def drop(text="Save button too small", **more):
    """A new pin, as its document."""
    data = {"text": text, "kind": "note", "author": {"userId": "u"}, **more}
    return pins.create_pin(data=data, caller=FULL, git={})


def say(pin, text, role="human", **more):
    data = {"role": role, "text": text, **more}
    return pins.post_message(pin_id=pin["id"], data=data, caller=FULL)


def resolve(pin, by="agent", **more):
    return pins.resolve_pin(pin_id=pin["id"], data={"by": by, **more}, caller=FULL)


def verify(pin, outcome):
    return pins.verify_pin(pin_id=pin["id"], outcome=outcome)


def payload(event, key="s1", **more):
    fields = {"session_id": key, "cwd": "/p/app", "hook_event_name": event, **more}
    return json.dumps(fields).encode()


def hook(event, key="s1", *, process=None, now=None, **more):
    """What Claude Code's hook of that event would print for the model."""
    call = agents.parse("claude", payload(event, key, **more))
    assert call is not None
    return hooks.answer(call, process=process and Process(*process), now=now or datetime.now(UTC))


def start(key="s1", source="startup", **more):
    return hook("SessionStart", key, source=source, **more)


def prompt(key="s1", **more):
    return hook("UserPromptSubmit", key, prompt="go on", **more)


def stop(key="s1", is_active=False, **more):
    return hook("Stop", key, stop_hook_active=is_active, **more)


def end(key="s1", reason="other", **more):
    return hook("SessionEnd", key, reason=reason, **more)
