"""A JSON file of hooks in the shape of Claude Code's settings, which Codex reads too: our hooks put
in and taken out, all else left alone. Pure.

See https://code.claude.com/docs/en/settings and /hooks. Bytes in, bytes out.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from pinbox.agents import claude
from pinbox.install import json_text
from pinbox.install.json_text import Edit, Node, NotJson, appended, applied, without

COMMAND: Final = claude.COMMAND
EVENTS: Final = claude.EVENTS
#: seconds after which the agent goes on without us; our own deadline is two
HOOK_TIMEOUT_S: Final = 10
MAX_BYTES: Final = 4 * 1024 * 1024

_BOM: Final = "\ufeff"
_OURS: Final = re.compile(
    r"\.pinbox/hook\b|/pinbox/hook\b"
    r"|(?:^|[\s/\"';&|])pinbox[\"']?\s+(?:hook|session\s+(?:register|inject|pending|end))\b"
    r"|skills/pinbox/hooks/(?:session-start|inject|stop|session-end)\.sh"
)


class Refused(Exception):
    """The file is left alone. The message says why, without naming the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """What `merged` made: new bytes, the events added or renewed, and whether hooks run at all."""

    content: bytes
    added: tuple[str, ...]
    renewed: tuple[str, ...]
    hooks_disabled: bool


def merged(
    content: bytes | None,
    *,
    command: str = COMMAND,
    elsewhere: frozenset[str] = frozenset(),
    enough: frozenset[str] = frozenset(),
) -> Merge:
    """Our hooks registered once for each event. Raises Refused.

    `content` None is a file that does not exist. Events in `elsewhere` are answered by a plugin, so
    none of ours stays here. Events in `enough` have our very command in another settings file:
    Claude runs it once however often it finds it, so it stays here but is not added.
    """
    text = as_text(content)
    added: list[str] = []
    renewed: list[str] = []
    for event in EVENTS:
        had = bool(_own(_groups(parsed(text), event), command))
        if not had and event in enough:
            continue
        changed = _without(text, event) if event in elsewhere else _with(text, event, command)
        if changed != text:
            (renewed if had else added).append(event)
            text = changed
    return Merge(
        content=as_bytes(text, content) if added or renewed else content or b"",
        added=tuple(added),
        renewed=tuple(renewed),
        hooks_disabled=parsed(text).value.get("disableAllHooks") is True,
    )


def without_ours(content: bytes, *, before: bytes | None = None) -> bytes | None:
    """The file without our hooks, for a file that changed since `merged`. Raises Refused.

    `before` is the file as it was before us: what was empty then stays. None when nothing is left
    of a file that did not exist then.
    """
    text = as_text(content)
    old = parsed(as_text(before)).value.get("hooks") if before is not None else None
    for event in EVENTS:
        changed = _without(text, event)
        if changed != text and not (isinstance(old, dict) and event in old):
            changed = _drop_if_empty(changed, event)
        text = changed
    if old is None and text != as_text(content):
        text = _drop_if_empty(text, None)
    if before is None and parsed(text).value == {}:
        return None
    return as_bytes(text, content)


def events_of(content: bytes, *, current: bool = False, command: str = COMMAND) -> frozenset[str]:
    """Events for which this settings or hooks.json file runs us, or (`current`) runs our present
    command and no older one; none if it cannot be read.
    """
    try:
        root = parsed(as_text(content))
        found = {event: _own(_groups(root, event), command) for event in EVENTS}
        return frozenset(
            event
            for event, own in found.items()
            if own and (not current or all(one.is_current for one in own))
        )
    except Refused:
        return frozenset()


def is_ours(command: object) -> bool:
    """Whether a hook's command runs Pinbox, in this or an older version's words."""
    return isinstance(command, str) and _OURS.search(command) is not None


def events_of_plugin(content: bytes) -> frozenset[str]:
    """Events for which a plugin's hooks.json runs anything."""
    try:
        root = parsed(as_text(content))
        found = {event: _groups(root, event) for event in EVENTS}
    except Refused:
        return frozenset()
    return frozenset(event for event, groups in found.items() if groups and groups.items)


def check(content: bytes) -> None:
    """Raises Refused if this file could not be edited."""
    for event in EVENTS:
        _groups(parsed(as_text(content)), event)


def plugins_of(content: bytes) -> frozenset[str]:
    """Names of the plugins that this settings file enables, without their marketplace."""
    try:
        enabled = parsed(as_text(content)).value.get("enabledPlugins")
    except Refused:
        return frozenset()
    if not isinstance(enabled, dict):
        return frozenset()
    return frozenset(name.partition("@")[0] for name, is_on in enabled.items() if is_on is True)


# --- reading --------------------------------------------------------------------------------------


def as_text(content: bytes | None) -> str:
    if content is not None and len(content) > MAX_BYTES:
        raise Refused(f"it is larger than {MAX_BYTES} bytes")
    try:
        text = (content or b"").decode().removeprefix(_BOM)
    except UnicodeDecodeError as error:
        raise Refused(f"it is not UTF-8 (byte {error.start})") from None
    if not text.strip(" \t\r\n"):
        return "{}" + (text or "\n")
    return text


def as_bytes(text: str, content: bytes | None) -> bytes:
    bom = _BOM if content is not None and content.startswith(_BOM.encode()) else ""
    try:
        return (bom + text).encode()
    except UnicodeEncodeError:
        raise Refused("a path that belongs into it is not UTF-8") from None


def parsed(text: str) -> Node:
    try:
        root = json_text.parse(text)
    except NotJson as error:
        raise Refused(f"it is not plain JSON: {error}") from None
    if not isinstance(root.value, dict):
        raise Refused("it is no JSON object")
    return root


def _groups(root: Node, event: str) -> Node | None:
    """The list of this event's hook groups."""
    hooks = root.members.get("hooks")
    if hooks is None:
        return None
    if not isinstance(hooks.node.value, dict):
        raise Refused('its "hooks" is no object')
    groups = hooks.node.members.get(event)
    if groups is None:
        return None
    if not isinstance(groups.node.value, list):
        raise Refused(f'its "hooks.{event}" is no list')
    return groups.node


@dataclass(frozen=True, slots=True)
class _Own:
    """One command of ours: where it stands in its event's list."""

    group: int
    entry: int
    node: Node
    is_current: bool
    is_unrestricted: bool


def _own(groups: Node | None, command: str = COMMAND) -> list[_Own]:
    """Every command of ours; `command` is the present one."""
    found = []
    for number, group in enumerate(groups.items if groups is not None else ()):
        entries = group.members.get("hooks")
        if entries is None:
            continue
        for index, entry in enumerate(entries.node.items):
            value = entry.value
            runs = value.get("command") if isinstance(value, dict) else None
            if not is_ours(runs):
                continue
            free = group.value.get("matcher", "") in ("", "*")
            current = runs == command and value.get("type") == "command"
            found.append(_Own(number, index, entry, current, free))
    return found


# --- changing, one edit at a time -----------------------------------------------------------------


def _with(text: str, event: str, command: str) -> str:
    """Our hook registered once for `event`: the present command if it is there, else the first
    older one renewed where it stands, else a new one at the end.
    """
    found = _own(_groups(parsed(text), event), command)
    keep = next((own for own in found if own.is_current), None) or next(
        (own for own in found if own.is_unrestricted), None
    )
    for own in reversed(found):
        if own is not keep:
            text = _removed(text, event, own)
    if keep is not None and keep.is_current:
        return text
    root = parsed(text)
    groups = _groups(root, event)
    if keep is not None:
        (own,) = _own(groups, command)
        entry = json_text.compact(_entry(command), like=text)
        return applied(text, Edit(own.node.start, own.node.end, entry))
    if groups is not None:
        return applied(text, appended(text, groups, _group(command)))
    if "hooks" in root.members:
        return applied(text, appended(text, root["hooks"], [_group(command)], event))
    return applied(text, appended(text, root, {event: [_group(command)]}, "hooks"))


def _without(text: str, event: str) -> str:
    """None of our commands left for `event`; its list stays, empty if need be."""
    for own in reversed(_own(_groups(parsed(text), event))):
        text = _removed(text, event, own)
    return text


def _removed(text: str, event: str, own: _Own) -> str:
    """The command taken out, and its group with it if that held nothing else."""
    groups = _groups(parsed(text), event)
    assert groups is not None  # noqa: S101 - own was found in it
    group = groups.items[own.group]
    if len(group["hooks"].items) == 1 and group.members.keys() <= {"hooks", "matcher"}:
        return applied(text, without(groups, own.group))
    return applied(text, without(group["hooks"], own.entry))


def _drop_if_empty(text: str, event: str | None) -> str:
    """Without the empty list of `event`, or without an empty "hooks"."""
    root = parsed(text)
    container = root["hooks"] if event is not None else root
    key = event if event is not None else "hooks"
    member = container.members.get(key)
    if member is None or member.node.value:
        return text
    return applied(text, without(container, list(container.members).index(key)))


def _entry(command: str) -> dict[str, Any]:
    return {"type": "command", "command": command, "timeout": HOOK_TIMEOUT_S}


def _group(command: str) -> dict[str, Any]:
    return {"hooks": [_entry(command)]}
