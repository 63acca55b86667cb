"""Codex CLI: its hook payloads, the output it takes, what `init` puts in place, and its resume.

See https://developers.openai.com/codex/hooks and /codex/noninteractive. Its schemas of a hook's
output forbid every key they do not name: one too many spoils the whole.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pinbox.agents import payload
from pinbox.agents import resume as resumes
from pinbox.agents.payload import HookCall
from pinbox.agents.pieces import Home, Hooks, Piece, Place, Skill
from pinbox.agents.resume import Answer, Command, Permissions

NAME: Final = "codex"
LABEL: Final = "Codex"
PROGRAM: Final = "codex"
HOME: Final = Home(variable="CODEX_HOME", folder=".codex")

#: events that `init` registers. SessionStart comes with the first prompt, not when it opens, and a
#: terminal that is killed says no SessionEnd.
EVENTS: Final = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
#: what a helper has in the place of SessionStart and Stop
SUBAGENT_EVENTS: Final = ("SubagentStart", "SubagentStop")
#: events at which it takes context
CONTEXT_EVENTS: Final = ("SessionStart", "UserPromptSubmit")


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
        shares_process=True,  # the background program has every terminal's
        # Codex itself ends no loop, however long: any value but a plain "no" counts.
        stop_hook_active=data.get("stop_hook_active") not in (None, False),
        subagent=event in SUBAGENT_EVENTS or data.get("agent_id") is not None,
        reason=payload.name(data.get("reason")),
        prompt_id=payload.name(data.get("turn_id")),
    )


def render(call: HookCall, text: str) -> bytes:
    """`text` for this call; nothing where Codex takes none. A stop takes no context, only a reason
    to go on, and that must not be blank.
    """
    if call.subagent or not text.strip():
        return b""
    if call.event == "Stop":
        return payload.json_line({"decision": "block", "reason": text})
    if call.event in CONTEXT_EVENTS:
        said = {"hookEventName": call.event, "additionalContext": text}
        return payload.json_line({"hookSpecificOutput": said})
    return b""


# --- what init puts in place ----------------------------------------------------------------------

FOLDER: Final = ".codex"
METHOD: Final = "skills-dir"
#: Codex trusts a hook by the hash of these words: they are the same on every machine and in every
#: version. They run the user's own launcher and no file of the project; it finds the project by the
#: session's folder, and is silent where there is none.
COMMAND: Final = (
    'p="${XDG_STATE_HOME:-$HOME/.local/state}/pinbox/hook"; [ -x "$p" ] && "$p" codex; exit 0'
)


def pieces(place: Place) -> tuple[Piece, ...]:
    return (
        Hooks(path=hooks_file(place), command=COMMAND),
        Skill(path=(place.home if place.user_scope else place.root / ".agents") / "skills/pinbox"),
    )


def hooks_file(place: Place) -> Path:
    return (place.home if place.user_scope else place.root / FOLDER) / "hooks.json"


def after(place: Place) -> str:
    """The steps by which a person lets Codex run them. Until then it skips them without a word."""
    step = (
        f"Codex asks to review the hooks in {hooks_file(place)} the next time it is started in a"
        " terminal (“Hooks need review”, later /hooks): trust them."
    )
    return step if place.user_scope else f"{step} It reads them only in a folder that it trusts."


# --- going on with an ended session ---------------------------------------------------------------

#: Any other word is taken for a name, and one that is not known starts a new session, exit code 0.
KEY: Final = resumes.UUID
HELP: Final[tuple[str, ...]] = ()
ENVIRONMENT: Final[tuple[str, ...]] = (
    *("CODEX_HOME", "CODEX_API_KEY", "CODEX_CA_CERTIFICATE", "OPENAI_*", "AZURE_OPENAI_*"),
    *("AWS_*", "RUST_LOG"),
)
_SANDBOX: Final[Mapping[Permissions, tuple[str, ...]]] = {
    "": (),
    "edit": ("-c", 'sandbox_mode="workspace-write"'),
    "edit+network": (
        *("-c", 'sandbox_mode="workspace-write"'),
        *("-c", "sandbox_workspace_write.network_access=true"),
    ),
}
_STATUS: Final = re.compile(r"status:? (\d{3})\b")


def resume(key: str, text: str, *, permissions: Permissions, help_text: str) -> Command:
    """Outside a git repository it wants to be told that this is meant: the session was begun there.
    Its sandbox stays as it is.
    """
    return Command(
        arguments=(
            *("exec", "resume", "--json", "--skip-git-repo-check"),
            *_SANDBOX[permissions],
            *(key, "-"),
        ),
        stdin=text,
    )


def read(exit_code: int | None, stdout: str, stderr: str) -> Answer:
    """A line of JSON for each step; the first names the session. Nothing on stdout when it is
    refused.
    """
    lines = list(resumes.json_objects(stdout))
    keys = [one.get("thread_id") for one in lines if one.get("type") == "thread.started"]
    key = resumes.string(keys[0]) if keys else ""
    error = "\n".join([*_errors(lines)][-1:] + ([stderr] if stderr.strip() else []))
    if exit_code != 0 and "already has an active writer" in stderr:
        return resumes.failed(stderr, key=key or None, trouble="busy")
    if exit_code != 0 and "no rollout found for thread id" in stderr:
        return resumes.failed(stderr, key=key or None, trouble="refused")
    if exit_code != 0 or not any(one.get("type") == "turn.completed" for one in lines):
        status = _STATUS.search(error)
        return resumes.failed(error, key=key or None, status=int(status[1]) if status else None)
    items = [item for item in _items(lines) if item.get("type") != "error"]
    said = "\n\n".join(
        resumes.string(item.get("text")) for item in items if item.get("type") == "agent_message"
    )
    if not items:  # exit code 0, a completed turn, and no word of the model
        why = "one of its own hooks dropped the prompt"
        return resumes.failed(error, key=key or None, trouble="unclear", why=why)
    return Answer(key=key or None, said=said)


def _errors(lines: list[dict[str, Any]]) -> Iterator[str]:
    for one in lines:
        error = one.get("error") if one.get("type") == "turn.failed" else one
        if one.get("type") in ("turn.failed", "error") and isinstance(error, dict):
            yield resumes.string(error.get("message"))


def _items(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in lines:
        item = one.get("item")
        if one.get("type") == "item.completed" and isinstance(item, dict):
            yield item
