"""status, stop, admin, rebuild and the hidden serve: the hub of this project as a process."""

from __future__ import annotations

import os

from pinbox import render
from pinbox.commands import hub as hubs
from pinbox.commands.verb import Answer, Option, Verb
from pinbox.contract import PinboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from pinbox.commands.verb import Args

#: `status` only looks; a hub that needs longer is named as one that does not answer
_HEALTH_TIMEOUT_S: Final = 2.0
#: in `.pinbox/` (pinbox_site.settings); absent until a hub first ran
DATABASE: Final = "pinbox.db"


def status(args: Args) -> Answer:
    """What is known of the hub, without starting or touching one."""
    from pinbox import daemon, project, wire

    folder = project.find()
    data: dict[str, Any] = {"project": str(folder), "running": False}
    reason = None
    try:
        state = project.read_hub(folder)
    except project.NoHub as none:
        reason = None if none.cause == "missing" else f"the hub is not running: {none}"
    else:
        try:
            answers = daemon.health(state, _HEALTH_TIMEOUT_S) is not None
        except wire.WireError:
            answers = False
        data |= {
            "running": True,
            "answering": answers,
            "pid": state.pid,
            "url": f"http://127.0.0.1:{state.port}",
            "version": state.version,
            "startedAt": state.started_at,
        }
    data["stateDir"] = str(project.state_path(folder))

    def human() -> tuple[str, str]:
        return _status_text(data), reason or ""

    return Answer(data, human)


def _status_text(data: dict[str, Any]) -> str:
    from time import time

    state = "not running"
    if data["running"]:
        state = "running" if data["answering"] else "not answering"
    started = data.get("startedAt")
    return render.facts(
        [
            ("project", data["project"]),
            ("hub", state),
            ("process", str(data["pid"]) if "pid" in data else None),
            ("url", data.get("url")),
            ("version", data.get("version")),
            ("started", f"{started} ({render.age(started, time())})" if started else None),
            ("state", data["stateDir"]),
        ]
    )


def stop(args: Args) -> Answer:
    from pinbox import daemon, project

    folder = project.find()
    state = daemon.stop(folder)
    data: dict[str, Any] = {"project": str(folder), "stopped": state is not None}
    if state is not None:
        data["pid"] = state.pid
    said = f"stopped the hub (process {state.pid})" if state else "no hub was running"
    return Answer(data, lambda: ("", said))


def admin(args: Args) -> Answer:
    data = hubs.open_hub().request("POST", "/admin-link")

    def human() -> tuple[str, str]:
        from datetime import UTC, datetime

        left = datetime.fromisoformat(data["expiresAt"]) - datetime.now(UTC)
        minutes = render.count(round(left.total_seconds() / 60), "minute")
        return data["url"], f"opens once, for whoever has it, within {minutes}"

    return Answer(data, human)


def rebuild(args: Args) -> Answer:
    """The hub's own management command in a process of its own: this one never imports Django."""
    import json
    import subprocess

    from pinbox import daemon, project

    folder = project.find()
    check = args.has("check")
    if not (folder / project.FOLDER / DATABASE).is_file():
        raise PinboxError("E_NOT_FOUND", f"there are no pins in {folder}", "pinbox pin --help")
    done = subprocess.run(  # noqa: S603 - this very package
        [*daemon.hub_command(), "rebuild", "--json", *(["--check"] if check else [])],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        env=daemon.hub_environment(os.environ) | {"PINBOX_PROJECT": str(folder)},
    )
    try:
        data = json.loads(done.stdout)["data"]
    except (ValueError, KeyError, TypeError):
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise PinboxError(
            "E_INTERNAL",
            f"the rebuild failed: {last or f'exit code {done.returncode}'}",
            "pinbox status",
        ) from None
    if check:
        drift = data["drift"]
        said = "\n".join(f"{table}: {rows} rows differ" for table, rows in drift.items())
        talk = "the projections are not what the log says; run: pinbox rebuild" if drift else ""
        clean = "clean: a rebuild would change nothing"
        return Answer(data, lambda: (said or clean, talk), exit_code=1 if drift else 0)
    return Answer(data, lambda: (f"rebuilt from {render.count(data['events'], 'event')}", ""))


def serve(args: Args) -> Answer:
    """Become the hub, in the foreground. Does not return."""
    from pinbox import daemon, project

    folder = project.find(args.get("project"))
    command = [*daemon.hub_command(), "serve", "--project", str(folder)]
    # The process stays the same, for the hub's state file names its own pid.
    os.execve(command[0], command, daemon.hub_environment(os.environ))  # noqa: S606


VERBS = (
    Verb(
        "status",
        "Show this project's hub, without starting one.",
        status,
    ),
    Verb(
        "stop",
        "Stop this project's hub.",
        stop,
        about="The next command starts it again. Nothing is lost, and open pages find it again.",
    ),
    Verb(
        "admin",
        "Print a link that logs a browser into the hub's admin, once.",
        admin,
    ),
    Verb(
        "rebuild",
        "Make every table of pins anew from the event log.",
        rebuild,
        options=(Option("--check", "", "change nothing; exit 1 when a rebuild would"),),
        about="Sessions and deliveries are kept: they are facts of their own.",
    ),
    Verb(
        "serve",
        "Run the hub in the foreground. Every command starts one by itself.",
        serve,
        options=(Option("--project", "DIR", "the project, else that of the current directory"),),
        hidden=True,
    ),
)
