"""Taking out what `init` put in: byte for byte where nothing changed since, else only our part."""

import contextlib
import os
from pathlib import Path
from typing import Any

from pinbox import project
from pinbox.install import files, git_hook, launchers, planning, settings
from pinbox.install.files import Change, Entry, Record
from pinbox.install.planning import Options, Plan, Step

#: what `.pinbox/` holds when nothing but init ever wrote there
_FURNITURE = (".gitignore", files.RECORD, launchers.NAME)


def plan(root: Path, options: Options) -> Plan:
    """The steps that would take Pinbox out of the project at `root`. Writes nothing."""
    found = Plan(root=root)
    record = files.read_record(root)
    for path, kind in _places(root, options, record).items():
        step = _step(root, path, kind, record.files.get(str(path)))
        if step is not None:
            found.steps.append(step)
    stuck = _stuck(found, record)
    found.steps.append(_plan_launchers(root, stuck=bool(stuck)))
    kept = bool(stuck) or _keeps_folder(root)
    found.data = {
        "pinboxDir": "unchanged" if kept else "removed",
        "steps": [],
    }
    return found


def apply(found: Plan) -> None:
    """Do it. What could not be taken out stays in the record, so that undo can be run again."""
    root = found.root
    record = files.read_record(root)
    files.apply_all(found.changes)
    left = Record(_stuck(found, record), [])
    own = root / project.FOLDER
    places = [Path(name) for name in record.files]
    for path in [*places, launchers.path_in(root), launchers.path_of_user(), own / files.RECORD]:
        files.remove_leftovers(path)
    files.remove_empty(Path(folder) for folder in record.folders)
    place = own / files.RECORD
    if left.files:
        left.folders = record.folders
        project.private_write(place, left.encode(root))
        return
    place.unlink(missing_ok=True)
    if found.data["pinboxDir"] == "removed":
        (own / ".gitignore").unlink(missing_ok=True)
        files.remove_empty([own])


def _stuck(found: Plan, record: Record) -> dict[str, Entry]:
    """What init wrote and cannot be taken out now."""
    paths = {step.path for step in found.steps if not step.ok and step.path is not None}
    return {name: entry for name, entry in record.files.items() if Path(name) in paths}


def _places(root: Path, options: Options, record: Record) -> dict[Path, str]:
    """Files that may hold something of ours: those that init recorded, and those where a
    teammate's init would have put it.
    """
    found = {Path(name): entry.kind for name, entry in record.files.items()}
    folder, base = planning.claude_folder(root, options)
    for path, kind in (
        (folder / "settings.json", "settings"),
        (folder / "skills" / "pinbox" / "SKILL.md", "skill"),
    ):
        try:
            found.setdefault(files.within(base, path), kind)
        except files.Unsafe:
            continue
    with contextlib.suppress(git_hook.NoGit, git_hook.Refused):
        found.setdefault(git_hook.place(root).path, "git")
    return found


def _step(root: Path, path: Path, kind: str, entry: Entry | None) -> Step | None:
    name = {"settings": "claude", "skill": "skill", "git": "git"}.get(kind, kind)
    shown = os.path.relpath(path, root) if path.is_relative_to(root) else str(path)
    try:
        now = files.content_of(path)
        if now is None:
            return None if entry is None else Step(name=name, ok=True, detail=f"{shown}: gone")
        if entry is not None and files.digest(now) == entry.after:
            after, said = entry.before, "as it was before"
        elif entry is not None and now == entry.before:
            return Step(name=name, ok=True, detail=f"{shown}: unchanged")
        else:
            after, said = _without_ours(root, now, kind, entry), "what init put in is taken out"
    except (files.Unsafe, settings.Refused) as error:
        return Step(name=name, ok=False, detail=f"{shown} is left as it is: {error}", path=path)
    if after == now:
        if entry is None:
            return None
        return Step(name=name, ok=True, detail=f"{shown}: kept, it is not as init wrote it")
    if after is None:
        said = "removed"
    change = Change(path=path, kind=kind, before=now, after=after)
    return Step(name=name, ok=True, detail=f"{shown}: {said}", changes=(change,))


def cleaned(root: Path, change: Change) -> bytes | None:
    """The file as it would be without anything of ours, before a change that init is to make."""
    if change.before is None:
        return None
    # A file that init never recorded here keeps what it held: it may be shared, and an older
    # command of ours in it is what undo has to bring back.
    known = files.read_record(root).files.get(str(change.path))
    return _without_ours(root, change.before, change.kind, known) if known else change.before


def _without_ours(root: Path, now: bytes, kind: str, entry: Entry | None) -> bytes | None:
    """A file that changed since init, without our part of it."""
    before = entry.before if entry is not None else None
    if kind == "settings":
        if not settings.events_of(now):
            settings.check(now)
            return now
        return settings.without_ours(now, before=before)
    if kind == "git":
        try:
            inside = git_hook.place(root).inside
        except (git_hook.NoGit, git_hook.Refused):
            inside = ""
        rest = git_hook.unchained(now, inside)
        ours_alone = before is None or git_hook.is_only_ours(before)
        return None if rest != now and ours_alone and git_hook.is_only_ours(rest) else rest
    if kind == "skill" and now == planning.skill():
        return before
    return now


def _plan_launchers(root: Path, *, stuck: bool) -> Step:
    paths = [launchers.path_in(root)]
    if not _others(root):
        paths.append(launchers.path_of_user())
    changes = []
    for path in paths:
        if launchers.is_ours(path):
            now = files.content_of(path)
            if now is not None:
                changes.append(Change(path=path, kind="launcher", before=now, after=None))
    kept = _keeps_folder(root)
    said = "removed" if not kept else "kept, with the pins in it" if changes else "unchanged"
    if not (root / project.FOLDER).exists():
        said = "not there"
    elif stuck:
        said = "kept, so that undo can be run again"
    return Step(name="pinbox", ok=True, detail=f".pinbox: {said}", changes=tuple(changes))


def _keeps_folder(root: Path) -> bool:
    folder = root / project.FOLDER
    try:
        return any(
            name not in _FURNITURE and not files.is_leftover(name, _FURNITURE)
            for name in os.listdir(folder)
        )
    except OSError:
        return False


def _others(root: Path) -> bool:
    """Whether this user has other projects, which may need the launcher in the state folder."""
    own = project.project_id(root)
    try:
        entries = list(os.scandir(launchers.path_of_user().parent))
    except OSError:
        return False
    return any(entry.is_dir() and entry.name != own for entry in entries)


def result(found: Plan, *, applied: bool) -> dict[str, Any]:
    """The answer of `init --undo`."""
    steps = [{"name": s.name, "ok": s.ok, "detail": s.detail} for s in found.steps]
    return {"undone": applied, "pinboxDir": found.data["pinboxDir"], "steps": steps}
