"""What is peculiar to Claude Code: a second settings file, and plugins that bring our hooks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pinbox.agents import claude
from pinbox.agents.pieces import Hooks
from pinbox.install import files, settings
from pinbox.install.files import Change
from pinbox.install.kinds import Planned

if TYPE_CHECKING:
    from pathlib import Path


def planned(piece: Hooks, base: Path) -> Planned:
    """As `kinds.planned`, for its settings.json. An event that a plugin of ours answers gets none
    of our hooks, and one that settings.local.json has just like ours is not added.
    """
    folder = piece.path.parent
    try:
        real = files.within(base, piece.path)
        before = files.content_of(real)
        local, changes = _local_settings(base, folder)
        plugin = plugin_events(folder)
        merge = settings.merged(before, command=piece.command, elsewhere=plugin, enough=local)
    except (files.Unsafe, settings.Refused) as error:
        return Planned(state="failed", said=f"is left as it is: {error}")
    if merge.added or merge.renewed:
        changes.append(Change(path=real, kind="settings", before=before, after=merge.content))
    said = []
    if merge.added:
        said.append(f"hooks added for {', '.join(merge.added)}")
    if merge.renewed:
        said.append(f"hooks renewed for {', '.join(merge.renewed)}")
    if plugin:
        said.append("a pinbox plugin has the hooks")
    elif local and not merge.added:
        said.append("settings.local.json has the hooks")
    if merge.hooks_disabled:
        said.append("but disableAllHooks turns them all off")
    is_changed = bool(merge.added or merge.renewed)
    state = "unchanged" if not is_changed else "created" if before is None else "updated"
    return Planned(state=state, said="; ".join(said) or "unchanged", changes=tuple(changes))


def _local_settings(base: Path, folder: Path) -> tuple[frozenset[str], list[Change]]:
    """Events that settings.local.json registers as we do, and its cleaning from older commands."""
    path = folder / "settings.local.json"
    before = files.content_of(path)
    if before is None or not settings.events_of(before):
        return frozenset(), []
    if settings.events_of(before) == settings.events_of(before, current=True):
        return settings.events_of(before), []
    after = settings.without_ours(before, before=before)
    real = files.within(base, path)
    return frozenset(), [Change(path=real, kind="settings", before=before, after=after)]


def plugin_events(folder: Path) -> frozenset[str]:
    """Events for which a plugin of ours already runs."""
    found: frozenset[str] = frozenset()
    for place in dict.fromkeys((folder, claude.HOME.path())):
        if has_plugin(place):
            plugin = place / "skills" / "pinbox"
            found |= settings.events_of_plugin(_read(plugin / "hooks" / "hooks.json"))
        for name in ("settings.json", "settings.local.json"):
            if "pinbox" in settings.plugins_of(_read(place / name)):
                found |= frozenset(settings.EVENTS)
    return found


def has_plugin(folder: Path) -> bool:
    """Whether the plugin of ours stands in Claude's `folder`, where our skill would go."""
    return os.path.isfile(folder / "skills" / "pinbox" / ".claude-plugin" / "plugin.json")


def _read(path: Path) -> bytes:
    try:
        return files.content_of(path) or b""
    except files.Unsafe:
        return b""
