"""Where each agent keeps its hooks, what of ours is in there, and by which step a person lets an
agent run it. Only reads, and may find anything in those files.
"""

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pinbox.agents import claude, codex, hermes, openclaw
from pinbox.install import claude_settings, files, planning, settings

_MAX_JSON_BYTES: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One file that registers hooks of ours: event -> the commands, as they stand there."""

    label: str
    commands: Mapping[str, list[str]]
    is_plugin: bool = False
    #: in the user's own folder, for all projects
    is_of_user: bool = False


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


# --- where each agent keeps its hooks -------------------------------------------------------------


def _claude(root: Path | None) -> Installed:
    found = Installed()
    own = planning.checkout(root) / ".claude" if root is not None else None
    home = claude.HOME.path()
    for folder, label in _folders(own, home, "CLAUDE_CONFIG_DIR"):
        is_of_user = folder == home
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
            _add(found, f"{label}/{name}", value.get("hooks"), is_of_user=is_of_user)
            if "pinbox" in settings.plugins_of(content):
                _add_plugin(found, f"the plugin that {label}/{name} enables", settings.EVENTS)
        plugin = folder / "skills" / "pinbox"
        content = _read(plugin / "hooks" / "hooks.json")
        if content is not None and claude_settings.has_plugin(folder):
            events = sorted(settings.events_of_plugin(content))
            _add_plugin(found, f"the plugin {label}/skills/pinbox", events)
    return found


def _codex(root: Path | None) -> Installed:
    found = Installed()
    home = codex.HOME.path()
    own = planning.checkout(root) / ".codex" if root is not None else None
    for folder, label in _folders(own, home, "CODEX_HOME"):
        for name, read in (("hooks.json", _json), ("config.toml", _toml)):
            content = _read(folder / name)
            if content is None:
                continue
            value = read(content)
            if value is None:
                found.unreadable.append(f"{label}/{name}")
                continue
            _add(found, f"{label}/{name}", value.get("hooks"), is_of_user=folder == home)
            features = value.get("features")
            if isinstance(features, dict) and features.get("hooks") is False:
                found.off = f"{label}/{name}"
    return found


def _hermes(root: Path | None) -> Installed:
    home = hermes.HOME.path()
    label = str(home) if hermes.HOME.is_moved else f"~/{home.name}"
    has_plugin = os.path.isfile(home / "plugins" / "pinbox" / "plugin.yaml")
    also = "pinbox" if has_plugin else None  # as an item of plugins.enabled
    return _by_words(home / "config.yaml", f"{label}/config.yaml", also=also)


def _openclaw(root: Path | None) -> Installed:
    path = openclaw.config(openclaw.HOME.path())
    label = str(path) if path.parent != Path.home() / ".openclaw" else "~/.openclaw/openclaw.json"
    return _by_words(path, label, also='"pinbox')


def _by_words(path: Path, label: str, also: str | None = None) -> Installed:
    """Files in formats that the standard library does not read: a line that runs us is enough."""
    found = Installed()
    text = (_read(path) or b"").decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    if any(settings.is_ours(line) or (also is not None and also in line) for line in lines):
        commands = {"its hooks": [label]}
        found.places.append(Place(label=label, commands=commands, is_of_user=True))
    return found


FINDERS: Final = {"claude": _claude, "codex": _codex, "hermes": _hermes, "openclaw": _openclaw}


def _folders(own: Path | None, home: Path, variable: str) -> list[tuple[Path, str]]:
    """The project's folder and the user's, each as a person would name it."""
    label = str(home) if os.environ.get(variable) else f"~/{home.name}"
    found = [(own, own.name)] if own is not None and own != home else []
    return [*found, (home, label)]


def _add_plugin(found: Installed, label: str, events: Sequence[str]) -> None:
    if events:
        commands = dict.fromkeys(events, ["the plugin's own"])
        found.places.append(Place(label=label, commands=commands, is_plugin=True))


def _add(found: Installed, label: str, hooks: object, *, is_of_user: bool) -> None:
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
        found.places.append(Place(label=label, commands=commands, is_of_user=is_of_user))


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


def codex_config() -> dict[str, Any]:
    """The user's config.toml of Codex; empty when there is none that can be read."""
    return _toml(_read(codex.HOME.path() / "config.toml") or b"") or {}


def _trust_codex(root: Path) -> str:
    projects = codex_config().get("projects")
    entry = projects.get(str(root)) if isinstance(projects, dict) else None
    if not isinstance(entry, dict) or entry.get("trust_level") != "trusted":
        return f"start codex in {root}, trust the folder, then /hooks and trust ours"
    return "start codex, then /hooks and trust ours"


def _trust_hermes(root: Path) -> str:
    return (
        "start hermes anew, a gateway by `hermes gateway restart`; a shell hook of ours is allowed"
        " when hermes asks in a terminal"
    )


def _trust_openclaw(root: Path) -> str:
    return (
        "run `openclaw gateway restart`, then talk to an agent whose workspace is this project;"
        " if this stays, see that plugins.entries.pinbox.hooks.allowConversationAccess is true"
    )


TRUST: Final = {
    "claude": _trust_claude,
    "codex": _trust_codex,
    "hermes": _trust_hermes,
    "openclaw": _trust_openclaw,
}
