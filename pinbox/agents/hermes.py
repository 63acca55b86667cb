"""Hermes: its hook payloads, the shapes of output it takes, its plugin, and its resume.

See https://hermes-agent.nousresearch.com/docs. Our plugin (`pinbox/assets/hermes`) says what a
shell hook would: one shape for both.
"""

import re
from typing import Any, Final

from pinbox.agents import payload
from pinbox.agents import resume as resumes
from pinbox.agents.payload import HookCall
from pinbox.agents.pieces import Assets, Home, Piece, Place, Skill, YamlItem
from pinbox.agents.resume import Answer, Command, Permissions

NAME: Final = "hermes"
LABEL: Final = "Hermes"
HOME: Final = Home(variable="HERMES_HOME", folder=".hermes")
PROGRAM: Final = "hermes"

#: Its events, and ours for them. Its `on_session_end` is the end of a turn.
EVENTS: Final = {
    "on_session_start": "SessionStart",
    "pre_llm_call": "UserPromptSubmit",
    "pre_verify": "Stop",
    "on_session_finalize": "SessionEnd",
}
#: Hermes looks back on a conversation by itself, in a copy under the same id that nobody reads.
_LOOKING_BACK: Final = "You can only call memory and skill management tools."


def parse(body: bytes) -> HookCall | None:
    """The call in `body`; None when it is no JSON object, names no session, or is another event.

    A conversation is told of itself from the beginning in `pre_llm_call`: of what a hook says at
    `on_session_start` Hermes reads nothing, and at a resume it does not call it.
    """
    data = payload.json_object(body)
    if data is None:
        return None
    event, extra = data.get("hook_event_name"), data.get("extra")
    key = payload.session_key(data.get("session_id"))
    if key is None or not isinstance(event, str) or event not in EVENTS:
        return None
    more: dict[str, Any] = extra if isinstance(extra, dict) else {}
    is_first_turn = event == "pre_llm_call" and more.get("is_first_turn") is True
    return HookCall(
        agent=NAME,
        event="SessionStart" if is_first_turn else EVENTS[event],
        key=key,
        cwd=payload.path(data.get("cwd")),
        # Only our plugin knows that a session goes on under another key.
        source=payload.name(more.get("source")),
        is_heard=event in ("pre_llm_call", "pre_verify"),
        # How often this turn was held already, by whomever.
        stop_hook_active=more.get("attempt") not in (None, False, 0),
        subagent=more.get("platform") == "subagent"
        or _LOOKING_BACK in resumes.string(more.get("user_message")),
        reason=payload.name(more.get("reason")),
    )


def render(call: HookCall, text: str) -> bytes:
    """`text` for this call: nothing for a subagent, and nothing where Hermes reads no output."""
    if call.subagent or not call.is_heard:
        return b""
    if call.event == "Stop":
        return payload.json_line({"action": "continue", "message": text})
    return payload.json_line({"context": text})


# --- what init puts into place --------------------------------------------------------------------

FOLDER: Final = ".hermes"
METHOD: Final = "shell"
#: Where in its config.yaml a plugin is allowed to load.
ENABLED: Final = ("plugins", "enabled")


def pieces(place: Place) -> tuple[Piece, ...]:
    """Hermes has no project scope: the plugin is the user's, and does nothing without a project. It
    offers the skill that lies in it.
    """
    plugin = place.home / "plugins" / "pinbox"
    return (
        Assets(path=plugin, source="hermes"),
        Skill(path=plugin),
        YamlItem(
            path=place.home / "config.yaml",
            keys=ENABLED,
            item="pinbox",
            by_hand="hermes plugins enable pinbox",
        ),
    )


def after(place: Place) -> str:
    return (
        f"{place.home / 'config.yaml'} now lets Hermes load the plugin in"
        f" {place.home / 'plugins' / 'pinbox'}, for all your projects; `hermes plugins disable"
        " pinbox` or `pinbox init --undo --global` takes that back. A session that is open learns"
        " of it when it is started anew, a gateway by `hermes gateway restart`."
    )


# --- going on with an ended session ---------------------------------------------------------------

#: As in 20261130_163022_6bc6d8. `latest` and titles are not ids.
KEY: Final = re.compile(r"\d{8}_\d{6}_[0-9a-f]{4,32}", re.ASCII)
#: Whether this version reads a prompt from its stdin.
HELP: Final[tuple[str, ...]] = ("chat", "--help")
ENVIRONMENT: Final[tuple[str, ...]] = (
    *("HERMES_HOME", "HERMES_INFERENCE_PROVIDER", "HERMES_MODEL", "OPENROUTER_*", "OPENAI_*"),
    *("ANTHROPIC_*", "NOUS_*", "GEMINI_*", "GOOGLE_API_KEY", "DEEPSEEK_*", "MISTRAL_*", "GROQ_*"),
    *("AWS_*",),
)
_SESSION: Final = re.compile(r"^session_id: *(\S+) *$", re.MULTILINE)
_STATUS: Final = re.compile(r"\bHTTP (\d{3})\b")


def resume(key: str, text: str, *, permissions: Permissions, help_text: str) -> Command:
    """Older versions take the prompt as an argument only, where every user of the machine sees it.

    Never `-z`, which ignores the resume, and never `--yolo`. It edits files without asking, and has
    no flag that says so.
    """
    if "--query-file" in help_text:
        arguments: tuple[str, ...] = ("chat", "-Q", "--query-file", "-", "--resume", key)
        return Command(arguments=arguments, stdin=text)
    return Command(arguments=("chat", "-Q", f"--query={text}", "--resume", key))


def read(exit_code: int | None, stdout: str, stderr: str) -> Answer:
    """The answer on stdout, the session's id on stderr."""
    keys = _SESSION.findall(stderr)
    key = keys[-1] if keys else None
    said = stdout.strip()
    if exit_code == 0:
        return Answer(key=key, said=said)
    if "Session not found:" in stderr:
        return resumes.failed(stderr, key=key, trouble="refused")
    last = said.rpartition("\n")[2]
    error = last if _STATUS.search(last) or not stderr.strip() else f"{last}\n{stderr}"
    status = _STATUS.search(last)
    return resumes.failed(error, key=key, status=int(status[1]) if status else None)
