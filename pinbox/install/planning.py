"""What `init` would do here, found out by reading only."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pinbox import project
from pinbox.contract import PinboxError
from pinbox.install import files, git_hook, launchers, settings
from pinbox.install.files import Change

AGENTS: Final = ("claude",)
ASSETS: Final = Path(__file__).resolve().parent.parent / "assets"


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

    @property
    def changes(self) -> list[Change]:
        return [change for step in self.steps for change in step.changes]

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
    unknown = [name for name in names if name not in AGENTS]
    if unknown:
        what = f"{unknown[0][:60]!r}" if unknown[0] else "an empty name"
        raise PinboxError(
            "E_INVALID_INPUT",
            f"--agent does not know {what}; nothing was written",
            f"--agent takes {', '.join(AGENTS)} or none",
        )
    return tuple(dict.fromkeys(names))


def plan(root: Path, options: Options) -> Plan:
    """The steps that would put Pinbox into the project at `root`. Writes nothing."""
    found = Plan(root=root)
    agents = options.agents if options.agents is not None else AGENTS
    found.data = {
        "pinboxDir": "unchanged",
        "gitignore": "unchanged",
        "agents": [],
        "markers": [],
        "gitHook": "kept",
        "claudeSettings": "unchanged",
    }
    _plan_folder(found)
    if "claude" in agents:
        _plan_claude(found, options)
    _plan_git(found)
    return found


# --- .pinbox --------------------------------------------------------------------------------------


def _plan_folder(found: Plan) -> None:
    folder = found.root / project.FOLDER
    if folder.is_symlink() or (os.path.lexists(folder) and not folder.is_dir()):
        raise PinboxError(
            "E_CONFLICT",
            f"{folder} is {'a link' if folder.is_symlink() else 'no folder'}; nothing was written",
            "move it away; pinbox makes its own",
        )
    exists = folder.is_dir()
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
        before, after = files.content_of(path), launchers.script()
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


# --- Claude Code ----------------------------------------------------------------------------------


def _plan_claude(found: Plan, options: Options) -> None:
    folder, base = claude_folder(found.root, options)
    home = "~" if options.user_scope else None
    hooks = _plan_settings(found, base, folder, home)
    skill = _plan_skill(found.root, base, folder, home)
    found.steps += [hooks, skill]
    detail = hooks.detail if not hooks.ok or skill.ok else skill.detail
    if shutil.which("claude") is None:
        detail += "; claude is not on this PATH"
    found.data["agents"].append(
        {"agent": "claude", "method": "skills-dir", "ok": hooks.ok and skill.ok, "detail": detail}
    )


def claude_folder(root: Path, options: Options) -> tuple[Path, Path]:
    """Claude's folder, and the folder that links in it may not leave."""
    if not options.user_scope:
        base = checkout(root)
        return base / ".claude", base
    folder = user_folder()
    return folder, folder if os.environ.get("CLAUDE_CONFIG_DIR") else folder.parent


def user_folder() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def checkout(root: Path) -> Path:
    """The folder whose settings Claude reads: the linked worktree we stand in, else the project."""
    here = Path.cwd().resolve()
    for folder in [here, *here.parents]:
        if os.path.lexists(folder / ".git"):
            return folder if Path(project.main_worktree(str(folder))) == root else root
        if folder == root:
            break
    return root


def _plan_settings(found: Plan, base: Path, folder: Path, home: str | None) -> Step:
    path = folder / "settings.json"
    name = _shown(path, base, home)
    try:
        real = files.within(base, path)
        before = files.content_of(real)
        local, changes = _local_settings(base, folder)
        plugin = _plugin_events(folder)
        merge = settings.merged(before, elsewhere=plugin, enough=local)
    except (files.Unsafe, settings.Refused) as error:
        found.data["claudeSettings"] = "failed"
        return Step(name="claude", ok=False, detail=f"{name} is left as it is: {error}")
    if merge.added or merge.renewed:
        changes.append(Change(path=real, kind="settings", before=before, after=merge.content))
        found.data["claudeSettings"] = "installed" if before is None else "updated"
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
    detail = f"{name}: {'; '.join(said) or 'unchanged'}"
    return Step(name="claude", ok=True, detail=detail, changes=tuple(changes))


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


def _plugin_events(folder: Path) -> frozenset[str]:
    """Events for which a plugin of ours already runs."""
    found: frozenset[str] = frozenset()
    for place in dict.fromkeys((folder, user_folder())):
        plugin = place / "skills" / "pinbox"
        if (plugin / ".claude-plugin" / "plugin.json").is_file():
            found |= settings.events_of_plugin(_read(plugin / "hooks" / "hooks.json"))
        for name in ("settings.json", "settings.local.json"):
            if "pinbox" in settings.plugins_of(_read(place / name)):
                found |= frozenset(settings.EVENTS)
    return found


def _read(path: Path) -> bytes:
    try:
        return files.content_of(path) or b""
    except files.Unsafe:
        return b""


def _plan_skill(root: Path, base: Path, folder: Path, home: str | None) -> Step:
    place = folder / "skills" / "pinbox"
    path = place / "SKILL.md"
    name = _shown(path, base, home)
    after = skill()
    if (place / ".claude-plugin" / "plugin.json").is_file():
        return Step(name="skill", ok=True, detail=f"{name}: the pinbox plugin has one")
    try:
        real = files.within(base, path)
        before = files.content_of(real)
    except files.Unsafe as error:
        return Step(name="skill", ok=False, detail=f"{name} is left as it is: {error}")
    if before == after:
        return Step(name="skill", ok=True, detail=f"{name}: unchanged")
    entry = files.read_record(root).files.get(str(real))
    if before is not None and (entry is None or entry.after != files.digest(before)):
        return Step(name="skill", ok=True, detail=f"{name}: kept, it is not as init wrote it")
    change = Change(path=real, kind="skill", before=before, after=after)
    return Step(
        name="skill",
        ok=True,
        detail=f"{name}: {'new' if before is None else 'renewed'}",
        changes=(change,),
    )


def skill() -> bytes:
    return (ASSETS / "claude" / "SKILL.md").read_bytes()


def _shown(path: Path, base: Path, home: str | None) -> str:
    relative = os.path.relpath(path, base)
    return f"{home}/{relative}" if home else relative


# --- git ------------------------------------------------------------------------------------------


def _plan_git(found: Plan) -> None:
    inside = ""
    try:
        place = git_hook.place(found.root)
        inside = place.inside
        change = git_hook.chained(place.path, inside)
    except git_hook.NoGit as error:
        found.data["gitHook"] = "skipped-no-git"
        found.steps.append(Step(name="git", ok=True, detail=f"no post-commit hook: {error}"))
        return
    except git_hook.Refused as error:
        found.data["gitHook"] = "failed"
        line = git_hook.line_to_add(inside)
        detail = f"{error}; to resolve pins by commits, add this line to it: {line}"
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
