"""Claude Code: its hook payloads, the one shape of output it takes as context, and its resume.

See https://code.claude.com/docs/en/hooks. A top-level `additionalContext` is ignored by it, so the
text always goes inside `hookSpecificOutput` with the event's own name.
"""

from typing import Final

from pinbox.agents import payload
from pinbox.agents import resume as resumes
from pinbox.agents.payload import HookCall
from pinbox.agents.pieces import Home, Hooks, Piece, Place, Skill
from pinbox.agents.resume import Answer, Command, Permissions

NAME: Final = "claude"
LABEL: Final = "Claude Code"

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


# --- what init puts into place --------------------------------------------------------------------

HOME: Final = Home(variable="CLAUDE_CONFIG_DIR", folder=".claude")
FOLDER: Final = ".claude"
METHOD: Final = "skills-dir"
#: It runs the user's own launcher, for a branch that is looked at may bring one; the project's only
#: in a home where `init` never ran, such as an agent's own, and when git has nothing of `.pinbox`.
#: It is silent where there is no project.
COMMAND: Final = (
    'p="${XDG_STATE_HOME:-$HOME/.local/state}/pinbox/hook"; '
    '[ -x "$p" ] || '
    '[ "$(git -C "$CLAUDE_PROJECT_DIR" ls-files ":(icase).pinbox" 2>/dev/null)" ] || '
    'p="$CLAUDE_PROJECT_DIR/.pinbox/hook"; '
    '[ -x "$p" ] && "$p" claude; exit 0'
)


def pieces(place: Place) -> tuple[Piece, ...]:
    """It reads a project's settings only where it is started in that very folder."""
    folder = place.home if place.user_scope else place.root / FOLDER
    return (
        Hooks(path=folder / "settings.json", command=COMMAND),
        Skill(path=folder / "skills" / "pinbox"),
    )


def after(place: Place) -> str:
    if place.user_scope:
        return "Claude Code runs the hooks from its next start on."
    return (
        "Claude Code runs the hooks when it is started in this folder, and asks once whether "
        "you trust it."
    )


# --- going on with an ended session ---------------------------------------------------------------

PROGRAM: Final = "claude"
KEY: Final = resumes.UUID
HELP: Final[tuple[str, ...]] = ()
ENVIRONMENT: Final[tuple[str, ...]] = (
    "ANTHROPIC_*",
    "CLAUDE_CONFIG_DIR",
    *("CLAUDE_CODE_USE_*", "CLAUDE_CODE_SKIP_*", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_CLIENT_*"),
    *("CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_EFFORT_LEVEL"),
    *("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CODE_SHELL"),
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    *("DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "API_TIMEOUT_MS"),
    # Models by way of a cloud.
    *("AWS_*", "CLOUD_ML_REGION", "VERTEX_REGION_*", "GOOGLE_APPLICATION_CREDENTIALS"),
    *("GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "AZURE_*"),
)
#: Last in the command: the option takes every word that follows it.
_MAY_EDIT: Final = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash(pinbox:*)")


def resume(key: str, text: str, *, permissions: Permissions, help_text: str) -> Command:
    arguments = ("-p", "--resume", key, "--output-format", "json")
    return Command(arguments=arguments + (_MAY_EDIT if permissions else ()), stdin=text)


def read(exit_code: int | None, stdout: str, stderr: str) -> Answer:
    """One object on stdout, and nothing at all on stdout when the session is refused."""
    result = next((one for one in resumes.json_objects(stdout) if one.get("type") == "result"), {})
    key = resumes.string(result.get("session_id")) or None
    said = resumes.string(result.get("result")) or stderr
    if "No conversation found with session ID" in stderr or (
        "--resume requires a valid session ID" in stderr
    ):
        return resumes.failed(stderr, key=key, trouble="refused")
    if exit_code != 0 or result.get("is_error") is not False:
        status = resumes.number(result.get("api_error_status"))
        is_cut_off = resumes.string(result.get("api_error")) == "connection_failed"
        return resumes.failed(
            said, key=key, status=status, trouble="network" if is_cut_off else None
        )
    if result.get("num_turns") == 0:  # exit code 0, no error, and no word to the model
        why = "one of its own hooks dropped the prompt"
        return resumes.failed(said, key=key, trouble="unclear", why=why)
    return Answer(key=key, said=said + _denied(result.get("permission_denials")))


def _denied(denials: object) -> str:
    """A line that names the tools it was not permitted to use."""
    tools = [
        resumes.string(one.get("tool_name"))
        for one in (denials if isinstance(denials, list) else ())
        if isinstance(one, dict)
    ]
    names = ", ".join(sorted({tool for tool in tools if tool}))
    return f"\n\n(not permitted: {names})" if names else ""
