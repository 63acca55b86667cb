"""Every write to pins and threads. A service checks what it must under the write lock and raises
PinboxError.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pinbox.contract import Caller, PinboxError, new_id, now_iso

from . import attachments, selectors, statements
from .event_log import append, writer
from .events import MessagePayload, PinPayload, in_wire_order
from .models import Binding
from .projections import members


def create_pin(*, data: Mapping[str, Any], caller: Caller, git: Mapping[str, str]) -> PinPayload:
    """Append `pin.created`. `data` is a validated PinInput; `git` overrides its branch and commit
    where known. Raises E_AUTH when a page aims it at a session, E_INVALID_INPUT for an attachment
    that was not uploaded.
    """
    _refuse_aim(data, caller)
    with writer():
        data = attachments.adopt(data)
        at = now_iso()
        pin = in_wire_order(
            {
                **data,
                "env": {**data.get("env", {}), **git},
                "author": _author(data["author"], caller),
                "id": new_id("pin"),
                "n": statements.last_number() + 1,
                "schemaVersion": 1,
                "status": "open",
                "createdAt": at,
            }
        )
        append("pin.created", pin, subject=pin["id"], at=at)
    return pin


def post_message(*, pin_id: str, data: Mapping[str, Any], caller: Caller) -> MessagePayload:
    """Append `thread.message`. Raises E_NOT_FOUND for an unknown pin, E_AUTH when a page speaks as
    an agent, E_INVALID_INPUT for an attachment that was not uploaded.
    """
    _refuse_pose(data["role"], caller)
    with writer():
        selectors.require_pin(pin_id)
        data = attachments.adopt(data)
        at = now_iso()
        message: MessagePayload = {"id": new_id("msg"), "pinId": pin_id, **data, "at": at}  # type: ignore[typeddict-item]
        append("thread.message", message, subject=pin_id, at=at)
    return message


def resolve_pin(*, pin_id: str, data: Mapping[str, Any], caller: Caller) -> PinPayload:
    """Append `pin.resolved` for an open pin, else E_CONFLICT. The new fix is unverified: an old
    verification goes.
    """
    _refuse_pose(data["by"], caller)
    with writer():
        pin = selectors.pin_document(pin_id)
        if pin["status"] == "resolved":
            raise PinboxError(
                "E_CONFLICT",
                f"{pin_id} is already resolved",
                f"pinbox show {pin_id}",
            )
        at = now_iso()
        pin["status"] = "resolved"
        pin["resolution"] = {**data, "at": at}  # type: ignore[typeddict-item]
        pin.pop("verification", None)
        pin = in_wire_order(pin)
        append("pin.resolved", pin, subject=pin_id, at=at)
    return pin


def verify_pin(*, pin_id: str, outcome: str) -> PinPayload:
    """Append `pin.verified` for a resolved pin, else E_CONFLICT. "reopened" opens it again and
    keeps the resolution.
    """
    with writer():
        pin = selectors.pin_document(pin_id)
        if pin["status"] != "resolved":
            what = "reopen" if outcome == "reopened" else "verify"
            raise PinboxError(
                "E_CONFLICT",
                f"{pin_id} is not resolved, so there is nothing to {what}",
                f"pinbox show {pin_id}",
            )
        at = now_iso()
        if outcome == "reopened":
            pin["status"] = "open"
        pin["verification"] = {"outcome": outcome, "at": at}  # type: ignore[typeddict-item]
        pin = in_wire_order(pin)
        append("pin.verified", pin, subject=pin_id, at=at)
    return pin


def bind_pin(*, pin_id: str, agent: str, key: str, cwd: str | None = None) -> None:
    """Stick a pin to an agent session. May be called twice; a later call rebinds."""
    statements.bind(pin_id, agent, key, _bound_json(agent, key, cwd))


def bind_free_pins(*, pin_ids: Iterable[str], agent: str, key: str, cwd: str | None = None) -> None:
    """Stick to an agent session those of the pins that no binding holds."""
    text = _bound_json(agent, key, cwd)
    Binding.objects.bulk_create(
        [Binding(pin_id=pin_id, agent=agent, key=key, json=text) for pin_id in pin_ids],
        ignore_conflicts=True,
        batch_size=200,
    )


def move_bindings(
    *, agent: str, key: str, to_agent: str, to_key: str, cwd: str | None = None
) -> None:
    """Every pin of one agent session is another's from now on."""
    Binding.objects.filter(agent=agent, key=key).update(
        agent=to_agent, key=to_key, json=_bound_json(to_agent, to_key, cwd)
    )


def unbind_session(*, agent: str, key: str) -> None:
    """No pin is stuck to that agent session any more."""
    Binding.objects.filter(agent=agent, key=key).delete()


def _bound_json(agent: str, key: str, cwd: str | None) -> str:
    ref = {"agent": agent, "key": key} | ({"cwd": cwd} if cwd else {})
    return members({"agentSession": ref})


def _author(claimed: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """The caller's own identity where the hub knows it (a JWT), else what the client says."""
    if caller.subject is None:
        return dict(claimed)
    known = {"userId": caller.subject, "name": caller.name, "email": caller.email}
    return {key: value for key, value in known.items() if value is not None}


def _refuse_pose(role: str, caller: Caller) -> None:
    if caller.scope == "page" and role != "human":
        raise PinboxError(
            "E_AUTH",
            f"a page's token cannot speak as {role}",
            "use the full token, or the role human",
            status=403,
        )


def _refuse_aim(data: Mapping[str, Any], caller: Caller) -> None:
    """Every script of a page can read its token, so it must not choose the agent that acts on its
    words. Nobody can choose the files that agent opens: attachments are named by id.
    """
    if caller.scope == "page" and "agentSession" in data:
        raise PinboxError(
            "E_AUTH",
            "a page's token cannot choose the session of a pin",
            "use the full token, or leave that field out",
            status=403,
        )
