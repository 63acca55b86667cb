"""The hub of a project, from outside: find it, start it, replace it, stop it.

However many commands run at once, one of them starts the hub and the others wait for it. A process
is only ever signalled after its pid and its start time were found equal to what the hub wrote
about itself, and, when it still answers, its instance id too. What a hub does once it runs is left
to `pinbox.hub`.
"""

import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from . import __version__, wire
from .contract import PinboxError
from .project import (
    FOLDER,
    HUB_LOCK,
    HubState,
    NoHub,
    cannot_write,
    is_same_process,
    pinbox_dir,
    private_write,
    process_fields,
    ps,
    read_hub,
    state_dir,
)

#: Seconds a command waits for a hub to come up. A cold start takes about one; a loaded machine
#: many more.
START_TIMEOUT_S: Final = 20.0
#: Seconds without an answer to `/health` after which a hub is looked at as deaf.
DEAF_AFTER_S: Final = 3.0
#: Seconds of silence, without using the processor at all, after which even a running hub is
#: replaced.
HUNG_AFTER_S: Final = 12.0
#: Seconds a hub may take from SIGTERM to its exit: two for requests under way, the rest for a slow
#: machine.
STOP_TIMEOUT_S: Final = 5.0
_POLL_S: Final = 0.02
#: Seconds for which one hook believes what another wrote about a silent hub.
_NOTE_VALID_S: Final = 600.0
LOG_FILE: Final = "hub.log"
_SPAWN_LOCK: Final = "spawn.lock"
#: Exit code of a hub that found another one serving its project.
ALREADY_SERVED: Final = 75

#: What a hub must not inherit from the shell, agent, git hook or Django project that happened to
#: start it.
_DROPPED_PREFIXES: Final = (
    "GIT_",
    "CLAUDE",
    "CODEX_",
    "HERMES_",
    "CURSOR_",
    "DJANGO_",
    "PYTHON",
    "JWT_",
    "COV_",
    "PYTEST_",
)
_DROPPED_NAMES: Final = frozenset(
    (
        "AI_AGENT",
        # What an OpenClaw shell says of itself; the rest says where its gateway is, which the hub
        # needs to reach it.
        "OPENCLAW_SHELL",
        "OPENCLAW_SESSION_KEY",
        "VIRTUAL_ENV",
        "OLDPWD",
        # Of the application under test, not of its hub: a local hub has its own file.
        "DATABASE_URL",
        "REDIS_URL",
        "AUTH_STRATEGY",
        "ALLOW_UNAUTHENTICATED",
    )
)
_DEFAULT_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


# --- looking ----------------------------------------------------------------------------------


def health(state: HubState, timeout_s: float, *, ready: bool = False) -> dict[str, Any] | None:
    """What `/health` says, or None when the port's listener is not this very hub. Raises
    wire.WireError.

    With `ready`, the answer comes only when the whole API is up.
    """
    status, body = wire.exchange(
        state.port, "GET", "/health?ready=1" if ready else "/health", timeout_s=timeout_s
    )
    try:
        data = json.loads(body)["data"]
        return data if status == 200 and data["instance"] == state.instance else None
    except (ValueError, KeyError, TypeError):
        return None


class Silence:
    """How long one hub has not answered, and whether that means it must be replaced."""

    def __init__(self, state: HubState, so_far_s: float = 0.0) -> None:
        self.state = state
        self.heard()
        self._since -= so_far_s

    def heard(self) -> None:
        """It answered, or is only now being asked."""
        self._since = time.monotonic()
        self._used_before = processor_time(self.state.pid)

    def is_deaf(self) -> bool:
        """A stopped process (SIGSTOP, a forgotten debugger) is deaf after DEAF_AFTER_S.

        One that runs is merely slow as long as it uses the processor or waits for a disk. If it did
        neither since it was last heard, it hangs, and is deaf after HUNG_AFTER_S.
        """
        seconds = time.monotonic() - self._since
        if seconds < DEAF_AFTER_S:
            return False
        condition = process_condition(self.state.pid)
        if condition in ("T", "t"):
            return True
        return (
            seconds >= HUNG_AFTER_S
            and condition == "S"
            and self._used_before is not None
            and processor_time(self.state.pid) == self._used_before
        )


def is_gone(state: HubState) -> bool:
    """Whether the process that wrote `state` has ended."""
    return not is_same_process(state.pid, state.mark)


def process_condition(pid: int) -> str:
    """One letter as in `ps`: R running, S sleeping, D waiting for a disk, T stopped; empty for no
    process.
    """
    fields = process_fields(pid)
    if fields is not None:
        return fields[0].decode("ascii", "replace")
    return ps(pid, "stat=")[:1]


def processor_time(pid: int) -> int | None:
    """Processor time used so far, in a unit of the system's own; None if unknown."""
    fields = process_fields(pid)
    if fields is not None and len(fields) > 12:
        return int(fields[11]) + int(fields[12])
    digits = "".join(filter(str.isdigit, ps(pid, "time=")))
    return int(digits) if digits else None


def compare_versions(one: str, other: str) -> int:
    """-1, 0 or 1 as `one` is older than, equal to or newer than `other`; 0 when either makes no
    sense.

    Understands `1.2.3` and its pre-releases (`1.2.3rc1`, `1.2.3.dev4`), which come before it.
    """
    left, right = _version_key(one), _version_key(other)
    if left is None or right is None:
        return 0
    return (left > right) - (left < right)


def _version_key(version: str) -> tuple[list[int], int, int] | None:
    release, rest = "", version.partition("+")[0].strip()
    while rest and rest[0] in "0123456789.":
        release, rest = release + rest[0], rest[1:]
    numbers = [int(part) for part in release.split(".") if part]
    if not numbers:
        return None
    while numbers and numbers[-1] == 0:
        numbers.pop()
    word = rest.lstrip("-_.").rstrip("0123456789.")
    digits = "".join(char for char in rest if char in "0123456789")
    ranks = {"dev": 0, "a": 1, "alpha": 1, "b": 2, "beta": 2, "rc": 3, "": 4, "post": 5}
    if word not in ranks:
        return None
    return numbers, ranks[word], int(digits or 0)


# --- starting ---------------------------------------------------------------------------------


def ensure_hub(
    project: Path, timeout_s: float = START_TIMEOUT_S, silence: Silence | None = None
) -> HubState:
    """The live hub of `project`, started or replaced if need be. May be called by any number of
    processes at once.

    Raises E_HUB_UNREACHABLE when there is none after `timeout_s` seconds, E_INTERNAL when its files
    cannot be written. A hub of a newer version is returned as it is: two versions never fight.
    `silence` is what the caller has already seen of a hub that did not answer.
    """
    deadline = time.monotonic() + timeout_s
    pinbox_dir(project)
    folder = state_dir(project)
    watch = Watch(project, silence)
    child: _Child | None = None
    with _SpawnLock(folder / _SPAWN_LOCK) as lock:
        while True:
            verdict = watch.look(max(0.05, min(1.0, deadline - time.monotonic())))
            state = watch.state
            if verdict == "live" or (verdict == "old" and child is not None):
                assert state is not None  # noqa: S101 - for the type checker
                if child is None or _is_ready(state, deadline):
                    return state
            elif not lock.taken:
                if lock.take():
                    continue  # whoever had it before may just have finished
            elif child is None and verdict in ("old", "deaf"):
                assert state is not None  # noqa: S101 - for the type checker
                end_hub(state)
                continue
            elif child is None and verdict == "none":
                child = _Child(project, folder)
            if child is not None and (code := child.exit_code()) is not None:
                if code != ALREADY_SERVED:
                    raise unreachable("the hub could not start", folder, child.last_words())
                child = None
            if time.monotonic() >= deadline:
                raise unreachable(f"no hub answered within {timeout_s:g} seconds", folder)
            time.sleep(_POLL_S)


def hub_for_hook(project: bytes, timeout_s: float) -> tuple[int, str]:
    """Port and token of the hub, for a hook, which has less time than it takes to be sure that a
    hub is deaf. So what one hook saw of a silent hub is kept for the next one.
    """
    folder = Path(os.fsdecode(project))
    note = state_dir(folder) / "hub.silent"
    silence = None
    started = time.monotonic()
    with contextlib.suppress(NoHub, OSError, ValueError):
        state = read_hub(folder)
        instance, since = note.read_text("ascii").split()
        so_far_s = started - float(since)
        # Only a stopped process is still as it was then, and only if that was not long ago.
        is_stopped = process_condition(state.pid) in ("T", "t")
        if instance == state.instance and is_stopped and 0 <= so_far_s < _NOTE_VALID_S:
            silence = Silence(state, so_far_s)
    try:
        found = ensure_hub(folder, max(0.1, timeout_s), silence)
    except PinboxError:
        with contextlib.suppress(NoHub, PinboxError):
            if silence is None:
                private_write(note, f"{read_hub(folder).instance} {started}".encode())
        raise
    with contextlib.suppress(OSError):
        note.unlink()
    return found.port, found.token


def _is_ready(state: HubState, deadline: float) -> bool:
    try:
        return health(state, max(0.05, deadline - time.monotonic()), ready=True) is not None
    except wire.WireError:
        return False


def unreachable(message: str, folder: Path, detail: str = "") -> PinboxError:
    """The error of a command that has no hub; its hint names the log."""
    return PinboxError(
        "E_HUB_UNREACHABLE",
        f"{message}: {detail}" if detail else message,
        f"`pinbox doctor` looks for the cause; the hub's log is {folder / LOG_FILE}",
    )


class Watch:
    """Repeated looks at the hub of one project, remembering since when it has been silent."""

    def __init__(self, project: Path, silence: Silence | None = None) -> None:
        self.project = project
        self.state: HubState | None = None
        self.reason = ""
        self._silence = silence

    def look(self, timeout_s: float) -> str:
        """live: answers as itself. old: so, but older than we are. silent: its process lives, but
        no answer yet. deaf: must be replaced. none: no such process; `reason` says why.
        """
        try:
            state = self.state = read_hub(self.project)
        except NoHub as error:
            self.state, self.reason = None, str(error)
            return "none"
        if self._silence is None or self._silence.state.instance != state.instance:
            self._silence = Silence(state)
        if self._silence.is_deaf():
            return "deaf"
        try:
            answer = health(state, timeout_s)
        except wire.WireError as error:
            answer, self.reason = None, str(error)
        if answer is None:
            return "silent"
        self._silence.heard()
        if not os.path.exists(os.path.join(self.project, FOLDER, HUB_LOCK)):
            self.reason = f"{FOLDER} was removed while its hub ran"
            return "deaf"
        return "old" if compare_versions(state.version, __version__) < 0 else "live"


class _SpawnLock:
    """The right to start or replace the hub; the kernel takes it back from a process that dies."""

    def __init__(self, path: Path) -> None:
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise cannot_write(path, error) from error
        self.taken = False

    def __enter__(self) -> "_SpawnLock":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def take(self) -> bool:
        """Take it if nobody has it. Never waits."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self.taken = True
        return True


class _Child:
    """A hub just spawned, detached from whoever needed it."""

    def __init__(self, project: Path, folder: Path) -> None:
        import subprocess  # costs a command that finds a hub more than its own work

        path = folder / LOG_FILE
        try:
            log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise cannot_write(path, error) from error
        self._log = path
        self._from = os.fstat(log).st_size
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and package
                spawn_command(project),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=hub_environment(os.environ),
                start_new_session=True,
                close_fds=True,
            )
        except OSError as error:
            raise unreachable("the hub could not be started", folder, str(error)) from error
        finally:
            os.close(log)

    def exit_code(self) -> int | None:
        return self._process.poll()

    def last_words(self) -> str:
        """The last line the hub wrote before it gave up."""
        with contextlib.suppress(OSError), open(self._log, "rb") as file:
            file.seek(self._from)
            lines = file.read(65536).decode("utf-8", "replace").strip().splitlines()
            return lines[-1].strip().removeprefix("pinbox: ") if lines else ""
        return ""

    def __del__(self) -> None:
        # It is meant to outlive us; without this, Popen warns of a process left behind.
        if hasattr(self, "_process") and self._process.returncode is None:
            self._process.returncode = 0


def hub_command() -> list[str]:
    """How to run `pinbox.hub` of this very package, isolated so that nothing of the user's shadows
    a module. Its arguments follow.
    """
    package = Path(__file__).resolve().parent
    if package.parent.name in ("site-packages", "dist-packages"):
        return [_interpreter(), "-I", "-m", "pinbox.hub"]
    # A checkout, which an isolated interpreter need not know.
    script = "import sys; sys.path.insert(0, sys.argv.pop(1)); from pinbox.hub import main; "
    return [_interpreter(), "-I", "-c", script + "sys.exit(main())", str(package.parent)]


def _interpreter() -> str:
    """The Python that runs us; inside another program (an embedding server) its installation's."""
    name = os.path.basename(sys.executable or "")
    if name.startswith(("python", "pypy")):
        return sys.executable
    return os.path.join(sys.prefix, "bin", "python3")


def spawn_command(project: Path) -> list[str]:
    """The command of a hub that a command starts for itself."""
    return [*hub_command(), "serve", "--project", str(project), "--detached"]


def hub_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without what belongs to its git hook, agent or Django project.

    Where an agent keeps its sessions and how it reaches its model stays: the hub resumes sessions.
    """
    from .agents import RESUMES  # not for a command that finds a hub
    from .agents.resume import is_named

    settings = [name for agent in RESUMES.values() for name in agent.ENVIRONMENT]
    kept = {
        name: value
        for name, value in environ.items()
        if is_named(name, settings)
        or not (name.startswith(_DROPPED_PREFIXES) or name in _DROPPED_NAMES)
    }
    kept.pop("PWD", None)
    # A relative entry would mean another folder than in the caller's shell.
    folders = [part for part in kept.get("PATH", "").split(":") if part.startswith("/")]
    kept["PATH"] = ":".join(dict.fromkeys(folders)) or _DEFAULT_PATH
    return kept


# --- stopping ---------------------------------------------------------------------------------


def stop(project: Path) -> HubState | None:
    """Stop the hub of `project`; what it was, or None when none runs. Port and tokens are kept.

    Raises E_HUB_UNREACHABLE when it does not stop.
    """
    try:
        state = read_hub(project)
    except NoHub:
        return None
    end_hub(state)
    return state


def end_hub(state: HubState) -> None:
    """SIGTERM to the hub, which lets requests under way finish; SIGKILL to one that is deaf to it.

    Does nothing when the process is not, or no longer, the one that wrote `state`.
    """
    with _Target(state) as target:
        target.send(signal.SIGTERM)
        target.send(signal.SIGCONT)  # a stopped process cannot end in order
        if target.ends_within(STOP_TIMEOUT_S):
            return
        with contextlib.suppress(wire.WireError):
            if health(state, DEAF_AFTER_S) is not None and target.ends_within(STOP_TIMEOUT_S):
                return
        target.send(signal.SIGKILL)
        if not target.ends_within(STOP_TIMEOUT_S):
            raise unreachable(f"the hub (process {state.pid}) does not stop", state.state_dir)


class _Target:
    """The process of one hub. Nothing is sent to another one that got its pid."""

    def __init__(self, state: HubState) -> None:
        self._state = state
        self._descriptor: int | None = None

    def __enter__(self) -> "_Target":
        if self._state.pid > 1 and self._state.pid != os.getpid():
            with contextlib.suppress(
                OSError, AttributeError
            ):  # Linux only, and not in every sandbox
                self._descriptor = os.pidfd_open(self._state.pid)
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def is_alive(self) -> bool:
        return is_same_process(self._state.pid, self._state.mark)

    def send(self, number: signal.Signals) -> None:
        # The descriptor was opened first: if the process behind the pid is ours now, it was so
        # then.
        if self._state.pid <= 1 or self._state.pid == os.getpid() or not self.is_alive():
            return
        with contextlib.suppress(ProcessLookupError):
            if self._descriptor is not None:
                signal.pidfd_send_signal(self._descriptor, number)
            else:
                os.kill(self._state.pid, number)

    def ends_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.is_alive():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True
