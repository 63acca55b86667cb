"""Taking out what `init` put in: byte for byte where nothing changed since, else only our part."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pinbox import project
from pinbox.agents import INSTALLS
from pinbox.agents.pieces import Assets
from pinbox.install import files, git_hook, kinds, launchers, planning, settings
from pinbox.install.files import Change, Entry, Record
from pinbox.install.kinds import Target
from pinbox.install.planning import Options, Plan, Step

#: what `.pinbox/` holds when nothing but init ever wrote there
_FURNITURE = (".gitignore", files.RECORD, project.LAUNCHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spot:
    """A file that may hold something of ours. `target` None is git's hook, or a file of an agent
    whose folder was elsewhere when init wrote it.
    """

    name: str
    kind: str
    target: Target | None = None
    #: in the user's own folders although it was the project that asked for it
    is_shared: bool = False


def plan(root: Path, options: Options) -> Plan:
    """The steps that would take Pinbox out of the project at `root`. Writes nothing."""
    found = Plan(root=root)
    record = files.read_record(root)
    others = _others(root, record)
    is_last = not others and os.path.exists(project.state_path(root))
    for path, spot in _spots(root, options, record, is_last=is_last).items():
        if spot.is_shared and others and not options.user_scope:
            said = "kept for your other projects; pinbox init --undo --global takes it out"
            detail = f"{planning.shown(root, path)}: {said}"
            found.steps.append(Step(name=spot.name, ok=True, detail=detail))
            continue
        step = _step(root, path, spot, record.files.get(str(path)))
        if step is not None:
            found.steps.append(step)
    stuck = _stuck(found, record)
    found.steps.append(_plan_launchers(root, stuck=bool(stuck), others=others))
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
    _remove_compiled(root)
    files.remove_empty(Path(folder) for folder in record.folders)
    files.remove_empty([launchers.path_of_user().parent, project.state_path(root)])
    place = own / files.RECORD
    if left.files:
        left.folders = record.folders
        project.private_write(place, left.encode(root))
        return
    files.remove_file(place)
    if found.data["pinboxDir"] == "removed":
        files.remove_file(own / ".gitignore")
        files.remove_empty([own])


def _stuck(found: Plan, record: Record) -> dict[str, Entry]:
    """What init wrote and cannot be taken out now."""
    paths = {step.path for step in found.steps if not step.ok and step.path is not None}
    return {name: entry for name, entry in record.files.items() if Path(name) in paths}


def _spots(
    root: Path, options: Options, record: Record, *, is_last: bool = False
) -> dict[Path, _Spot]:
    """Files that may hold something of ours: those that init recorded, and those where a
    teammate's init would have put it; with `is_last` also what this user's projects share.
    """
    known: dict[Path, _Spot] = {}
    elsewhere: dict[Path, _Spot] = {}
    for agent in INSTALLS.values():
        for user_scope in (False, True):
            place = planning.place_of(agent, root, user_scope=user_scope)
            for piece in agent.pieces(place):
                for target in kinds.targets(piece):
                    base = planning.base_of(agent, place, target.path)
                    try:
                        path = files.within(base, target.path)
                    except files.Unsafe:
                        continue
                    in_project = target.path.is_relative_to(place.root)
                    is_shared = not in_project and not user_scope
                    spot = _Spot(
                        name="skill" if target.kind == "skill" else agent.NAME,
                        kind=target.kind,
                        target=target,
                        is_shared=is_shared,
                    )
                    wanted = in_project or (is_last and is_shared)
                    if options.user_scope:
                        wanted = not in_project
                    (known if wanted else elsewhere).setdefault(path, spot)
    with contextlib.suppress(git_hook.NoGit, git_hook.Refused):
        place_of_hook = git_hook.place(root)
        for path in (place_of_hook.path, *git_hook.moved(place_of_hook)):
            known[path] = _Spot(name="git", kind="git")
    found = {}
    for name, entry in record.files.items():
        path = Path(name)
        unknown = _Spot(name=_NAMES.get(entry.kind, entry.kind), kind=entry.kind)
        found[path] = known.get(path) or elsewhere.get(path) or unknown
    return found | {path: spot for path, spot in known.items() if path not in found}


_NAMES: Final = {"settings": "claude"}


def _step(root: Path, path: Path, spot: _Spot, entry: Entry | None) -> Step | None:
    shown = planning.shown(root, path)
    now = None
    try:
        now = files.content_of(path)
        if now is None:
            return None if entry is None else Step(name=spot.name, ok=True, detail=f"{shown}: gone")
        if entry is not None and files.digest(now) == entry.after:
            after, said = entry.previous(now), "as it was before"
        elif entry is not None and entry.is_before(now):
            return Step(name=spot.name, ok=True, detail=f"{shown}: unchanged")
        else:
            after, said = _without_ours(root, now, spot, entry), "what init put in is taken out"
    except (files.Unsafe, settings.Refused) as error:
        if entry is None and b"pinbox" not in (now or b"").lower():
            return None
        said = f"{shown} is left as it is: {error}"
        return Step(name=spot.name, ok=False, detail=said, path=path)
    if after == now:
        if entry is None:
            return None
        said = f"{shown}: kept, it is not as init wrote it"
        return Step(name=spot.name, ok=True, detail=said)
    if after is None:
        said = "removed"
    change = Change(path=path, kind=spot.kind, before=now, after=after)
    return Step(name=spot.name, ok=True, detail=f"{shown}: {said}", changes=(change,))


def cleaned(root: Path, change: Change) -> bytes | None:
    """The file as it would be without anything of ours, before a change that init is to make."""
    if change.before is None:
        return None
    # A file that init never recorded here keeps what it held: it may be shared, and an older
    # command of ours in it is what undo has to bring back.
    known = files.read_record(root).files.get(str(change.path))
    if known is None:
        return change.before
    options = Options(user_scope=False)
    spot = _spots(root, options, files.read_record(root)).get(change.path)
    return _without_ours(root, change.before, spot, known) if spot else change.before


def _without_ours(root: Path, now: bytes, spot: _Spot, entry: Entry | None) -> bytes | None:
    """A file that changed since init, without our part of it."""
    before = entry.before if entry is not None else None
    if spot.kind == "git":
        try:
            inside = git_hook.place(root).inside
        except (git_hook.NoGit, git_hook.Refused):
            inside = ""
        rest = git_hook.unchained(now, inside)
        ours_alone = before is None or git_hook.is_only_ours(before)
        return None if rest != now and ours_alone and git_hook.is_only_ours(rest) else rest
    if spot.target is not None:
        return kinds.without_ours(spot.target, now, before=before)
    return now


def _remove_compiled(root: Path) -> None:
    """What a program has put beside the files of a plugin of ours: its own bytecode."""
    for agent in INSTALLS.values():
        place = planning.place_of(agent, root)
        for piece in agent.pieces(place):
            if not isinstance(piece, Assets) or any(
                os.path.exists(target.path) for target in kinds.targets(piece)
            ):
                continue
            compiled = piece.path / "__pycache__"
            with contextlib.suppress(OSError):
                for path in compiled.glob("*.pyc"):
                    path.unlink(missing_ok=True)
            files.remove_empty([piece.path, compiled])


def _plan_launchers(root: Path, *, stuck: bool, others: bool) -> Step:
    paths = [launchers.path_in(root)]
    if not others:
        paths.append(launchers.path_of_user())
    changes = []
    for path in paths:
        if launchers.is_ours(path):
            now = _readable(path)
            if now is not None:
                changes.append(Change(path=path, kind="launcher", before=now, after=None))
    key = files.key_path()
    if not others and not stuck and (now := _readable(key)) is not None:
        changes.append(Change(path=key, kind="launcher", before=now, after=None))
    kept = _keeps_folder(root)
    said = "removed" if not kept else "kept, with what is stored in it" if changes else "unchanged"
    if not os.path.exists(root / project.FOLDER):
        said = "not there"
    elif stuck:
        said = "kept, so that undo can be run again"
    return Step(name="pinbox", ok=True, detail=f".pinbox: {said}", changes=tuple(changes))


def _readable(path: Path) -> bytes | None:
    with contextlib.suppress(files.Unsafe):
        return files.content_of(path)
    return None


def _keeps_folder(root: Path) -> bool:
    folder = root / project.FOLDER
    try:
        return any(
            name not in _FURNITURE and not files.is_leftover(name, _FURNITURE)
            for name in os.listdir(folder)
        )
    except OSError:
        return False


def _others(root: Path, record: Record) -> bool:
    """Whether this user has other projects, which may need what is in the user's own folders."""
    own = {project.project_id(root), *(Path(folder).name for folder in record.folders)}
    try:
        entries = list(os.scandir(launchers.path_of_user().parent))
    except OSError:
        return False
    return any(entry.is_dir() and entry.name not in own for entry in entries)


def result(found: Plan, *, applied: bool) -> dict[str, Any]:
    """The answer of `init --undo`."""
    steps = [{"name": s.name, "ok": s.ok, "detail": s.detail} for s in found.steps]
    return {"undone": applied, "pinboxDir": found.data["pinboxDir"], "steps": steps}
