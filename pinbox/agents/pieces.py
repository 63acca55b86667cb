"""What `init` puts into place for an agent, declared: which file, and what of it is ours.

An agent's module says it with `pieces(place)`; `pinbox.install` plans it, writes it, remembers it
and takes it out again. Nothing here reads or writes a file.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where an agent keeps the user's own configuration: what `variable` says, else `~/folder`."""

    variable: str
    folder: str

    @property
    def is_moved(self) -> bool:
        return bool(os.environ.get(self.variable))

    def path(self) -> Path:
        return Path(os.environ.get(self.variable) or Path.home() / self.folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """For whom: `root` is the checkout whose files the agent reads, `home` its own configuration.
    `user_scope`: for all projects, as far as the agent knows the difference.
    """

    root: Path
    home: Path
    user_scope: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """A JSON file of hooks in Claude's shape, whose every event of ours runs `command`.

    `command` is the same on every machine and in every version, so that it can be committed, and
    approved once.
    """

    path: Path
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A folder with our SKILL.md in it."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Assets:
    """A folder whose files are ours, as `pinbox/assets/<source>` has them."""

    path: Path
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A marked block in a text file of others. A new file begins with `head`."""

    path: Path
    head: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonFile:
    """Values in a JSON file of others, by the keys that lead to them.

    `values` are ours whole; `items` are added to a list, which others may use as well. `by_hand` is
    the command that does the same, for a file that is not plain JSON.
    """

    path: Path
    values: Mapping[tuple[str, ...], object] = field(default_factory=dict)
    items: Mapping[tuple[str, ...], object] = field(default_factory=dict)
    by_hand: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlItem:
    """An item of a list in a YAML file of others. `by_hand` as for JsonFile."""

    path: Path
    keys: tuple[str, ...]
    item: str
    by_hand: str = ""


Piece = Hooks | Skill | Assets | Block | JsonFile | YamlItem
