"""Push: an ended session goes on headless, in its own folder, with its own history and the pin.

The agent is started as `program` does it, and believed only when the session that it names in its
answer is the one that was asked for.
"""

import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from delivery import configuration
from delivery.prompt import cut, one_line, size
from pinbox import agents, render
from pinbox.agents.resume import WHY, Answer, Resume, Trouble, environment
from sessions_app.liveness import Process

from . import MAX_OUTPUT_BYTES, DeliveryFailed, Outcome, Parcel, Presence, Reason, Target
from . import program as programs

#: Bytes of a folder's name that a message shows.
_FOLDER_BYTES: Final = 300
#: Seconds after which a session that is open elsewhere is looked at again.
_BUSY_S: Final = 60.0
#: Seconds that a help text may take.
_HELP_S: Final = 20.0
#: Seconds within which everything else is done: a look at the folder, a help text, the answer.
_MORE_S: Final = programs.GRACE_S + _HELP_S + programs.GRACE_S
#: Exit codes of a shell that could not start the program.
_NOT_STARTED: Final = (126, 127)
#: A value of such a variable is no word for a record.
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_LEAST_SECRET_CHARS: Final = 8

_REASONS: Final[Mapping[Trouble, Reason]] = {
    "refused": "refused",
    "busy": "busy",
    "rate_limit": "rate_limit",
    "auth": "auth",
    "network": "network",
    "unclear": "answer",
}


class ResumeAdapter:
    NAME = "resume"
    TAKES_MANY = True
    PULLS = False

    def timeout_s(self) -> float:
        return configuration.resume_timeout().total_seconds() + _MORE_S

    def reaches(self, target: Target | None) -> bool:
        """Never a session that may be alive: two processes would write one history, which some
        agents allow, and the person in front of the first would not see what the second one says.
        """
        return (
            target is not None
            and target.agent in agents.RESUMES
            and target.cwd is not None
            and target.presence in (Presence.LEAVING, Presence.GONE)
            and configuration.resume_is_on()
            and _program(agents.RESUMES[target.agent]) is not None
        )

    def deliver(
        self, parcel: Parcel, *, spawned: Callable[[Process], None], stop: threading.Event
    ) -> Outcome:
        target = parcel.target
        agent = agents.RESUMES.get(target.agent) if target else None
        if target is None or agent is None:
            raise DeliveryFailed("this agent's sessions cannot be resumed", reason="missing")
        if target.presence is not Presence.GONE:
            raise DeliveryFailed(
                f"the {agent.NAME} session may still be open", reason="busy", retry_after_s=_BUSY_S
            )
        if not agent.KEY.fullmatch(target.key):
            raise DeliveryFailed(
                f"its key is not the id of a {agent.NAME} session", reason="refused"
            )
        cwd = _folder(target.cwd)
        program = _program(agent)
        if program is None:
            raise DeliveryFailed(
                f"{agent.PROGRAM} is not on the PATH that the hub was started with",
                reason="missing",
            )
        environ = environment(agent, os.environ, configuration.resume_variables())
        command = agent.resume(
            target.key,
            parcel.text,
            permissions=configuration.resume_permissions(),
            help_text=_help(agent, program, stop),
        )
        try:
            ended = programs.run(
                (program, *command.arguments),
                cwd=cwd,
                environ=environ,
                stdin=command.stdin,
                timeout_s=configuration.resume_timeout().total_seconds(),
                spawned=spawned,
                stop=stop,
            )
        except OSError as error:
            _folder(target.cwd)  # it may have gone just now
            raise DeliveryFailed(
                f"{agent.PROGRAM} could not be started: {error.strerror}", reason="missing"
            ) from error
        return _judged(agent, target, ended, environ)


# --- before ---------------------------------------------------------------------------------------


def _program(agent: Resume) -> str | None:
    """Its absolute path. A relative folder on the PATH would mean another one in each session."""
    found = shutil.which(agent.PROGRAM)
    return found if found and os.path.isabs(found) else None


def _folder(cwd: str | None) -> str:
    """The recorded folder. Raises DeliveryFailed without it: the history belongs to that checkout,
    and another one of the same project is another place.
    """
    if cwd is None:
        raise DeliveryFailed("the folder of the session is not known", reason="refused")
    shown, left_out = cut(one_line(cwd), _FOLDER_BYTES)
    name = f"{shown}…" if left_out else shown
    try:
        is_there = os.path.isabs(cwd) and os.path.isdir(cwd)
    except ValueError:  # a NUL
        is_there = False
    if not is_there:
        raise DeliveryFailed(f"the folder of the session is gone: {name}", reason="refused")
    if not os.access(cwd, os.X_OK):
        raise DeliveryFailed(f"the folder of the session is closed: {name}", reason="missing")
    return cwd


#: What a program says of its own options, by path and time of its last change.
_HELP_TEXTS: Final[dict[tuple[str, int], str]] = {}


def _help(agent: Resume, program: str, stop: threading.Event) -> str:
    """What the program says of its own options, for an agent where it matters; asked once of each
    installed version.
    """
    if not agent.HELP:
        return ""
    try:
        key = program, os.stat(program).st_mtime_ns
        if key in _HELP_TEXTS:
            return _HELP_TEXTS[key]
        ended = programs.run(
            (program, *agent.HELP),
            cwd="/",
            environ=environment(agent, os.environ, ()),
            stdin="",
            timeout_s=_HELP_S,
            spawned=lambda process: None,
            stop=stop,
        )
    except OSError:
        return ""
    if ended.cause != "exit" or ended.exit_code != 0:
        return ""
    return _HELP_TEXTS.setdefault(key, ended.stdout)


# --- after ----------------------------------------------------------------------------------------


def _judged(
    agent: Resume, target: Target, ended: programs.Ended, environ: Mapping[str, str]
) -> Outcome:
    """The outcome, or DeliveryFailed. Messages are ours alone: what the program says may repeat
    the prompt.
    """
    answer = agent.read(
        ended.exit_code if ended.cause == "exit" else None, ended.stdout, ended.stderr
    )
    output = _kept(answer.said or ended.stderr, environ)
    if ended.cause == "stopped":
        raise DeliveryFailed(
            f"{agent.NAME} was ended because the hub stopped",
            reason="stopped",
            output=output,
            may_have_arrived=True,
        )
    if ended.cause == "timeout":
        raise _too_late(agent, answer, output, ended.seconds)
    if ended.exit_code in _NOT_STARTED and ended.stderr.startswith(programs.SHELL_NAME):
        raise DeliveryFailed(
            f"{agent.PROGRAM} is on the PATH but could not be started",
            reason="missing",
            output=output,
        )
    if answer.trouble:
        raise _failed(agent, answer, output, ended.exit_code)
    if answer.key is None:
        raise DeliveryFailed(
            f"{agent.NAME} did not say which session it went on with",
            reason="answer",
            output=output,
            may_have_arrived=True,
        )
    if answer.key.lower() != target.key.lower():
        raise DeliveryFailed(
            f"{agent.NAME} answered as another session", reason="refused", output=output
        )
    return Outcome(output=output)


def _failed(agent: Resume, answer: Answer, output: str, exit_code: int) -> DeliveryFailed:
    trouble = answer.trouble or "unclear"
    why = answer.why or WHY[trouble]
    if trouble == "unclear":
        why += f" (exit code {exit_code})"
    wait_s = answer.retry_after_s
    if answer.retry_at is not None:
        wait_s = max(0.0, answer.retry_at - time.time())
    return DeliveryFailed(
        f"{agent.NAME}: {why}",
        reason=_REASONS[trouble],
        retry_after_s=_BUSY_S if trouble == "busy" else wait_s,
        output=output,
        may_have_arrived=trouble == "unclear",
    )


def _too_late(agent: Resume, answer: Answer, output: str, seconds: float) -> DeliveryFailed:
    """A program that waits for its network, however long, has read nothing to anybody."""
    if answer.trouble in ("network", "rate_limit", "auth"):
        return _failed(agent, answer, output, -1)
    return DeliveryFailed(
        f"{agent.NAME} had not answered after {seconds:.0f} seconds",
        reason="timeout",
        output=output,
        may_have_arrived=True,
    )


def _kept(said: str, environ: Mapping[str, str]) -> str:
    """The end of what a program said, without what a terminal or a database would stumble over,
    and without the secrets that it was given.
    """
    for name, value in environ.items():
        if len(value) >= _LEAST_SECRET_CHARS and _SECRET.search(name):
            said = said.replace(value, f"[{name}]")
    said = render.plain(said).strip()
    if size(said) <= MAX_OUTPUT_BYTES:
        return said
    mark = "[…]\n"
    tail = said.encode()[-(MAX_OUTPUT_BYTES - size(mark)) :]
    return mark + tail.decode("utf-8", "ignore")
