"""An agent's hook, as fast as an interpreter can be: bytes from stdin to the hub, bytes from the
hub to stdout.

Imports C modules only, and `pinbox.wire`, which does the same. Prints nothing unless the hub of
this very project answered with a JSON object; on any trouble it leaves one line in the project's
`hook.log` and is silent. The rules for finding a project are those of `pinbox.project.find`; a
test holds the two together.
"""

import _signal  # type: ignore[import-not-found, unused-ignore]
import posix
from time import gmtime, monotonic, strftime

from . import wire

TYPE_CHECKING = False  # as `typing` has it, which is not a C module
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

#: Seconds for everything, starting a hub included. Agents wait for their hooks.
DEADLINE_S = 2.0
#: Seconds of those kept for asking the hub once it is up.
_ASK_S = 0.3
#: As in contract.py, which imports too much to be read here; a test holds them equal.
MAX_BODY_BYTES = 8 * 1024 * 1024
_MAX_ANSWER_BYTES = 1024 * 1024
_MAX_LOG_BYTES = 256 * 1024
_DIRECTORY, _KIND = 0o040000, 0o170000
#: Between an agent and its hook: what runs command lines and our launcher.
_SHELLS = (
    *(b"sh", b"bash", b"dash", b"zsh", b"ksh", b"fish", b"env", b"timeout", b"busybox"),
    b"hook",  # the launcher: the kernel names a script after its file, not after its shell
)


class Trouble(Exception):
    """No answer from a hub; the message is for the log."""


def main(agent: str) -> None:
    """Answer one hook call of `agent`. Returns in DEADLINE_S seconds at most and never raises."""
    deadline = monotonic() + DEADLINE_S
    folder = b""
    try:
        # The alarm also ends what has no time-out of its own: a stdin that stays open, a dead file
        # system.
        _signal.signal(_signal.SIGALRM, _out_of_time)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGALRM])
        _signal.setitimer(_signal.ITIMER_REAL, DEADLINE_S)
        payload = _read_payload()
        project = find()
        if not payload or project is None or not agent.isalnum() or not agent.isascii():
            return
        folder = state_folder(project)
        answer = _ask(agent, project, folder, payload, deadline)
        if answer:
            _write(1, answer)
    except BaseException as error:
        _log(folder, agent, error)
    finally:
        _signal.setitimer(_signal.ITIMER_REAL, 0)


def _out_of_time(number: int, frame: "FrameType | None") -> "NoReturn":
    raise Trouble(f"not done within {DEADLINE_S:g} seconds")


# --- the project and its hub ------------------------------------------------------------------


def find() -> bytes | None:
    """Physical path of the project the agent works in; None without a `.pinbox` in reach."""
    try:  # noqa: SIM105 - contextlib is not a C module
        posix.chdir(posix.environ[b"CLAUDE_PROJECT_DIR"])
    except (KeyError, OSError, ValueError):
        pass
    folder = posix.getcwdb()
    home = _physical_home()
    git_root = None
    while True:
        if _is_ours(folder + b"/.pinbox") and (
            git_root is None or (folder != home and _takes_repositories(folder))
        ):
            return folder
        if git_root is None and _exists(folder + b"/.git"):
            git_root = folder
            main = _main_worktree(folder)
            if main is not None:
                return main if _is_ours(main + b"/.pinbox") else None
        parent = folder.rpartition(b"/")[0] or b"/"
        if parent == folder:
            return None
        folder = parent


def _takes_repositories(folder: bytes) -> bool:
    """Whether its `.pinbox` reaches into repositories below it, and is not there by chance."""
    return _exists(folder + b"/.git") or _exists(folder + b"/.pinbox/hook")


def _physical_home() -> bytes:
    home = posix.environ.get(b"HOME", b"") or b"/"
    return _physical(home) or home


def _physical(path: bytes) -> bytes | None:
    """The path without symlinks, by way of the kernel."""
    here = posix.getcwdb()
    try:
        posix.chdir(path)
        return posix.getcwdb()
    except OSError:
        return None
    finally:
        posix.chdir(here)


def _is_ours(path: bytes) -> bool:
    try:
        found = posix.stat(path)
    except OSError:
        return False
    return found.st_mode & _KIND == _DIRECTORY and found.st_uid == posix.geteuid()


def _exists(path: bytes) -> bool:
    try:
        posix.lstat(path)
    except OSError:
        return False
    return True


def _main_worktree(root: bytes) -> bytes | None:
    """The main checkout that a linked worktree belongs to; None for any other repository."""
    try:
        pointer = _read(root + b"/.git", 4096)
        if not pointer.startswith(b"gitdir:"):
            return None
        git_dir = _join(root, pointer[7:].strip())
        common = _physical(_join(git_dir, _read(git_dir + b"/commondir", 4096).strip()))
    except OSError:
        return None
    if common is None or not common.endswith(b"/.git"):
        return None
    return common[:-5] or b"/"


def _join(folder: bytes, path: bytes) -> bytes:
    return path if path.startswith(b"/") else folder + b"/" + path


def state_folder(project: bytes) -> bytes:
    """As `pinbox.project.state_path`."""
    home = posix.environ.get(b"XDG_STATE_HOME", b"")
    if not home.startswith(b"/"):
        user = posix.environ.get(b"HOME", b"")
        if not user:
            import pwd

            user = pwd.getpwuid(posix.getuid()).pw_dir.encode()
        if not user.startswith(b"/"):
            raise Trouble("no HOME")
        home = user.rstrip(b"/") + b"/.local/state"
    try:
        from _sha2 import sha256  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]
    name: str = sha256(project).hexdigest()[:12]
    return home.rstrip(b"/") + b"/pinbox/" + name.encode()


def recorded_hub(folder: bytes) -> tuple[int, str] | None:
    """Port and token of the hub that the state file names, if its process lives and runs."""
    try:
        state = _read_private(folder + b"/hub.json")
        pid, _, mark = _read_private(folder + b"/hub.pid").strip().partition(b" ")
    except OSError:
        return None
    port, token = _field(state, b'"port":'), _field(state, b'"token":"')
    if pid != _field(state, b'{"pid":') or not port.isdigit() or not token:
        return None
    process = _process(pid)
    if process is None:
        if _exists(b"/proc/self"):
            return None
    elif process[0] in (b"T", b"t", b"Z", b"X") or process[19] != mark.partition(b"@")[0]:
        return None
    return int(port), token.decode("ascii")


def _field(state: bytes, name: bytes) -> bytes:
    """The digits or the word that follow `name` in compact JSON written by ourselves."""
    start = state.find(name)
    if start < 0:
        return b""
    start += len(name)
    end = start
    stops = b'"' if name.endswith(b'"') else b",}"
    while end < len(state) and state[end] not in stops:
        end += 1
    return state[start:end]


def _process(pid: bytes) -> list[bytes] | None:
    """`/proc/<pid>/stat` from the process's state on, its name put last."""
    try:
        line = _read(b"/proc/" + pid + b"/stat", 4096)
    except OSError:
        return None
    front, _, back = line.rpartition(b")")
    return [*back.split(), front.partition(b"(")[2]]


def agent_process() -> str | None:
    """`<pid>:<start>` of the nearest ancestor that is no shell: the agent, as one word per life."""
    pid = b"%d" % posix.getppid()
    for _ in range(8):
        process = _process(pid)
        if process is None:
            return None
        if process[-1] not in _SHELLS or process[1] in (b"0", b"1"):
            return f"{pid.decode()}:{process[19].decode()}"
        pid = process[1]
    return None


# --- asking -----------------------------------------------------------------------------------


def _ask(agent: str, project: bytes, folder: bytes, payload: bytes, deadline: float) -> bytes:
    hub = recorded_hub(folder)
    if hub is not None:
        try:
            return _exchange(agent, hub, payload, deadline)
        except wire.Refused:
            pass  # it is just leaving
    return _exchange(agent, _started_hub(project, deadline), payload, deadline)


def _exchange(agent: str, hub: tuple[int, str], payload: bytes, deadline: float) -> bytes:
    port, token = hub
    headers = [("authorization", f"Bearer {token}"), ("content-type", "application/json")]
    if (process := agent_process()) is not None:
        headers.append(("x-pinbox-ppid", process))
    status, answer = wire.exchange(
        port, "POST", f"/hooks/{agent}", tuple(headers), payload, timeout_s=deadline - monotonic()
    )
    if status != 200:
        raise Trouble(f"the hub answered with status {status}")
    if not answer:
        return b""
    if len(answer) > _MAX_ANSWER_BYTES or answer[:1] != b"{" or answer.rstrip()[-1:] != b"}":
        raise Trouble("the hub's answer is not a JSON object")
    return answer


def _started_hub(project: bytes, deadline: float) -> tuple[int, str]:
    """Start the hub, or replace a deaf one. The slow path: it imports what commands import."""
    from .daemon import hub_for_hook  # seldom needed, and slow

    return hub_for_hook(project, deadline - monotonic() - _ASK_S)


# --- bytes ------------------------------------------------------------------------------------


def _read_payload() -> bytes:
    """All of stdin; nothing when it is closed or a terminal."""
    try:
        if posix.isatty(0):
            return b""
        parts, size = [], 0
        while more := posix.read(0, 1 << 20):
            if size <= MAX_BODY_BYTES:  # the rest is read as well: the agent may be writing it
                parts.append(more)
            size += len(more)
    except OSError:
        return b""
    payload = b"".join(parts)
    return payload if size <= MAX_BODY_BYTES else _shortened(payload)


def _shortened(payload: bytes) -> bytes:
    """A prompt of many megabytes cut to size: the object is closed where its long text is cut."""
    cut = payload[: MAX_BODY_BYTES - 2]
    escape = cut.rfind(b"\\", len(cut) - 6)
    if escape >= 0:
        cut = cut[:escape].rstrip(b"\\")
    return cut + b'"}'


def _read(path: bytes, limit: int) -> bytes:
    descriptor = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
    try:
        return posix.read(descriptor, limit)
    finally:
        posix.close(descriptor)


def _read_private(path: bytes) -> bytes:
    """A file that nobody else can have written."""
    descriptor = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
    try:
        found = posix.fstat(descriptor)
        if found.st_uid != posix.geteuid() or found.st_mode & 0o022:
            raise PermissionError
        return posix.read(descriptor, 65536)
    finally:
        posix.close(descriptor)


def _write(descriptor: int, content: bytes) -> None:
    while content:
        content = content[posix.write(descriptor, content) :]


def _log(folder: bytes, agent: str, error: BaseException) -> None:
    """One line in `hook.log`, if the project has a state folder and the disk takes it."""
    if not folder:
        return
    try:
        path = folder + b"/hook.log"
        flags = posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW
        descriptor = posix.open(path, flags, 0o600)
        try:
            if posix.fstat(descriptor).st_size > _MAX_LOG_BYTES:
                posix.ftruncate(descriptor, 0)
            when = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())
            text = " ".join(f"{type(error).__name__}: {error}".split())[:500]
            _write(descriptor, f"{when} {agent[:40]!r} {text}\n".encode("utf-8", "replace"))
        finally:
            posix.close(descriptor)
    except BaseException:  # noqa: S110 - a log that cannot be written changes nothing for the agent
        pass
