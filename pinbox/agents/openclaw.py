"""OpenClaw: what our plugin in its gateway says, what it takes, and where `init` puts it.

The plugin (pinbox/assets/openclaw) passes on each event as the gateway tells it, without a word of
the conversation. See https://docs.openclaw.ai/plugins/hooks.
"""

import os
import shlex
from pathlib import Path
from typing import Any, Final

from pinbox.agents import payload
from pinbox.agents.payload import HookCall
from pinbox.agents.pieces import Assets, Home, JsonFile, Piece, Place, Skill

NAME: Final = "openclaw"
LABEL: Final = "OpenClaw"
PROGRAM: Final = "openclaw"
HOME: Final = Home(variable="OPENCLAW_STATE_DIR", folder=".openclaw")

#: The gateway's events and ours. The plugin tells the start of a session with its first prompt, for
#: the gateway's own `session_start` does not know the directory.
EVENTS: Final = {
    "session_start": "SessionStart",
    "before_prompt_build": "UserPromptSubmit",
    "before_agent_finalize": "Stop",
    "session_end": "SessionEnd",
}
_MAX_KEY_BYTES: Final = 255


def parse(body: bytes) -> HookCall | None:
    """The call in `body`; None when it is no JSON object, names no session, or is another event."""
    data = payload.json_object(body)
    if data is None:
        return None
    name = data.get("event")
    event, context = _object(data.get("payload")), _object(data.get("ctx"))
    key = _key(context.get("sessionKey")) or _key(event.get("sessionKey"))
    if key is None or not isinstance(name, str) or name not in EVENTS:
        return None
    return HookCall(
        agent=NAME,
        event=EVENTS[name],
        key=key,
        cwd=payload.path(context.get("workspaceDir")) or payload.path(event.get("cwd")),
        # Up to 2026.9.6 it stays false after a hold: the plugin remembers that by itself.
        stop_hook_active=event.get("stopHookActive") not in (None, False),
        subagent=":subagent:" in key,
        reason=payload.name(event.get("reason")),
        prompt_id=payload.name(context.get("runId")) or payload.name(event.get("runId")),
    )


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _key(value: object) -> str | None:
    """A session's key: names of channels and people are in it, so nearly any character."""
    if not isinstance(value, str) or not value.isprintable() or value[:1] in ("", "-"):
        return None
    return value if len(value.encode()) <= _MAX_KEY_BYTES else None


def render(call: HookCall, text: str) -> bytes:
    """`text` as the gateway takes it of a plugin; nothing at an end, and nothing for a subagent."""
    if call.subagent or not text.strip():
        return b""
    if call.event == "Stop":
        return payload.json_line({"action": "revise", "reason": text})
    if call.event in ("SessionStart", "UserPromptSubmit"):
        return payload.json_line({"appendContext": text})
    return b""


# --- what init puts in place ----------------------------------------------------------------------

FOLDER: Final = ".openclaw"
METHOD: Final = "shell"
_ENTRY: Final = ("plugins", "entries", "pinbox")


def pieces(place: Place) -> tuple[Piece, ...]:
    """The plugin is the same for one project and for all: a gateway has its plugins for all its
    sessions, and ours is silent where there is no project. The skill is read by agents whose
    workspace the project is; Codex reads the same one.
    """
    plugin = place.home / "pinbox"
    return (
        Assets(path=plugin, source=NAME),
        JsonFile(
            path=config(place.home),
            values={
                (*_ENTRY, "enabled"): True,
                # Without it a plugin hears of no prompt and of no end of a turn.
                (*_ENTRY, "hooks", "allowConversationAccess"): True,
            },
            items={("plugins", "load", "paths"): str(plugin)},
            by_hand=(
                f"openclaw plugins install --link {shlex.quote(str(plugin))} && openclaw config set"
                f" {'.'.join(_ENTRY)}.hooks.allowConversationAccess true"
            ),
        ),
        Skill(path=(place.home if place.user_scope else place.root / ".agents") / "skills/pinbox"),
    )


def config(home: Path) -> Path:
    """The gateway's own configuration."""
    return Path(os.environ.get("OPENCLAW_CONFIG_PATH") or home / "openclaw.json")


def after(place: Place) -> str:
    return (
        "OpenClaw: restart the gateway (`openclaw gateway restart`), or once it knows the plugin"
        " `openclaw plugins reload pinbox`. It must be the gateway that reads"
        f" {config(place.home)}; an agent sees the pins when its workspace is this"
        " project or in it."
    )
