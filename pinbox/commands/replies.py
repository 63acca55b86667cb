"""reply, resolve, verify, reopen: what happens to a pin after it was dropped."""

from __future__ import annotations

from pinbox.commands import hub as hubs
from pinbox.commands.pins import PIN_ID
from pinbox.commands.verb import Answer, Argument, Option, Verb
from pinbox.contract import PinboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pinbox.commands.verb import Args


def reply(args: Args) -> Answer:
    pin_id, role = args["id"], args["as"]
    body = {"role": role, "text": hubs.required_text(args["text"], "reply", "reply")}
    origin = _origin(args.get("origin"), role)
    if origin:
        body["origin"] = origin
    message = hubs.ask_about_pin(hubs.open_hub(), "POST", pin_id, "thread", body=body)
    return Answer(message, lambda: (message["id"], f"replied to {pin_id} as {role}"))


def _origin(given: str | None, role: str) -> str | None:
    """Who speaks in the role: what was given, else the agent session whose shell this is.

    A person at a keyboard stays without one. Raises E_INVALID_INPUT for a blank name.
    """
    if given is not None:
        return hubs.required_text(given, "origin", "reply")
    agent = hubs.acting_agent() if role == "agent" else None
    return hubs.origin_of(*agent) if agent else None


def resolve(args: Args) -> Answer:
    pin_id, by, note = args["id"], args["as"], args.get("note")
    body = {"by": by}
    if note is not None:
        body["note"] = hubs.required_text(note, "note", "resolve")
    pin = hubs.ask_about_pin(hubs.open_hub(), "POST", pin_id, "resolve", body=body)
    return Answer(pin, lambda: (f"{pin_id} resolved", f"by {by} — {note}" if note else f"by {by}"))


def verify(args: Args) -> Answer:
    pin_id = args["id"]
    body = {"outcome": "accepted"}
    pin = hubs.ask_about_pin(hubs.open_hub(), "POST", pin_id, "verify", body=body)
    return Answer(pin, lambda: (f"{pin_id} accepted", ""))


def reopen(args: Args) -> Answer:
    """Reopen, the reason first: it is a human message, so the agent reads why with the news.

    Safe to repeat after a failure in between: the reason goes out under a key made of this
    resolution and this text, so it stands on the thread once.
    """
    pin_id, reason = args["id"], args.get("reason")
    hub = hubs.open_hub()
    if reason is not None:
        hubs.required_text(reason, "reason", "reopen")
        pin = hubs.ask_about_pin(hub, "GET", pin_id)
        if pin["status"] != "resolved":
            said = f"{pin_id} is not resolved, so there is nothing to reopen"
            raise PinboxError("E_CONFLICT", said, f"pinbox show {pin_id}")
        hub.request(
            "POST",
            hubs.pin_path(pin_id, "thread"),
            {"role": "human", "text": reason},
            idempotency_key=_reason_key(pin, reason),
        )
    pin = hubs.ask_about_pin(hub, "POST", pin_id, "verify", body={"outcome": "reopened"})
    return Answer(pin, lambda: (f"{pin_id} reopened", reason or ""))


def _reason_key(pin: dict[str, Any], reason: str) -> str:
    from hashlib import sha256

    parts = (pin["id"], pin["resolution"]["at"], reason)
    digest = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"reopen-{digest[:40]}"


ROLE = Option(
    "--as",
    "ROLE",
    "who speaks: human (unless given) or agent",
    choices=("human", "agent"),
    default="human",
)

VERBS = (
    Verb(
        "reply",
        "Answer on a pin's thread.",
        reply,
        arguments=(PIN_ID, Argument("text", "the message")),
        options=(
            ROLE,
            Option("--origin", "NAME", "the name shown beside the role, such as claude:laptop"),
        ),
        about=(
            "With --as agent inside an agent's own shell the origin is the agent's name and the "
            "end of its session id, such as claude:5d1f0c2e, unless --origin says otherwise.\n\n"
            "A text that begins with - goes after --: pinbox reply ID -- '-1px off'"
        ),
    ),
    Verb(
        "resolve",
        "Say that a pin is dealt with.",
        resolve,
        arguments=(PIN_ID,),
        options=(Option("--note", "TEXT", "what was done"), ROLE),
        about="A pin that is resolved already is a conflict, and stays as it is.",
    ),
    Verb(
        "verify",
        "Accept the fix of a resolved pin.",
        verify,
        arguments=(PIN_ID,),
        about="The other answer is pinbox reopen.",
    ),
    Verb(
        "reopen",
        "Open a resolved pin again, and say why.",
        reopen,
        arguments=(
            PIN_ID,
            Argument("reason", "written on the thread first, as a human message", required=False),
        ),
    ),
)
