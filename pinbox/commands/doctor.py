"""doctor: does everything work? Found out by doing it, in a throw-away project."""

from __future__ import annotations

from pinbox import render
from pinbox.commands.verb import Answer, Verb
from pinbox.contract import PinboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any, Final

    from pinbox.checks.findings import Finding
    from pinbox.commands.verb import Args

_MARKS: Final = {"ok": "ok", "fail": "no", "warn": "! ", "skip": "- "}
#: columns of the longest usual name
_NAME: Final = 14


def doctor(args: Args) -> Answer:
    """Exit code 1 when a check fails; warnings do not count."""
    from pinbox import checks

    root = _project()
    found = checks.examine(root)
    data: dict[str, Any] = {"checks": [_document(one) for one in found]}
    if root is not None:
        data = {"project": str(root)} | data
    failed = any(one.status == "fail" for one in found)
    return Answer(
        data,
        lambda: ("\n".join(map(_line, found)), _talk(root, found)),
        exit_code=1 if failed else 0,
    )


def _project() -> Path | None:
    """The project that the current directory is in, if there is one. Makes none."""
    from pinbox import project

    try:
        root = project.find()
    except PinboxError:
        return None
    is_project = (root / project.FOLDER).is_dir() or (root / ".git").exists()
    return root if is_project else None


def _document(one: Finding) -> dict[str, Any]:
    document = {
        "name": one.name,
        "ok": one.status != "fail",
        "status": one.status,
        "detail": one.detail,
    }
    return document if one.hint is None else document | {"hint": one.hint}


def _line(one: Finding) -> str:
    said = one.detail if one.hint is None else f"{one.detail} → {one.hint}"
    return f"{_MARKS[one.status]}  {one.name:<{_NAME}}  {render.one_line(said)}"


def _talk(root: Path | None, found: Sequence[Finding]) -> str:
    failed = sum(one.status == "fail" for one in found)
    warned = sum(one.status == "warn" for one in found)
    said = [f"{failed} failing"] if failed else []
    said += [render.count(warned, "warning")] if warned else []
    counted = f"{render.count(len(found), 'check')}, {', '.join(said) or 'all ok'}"
    return counted if root is not None else f"no project here\n{counted}"


VERBS = (
    Verb(
        "doctor",
        "Check that everything works, by doing it.",
        doctor,
        about=(
            "What has to be written is written in a throw-away project with a hub of its own; "
            "nothing of yours is touched. Exit code 1 when a check fails."
        ),
    ),
)
