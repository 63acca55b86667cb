"""What `init` would do here, found out by reading only."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pinbox import project
from pinbox.agents import INSTALLS, Installable, claude, copilot
from pinbox.agents.pieces import Block, Hooks, Piece, Place, Skill
from pinbox.contract import PinboxError
from pinbox.install import claude_settings, files, git_hook, kinds, launchers
from pinbox.install.files import Change
from pinbox.install.kinds import Planned


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked of init. `agents` None means those that are found here."""

    agents: tuple[str, ...] | None = None
    user_scope: bool = False
    dry_run: bool = False
    yes: bool = False
    ask: bool = True
    undo: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of the report, and the changes behind it."""

    name: str
    ok: bool
    detail: str
    changes: tuple[Change, ...] = ()
    #: the file that could not be changed, for a step that is not ok
    path: Path | None = None


@dataclass(slots=True, kw_only=True)
class Plan:
    """`data` is the answer of contract.md 8.4, as it will be once the plan is applied."""

    root: Path
    steps: list[Step] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    #: what a person has to do then, agent by agent
    after: list[str] = field(default_factory=list)

    @property
    def changes(self) -> list[Change]:
        # Several agents may read the same file.
        found = {change.path: change for step in self.steps for change in step.changes}
        return list(found.values())

    @property
    def is_empty(self) -> bool:
        return not self.changes and self.data.get("pinboxDir") != "created"


def agents_asked_for(text: str | None) -> tuple[str, ...] | None:
    """`--agent`'s list. Raises E_INVALID_INPUT for a name that init cannot install for."""
    if text is None:
        return None
    names = [name.strip().lower() for name in text.split(",")]
    if names == ["none"]:
        return ()
    unknown = [name for name in names if name not in INSTALLS]
    if unknown:
        what = f"{unknown[0][:60]!r}" if unknown[0] else "an empty name"
        raise PinboxError(
            "E_INVALID_INPUT",
            f"--agent does not know {what}; nothing was written",
            f"--agent takes {', '.join(INSTALLS)} or none",
        )
    return tuple(dict.fromkeys(names))


def plan(root: Path, options: Options) -> Plan:
    """The steps that would put Pinbox into the project at `root`. Writes nothing."""
    found = Plan(root=root)
    agents = options.agents if options.agents is not None else found_here(root)
    found.data = {
        "pinboxDir": "unchanged",
        "gitignore": "unchanged",
        "agents": [],
        "markers": [],
        "gitHook": "kept",
        "claudeSettings": "unchanged",
    }
    _plan_folder(found)
    for name in agents:
        _plan_agent(found, INSTALLS[name], options)
    _plan_git(found)
    return found


# --- .pinbox --------------------------------------------------------------------------------------


def _plan_folder(found: Plan) -> None:
    folder = found.root / project.FOLDER
    if os.path.islink(folder) or (os.path.lexists(folder) and not os.path.isdir(folder)):
        what = "a link" if os.path.islink(folder) else "no folder"
        raise PinboxError(
            "E_CONFLICT",
            f"{folder} is {what}; nothing was written",
            "move it away; pinbox makes its own",
        )
    exists = os.path.isdir(folder)
    if not exists:
        found.data["pinboxDir"] = "created"
    changes = []
    for path in (launchers.path_in(found.root), launchers.path_of_user()):
        if not launchers.is_ours(path):
            raise PinboxError(
                "E_CONFLICT",
                f"{path} is not a launcher of pinbox; nothing was written",
                "move it away",
            )
        try:
            before, after = files.content_of(path), launchers.script()
        except files.Unsafe as error:
            raise PinboxError(
                "E_INTERNAL",
                f"{path}: {error}; nothing was written",
                f"make {path.parent} readable, or run pinbox init as its owner",
            ) from None
        if not launchers.is_good(path, after):
            changes.append(
                Change(path=path, kind="launcher", before=before, after=after, private=True)
            )
    state = "unchanged" if exists and not changes else "new" if not exists else "launcher renewed"
    if exists and changes and changes[0].before is None:
        state = "launcher added"
    found.steps.append(
        Step(name="pinbox", ok=True, detail=f".pinbox: {state}", changes=tuple(changes))
    )


# --- the agents -----------------------------------------------------------------------------------


def checkout(root: Path) -> Path:
    """The folder whose files agents read: the linked worktree we stand in, else the project."""
    here = Path.cwd().resolve()
    for folder in [here, *here.parents]:
        if os.path.lexists(folder / ".git"):
            return folder if Path(project.main_worktree(str(folder))) == root else root
        if folder == root:
            break
    return root


def place_of(agent: Installable, root: Path, *, user_scope: bool = False) -> Place:
    base = checkout(root)
    home = agent.HOME.path() if agent.HOME is not None else base
    return Place(root=base, home=home, user_scope=user_scope)


def base_of(agent: Installable, place: Place, path: Path) -> Path:
    """The folder that links on the way to `path` may not leave: for one that the agent's own
    environment names, its own.
    """
    if path.is_relative_to(place.root) or agent.HOME is None:
        return place.root
    home = place.home if agent.HOME.is_moved else place.home.parent
    return home if path.is_relative_to(home) else path.parent


def shown(root: Path, path: Path) -> str:
    """The path as a person would write it."""
    if path.is_relative_to(root):
        return os.path.relpath(path, root)
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def found_here(root: Path) -> tuple[str, ...]:
    """The agents that seem to be used here. Claude Code where there is no sign of any, or only
    `.github`, which most repositories have, whoever writes the code.
    """
    base = checkout(root)
    found = [
        name
        for name, agent in INSTALLS.items()
        if (agent.PROGRAM and shutil.which(agent.PROGRAM) is not None)
        or (agent.HOME is not None and os.path.isdir(agent.HOME.path()))
        or os.path.isdir(base / agent.FOLDER)
    ]
    return tuple(found) if set(found) - {copilot.NAME} else (claude.NAME, *found)


def _plan_agent(found: Plan, agent: Installable, options: Options) -> None:
    place = place_of(agent, found.root, user_scope=options.user_scope)
    pieces = agent.pieces(place)
    record = files.read_record(found.root)
    steps = [_step(agent, place, piece, record, found.data) for piece in pieces]
    if not steps:
        steps = [Step(name=agent.NAME, ok=True, detail="nothing for all projects: it has no place")]
    found.steps += steps
    told = next((step for step in steps if not step.ok), steps[0])
    detail = told.detail
    if agent.PROGRAM and shutil.which(agent.PROGRAM) is None:
        detail += f"; {agent.PROGRAM} is not on this PATH"
    found.data["agents"].append(
        {"agent": agent.NAME, "method": agent.METHOD, "ok": told.ok, "detail": detail}
    )
    if any(step.changes for step in steps):
        found.after.append(agent.after(place))


def _step(
    agent: Installable, place: Place, piece: Piece, record: files.Record, data: dict[str, Any]
) -> Step:
    targets = list(kinds.targets(piece))
    path = targets[0].path if len(targets) == 1 else piece.path
    base, name = base_of(agent, place, path), shown(place.root, path)
    is_skill = isinstance(piece, Skill)
    if agent.NAME == claude.NAME and isinstance(piece, Hooks):
        planned = claude_settings.planned(piece, base)
        words = {"created": "installed", "kept": "unchanged"}
        data["claudeSettings"] = words.get(planned.state, planned.state)
    elif is_skill and agent.NAME == claude.NAME and claude_settings.has_plugin(path.parents[2]):
        planned = Planned(state="kept", said="the pinbox plugin has one")
    else:
        planned = kinds.planned(piece, base, record)
    if isinstance(piece, Block) and planned.state != "failed":
        words = {"updated": "appended", "kept": "unchanged"}
        data["markers"].append(words.get(planned.state, planned.state))
    is_refused = planned.state == "failed"
    detail = f"{name} {planned.said}" if is_refused else f"{name}: {planned.said}"
    return Step(
        name="skill" if is_skill else agent.NAME,
        ok=not is_refused,
        detail=detail,
        changes=planned.changes,
    )


# --- git ------------------------------------------------------------------------------------------


def _plan_git(found: Plan) -> None:
    inside = ""
    try:
        place = git_hook.place(found.root)
        inside = place.inside
        change = git_hook.chained(place)
    except git_hook.NoGit as error:
        found.data["gitHook"] = "skipped-no-git"
        found.steps.append(Step(name="git", ok=True, detail=f"no post-commit hook: {error}"))
        return
    except git_hook.Refused as error:
        found.data["gitHook"] = "failed"
        line = git_hook.line_to_add(inside)
        detail = f"{error}; to resolve pins by commits, add this to {error.where}: {line}"
        found.steps.append(Step(name="git", ok=False, detail=detail))
        return
    name = os.path.relpath(place.path, found.root)
    if change is None:
        found.steps.append(Step(name="git", ok=True, detail=f"{name}: unchanged"))
        return
    found.data["gitHook"] = "installed"
    said = "new" if change.before is None else "joined to the hook that is there"
    found.steps.append(Step(name="git", ok=True, detail=f"{name}: {said}", changes=(change,)))


# --- the report -----------------------------------------------------------------------------------


def report(steps: list[Step]) -> str:
    """`ok|no  <name>  <detail>`, a line for each step."""
    return "\n".join(f"{'ok' if s.ok else 'no'}  {s.name:<8}  {s.detail}" for s in steps)
