"""The kinds of pieces: what each would change, and how our part comes out of a file again.

By reading only. A piece that cannot be put into place is left out, and says why; it is never half
there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pinbox.agents.pieces import Assets, Block, Hooks, JsonFile, Piece, Skill, YamlItem
from pinbox.install import block_text, files, guide, json_values, settings, yaml_text
from pinbox.install.files import Change, Unsafe
from pinbox.install.settings import Refused

if TYPE_CHECKING:
    from pinbox.install.files import Record

ASSETS: Final = Path(__file__).resolve().parent.parent / "assets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What becomes of one piece: `state` is one of created, updated, unchanged, kept, failed."""

    state: str
    said: str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A file that a piece is about."""

    path: Path
    kind: str
    piece: Piece


def targets(piece: Piece) -> Iterator[Target]:
    """Its files. A plugin's folder has many, all other pieces one."""
    match piece:
        case Hooks():
            yield Target(path=piece.path, kind="settings", piece=piece)
        case Skill():
            yield Target(path=piece.path / "SKILL.md", kind="skill", piece=piece)
        case Assets():
            for name in sorted(_assets(piece)):
                yield Target(path=piece.path / name, kind="asset", piece=piece)
        case Block():
            yield Target(path=piece.path, kind="block", piece=piece)
        case JsonFile():
            yield Target(path=piece.path, kind="json", piece=piece)
        case YamlItem():
            yield Target(path=piece.path, kind="yaml", piece=piece)


def planned(piece: Piece, base: Path, record: Record) -> Planned:
    """What would become of `piece`, whose file no link may lead out of `base`."""
    try:
        found = [
            (target, real, files.content_of(real))
            for target in targets(piece)
            for real in [files.within(base, target.path)]
        ]
        if isinstance(piece, Skill | Assets):
            return _ours_whole(found, record)
        ((target, real, before),) = found
        after = _with_ours(piece, before)
    except (Unsafe, Refused) as error:
        by_hand = getattr(piece, "by_hand", "")
        way = f"; by hand: {by_hand}" if by_hand else ""
        return Planned(state="failed", said=f"is left as it is: {error}{way}")
    if after == before:
        return Planned(state="unchanged", said="unchanged")
    change = Change(path=real, kind=target.kind, before=before, after=after)
    said = "new" if before is None else _SAID[target.kind]
    return Planned(state="created" if before is None else "updated", said=said, changes=(change,))


_SAID: Final = {
    "settings": "hooks added",
    "block": "block added",
    "json": "plugin entered",
    "yaml": "plugin enabled",
}


def _ours_whole(found: list[tuple[Target, Path, bytes | None]], record: Record) -> Planned:
    """Files that nobody but us writes: one that is not as we wrote it is somebody's own."""
    changes = []
    for target, real, before in found:
        after = _content(target)
        if before == after:
            continue
        entry = record.files.get(str(real))
        if before is not None and (entry is None or entry.after != files.digest(before)):
            return Planned(state="kept", said=f"kept, {_named(found, target)}not as init wrote it")
        changes.append(Change(path=real, kind=target.kind, before=before, after=after))
    if not changes:
        return Planned(state="unchanged", said="unchanged")
    is_new = all(change.before is None for change in changes)
    return Planned(
        state="created" if is_new else "updated",
        said="new" if is_new else "renewed",
        changes=tuple(changes),
    )


def _named(found: list[tuple[Target, Path, bytes | None]], target: Target) -> str:
    return "it is " if len(found) == 1 else f"{target.path.name} is "


def _content(target: Target) -> bytes:
    """What a file that is ours whole has to hold."""
    if isinstance(target.piece, Assets):
        return _assets(target.piece)[target.path.name]
    return guide.skill()


def _assets(piece: Assets) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in (ASSETS / piece.source).iterdir() if path.is_file()
    }


def _with_ours(piece: Piece, before: bytes | None) -> bytes:
    """The file with our part in it. Raises Refused."""
    match piece:
        case Hooks():
            return settings.merged(before, command=piece.command).content
        case Block():
            return block_text.with_block(before, guide.block(), head=piece.head)
        case JsonFile():
            return json_values.with_values(before, piece)
        case YamlItem():
            return yaml_text.with_item(before, piece)
    raise AssertionError(piece)


def without_ours(target: Target, now: bytes, *, before: bytes | None) -> bytes | None:
    """A file that changed since init, without our part of it; None for no file. Raises Refused.

    `before` is what it was before init, where that is known.
    """
    match target.piece:
        case Hooks():
            if not settings.events_of(now):
                settings.check(now)
                return now
            return settings.without_ours(now, before=before)
        case Skill() | Assets():
            return before if now == _content(target) else now
        case Block():
            rest = block_text.without_block(now, head=target.piece.head)
            return now if rest is None and not block_text.has_block(now) else rest
        case JsonFile():
            return json_values.without_values(now, target.piece)
        case YamlItem():
            return yaml_text.without_item(now, target.piece)
    raise AssertionError(target.piece)
