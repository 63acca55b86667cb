"""The hub: this project's own, looked at; and a throw-away one, which does everything for real."""

import json
import os
import re
import time
import uuid
from pathlib import Path
from typing import Final

from pinbox import __version__, daemon, hotpath, project, render, wire
from pinbox.checks import launcher, machine
from pinbox.checks.findings import Finding, fail, ok, warn
from pinbox.checks.throwaway import HubFailed, ThrowAway
from pinbox.install import launchers
from pinbox.project import HubState, NoHub

#: Seconds this project's hub gets to answer `/health`.
_HEALTH_TIMEOUT_S: Final = 3.0
#: Seconds for Django to load and look at its settings.
_CHECK_TIMEOUT_S: Final = 12.0
#: A hook answers within hotpath.DEADLINE_S; the rest is for a slow machine to start a shell.
HOOK_TIMEOUT_S: Final = hotpath.DEADLINE_S + 2.0
_HOOK_TRIES: Final = 2
#: Names of ours that are no settings of a hub.
_NO_SETTINGS: Final = frozenset({"PINBOX_DEBUG", "PINBOX_PROJECT"})
_ISSUE: Final = re.compile(r"\((pinbox\.[EW]\d+|\w+\.E\d+)\) (.+)")
_REPORT: Final = "that is a fault of Pinbox: please report it, with this line"


# --- hub ------------------------------------------------------------------------------------------


def hub(root: Path | None, away: ThrowAway) -> Finding:
    """Whether this project's hub answers as itself, and whether a hub can start here at all."""
    try:
        seconds = away.start_hub()
    except HubFailed as error:
        said = f"a throw-away hub did not start: {error}"
        return fail("hub", f"{said}; {own_hub(root).detail}", _REPORT)
    own = own_hub(root)
    detail = f"{own.detail}; a throw-away one started in {seconds:.1f} s"
    return Finding(name="hub", status=own.status, detail=detail, hint=own.hint)


def own_hub(root: Path | None) -> Finding:
    if root is None:
        return ok("hub", "no project here")
    try:
        state = project.read_hub(root)
    except NoHub as none:
        match none.cause:
            case "missing":
                return ok("hub", "none runs for this project now, any command starts it")
            case "dead":
                return ok("hub", "the one that ran here was killed, any command starts it again")
            case _:
                path = project.state_path(root) / project.STATE_FILE
                return warn("hub", f"none is known to run: {none}", f"rm -r {path}")
    who = f"process {state.pid} on port {state.port}"
    try:
        status, body = wire.exchange(state.port, "GET", "/health", timeout_s=_HEALTH_TIMEOUT_S)
    except wire.TimedOut:
        return fail("hub", f"{who} says nothing for {_HEALTH_TIMEOUT_S:g} s", "pinbox stop")
    except wire.WireError as error:
        return fail("hub", f"{who} cannot be asked: {error}", "pinbox stop")
    try:
        answer = json.loads(body)
        if status == 503:
            refusal = answer["error"]
            said = f"{who} is closed: {refusal['message']}"
            return fail("hub", said, _one(refusal.get("hint"), "pinbox stop"))
        is_itself = status == 200 and answer["data"]["instance"] == state.instance
    except (ValueError, KeyError, TypeError, AttributeError):
        is_itself = False
    if not is_itself:
        return fail("hub", f"port {state.port} is answered by another program", "pinbox stop")
    return _versions(state, who)


def _versions(state: HubState, who: str) -> Finding:
    began = f"started {render.age(state.started_at, time.time())}"
    match daemon.compare_versions(state.version, __version__):
        case 1:
            return warn(
                "hub",
                f"{who} answers, and is version {state.version}; this is {__version__}",
                "pipx upgrade pinbox",
            )
        case -1:
            said = f"{who} answers; the next command replaces its version {state.version}"
            return ok("hub", said)
        case _:
            return ok("hub", f"{who} answers, version {state.version}, {began}")


def _one(hint: object, otherwise: str) -> str:
    return hint if isinstance(hint, str) else otherwise


# --- fts5 and delivery ----------------------------------------------------------------------------


def fts5(away: ThrowAway) -> Finding:
    """A pin is dropped in the throw-away project and looked for by a part of a word."""
    missing = machine.has_fts5()
    if missing is not None:
        return fail(
            "fts5",
            f"SQLite has no full text search: {missing}",
            "install Python with a full SQLite",
        )
    try:
        with away.turn:
            pin_id = away.drop_pin("The Überschrift is cut off")
            found = [pin["id"] for pin in away.ask("GET", "/pins?search=berSCHRIFT")]
            others = away.ask("GET", "/pins?search=berschriften")
    except HubFailed as error:
        return fail("fts5", f"not tried: {error}", "see hub above")
    if found != [pin_id] or others:
        return fail("fts5", "a pin was not found by its words", _REPORT)
    return ok("fts5", "a pin was found by a part of a word")


def delivery(root: Path | None, away: ThrowAway) -> Finding:
    """A session starts, a pin is dropped for it, its next prompt brings it, looking acknowledges
    it: with the real hook and hub, in the throw-away project.
    """
    key = str(uuid.uuid4())
    session = ("claude", key)
    words = f"probe {uuid.uuid4().hex}"
    python = launcher.interpreter(root) or launchers.names()[0]
    hook = [python, "-I", "-S", str(Path(hotpath.__file__).with_name("hook.py")), "claude"]
    env = away.environment(CLAUDE_PROJECT_DIR=str(away.project))
    try:
        with away.turn:
            answered(away, hook, env, started("claude", key, away))
            pin_id = away.drop_pin(words, session=session)
            began = time.monotonic()
            out = answered(away, hook, env, prompted("claude", key, away), holding=words)
            took_ms = round((time.monotonic() - began) * 1000)
            if words.encode() not in out:
                said = hook_log(away) or (f"it said {out[:80]!r}" if out else "it said nothing")
                return fail("delivery", f"the hook did not hand the pin over: {said}", _REPORT)
            handed = away.ask("GET", f"/pins/{pin_id}/deliveries")[0]
            away.ask("GET", f"/pins/{pin_id}", session="/".join(session))
            row = away.ask("GET", f"/pins/{pin_id}/deliveries")[0]
    except HubFailed as error:
        return fail("delivery", f"not done: {error}", "see hub above")
    except OSError as error:
        return fail("delivery", f"{hook[0]} cannot be run: {error.strerror}", "see python above")
    if handed.get("handedOverBy") != "hooks" or "acknowledgedAt" in handed:
        return fail("delivery", "the hook's hand-over was not recorded", _REPORT)
    if not row.get("acknowledgedAt"):
        return fail("delivery", "that the agent looked was not recorded", _REPORT)
    return ok("delivery", f"queued, handed over by the hook in {took_ms} ms, acknowledged")


def started(agent: str, key: str, away: ThrowAway) -> bytes:
    """What the agent's hook gets when a session starts (agents of Claude's dialect)."""
    return _payload(key, away, hook_event_name="SessionStart", source="startup")


def prompted(agent: str, key: str, away: ThrowAway) -> bytes:
    return _payload(
        key,
        away,
        hook_event_name="UserPromptSubmit",
        prompt="Is all well?",
        permission_mode="default",
    )


def _payload(key: str, away: ThrowAway, **more: str) -> bytes:
    transcript = away.home / "transcript.jsonl"
    common = {"session_id": key, "transcript_path": str(transcript), "cwd": str(away.project)}
    return json.dumps(common | more).encode()


def answered(
    away: ThrowAway, command: list[str], env: dict[str, str], payload: bytes, *, holding: str = ""
) -> bytes:
    """What a hook's command prints; asked again when a busy machine made it miss its deadline."""
    out = b""
    for _ in range(_HOOK_TRIES):
        done = away.run(command, timeout_s=HOOK_TIMEOUT_S, env=env, stdin=payload)
        out = done.out if done is not None else b""
        if holding.encode() in out:
            break
    return out


def hook_log(away: ThrowAway) -> str:
    """The last line that hooks left in the throw-away project."""
    try:
        lines = (away.state_dir / "hook.log").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


# --- configuration --------------------------------------------------------------------------------


def configuration(root: Path | None, away: ThrowAway) -> Finding:
    """Which settings this shell has, by name only, and whether a hub could work with them."""
    names = sorted(
        name
        for name, value in os.environ.items()
        if name.startswith("PINBOX_") and value and name not in _NO_SETTINGS
    )
    if not names:
        return ok("configuration", "nothing is set, and nothing needs to be")
    said = f"set here: {', '.join(names)}"
    env = away.environment(PINBOX_PROJECT=str(away.project))
    env |= {name: os.environ[name] for name in names}
    done = away.run(
        [*daemon.hub_command(), "check"], timeout_s=_CHECK_TIMEOUT_S, env=env, with_stderr=True
    )
    if done is None:
        return warn("configuration", f"{said}; not checked in time", "try again")
    text = done.out.decode("utf-8", "replace")
    issue = _ISSUE.search(text)
    hint = re.search(r"HINT: (.+)", text[issue.start() :] if issue else "")
    advice = hint[1].strip() if hint else "see docs/configuration.md"
    if done.code:
        what = issue[2].strip() if issue else text.strip().rpartition("\n")[2]
        return fail("configuration", f"{said}; {what}", advice)
    stale = _unknown_to_hub(root, names)
    if stale:
        return warn(
            "configuration",
            f"{said}; the running hub was started without {', '.join(stale)}",
            "pinbox stop; the next command starts it with them",
        )
    if issue:
        return warn("configuration", f"{said}; {issue[2].strip()}", advice)
    return ok("configuration", f"{said}; consistent")


def _unknown_to_hub(root: Path | None, names: list[str]) -> list[str]:
    """Those of `names` that the running hub does not have as this shell has them (Linux only)."""
    if root is None:
        return []
    try:
        state = project.read_hub(root)
        with open(f"/proc/{state.pid}/environ", "rb") as file:
            pairs = [entry.partition(b"=") for entry in file.read().split(b"\0")]
    except (NoHub, OSError):
        return []
    theirs = {name: value for name, _, value in pairs}
    return [n for n in names if theirs.get(os.fsencode(n)) != os.fsencode(os.environ[n])]
