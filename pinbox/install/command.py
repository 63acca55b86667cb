"""The verb: plan, ask if somebody is there to be asked, then do all of it or nothing."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pinbox import project
from pinbox.contract import PinboxError
from pinbox.install import brief, files, handoff, launchers, planning, undoing
from pinbox.install.planning import Options, Plan, plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinbox.commands.verb import Answer, Args

#: Set in the shell of an agent or of CI: nobody there can be asked, so init only plans.
_UNATTENDED: Final = (
    "AI_AGENT",
    "CI",
    "CLAUDECODE",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "HERMES_SESSION",
    "HERMES_SESSION_ID",
    "OPENCLAW_SESSION_KEY",
    "OPENCLAW_SHELL",
)


def run(options: Options, *, ask: Callable[[Plan], bool] | None = None) -> dict[str, Any]:
    """Plan for the project that the current directory is in; do it if it may be done.

    It may with `yes`, or when `ask`, which is shown the plan, says so. `data["applied"]` tells.
    """
    root = project.find()
    if options.undo:
        return undo(root, options)
    found = plan(root, options)
    if options.dry_run:
        return _result(found, applied=False)
    if found.is_empty:
        return _result(found, applied=not options.dry_run)
    may = options.yes or (options.ask and ask is not None and ask(found))
    if not may:
        return _result(found, applied=False)
    try:
        return apply(found)
    except PinboxError as error:
        if error.code != "E_CONFLICT" or not options.yes:
            raise
    with files.alone():  # another init was quicker: see what it left to do
        found = plan(root, options)
        if not found.is_empty:
            _apply(found)
    return _result(found, applied=True)


def apply(found: Plan) -> dict[str, Any]:
    """Do what was planned, or nothing of it. Raises PinboxError.

    The record is written first: whenever this is interrupted, undo knows what there was.
    """
    if not found.is_empty:
        files.check(found.changes)
        with files.alone():
            _apply(found)
    return _result(found, applied=True)


def _apply(found: Plan) -> None:
    root = found.root
    launcher = launchers.path_in(root)
    if not os.path.exists(launcher) and launcher not in [change.path for change in found.changes]:
        raise PinboxError(
            "E_CONFLICT",
            "an undo came in between; nothing was written",
            "run pinbox init again",
        )
    project.pinbox_dir(root)
    record = files.read_record(root)
    old_record = record.encode(root) if record.files else None
    for change in found.changes:
        if change.kind != "launcher":
            record.add(change, cleaned=undoing.cleaned(root, change))
    record.folders += [str(folder) for folder in files.missing_folders(found.changes)]
    # That this user has it says that what is in the user's own folders is needed here.
    state = project.state_path(root)
    if not os.path.exists(state):
        record.folders.append(str(state))
    place = root / project.FOLDER / files.RECORD
    is_new_key = False
    try:
        is_new_key = files.make_key()
        project.private_write(place, record.encode(root))
        files.apply_all(found.changes)
        with contextlib.suppress(PinboxError):
            project.state_dir(root)
    except BaseException:
        if old_record is not None:
            project.private_write(place, old_record)
            raise
        files.remove_file(place)
        if is_new_key:
            files.key_path().unlink(missing_ok=True)
            files.remove_empty(Path(folder) for folder in record.folders)
        if found.data["pinboxDir"] == "created":
            files.remove_file(root / project.FOLDER / ".gitignore")
            files.remove_empty([root / project.FOLDER])
        raise


def undo(root: Path, options: Options) -> dict[str, Any]:
    """Take out what init put in. With `dry_run` only say what that would be."""
    if options.dry_run:
        return undoing.result(undoing.plan(root, options), applied=False)
    with files.alone():
        found = undoing.plan(root, options)
        undoing.apply(found)
    return undoing.result(found, applied=True)


def _result(found: Plan, *, applied: bool) -> dict[str, Any]:
    steps = [
        {"name": s.name, "ok": s.ok, "detail": s.detail, "changes": bool(s.changes)}
        for s in found.steps
    ]
    data = {**found.data, "applied": applied, "after": found.after, "steps": steps}
    task = brief.text(planning.checkout(found.root))
    return data if task is None else data | {"brief": task}


# --- the command ----------------------------------------------------------------------------------


def main(args: Args) -> Answer:
    """`pinbox init`. Exit code 1 when a step could not be done, though the others were."""
    from pinbox.commands.verb import Answer

    options = Options(
        agents=planning.agents_asked_for(args.get("agent")),
        user_scope=args.has("global"),
        dry_run=args.has("dry-run"),
        yes=args.has("yes"),
        ask=not args.has("no-input") and not args.json and _is_attended(),
        undo=args.has("undo"),
    )
    helper = args.get("hand-off")
    if helper is not None:
        _check_helper(helper, options)
    asked: list[str] = []

    def ask(found: Plan) -> bool:
        text = planning.report(found.steps)
        asked.append(text)
        return _confirmed(text)

    data = run(options, ask=ask)
    if helper is not None:
        data["handoff"] = _handed_off(helper, data)
    text = "\n".join(
        f"{'ok' if step['ok'] else 'no'}  {step['name']:<8}  {step['detail']}"
        for step in data["steps"]
    )
    if options.dry_run and "brief" in data:
        text += f"\n\n{data['brief'].rstrip()}"
    facts = "" if text in asked and not data.get("applied") else text
    failed = any(not step["ok"] for step in data["steps"])
    failed = failed or data.get("handoff", {}).get("exitCode", 0) != 0
    return Answer(data, lambda: (facts, _talk(options, data)), exit_code=1 if failed else 0)


def _check_helper(name: str, options: Options) -> None:
    """Raise E_INVALID_INPUT, before anything is written, unless `name` can be given the task."""
    found = handoff.candidates()
    if options.undo or options.dry_run:
        message = "--hand-off goes with neither --undo nor --dry-run; nothing was written"
        raise PinboxError("E_INVALID_INPUT", message, "pinbox init --dry-run shows the task")
    if name not in handoff.PROGRAMS:
        what = f"--hand-off does not know {name[:60]!r}; nothing was written"
        hint = f"--hand-off takes {', '.join(handoff.PROGRAMS)}"
        raise PinboxError("E_INVALID_INPUT", what, hint)
    if name not in found:
        what = f"{name} is not on this PATH; nothing was written"
        hint = f"--hand-off {found[0]}" if found else "pinbox init --dry-run shows the task"
        raise PinboxError("E_INVALID_INPUT", what, hint)


def _handed_off(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """Give the brief to that agent. What it prints goes to stderr: stdout has our own answer."""
    if not data["applied"]:
        detail = "not started: nothing was written"
        return {"agent": name, "exitCode": 0, "prUrl": None, "detail": detail}
    if "brief" not in data:
        detail = "not started: the app has the toolbar already"
        return {"agent": name, "exitCode": 0, "prUrl": None, "detail": detail}
    return handoff.run(
        name,
        data["brief"],
        planning.checkout(project.find()),
        show=lambda part: os.write(2, part),
        timeout_s=handoff.TIMEOUT_S,
    )


def _is_attended() -> bool:
    return os.isatty(0) and os.isatty(1) and not any(os.environ.get(n) for n in _UNATTENDED)


def _confirmed(text: str) -> bool:
    from pinbox import render

    os.write(2, render.for_people(f"{text}\n\nWrite this?"))
    os.write(2, b"[Y/n] ")
    answer = sys.stdin.readline()
    return answer.strip().lower() in ("y", "yes") or answer == "\n"


def _talk(options: Options, data: dict[str, Any]) -> str:
    if options.undo:
        return "" if data["undone"] else "nothing was changed; without --dry-run this is done"
    if not data["applied"]:
        if not any(step["changes"] for step in data["steps"]):
            is_done = all(step["ok"] for step in data["steps"])
            return "nothing is left to write" if is_done else "nothing was written"
        what = "the files" if options.dry_run and "brief" in data else "this"
        return f"nothing was written; pinbox init --yes writes {what}"
    said = []
    if data["after"] or data["pinboxDir"] == "created" or data["gitHook"] == "installed":
        said = [*data["after"], "pinbox init --undo takes everything out again."]
        if "brief" in data and "handoff" not in data:
            said.append("Next, the toolbar: pinbox init --dry-run says which line your app needs.")
            for name in handoff.candidates()[:1]:
                said[-1] += f"\npinbox init --hand-off {name} lets {name} put it there."
    if "handoff" in data:
        address = data["handoff"]["prUrl"]
        said.append(f"{data['handoff']['agent']}: {address or data['handoff']['detail']}")
    return "\n".join(said)
