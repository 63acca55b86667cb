"""Codex: a live session that waits for a person is woken by `codex queue`, and its own hooks then
take what there is. Off unless PINBOX_CODEX_QUEUE says otherwise. See docs/codex.md.

The line that is queued becomes the user's own message, and everybody on the machine can read it in
the list of processes: so it is always the same, and no word of a pin is in it.
"""

import os
import re
import shutil
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Final

from delivery import clock, configuration, turns
from pinbox.agents import codex
from pinbox.agents.resume import environment
from pinbox.contract import PinboxError
from sessions_app.liveness import Process

from . import MAX_OUTPUT_BYTES, DeliveryFailed, Outcome, Parcel, Presence, Target
from . import program as programs

LINE: Final = (
    "Pinbox: new feedback came while this session was idle. The pins are in the context of this"
    " prompt: please see to those that are new. If none is, there is nothing to do."
)
#: Seconds for one run of the program; it takes less than one.
RUN_S: Final = 20.0
#: Seconds after a turn before the session counts as waiting: one that runs without a terminal ends
#: then.
SETTLE_S: Final = 2.0
_MOST_CALLED: Final = 256
_UNKNOWN: Final = re.compile(r"no rollout found for thread id|no active session found", re.I)


class CodexAdapter:
    """Wakes a session once for each time that it waits."""

    NAME = "codex"
    TAKES_MANY = True
    PULLS = False

    def __init__(self, *, run_s: float = RUN_S, settle_s: float = SETTLE_S) -> None:
        self._run_s = run_s
        self._settle_s = settle_s
        #: Session id -> the wait in which it was called.
        self._called: dict[str, datetime] = {}
        #: Program and time of its last change -> whether it can queue.
        self._abilities: dict[tuple[str, int], bool] = {}

    def timeout_s(self) -> float:
        return self._settle_s + 2 * (self._run_s + programs.GRACE_S)

    def reaches(self, target: Target | None) -> bool:
        """Never a session that may be over: the line would wait in it for the next resume."""
        if (
            target is None
            or target.agent != codex.NAME
            or target.presence is not Presence.LIVE
            or target.idle_since is None
            or self._called.get(target.id) == target.idle_since
            or not codex.KEY.fullmatch(target.key)
        ):
            return False
        try:
            is_on = configuration.codex_queue()
        except PinboxError:
            return False  # /health and `manage.py check` say why
        program = _program() if is_on else None
        return program is not None and self._abilities.get(program, True)

    def deliver(
        self, parcel: Parcel, *, spawned: Callable[[Process], None], stop: threading.Event
    ) -> Outcome:
        target = parcel.target
        program = _program()
        if target is None or target.idle_since is None:
            raise DeliveryFailed("only a session that waits can be called", reason="busy")
        if program is None:
            raise DeliveryFailed("codex is not on the PATH of the hub", reason="missing")
        while len(self._called) >= _MOST_CALLED:
            del self._called[next(iter(self._called))]
        self._called[target.id] = target.idle_since
        waited_s = (clock.now() - target.idle_since).total_seconds()
        left_s = min(self._settle_s, self._settle_s - waited_s)  # whatever the clock was set to
        if left_s > 0 and stop.wait(left_s):
            raise DeliveryFailed("the hub left before codex was called", reason="stopped")
        if turns.idle_since(target.id) != target.idle_since:
            return Outcome(is_accepted_only=True, is_only_called=True, output="it moved by itself")
        if not self._can_queue(program, stop):
            raise DeliveryFailed("this version of codex has no `codex queue`", reason="missing")
        arguments = ("queue", "--thread", target.key, "--message", LINE)
        return _judged(self._run(program[0], arguments, stop))

    def _can_queue(self, program: tuple[str, int], stop: threading.Event) -> bool:
        """Asked once of each installed version."""
        if program not in self._abilities:
            ended = self._run(program[0], ("queue", "--help"), stop)
            if ended.cause != "exit":
                raise _broken_off(ended, may_have_arrived=False)
            is_able = "--thread" in ended.stdout and "--message" in ended.stdout
            self._abilities[program] = ended.exit_code == 0 and is_able
        return self._abilities[program]

    def _run(self, path: str, arguments: tuple[str, ...], stop: threading.Event) -> programs.Ended:
        try:
            return programs.run(
                (path, *arguments),
                cwd="/",  # no project's configuration has a say
                environ=environment(codex, os.environ, configuration.resume_variables()),
                stdin="",
                timeout_s=self._run_s,
                spawned=lambda _: None,  # no agent: it writes the line down and ends
                stop=stop,
            )
        except OSError as error:
            raise DeliveryFailed("codex cannot be started", reason="missing") from error


def _program() -> tuple[str, int] | None:
    """Its absolute path, and the time of its last change in nanoseconds."""
    path = shutil.which(codex.PROGRAM)
    try:
        return (path, os.stat(path).st_mtime_ns) if path and os.path.isabs(path) else None
    except OSError:
        return None


def _judged(ended: programs.Ended) -> Outcome:
    output = (ended.stdout if ended.exit_code == 0 else ended.stderr).strip()
    output = output.replace("\0", "\ufffd").encode()[-MAX_OUTPUT_BYTES:].decode("utf-8", "ignore")
    if ended.cause != "exit":
        raise _broken_off(ended, may_have_arrived=True)
    if ended.exit_code == 0 and "Queued message" in ended.stdout:
        return Outcome(is_accepted_only=True, is_only_called=True, output=output)
    if _UNKNOWN.search(ended.stderr):
        # No end of the session, which lives by evidence: most likely it has another CODEX_HOME.
        raise DeliveryFailed(
            "codex queue: no such session under the CODEX_HOME that the hub was started with",
            reason="missing",
            output=output,
        )
    raise DeliveryFailed(
        f"codex queue did not say that it took the line (exit code {ended.exit_code})",
        reason="answer",
        output=output,
        may_have_arrived=ended.exit_code == 0,
    )


def _broken_off(ended: programs.Ended, *, may_have_arrived: bool) -> DeliveryFailed:
    if ended.cause == "stopped":
        return DeliveryFailed(
            "the hub left in the middle of it", reason="stopped", may_have_arrived=may_have_arrived
        )
    return DeliveryFailed(
        f"codex queue had not ended after {ended.seconds:.0f} seconds",
        reason="timeout",
        may_have_arrived=may_have_arrived,
    )
