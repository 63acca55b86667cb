"""The launchers that hooks call: what stands in them, before one of them is run."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pinbox.install import launchers

_MAX_BYTES: Final = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """absent: none. ready: as this Pinbox writes it. other: as another version did. foreign: not
    ours. inside: it would run a program of the project itself, as a hostile repository might bring.

    Only a ready one is ever run by a check: it may be a file in the project's folder.
    """

    path: Path
    state: Literal["absent", "ready", "other", "foreign", "inside"]
    is_executable: bool = False
    python: str | None = None
    package: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether what it names is there."""
        return (
            self.state == "ready"
            and os.access(str(self.python), os.X_OK)
            and os.path.isfile(os.path.join(str(self.package), "pinbox", "hook.py"))
        )


def of_project(root: Path) -> Launcher:
    return _looked_at(launchers.path_in(root), root)


def of_user(root: Path | None) -> Launcher:
    return _looked_at(launchers.path_of_user(), root)


def interpreter(root: Path | None) -> str | None:
    """The Python that answers this project's hooks; None where no launcher says."""
    for found in (of_user(root), of_project(root) if root is not None else None):
        if found is not None and found.is_executable:
            return found.python if found.state == "ready" else None
    return None


def _looked_at(path: Path, root: Path | None) -> Launcher:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES)
    except OSError:
        return Launcher(path=path, state="foreign" if os.path.lexists(path) else "absent")
    is_executable = os.access(path, os.X_OK)
    named = launchers.named_in(content)
    if named is None:
        state: Literal["other", "foreign"] = "other" if launchers.is_ours(path) else "foreign"
        return Launcher(path=path, state=state, is_executable=is_executable)
    is_inside = root is not None and any(_is_inside(name, root) for name in named)
    return Launcher(
        path=path,
        state="inside" if is_inside and not _is_us(named) else "ready",
        is_executable=is_executable,
        python=named[0],
        package=named[1],
    )


def _is_inside(name: str, root: Path) -> bool:
    folder = os.path.realpath(root)
    return os.path.realpath(name).startswith(folder.rstrip("/") + "/") or name.startswith(
        folder.rstrip("/") + "/"
    )


def _is_us(named: tuple[str, str]) -> bool:
    """Whether it names the very program that is running: a project often has its environment in
    its own folder.
    """
    return named == launchers.names()
