"""An agent's hooks: registered where, run for real, answered in the right shape, last seen when.

What a project's files say is only run when it is word for word what Pinbox writes: a repository can
bring its own settings, and nobody has trusted them yet.
"""

import json
import os
import shutil
import sqlite3
import time
import tomllib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pinbox import agents, project, render
from pinbox.checks import database, hubs, launcher
from pinbox.checks.findings import Finding, fail, ok, skip, warn
from pinbox.checks.launcher import Launcher
from pinbox.checks.throwaway import HubFailed, ThrowAway
from pinbox.contract import PinboxError
from pinbox.install import files, launchers, planning, settings

#: The exact commands that `init` registers, by agent. No other is ever run here.
COMMANDS: Final = {"claude": settings.COMMAND}
_MAX_JSON_BYTES: Final = 32 * 1024 * 1024
_LOG_BYTES: Final = 64 * 1024
_INSTALL: Final = "pinbox init --yes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One file that registers hooks of ours: event -> the commands, as they stand there."""

    label: str
    commands: Mapping[str, list[str]]
    is_plugin: bool = False


@dataclass(slots=True, kw_only=True)
class Installed:
    """All that was found for one agent. `off` names the file that turns hooks off."""

    places: list[Place] = field(default_factory=list)
    off: str | None = None
    unreadable: list[str] = field(default_factory=list)

    @property
    def events(self) -> set[str]:
        return {event for place in self.places for event in place.commands}

    def doubled(self) -> list[str]:
        """Events for which the agent runs us more than once: it runs the same command once only,
        but a plugin's as well as a settings file's.
        """
        found = []
        for event in sorted(self.events):
            runs = {
                (place.label if place.is_plugin else "", command)
                for place in self.places
                for command in place.commands.get(event, ())
            }
            if len(runs) > 1:
                found.append(event)
        return found


def hooks(agent: str, root: Path | None, away: ThrowAway) -> Finding:
    name = f"hooks-{agent}"
    is_here = shutil.which(agent) is not None
    installed = _FINDERS[agent](root)
    seen = _last_seen(agent, root, away)
    if not installed.places:
        if installed.unreadable:
            said = f"{installed.unreadable[0]} cannot be read"
            return warn(name, said, "put it right, then pinbox init")
        said = f"no hooks{'' if seen is None else f', though a session was seen {_ago(seen)}'}"
        if agent not in COMMANDS:
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
    hint = f"take disableAllHooks out of {installed.off}"
    return fail(name, f"{where}, but {installed.off} turns all hooks off", hint)


def _incomplete(
    name: str, agent: str, where: str, installed: Installed, root: Path | None
) -> Finding | None:
    if root is None or not (root / project.FOLDER).is_dir():
        said = f"{where}; they do nothing here without {project.FOLDER}/"
        is_global = all(place.label.startswith("~") for place in installed.places)
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
    if planning.checkout(root) == root:  # a linked worktree has none of its own
        found.insert(0, launcher.of_project(root))
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
    place = launchers.path_in(away.project)
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
        place.label.startswith("~") and any(c != COMMANDS.get(agent) for c in commands)
        for place in installed.places
        for commands in place.commands.values()
    )
    hint = "pinbox init --global --yes" if is_global else _INSTALL
    return warn(name, f"registered twice for {', '.join(doubled)}: {where}", hint)


def _never_ran(
    name: str, agent: str, where: str, root: Path | None, seen: str | None
) -> Finding | None:
    if seen is not None or root is None:
        return None
    return warn(name, f"{where}: written, never ran", _TRUST[agent](root))


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


# --- where each agent keeps its hooks -------------------------------------------------------------


def _claude(root: Path | None) -> Installed:
    found = Installed()
    home = planning.user_folder()
    folders = {home: "~/.claude"}
    if root is not None:
        folders = {planning.checkout(root) / ".claude": ".claude"} | folders
    for folder, label in folders.items():
        for name in ("settings.json", "settings.local.json"):
            content = _read(folder / name)
            if content is None:
                continue
            value = _json(content)
            if value is None:
                found.unreadable.append(f"{label}/{name}")
                continue
            if value.get("disableAllHooks") is True:
                found.off = f"{label}/{name}"
            _add(found, f"{label}/{name}", value.get("hooks"))
            if "pinbox" in settings.plugins_of(content):
                events = {event: ["the plugin's"] for event in settings.EVENTS}
                label_of_plugin = f"the plugin that {label}/{name} enables"
                found.places.append(Place(label=label_of_plugin, commands=events, is_plugin=True))
        plugin = folder / "skills" / "pinbox"
        content = _read(plugin / "hooks" / "hooks.json")
        if content is not None and (plugin / ".claude-plugin" / "plugin.json").is_file():
            events = {event: ["the plugin's"] for event in settings.events_of_plugin(content)}
            if events:
                said = f"the plugin {label}/skills/pinbox"
                found.places.append(Place(label=said, commands=events, is_plugin=True))
    return found


def _codex(root: Path | None) -> Installed:
    found = Installed()
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    folders = {home: "~/.codex"}
    if root is not None:
        folders = {root / ".codex": ".codex"} | folders
    for folder, label in folders.items():
        for name, read in (("hooks.json", _json), ("config.toml", _toml)):
            content = _read(folder / name)
            if content is None:
                continue
            value = read(content)
            if value is None:
                found.unreadable.append(f"{label}/{name}")
                continue
            _add(found, f"{label}/{name}", value.get("hooks"))
            features = value.get("features")
            if isinstance(features, dict) and features.get("hooks") is False:
                found.off = f"{label}/{name}"
    return found


def _hermes(root: Path | None) -> Installed:
    home = Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes")
    return _by_words(home / "config.yaml", "~/.hermes/config.yaml")


def _openclaw(root: Path | None) -> Installed:
    home = Path(os.environ.get("OPENCLAW_STATE_DIR") or Path.home() / ".openclaw")
    return _by_words(home / "openclaw.json", "~/.openclaw/openclaw.json", also='"pinbox')


def _by_words(path: Path, label: str, also: str | None = None) -> Installed:
    """Files in formats that the standard library does not read: a line that runs us is enough."""
    found = Installed()
    text = (_read(path) or b"").decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    if any(settings.is_ours(line) or (also is not None and also in line) for line in lines):
        found.places.append(Place(label=label, commands={"its hooks": [label]}))
    return found


_FINDERS: Final = {"claude": _claude, "codex": _codex, "hermes": _hermes, "openclaw": _openclaw}


def _add(found: Installed, label: str, hooks: object) -> None:
    """The commands of ours in the `hooks` of a file of Claude's or Codex's shape."""
    commands: dict[str, list[str]] = {}
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            entries = group.get("hooks") if isinstance(group, dict) else None
            for entry in entries if isinstance(entries, list) else ():
                command = entry.get("command") if isinstance(entry, dict) else None
                if isinstance(command, str) and settings.is_ours(command):
                    commands.setdefault(event, []).append(command)
    if commands:
        found.places.append(Place(label=label, commands=commands))


def _read(path: Path) -> bytes | None:
    try:
        return files.content_of(path)
    except files.Unsafe:
        return b"\0"


def _json(content: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(content.decode("utf-8-sig") or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _toml(content: bytes) -> dict[str, Any] | None:
    try:
        return tomllib.loads(content.decode())
    except (ValueError, RecursionError):
        return None


# --- the step by which a person lets an agent run them --------------------------------------------


def _trust_claude(root: Path) -> str:
    folder = planning.checkout(root)
    step = f"start claude in {folder}"
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    path = (Path(named) if named else Path.home()) / ".claude.json"
    value = _json(_big(path) or b"{}")
    trusted = value.get("projects", {}) if value is not None else {}
    entry = trusted.get(str(folder)) if isinstance(trusted, dict) else None
    if isinstance(entry, dict) and entry.get("hasTrustDialogAccepted") is True:
        return f"{step}: hooks are only read there, at its start"
    return f"{step} and accept its trust dialog"


def _big(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_JSON_BYTES)
    except OSError:
        return None


def _trust_codex(root: Path) -> str:
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    value = _toml(_read(home / "config.toml") or b"") or {}
    projects = value.get("projects")
    entry = projects.get(str(root)) if isinstance(projects, dict) else None
    if not isinstance(entry, dict) or entry.get("trust_level") != "trusted":
        return f"start codex in {root}, trust the folder, then /hooks and trust ours"
    return "start codex, then /hooks and trust ours"


def _trust_hermes(root: Path) -> str:
    return (
        "start hermes in a terminal and allow the hook when it asks; `hermes hooks list` shows it"
    )


def _trust_openclaw(root: Path) -> str:
    return "set plugins.entries.pinbox.hooks.allowConversationAccess, then restart its gateway"


_TRUST: Final = {
    "claude": _trust_claude,
    "codex": _trust_codex,
    "hermes": _trust_hermes,
    "openclaw": _trust_openclaw,
}
