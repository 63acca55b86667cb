"""Where the project is, its `.pinbox/`, the private state folder, and what its state file says of
the running hub.

Standard library only. Every file and folder made here is private from the moment it exists,
whatever the umask. Starting, replacing and stopping hubs is left to `pinbox.daemon`.
"""

from __future__ import annotations

import errno
import os
import stat

from . import light_json
from .contract import PinboxError

TYPE_CHECKING = False  # as `typing` has it, which costs a warm command as much as `json`
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any, Final

try:  # hashlib loads OpenSSL, which costs a command more than its own work
    from _sha2 import sha256  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        from hashlib import sha256

FOLDER: Final = ".pinbox"
STATE_FILE: Final = "hub.json"
#: "pid start-of-process" of the process that wrote the state file; see `process_mark`.
PID_FILE: Final = "hub.pid"
#: Port and tokens for the next start; outlives a clean stop, which removes the state file.
KEPT_FILE: Final = "hub.keep"
#: In `.pinbox/`: locked by the hub for as long as it lives; holds the path of that hub's state
#: folder.
HUB_LOCK: Final = "hub.lock"
#: In `.pinbox/` where `init` ran: what hooks call.
LAUNCHER: Final = "hook"


class NoHub(Exception):
    """No usable hub is recorded for this project. The message says why, `cause` is one word for
    code.

    Causes: missing, unreadable, malformed, foreign (not our file), dead (its process is gone or
    another one).
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class HubState:
    """What a running hub wrote about itself.

    `folder` is where it was read from; `mark` tells its process from others.
    """

    __slots__ = (
        "folder",
        "instance",
        "mark",
        "page_token",
        "pid",
        "port",
        "started_at",
        "token",
        "version",
    )

    def __init__(
        self,
        *,
        pid: int,
        port: int,
        token: str,
        version: str,
        page_token: str,
        instance: str,
        started_at: str,
        folder: str,
        mark: str = "",
    ) -> None:
        self.pid = pid
        self.port = port
        self.token = token
        self.version = version
        self.page_token = page_token
        self.instance = instance
        self.started_at = started_at
        self.folder = folder
        self.mark = mark

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HubState) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    def __hash__(self) -> int:
        return hash((self.pid, self.instance))

    @property
    def state_dir(self) -> Path:
        from pathlib import Path

        return Path(self.folder)

    def encode(self) -> bytes:
        """The state file's bytes: compact JSON in this key order (the hook scans it without a
        parser).
        """
        import json

        return json.dumps(
            {
                "pid": self.pid,
                "port": self.port,
                "token": self.token,
                "version": self.version,
                "pageToken": self.page_token,
                "instance": self.instance,
                "startedAt": self.started_at,
            },
            separators=(",", ":"),
        ).encode()


def token(size: int) -> str:
    """`secrets.token_urlsafe`, whose module costs a warm command more than its own work."""
    import secrets

    return secrets.token_urlsafe(size)


# --- where the project is ------------------------------------------------------------------------


def find(start: Path | str | None = None) -> Path:
    """`find_folder` as a Path."""
    from pathlib import Path  # here and below: a warm command must not pay for importing it

    return Path(find_folder(start))


def find_folder(start: Path | str | None = None) -> str:
    """Physical path of the project that `start` (else the current directory) is in.

    The nearest ancestor with a `.pinbox` of ours; else the git root, where a linked worktree means
    its main one and a submodule is its own root; else `start` itself. Into a repository below it
    reaches only a `.pinbox` that was meant so (`_takes_repositories`). `pinbox.hotpath` has the
    same rules without `pathlib`.
    """
    try:
        here = os.path.realpath(start if start is not None else os.getcwd())
    except OSError as error:
        raise PinboxError(
            "E_INVALID_INPUT",
            f"the current directory cannot be read: {error.strerror}",
            "run pinbox in a directory that exists",
        ) from error
    home = os.path.realpath(os.environ.get("HOME") or "/")
    git_root: str | None = None
    for folder in _upwards(here):
        if _is_our_folder(os.path.join(folder, FOLDER)) and (
            git_root is None or (folder != home and _takes_repositories(folder))
        ):
            return folder
        if git_root is None and os.path.lexists(os.path.join(folder, ".git")):
            git_root = folder
            main = main_worktree(folder)
            if main != folder:
                return main
    return git_root or here


def _takes_repositories(folder: str) -> bool:
    """A repository with its submodules, or where `init` ran. A command in any other folder may have
    left a `.pinbox` there by chance.
    """
    return any(
        os.path.lexists(os.path.join(folder, *names)) for names in ((".git",), (FOLDER, LAUNCHER))
    )


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _is_our_folder(path: str) -> bool:
    try:
        found = os.stat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def main_worktree(root: str) -> str:
    """The main checkout of a linked worktree; `root` itself for anything else (a submodule, a
    plain or bare repository).
    """
    try:
        with open(os.path.join(root, ".git"), "rb") as file:
            pointer = file.read(4096)
        if not pointer.startswith(b"gitdir:"):
            return root
        git_dir = os.path.join(root, os.fsdecode(pointer[7:].strip()))
        # Only a linked worktree has `commondir`; it points at the shared repository.
        with open(os.path.join(git_dir, "commondir"), "rb") as file:
            common = os.path.join(git_dir, os.fsdecode(file.read(4096).strip()))
    except OSError:
        return root
    common = os.path.realpath(common)
    if os.path.basename(common) != ".git":  # a worktree of a bare repository, or of a submodule
        return root
    return os.path.dirname(common)


def project_id(project: Path | str) -> str:
    """First 12 hex digits of SHA-256 over the project's physical path."""
    return str(sha256(os.fsencode(os.path.realpath(project))).hexdigest())[:12]


# --- private folders and files -------------------------------------------------------------------


def state_home() -> Path:
    from pathlib import Path

    return Path(_state_home())


def _state_home() -> str:
    """`$XDG_STATE_HOME` when absolute, else `~/.local/state`. Creates nothing."""
    named = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(named):  # the XDG specification says to ignore a relative one
        return named
    home = os.environ.get("HOME") or os.path.expanduser("~")
    if not os.path.isabs(home):
        raise PinboxError(
            "E_INTERNAL",
            "there is no home folder to keep the hub's state in",
            "set HOME or XDG_STATE_HOME to an absolute path",
        )
    return os.path.join(home, ".local", "state")


def state_path(project: Path | str) -> Path:
    """The project's private state folder, which may not exist yet."""
    from pathlib import Path

    return Path(_state_path(project))


def _state_path(project: Path | str) -> str:
    return os.path.join(_state_home(), "pinbox", project_id(project))


def state_dir(project: Path | str) -> Path:
    """The project's private state folder (`<state home>/pinbox/<project id>`), created 0700 with
    its parents.
    """
    folder = state_path(project)
    private_folder(folder)
    return folder


def pinbox_dir(project: Path | str) -> Path:
    """`<project>/.pinbox`, created 0700 with a `.gitignore` that keeps all of it out of git."""
    from pathlib import Path

    folder = Path(project, FOLDER)
    if not os.path.isdir(project):  # it was moved away or removed, and is not to come back empty
        raise PinboxError(
            "E_INVALID_INPUT",
            f"the project's folder {project} is gone",
            "run pinbox where it is now",
        )
    private_folder(folder)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        private_write(ignore, b"*\n")
    return folder


def private_folder(folder: Path) -> None:
    """Make `folder` and its missing parents 0700; take other people's rights away from an existing
    one of ours.
    """
    try:
        for part in reversed([folder, *folder.parents]):
            if os.path.isdir(part):
                continue
            try:
                os.mkdir(part, 0o700)
            except FileExistsError:
                continue  # another process was quicker
            os.chmod(part, 0o700)  # a umask may have taken our own rights
        found = os.stat(folder)
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if found.st_uid != os.geteuid():
            raise PinboxError(
                "E_INTERNAL",
                f"{folder} belongs to another user",
                "run pinbox as the owner of that folder, or move the folder away",
            )
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.chmod(folder, stat.S_IMODE(found.st_mode) & ~0o077)
    except OSError as error:
        raise cannot_write(folder, error) from error


def cannot_write(path: Path, error: OSError) -> PinboxError:
    """The one sentence for a disk that does not take our files."""
    folder = path
    while not os.path.isdir(folder) and folder != folder.parent:
        folder = folder.parent
    hint = f"make {folder} writable, or free some space"
    if path.is_relative_to(state_home()):
        hint += "; XDG_STATE_HOME moves the hub's state"
    return PinboxError("E_INTERNAL", f"cannot write {path}: {error.strerror or error}", hint)


_users_umask = -1


def keep_files_private() -> None:
    """Nothing that this process writes from now on is for others to read."""
    global _users_umask
    before = os.umask(0o077)
    if _users_umask == -1:  # the first time
        _users_umask = before


def users_umask() -> int:
    """The umask for a program that works for the user, whose files are not ours to hide; -1 (as
    `subprocess` has it) for whatever it is now.
    """
    return _users_umask


def private_write(path: Path, content: bytes) -> None:
    """Replace `path` by `content` in one step; the file is 0600 from the moment it exists and
    never seen half written.
    """
    temporary = path.with_name(f"{path.name}.tmp-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        _write_new(temporary, content)
        os.replace(temporary, path)
    except OSError as error:
        _remove(temporary)
        raise cannot_write(path, error) from error


def _write_new(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, 0o600)  # a umask may have taken our own rights
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    try:  # noqa: SIM105 - a warm command does without contextlib
        os.unlink(path)
    except OSError:
        pass


def secret(project: Path | str) -> str:
    """The project's own secret, made on first use. Safe to call from many processes at once: all
    get the same one.
    """
    path = state_dir(project) / "secret"
    for _ in range(2):
        try:
            found: str | None = path.read_text("ascii").strip()
        except FileNotFoundError:
            found = None
        except ValueError:
            found = ""
        except OSError as error:
            raise PinboxError(
                "E_INTERNAL",
                f"cannot read {path}: {error}",
                "make it readable, or remove it to get a new one",
            ) from error
        if found is not None and len(found) >= 32:
            return found
        if found is not None:  # damaged: nobody can be using it
            private_write(path, token(48).encode())
            continue
        temporary = path.with_name(f"secret.tmp-{os.getpid()}-{os.urandom(4).hex()}")
        try:
            _write_new(temporary, token(48).encode())
            # Unlike a rename, a link never replaces the secret of whoever was first.
            os.link(temporary, path)
        except FileExistsError:
            pass
        except OSError as error:
            raise cannot_write(path, error) from error
        finally:
            _remove(temporary)
    return path.read_text("ascii").strip()


# --- the running hub -----------------------------------------------------------------------------


def process_start(pid: int) -> str | None:
    """When process `pid` started, as an opaque word that two lives of one pid never share; None if
    there is none.

    Linux: clock ticks since boot (`/proc/<pid>/stat`, field 22), which no change of the wall clock
    touches. Elsewhere what `ps` says.
    """
    if pid <= 0:
        return None
    fields = process_fields(pid)
    if fields is not None:
        return fields[19].decode() if len(fields) > 19 else None
    return "-".join(ps(pid, "lstart=").split()) or None


def ps(pid: int, column: str) -> str:
    """What `ps` says of a process, where there is no /proc; nothing of one that is not there."""
    if os.path.isdir("/proc/self"):
        return ""
    import subprocess  # not on Linux, so not on the common path

    shown = subprocess.run(  # noqa: S603 - a fixed program and a number
        ["/bin/ps", "-o", column, "-p", str(pid)],
        capture_output=True,
        check=False,
        env={"LC_ALL": "C"},
    )
    return shown.stdout.decode("ascii", "replace").strip()


def process_fields(pid: int) -> list[bytes] | None:
    """`/proc/<pid>/stat` from its third field (the state) on; None without such a process or
    without /proc.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read(4096)
    except OSError:
        return None
    return line[line.rindex(b")") + 2 :].split()  # the name in field 2 may hold spaces and brackets


def process_mark(pid: int) -> str | None:
    """`process_start` made unique over reboots as well, for files that outlive one."""
    started = process_start(pid)
    if started is None:
        return None
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{started}@{file.read().strip()}"
    except OSError:
        return started


def is_same_process(pid: int, mark: str) -> bool:
    """Whether `pid` is still the process that `mark` was taken of. A zombie is not."""
    fields = process_fields(pid)
    if fields is not None and fields[0] in (b"Z", b"X"):
        return False
    return mark != "" and process_mark(pid) == mark


def read_hub(project: Path | str) -> HubState:
    """What the state file says of a hub whose process lives; NoHub otherwise. Does not talk to it.

    Looks into the caller's own state folder first, then into the one named in `.pinbox/hub.lock`:
    a hub that was started under another HOME serves this project as well.
    """
    own = _state_path(project)
    try:
        return _read_state(own)
    except NoHub as trouble:
        named = hub_folder(project)
        if named is None or named == own:
            raise
        try:
            return _read_state(named)
        except NoHub:
            raise trouble from None


def hub_folder(project: Path | str) -> str | None:
    """State folder of the hub that serves or last served this project, as its lock file says; None
    if not ours to trust.
    """
    try:
        text = _read_ours(os.path.join(project, FOLDER, HUB_LOCK)).decode().strip()
    except (NoHub, ValueError):
        return None
    if not os.path.isabs(text) or os.path.basename(text) != project_id(project):
        return None
    return text


def _read_state(folder: str) -> HubState:
    path = os.path.join(folder, STATE_FILE)
    state = parse_state(_read_ours(path), folder)
    try:
        pid, _, mark = _read_ours(os.path.join(folder, PID_FILE)).decode().strip().partition(" ")
    except (NoHub, ValueError):
        pid, mark = "", ""
    if pid != str(state.pid) or not is_same_process(state.pid, mark):
        raise NoHub("dead", f"{path} names process {state.pid}, which is not a hub of this project")
    state.mark = mark
    return state


def _read_ours(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise NoHub("missing", f"{path} does not exist") from None
    except OSError as error:
        raise NoHub("unreadable", f"{path} cannot be read: {error.strerror}") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise NoHub("foreign", f"{path} is not a file of this user")
        if found.st_mode & 0o022:
            raise NoHub("foreign", f"{path} can be written by other users")
        return os.read(descriptor, 65536)
    except OSError as error:
        raise NoHub("unreadable", f"{path} cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)


def parse_state(content: bytes, folder: str) -> HubState:
    """The state file's fields; NoHub("malformed") for anything else."""
    try:
        fields: dict[str, Any] = light_json.loads(content)
        state = HubState(
            pid=fields["pid"],
            port=fields["port"],
            token=fields["token"],
            version=fields["version"],
            page_token=fields["pageToken"],
            instance=fields["instance"],
            started_at=fields["startedAt"],
            folder=folder,
        )
        whole = type(state.pid) is int and type(state.port) is int
        words = [state.token, state.version, state.page_token, state.instance, state.started_at]
        if (
            whole
            and state.pid > 0
            and 0 < state.port < 65536
            and all(type(w) is str for w in words)
        ):
            return state
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise NoHub("malformed", f"{folder}/{STATE_FILE} is not a state file of a hub")
