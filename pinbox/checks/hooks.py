"""An agent's hooks: registered where, run for real, answered in the right shape, last seen when.

What a project's files say is only run when it is word for word what Pinbox writes: a repository can
bring its own settings, and nobody has trusted them yet.
"""

import json
import os
import shutil
import sqlite3
import time
import uuid
from datetime import datetime
from pathlib import Path
from typing import Final

from pinbox import agents, project, render
from pinbox.agents import codex
from pinbox.checks import codex_trust, database, hubs, launcher, registered
from pinbox.checks.findings import Finding, fail, ok, skip, warn
from pinbox.checks.launcher import Launcher
from pinbox.checks.registered import Installed
from pinbox.checks.throwaway import HubFailed, ThrowAway
from pinbox.contract import PinboxError
from pinbox.install import planning, settings

#: The exact commands that `init` registers, by agent. No other is ever run here.
COMMANDS: Final = {"claude": settings.COMMAND, "codex": codex.COMMAND}
_LOG_BYTES: Final = 64 * 1024
_INSTALL: Final = "pinbox init --yes"


def hooks(agent: str, root: Path | None, away: ThrowAway) -> Finding:
    name = f"hooks-{agent}"
    is_here = shutil.which(agent) is not None
    installed = registered.FINDERS[agent](root)
    seen = _last_seen(agent, root, away)
    if not installed.places:
        if installed.unreadable:
            said = f"{installed.unreadable[0]} cannot be read"
            return warn(name, said, "put it right, then pinbox init")
        said = f"no hooks{'' if seen is None else f', though a session was seen {_ago(seen)}'}"
        if agent not in agents.INSTALLS:
            return skip(name, f"{said}: pinbox init has none for {agent} yet")
        if root is None:
            return skip(name, f"{said}: no project here")
        if not is_here:
            return skip(name, f"{said}, and {agent} is not on this PATH")
        return warn(name, f"{agent} is here, but {said} of ours are registered", _INSTALL)
    where = ", ".join(dict.fromkeys(place.label for place in installed.places))
    trouble = (
        _switched_off(name, where, installed)
        or _incomplete(name, agent, where, installed, root)
        or _tried(name, agent, where, installed, root, away)
        or _twice(name, agent, where, installed)
        or _untrusted(name, agent, where, installed, root, away, seen)
        or _never_ran(name, agent, where, root, seen)
        or _in_trouble(name, agent, where, root, seen)
    )
    if trouble is not None:
        return trouble
    return ok(
        name, f"{where}: {len(installed.events)} events, answered here, last ran {_ago(seen)}"
    )


# --- what may be wrong, the worst first ----------------------------------------------------------


def _switched_off(name: str, where: str, installed: Installed) -> Finding | None:
    if installed.off is None:
        return None
    switch = "[features] hooks = false" if installed.off.endswith(".toml") else "disableAllHooks"
    hint = f"take {switch} out of {installed.off}"
    return fail(name, f"{where}, but {installed.off} turns all hooks off", hint)


def _incomplete(
    name: str, agent: str, where: str, installed: Installed, root: Path | None
) -> Finding | None:
    if root is None or not (root / project.FOLDER).is_dir():
        said = f"{where}; they do nothing here without {project.FOLDER}/"
        is_global = all(place.is_of_user for place in installed.places)
        return skip(name, said) if is_global else warn(name, said, _INSTALL)
    missing = [event for event in settings.EVENTS if event not in installed.events]
    if missing and agent in COMMANDS:
        return fail(name, f"{where} has none for {', '.join(missing)}", _INSTALL)
    return None


def _tried(
    name: str,
    agent: str,
    where: str,
    installed: Installed,
    root: Path | None,
    away: ThrowAway,
) -> Finding | None:
    """Run what is registered, as an agent that was started from a desktop does."""
    if agent not in COMMANDS or agent not in agents.AGENTS or root is None:
        return None
    known = any(
        COMMANDS[agent] in commands
        for place in installed.places
        for commands in place.commands.values()
    )
    if not known:
        return warn(name, f"{where} runs us by words that are not init's; not tried", _INSTALL)
    found = [launcher.of_user(root)]
    # Codex runs the user's own only; a linked worktree has none of its own.
    if agent != codex.NAME and planning.checkout(root) == root:
        found.append(launcher.of_project(root))
    usable = next((one for one in found if one.is_executable), None)
    if usable is None:
        return fail(name, f"there is no launcher that can be run ({found[0].path})", _INSTALL)
    if usable.state == "other":
        said = f"{usable.path} was written by another version of Pinbox; not tried"
        return warn(name, said, _INSTALL)
    if usable.state == "inside":
        said = f"{usable.path} runs a program of the project itself; not tried"
        return warn(name, said, f"{_INSTALL} makes it run this one")
    if usable.state != "ready":
        return fail(name, f"{usable.path} is not a launcher of Pinbox; not tried", _INSTALL)
    try:
        with away.turn:
            wrong = _wrong_answer(agent, usable, away)
    except HubFailed as error:
        return fail(name, f"{where}; not tried: {error}", "see hub above")
    return fail(name, f"{where}: {wrong}", _INSTALL) if wrong is not None else None


def _wrong_answer(agent: str, used: Launcher, away: ThrowAway) -> str | None:
    """What the registered command does wrong with the throw-away project; None when it hands a pin
    over in the agent's own shape. Raises HubFailed.
    """
    # The real launcher, where the throw-away project's hook looks for it.
    place = away.state_home / "pinbox" / project.LAUNCHER
    place.unlink(missing_ok=True)
    place.symlink_to(used.path)
    # The home is the real one, for a launcher whose program went looks for pinbox there. Nothing
    # is written to it: the hook's state folder is the throw-away one.
    env = {
        "HOME": os.environ.get("HOME", "/"),
        "PATH": "/usr/bin:/bin",
        "XDG_STATE_HOME": str(away.state_home),
        "CLAUDE_PROJECT_DIR": str(away.project),
    }
    command = ["/bin/sh", "-c", COMMANDS[agent]]
    key = str(uuid.uuid4())
    words = f"hook {uuid.uuid4().hex}"
    for payload, event in (
        (hubs.started(agent, key, away), "SessionStart"),
        (hubs.prompted(agent, key, away), "UserPromptSubmit"),
    ):
        away.drop_pin(f"{words} {event}", session=(agent, key))
        out = hubs.answered(away, command, env, payload, holding=words)
        if not out:
            return _silent(used, away)
        wrong = _shape(out, event, words)
        if wrong is not None:
            return f"its answer to {event} {wrong}"
    return None


def _silent(used: Launcher, away: ThrowAway) -> str:
    if not used.is_whole:
        gone = used.python if not os.access(str(used.python), os.X_OK) else used.package
        return f"{used.path} does not run: {gone} is gone, and no other pinbox was found"
    said = hubs.hook_log(away)
    return f"{used.path} says nothing{f' ({said})' if said else ''}"


def _shape(out: bytes, event: str, words: str) -> str | None:
    """Claude reads context only inside hookSpecificOutput, under the event's own name."""
    try:
        said = json.loads(out)
        inside = said["hookSpecificOutput"]
        is_named = inside["hookEventName"] == event
        context = inside["additionalContext"]
    except (ValueError, KeyError, TypeError):
        return "is not in the shape that the agent reads"
    if not is_named or not isinstance(context, str) or set(said) != {"hookSpecificOutput"}:
        return "is not in the shape that the agent reads"
    return None if words in context else "does not have the pin"


def _twice(name: str, agent: str, where: str, installed: Installed) -> Finding | None:
    doubled = installed.doubled()
    if not doubled:
        return None
    is_global = any(
        place.is_of_user and any(c != COMMANDS.get(agent) for c in commands)
        for place in installed.places
        for commands in place.commands.values()
    )
    hint = "pinbox init --global --yes" if is_global else _INSTALL
    return warn(name, f"registered twice for {', '.join(doubled)}: {where}", hint)


def _untrusted(
    name: str,
    agent: str,
    where: str,
    installed: Installed,
    root: Path | None,
    away: ThrowAway,
    seen: str | None,
) -> Finding | None:
    """Codex skips a hook that it does not trust, and says nothing."""
    program = shutil.which(agent)
    if agent != codex.NAME or program is None or root is None:
        return None
    folder = planning.checkout(root)
    states = codex_trust.asked(program, folder, codex.HOME.path(), registered.codex_config(), away)
    if states is None:
        return None
    hint = f"start codex in {folder}: it asks to review them, and /hooks does later"
    is_own = any(not place.is_of_user for place in installed.places)
    if is_own and all(state.is_of_user for state in states):
        said = f"{where}: Codex does not trust this folder, so it skips them without a word"
        return warn(name, said, f"start codex in {folder}, trust the folder, and then the hooks")
    for status, words in (
        ("untrusted", "not trusted yet"),
        ("modified", "changed since Codex was told to trust them"),
    ):
        found = [state for state in states if state.status == status]
        if found:
            said = f"{where}: {len(found)} of {len(states)} are {words}, and skipped without a word"
            return warn(name, said, hint)
    if any(not state.is_enabled for state in states):
        return warn(name, f"{where}: Codex has some of them switched off", "start codex: /hooks")
    if states and seen is None:
        step = f"start codex in {folder} and write to it: nothing runs before the first prompt"
        return warn(name, f"{where}: trusted, never ran", step)
    return None


def _never_ran(
    name: str, agent: str, where: str, root: Path | None, seen: str | None
) -> Finding | None:
    if seen is not None or root is None:
        return None
    return warn(name, f"{where}: written, never ran", registered.TRUST[agent](root))


def _in_trouble(
    name: str, agent: str, where: str, root: Path | None, seen: str | None
) -> Finding | None:
    """A line of hook.log that is newer than the last session: the hook runs, and fails."""
    last = _last_failure(agent, root)
    if last is None or seen is None or last[0] <= datetime.fromisoformat(seen):
        return None
    at, text = last
    said = f"{where}: its last run failed {render.age(at.isoformat(), time.time())}: {text}"
    return warn(name, said, "pinbox status")


def _last_failure(agent: str, root: Path | None) -> tuple[datetime, str] | None:
    if root is None:
        return None
    try:
        with (project.state_path(root) / "hook.log").open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LOG_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except (OSError, PinboxError):
        return None
    for line in reversed(lines):
        at, _, rest = line.partition(" ")
        if not rest.startswith(repr(agent)):
            continue
        try:
            moment = datetime.fromisoformat(at)
        except ValueError:
            continue
        if moment.tzinfo is not None:
            text = render.cut(render.one_line(rest.removeprefix(repr(agent))), 120)
            return moment, text
    return None


def _last_seen(agent: str, root: Path | None, away: ThrowAway) -> str | None:
    if root is None:
        return None
    try:
        return database.last_seen(root, away).get(agent)
    except (sqlite3.Error, OSError, PinboxError):
        return None  # what is wrong there is for the check of the database to say


def _ago(seen: str | None) -> str:
    return render.age(seen, time.time()) if seen is not None else "never"
