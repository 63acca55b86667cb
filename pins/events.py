"""Shapes of what the log stores, and how a pin's document changes. Touches no database.

Payloads are what is stored and sent, unchanged, for ever: new optional keys may come, none may go.
The key order of a pin is part of the wire (byte-identical `--json`).
"""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict, cast

PIN_KEYS = (
    "text",
    "kind",
    "target",
    "move",
    "env",
    "author",
    "agentSession",
    "attachments",
    "id",
    "n",
    "schemaVersion",
    "status",
    "createdAt",
    "resolution",
    "verification",
    "links",
)
_BOUND_AT = PIN_KEYS.index("agentSession")


class Author(TypedDict):
    userId: str
    name: NotRequired[str]
    email: NotRequired[str]


class SessionRef(TypedDict):
    agent: str
    key: str
    cwd: NotRequired[str]


class Resolution(TypedDict):
    by: Literal["human", "agent"]
    note: NotRequired[str]
    commit: NotRequired[str]
    at: str


class Verification(TypedDict):
    outcome: Literal["accepted", "reopened"]
    at: str


class PinPayload(TypedDict):
    text: str
    kind: Literal["note", "move"]
    target: NotRequired[dict[str, Any]]
    move: NotRequired[dict[str, Any]]
    env: dict[str, Any]
    author: Author
    agentSession: NotRequired[SessionRef]
    attachments: NotRequired[list[dict[str, Any]]]
    id: str
    n: int
    schemaVersion: Literal[1]
    status: Literal["open", "resolved"]
    createdAt: str
    resolution: NotRequired[Resolution]
    verification: NotRequired[Verification]
    links: NotRequired[list[dict[str, Any]]]


class MessagePayload(TypedDict):
    id: str
    pinId: str
    role: Literal["human", "agent", "mirror"]
    origin: NotRequired[str]
    text: str
    edit: NotRequired[dict[str, Any]]
    attachments: NotRequired[list[dict[str, Any]]]
    at: str


def in_wire_order(pin: Mapping[str, Any]) -> PinPayload:
    """The same pin with its keys in the order of the wire; a key it has no name for comes last."""
    ordered = {key: pin[key] for key in PIN_KEYS if key in pin}
    ordered.update((key, value) for key, value in pin.items() if key not in ordered)
    return cast(PinPayload, ordered)


def halves(pin: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A pin's keys before and after the place of `agentSession`, which is in neither."""
    head = {key: pin[key] for key in PIN_KEYS[:_BOUND_AT] if key in pin}
    tail = {key: value for key, value in pin.items() if key not in head and key != "agentSession"}
    return head, tail
