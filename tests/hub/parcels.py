"""Parcels as the worker hands them to an adapter."""

from typing import Any

from delivery.adapters import Parcel, Presence, Target

#: What a pin says; it may stand in a body, and nowhere else.
WORDS = "the save button is two pixels too low"


def target(agent: str = "claude", key: str = "key-1", **more: Any) -> Target:
    more = {"cwd": "/srv/app", "presence": Presence.LIVE, **more}
    return Target(id="ses_0123456789", agent=agent, key=key, **more)


def parcel(**more: Any) -> Parcel:
    """A delivery of a new pin that says WORDS; every field can be chosen."""
    fields: dict[str, Any] = {
        "id": "dlv_0123456789abcdef01234567",
        "event_seq": 7,
        "event_type": "pin.created",
        "event_at": "2026-11-30T10:11:12.131Z",
        "payload": f'{{"id":"pin_0123456789","n":3,"text":"{WORDS}","target":{{"x":1.50}}}}',
        "pin_id": "pin_0123456789",
        "target": None,
        "text": f"Pinbox: 1 open pin.\n> text: {WORDS}\n",
        "attempt": 1,
    }
    return Parcel(**{**fields, **more})
