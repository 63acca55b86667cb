"""Claude Code: its hook payloads, and the one shape of output it takes as context.

See https://code.claude.com/docs/en/hooks. A top-level `additionalContext` is ignored by it, so the
text always goes inside `hookSpecificOutput` with the event's own name.
"""

from typing import Final

from pinbox.agents import payload
from pinbox.agents.payload import HookCall

NAME: Final = "claude"

#: events that `init` registers
EVENTS: Final = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
SUBAGENT_EVENTS: Final = ("SubagentStart", "SubagentStop")
#: events whose output reaches the model. At a Stop it also makes the turn go on: the gentler hold,
#: which shows the text once and never our command line (`decision: block` shows both).
SPEAKING_EVENTS: Final = ("SessionStart", "UserPromptSubmit", "Stop")


def parse(body: bytes) -> HookCall | None:
    """The call in `body`; None when it is no JSON object, names no session, or is another event."""
    data = payload.json_object(body)
    if data is None:
        return None
    event = data.get("hook_event_name")
    key = payload.session_key(data.get("session_id"))
    if key is None or not isinstance(event, str) or event not in EVENTS + SUBAGENT_EVENTS:
        return None
    return HookCall(
        agent=NAME,
        event=event,
        key=key,
        cwd=payload.path(data.get("cwd")),
        source=payload.name(data.get("source")),
        # Any value but a plain "no" counts: a hold too few costs a turn, a hold too many loops.
        stop_hook_active=data.get("stop_hook_active") not in (None, False),
        # `agent_type` alone does not tell: the main session has one under `claude --agent`.
        subagent=event in SUBAGENT_EVENTS or data.get("agent_id") is not None,
        reason=payload.name(data.get("reason")),
        prompt_id=payload.name(data.get("prompt_id")),
    )


def render(call: HookCall, text: str) -> bytes:
    """`text` for this call: nothing for a subagent, and nothing where Claude reads no output."""
    if call.subagent or call.event not in SPEAKING_EVENTS:
        return b""
    return hold(text) if call.event == "Stop" else context(text, call.event)


def context(text: str, event: str) -> bytes:
    """Text that the model sees beside the prompt of this turn."""
    if not text:
        return b""
    return payload.json_line(
        {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    )


def hold(text: str) -> bytes:
    """Text that makes the turn go on instead of ending."""
    return context(text, "Stop")
