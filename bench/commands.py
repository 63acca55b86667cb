"""What a person or an agent waits for in a shell: the hook, a command, the first command."""

import json
import sys
from pathlib import Path

from .figures import Figure, in_turn
from .pins import pin_input
from .workplace import PINBOX, Workplace, clean_environ, resident_mb, sleep_until_idle
from .workplace import spawn_and_wait as run

SESSION = "11111111-2222-4333-8444-555555555555"
#: Everything the hub imports before it can answer, in a process of its own.
HUB_STACK = (
    "import os, sys; sys.path[:0] = {path!r};"
    "os.environ['DJANGO_SETTINGS_MODULE'] = 'pinbox_site.settings';"
    "import pinbox_site.asgi, pinbox_site.urls, daphne.server;"
)


def hook(runs: int) -> list[Figure]:
    """The command of UserPromptSubmit with five open pins, as the agent runs it."""
    with Workplace() as place:
        place.init()
        for number in range(5):
            place.data("POST", "/pins", pin_input(number))
        command = ["/bin/sh", "-c", place.hook_command()]
        environ = {**place.environ, "CLAUDE_PROJECT_DIR": str(place.project)}
        payload = hook_payload(place.project)
        said = run(command, place.project, environ, payload)
        if b"additionalContext" not in said:
            raise RuntimeError(f"the hook said nothing of five open pins: {said!r}")
        ours, floor = in_turn(
            lambda: run(command, place.project, environ, payload),
            lambda: _bare_python(place.project),
            runs=runs,
            warm_up=5,
        )
        quiet, floor_again = in_turn(
            lambda: run(
                ["/bin/sh", "-c", place.hook_command("Stop")],
                place.project,
                environ,
                hook_payload(place.project, "Stop"),
            ),
            lambda: _bare_python(place.project),
            runs=runs,
            warm_up=2,
        )
    return [
        Figure(
            name="hook",
            what="UserPromptSubmit hook, 5 open pins, hub warm, the command that init writes",
            floor_is="python -I -S -c pass, the same interpreter",
            unit="ms",
            ours=ours,
            floor=floor,
            target=2.0,
        ),
        Figure(
            name="hook-stop",
            what="Stop hook with nothing new, hub warm",
            floor_is="python -I -S -c pass, the same interpreter",
            unit="ms",
            ours=quiet,
            floor=floor_again,
            target=2.0,
        ),
    ]


def command(runs: int) -> list[Figure]:
    """A command with the hub warm."""
    figures = []
    with Workplace() as place:
        for number in range(5):
            place.data("POST", "/pins", pin_input(number))
        for name, argv, target in (
            ("summary", ["summary"], 4.0),
            ("list", ["list"], None),
        ):
            ours, floor = in_turn(
                lambda argv=argv: run([str(PINBOX), *argv], place.project, place.environ),
                lambda: _bare_python(place.project),
                runs=runs,
            )
            figures.append(
                Figure(
                    name=f"command-{name}",
                    what=f"pinbox {name}, 5 open pins, hub warm",
                    floor_is="python -I -S -c pass, the same interpreter",
                    unit="ms",
                    ours=ours,
                    floor=floor,
                    target=target,
                )
            )
    return figures


def cold(runs: int) -> list[Figure]:
    """The first command of a project that has never been used, and of one whose hub has left."""
    with Workplace() as place:
        place.hub()
        stack = HUB_STACK.format(path=[str(Path(__file__).resolve().parent.parent)])
        environ = {
            **place.environ,
            "PINBOX_PROJECT": str(place.project),
            "PINBOX_SECRET_KEY": "bench",
        }

        def floor_run() -> None:
            run([sys.executable, "-I", "-c", stack], place.project, environ)

        again: list[float] = []
        for _ in range(runs):
            place.stop_hub()
            samples, _floor = in_turn(
                lambda: run([str(PINBOX), "summary"], place.project, place.environ),
                lambda: None,
                runs=1,
                warm_up=0,
            )
            again += samples
        first: list[float] = []
        floor: list[float] = []
        for _ in range(runs):
            with Workplace() as fresh:
                ours, base = in_turn(
                    lambda fresh=fresh: run([str(PINBOX), "summary"], fresh.project, fresh.environ),
                    floor_run,
                    runs=1,
                    warm_up=0,
                )
            first += ours
            floor += base
    return [
        Figure(
            name="cold-project",
            what="first pinbox summary in a project without a database",
            floor_is="importing the hub's whole stack in one process",
            unit="ms",
            ours=first,
            floor=floor,
            target=1.4,
        ),
        Figure(
            name="cold-hub",
            what="pinbox summary where the database is there and the hub has left",
            floor_is="importing the hub's whole stack in one process",
            unit="ms",
            ours=again,
            floor=floor,
            target=1.4,
        ),
    ]


def memory(runs: int) -> list[Figure]:
    """Resident memory of an idle hub that has answered every kind of request once."""
    ours: list[float] = []
    floor: list[float] = []
    stack = HUB_STACK.format(path=[str(Path(__file__).resolve().parent.parent)])
    show = "print(open('/proc/self/status').read().split('VmRSS:')[1].split()[0])"
    for _ in range(runs):
        with Workplace() as place:
            pin = place.data("POST", "/pins", pin_input(1))
            for path in ("/summary", "/pins", f"/pins/{pin['id']}", "/events", "/sessions"):
                place.ask("GET", path)
            pid = place.hub()["pid"]
            sleep_until_idle(pid)
            ours.append(resident_mb(pid))
            environ = {
                **place.environ,
                "PINBOX_PROJECT": str(place.project),
                "PINBOX_SECRET_KEY": "bench",
            }
            said = run([sys.executable, "-I", "-c", stack + show], place.project, environ)
            floor.append(int(said) * 1024 / 1e6)
    return [
        Figure(
            name="memory",
            what="resident memory of an idle hub that has answered a few requests",
            floor_is="a process that imported the same stack",
            unit="MB",
            ours=ours,
            floor=floor,
            target=1.2,
        )
    ]


def _bare_python(cwd: Path) -> None:
    run([sys.executable, "-I", "-S", "-c", "pass"], cwd, clean_environ())


def hook_payload(project: Path, event: str = "UserPromptSubmit") -> bytes:
    document = {
        "session_id": SESSION,
        "transcript_path": "/nowhere/transcript.jsonl",
        "cwd": str(project),
        "hook_event_name": event,
    }
    document |= {"prompt": "Go on."} if event == "UserPromptSubmit" else {"stop_hook_active": False}
    return json.dumps(document).encode()
