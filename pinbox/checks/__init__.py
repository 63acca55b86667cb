"""What `pinbox doctor` looks at: each check does the thing and says what came of it.

Nothing of the user's is touched: what exists is read without a trace, and what has to be written
goes to a throw-away project with a home, a state folder and a hub of its own (`throwaway`). The
checks run side by side, each with its own deadline, so a program that hangs delays nobody.
"""

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

from pinbox.checks import database, hooks, hubs, machine
from pinbox.checks.findings import Finding, fail
from pinbox.checks.processes import Stopped
from pinbox.checks.throwaway import ThrowAway

#: Seconds for everything; what is not known by then has failed.
DEADLINE_S: Final = 15.0


def examine(root: Path | None) -> list[Finding]:
    """Every check's finding, in the order in which they are shown. `root` is None without a
    project. Raises PinboxError when no temporary folder can be made.
    """
    with _Stop() as stop, ThrowAway() as away:
        try:
            stop.may_interrupt()
            return _findings(_checks(root, away))
        finally:
            stop.may_not_interrupt()


def _checks(root: Path | None, away: ThrowAway) -> dict[str, Callable[[], Finding]]:
    """name -> check. The names are stable: scripts read them."""
    return {
        "python": lambda: machine.python(root, away),
        "sqlite": lambda: machine.sqlite(away),
        "fts5": lambda: hubs.fts5(away),
        "state-dir": lambda: machine.state_dir(root),
        database.NAME: lambda: database.db_writable(root, away),
        "hub": lambda: hubs.hub(root, away),
        "configuration": lambda: hubs.configuration(root, away),
        "agents": lambda: machine.agents(away),
        **{f"hooks-{agent}": _hooks(agent, root, away) for agent in machine.AGENTS},
        "gh": lambda: machine.gh(away),
        "delivery": lambda: hubs.delivery(root, away),
    }


def _hooks(agent: str, root: Path | None, away: ThrowAway) -> Callable[[], Finding]:
    return lambda: hooks.hooks(agent, root, away)


def _findings(checks: dict[str, Callable[[], Finding]]) -> list[Finding]:
    found: dict[str, Finding] = {}
    deadline = time.monotonic() + DEADLINE_S
    threads = [
        # A daemon, for one that waits on a dead file system can be ended by nobody.
        threading.Thread(target=_run, args=(name, check, found), name=name, daemon=True)
        for name, check in checks.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    late = f"not done within {DEADLINE_S:g} seconds"
    return [found.get(name) or fail(name, late, "try again") for name in checks]


def _run(name: str, check: Callable[[], Finding], found: dict[str, Finding]) -> None:
    try:
        found[name] = check()
    except Stopped:
        pass
    except Exception as error:  # one check's fault is its own finding, never the others' end
        hint = "please report it; PINBOX_DEBUG=1 shows where"
        found[name] = fail(name, f"could not be done ({type(error).__name__})", hint)
        if os.environ.get("PINBOX_DEBUG"):
            traceback.print_exception(error, file=sys.stderr)


class _Stop:
    """SIGTERM and SIGHUP end the checks as Ctrl-C does: in order, with nothing left behind.

    None of them interrupts the making or the clearing away of what the checks need.
    """

    def __enter__(self) -> "_Stop":
        self._is_asked = self._may = False
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        self._before = {number: signal.signal(number, self._asked) for number in numbers}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            if handler is not None:  # None: it was not set by Python, and cannot be set again
                signal.signal(number, handler)

    def may_interrupt(self) -> None:
        """Raises KeyboardInterrupt from here on, and at once if it was asked for meanwhile."""
        self._may = True
        if self._is_asked:
            raise KeyboardInterrupt

    def may_not_interrupt(self) -> None:
        self._may = False

    def _asked(self, number: int, frame: FrameType | None) -> None:
        self._is_asked = True
        if self._may:
            self._may = False
            raise KeyboardInterrupt
