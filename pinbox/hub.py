"""The door to the hub's process: claim the project, bind the socket, then load Django and serve.

Started as `python -I -m pinbox.hub serve --project DIR`. Everything until `_serve` is standard
library, so that the socket is bound, `/health` answers and the state file is written within the
first fraction of the start; importing the stack takes the rest, and requests that come meanwhile
wait for it.
"""

import argparse
import contextlib
import errno
import fcntl
import gc
import json
import logging
import logging.handlers
import os
import resource
import secrets
import signal
import socket
import stat
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

from pinbox import __version__, daemon, wire
from pinbox.contract import PinboxError, now_iso
from pinbox.install import refresh_launchers
from pinbox.lobby import Lobby
from pinbox.project import (
    HUB_LOCK,
    KEPT_FILE,
    PID_FILE,
    STATE_FILE,
    HubState,
    NoHub,
    find,
    keep_files_private,
    pinbox_dir,
    private_write,
    process_mark,
    read_hub,
    state_dir,
)

logger = logging.getLogger("pinbox.hub")

#: Bytes of one log file, and how many old ones are kept.
LOG_BYTES: Final = 1024 * 1024
LOG_FILES: Final = 3
#: Seconds to wait for a hub that is just stopping to let go of the project.
_LOCK_TIMEOUT_S: Final = 10.0
_BACKLOG: Final = 512
#: Open files and connections the hub asks the system for.
_DESCRIPTORS: Final = 8192


class AlreadyServed(Exception):
    """Another hub holds this project and answers."""

    def __init__(self, state: HubState) -> None:
        super().__init__(
            f"a hub (process {state.pid}, port {state.port}) already serves this project"
        )
        self.state = state


# --- claiming the project ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claim:
    """This process is the project's hub: it has the lock and the port, and says so in its state
    file.
    """

    project: Path
    state: HubState
    listener: socket.socket
    lock: int

    def still_holds(self) -> bool:
        """False once the project's `.pinbox` was removed or moved away from under us."""
        try:
            there = os.stat(self.project / ".pinbox" / HUB_LOCK)
        except OSError:
            return False
        ours = os.fstat(self.lock)
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def publish(self) -> None:
        """Tell clients where the hub is. The state file comes after what it must agree with."""
        for path, content in self._files():
            private_write(path, content)

    def _files(self) -> list[tuple[Path, bytes]]:
        folder, state = self.state.state_dir, self.state
        return [
            (folder / PID_FILE, f"{state.pid} {state.mark}".encode()),
            (folder / STATE_FILE, state.encode()),
            (self.project / ".pinbox" / "server.json", b'{"port":%d}' % state.port),
        ]

    def mend(self) -> None:
        """Publish again when clients cannot read what was published: nobody else can become the
        hub while we hold the lock, so without it no command would work until we leave.
        """
        with contextlib.suppress(OSError, PinboxError):
            folder = os.fsencode(self.state.state_dir)
            if os.pread(self.lock, len(folder) + 1, 0) != folder:
                os.ftruncate(self.lock, 0)
                os.pwrite(self.lock, folder, 0)
            if not all(_is_as_written(path, content) for path, content in self._files()):
                self.publish()
                logger.warning("the state files were not as written; they are again")

    def withdraw(self) -> None:
        """Take the state files back, unless they are another hub's by now. May be called twice."""
        folder = self.state.state_dir
        with contextlib.suppress(OSError):
            if (folder / STATE_FILE).read_bytes() == self.state.encode():
                (folder / STATE_FILE).unlink()
                (folder / PID_FILE).unlink()
        with contextlib.suppress(OSError, PinboxError):
            if self.still_holds():
                (self.project / ".pinbox" / "server.json").unlink()


def _is_as_written(path: Path, content: bytes) -> bool:
    try:
        mode = path.lstat().st_mode
        as_written = stat.S_ISREG(mode) and not mode & 0o022 and path.read_bytes() == content
    except OSError:
        return False
    return as_written


def claim(project: Path, port: int = 0) -> Claim:
    """Become the hub of `project`: lock it, bind its last port (`port` if given, else any free
    one), keep its tokens.

    Publishes nothing yet. Raises AlreadyServed, or PinboxError when the disk or the port refuses.
    """
    lock = _take_lock(project)
    try:
        folder = state_dir(project)
        os.ftruncate(lock, 0)
        os.pwrite(lock, os.fsencode(folder), 0)
        kept = _read_kept(folder)
        listener = _bind(port or kept.get("port", 0), must_be_it=port != 0)
        state = HubState(
            pid=os.getpid(),
            port=listener.getsockname()[1],
            token=kept.get("token") or secrets.token_urlsafe(24),
            version=__version__,
            page_token=kept.get("pageToken") or secrets.token_urlsafe(24),
            instance=secrets.token_hex(8),
            started_at=now_iso(),
            folder=str(folder),
            mark=process_mark(os.getpid()) or "",
        )
        keep = {"port": state.port, "token": state.token, "pageToken": state.page_token}
        if keep != kept:
            private_write(folder / KEPT_FILE, json.dumps(keep).encode())
    except BaseException:
        os.close(lock)
        raise
    return Claim(project, state, listener, lock)


def _take_lock(project: Path) -> int:
    path = pinbox_dir(project) / HUB_LOCK
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.fchmod(descriptor, 0o600)
    deadline = time.monotonic() + _LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with contextlib.suppress(NoHub, wire.WireError):
                other = read_hub(project)
                if daemon.health(other, 1.0) is not None:
                    os.close(descriptor)
                    raise AlreadyServed(other) from None
            if time.monotonic() >= deadline:
                os.close(descriptor)
                raise PinboxError(
                    "E_CONFLICT",
                    f"another process holds {path} and does not answer",
                    "end the hub that runs for this project, perhaps in a container",
                ) from None
            time.sleep(0.02)
        else:
            return descriptor


def _read_kept(folder: Path) -> dict[str, Any]:
    """Port and tokens of the last start, or of nobody."""
    try:
        kept = json.loads((folder / KEPT_FILE).read_bytes())
        whole = (
            0 < kept["port"] < 65536 and len(kept["token"]) >= 32 and len(kept["pageToken"]) >= 32
        )
        return kept if whole else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _bind(port: int, *, must_be_it: bool) -> socket.socket:
    for wanted in dict.fromkeys((port, 0)):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", wanted))
            listener.listen(_BACKLOG)
            listener.setblocking(False)  # the reactor takes it as it is
        except OSError as error:
            listener.close()
            if must_be_it or error.errno not in (errno.EADDRINUSE, errno.EACCES) or wanted == 0:
                raise PinboxError(
                    "E_CONFLICT",
                    f"port {wanted} of 127.0.0.1 cannot be used: {error.strerror}",
                    "choose another port, or none to take any free one",
                ) from error
        else:
            return listener
    raise AssertionError("unreachable")


# --- the process ------------------------------------------------------------------------------


class LogFile(logging.handlers.RotatingFileHandler):
    """The hub's log, 0600 from its creation. With `owns_output`, stdout and stderr follow it when
    it rotates.
    """

    def __init__(self, path: Path, *, owns_output: bool) -> None:
        self._owns_output = owns_output
        super().__init__(path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8")

    def _open(self) -> Any:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.fchmod(descriptor, 0o600)
        if self._owns_output:
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
        return open(descriptor, "a", encoding="utf-8", errors="backslashreplace")


class QuietFormatter(logging.Formatter):
    """Of an exception only its type: its text, and the lines of a traceback, may quote a pin or a
    password. That holds for what libraries log of their own, too.
    """

    converter = staticmethod(time.gmtime)

    def formatException(self, ei: Any) -> str:
        return "" if ei[0] is None else f"({ei[0].__qualname__})"

    def formatStack(self, stack_info: str) -> str:
        return "(stack left out)"


def _set_up_logging(folder: Path, *, detached: bool) -> None:
    formatter = QuietFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handlers: list[logging.Handler] = [LogFile(folder / daemon.LOG_FILE, owns_output=detached)]
    if not detached:
        handlers.append(logging.StreamHandler())
    for handler in handlers:
        handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=handlers)


def hub_folder() -> Path:
    """The folder with the Django side: `pinbox/_hub` when installed, the repository's root in a
    checkout.
    """
    package = Path(__file__).resolve().parent
    inside = package / "_hub"
    return inside if inside.is_dir() else package.parent


def load_stack(project: Path) -> None:
    """Make the Django side importable, for this project, whatever the shell had set."""
    sys.path.insert(0, str(hub_folder()))
    os.environ["DJANGO_SETTINGS_MODULE"] = "pinbox_site.settings"
    os.environ["PINBOX_PROJECT"] = str(project)
    # Optional to those who would import them and of no use on loopback; measured 100 ms of a start
    # (OpenSSL, by Twisted) and 270 ms (psycopg, by way of DRF's optional PostgreSQL fields).
    unused = ["OpenSSL"] if os.environ.get("DATABASE_URL") else ["OpenSSL", "psycopg", "psycopg2"]
    for name in unused:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]


def run(project: Path, *, port: int = 0, detached: bool = False) -> int:
    """Serve `project` until told to stop or idle; exit code. AlreadyServed and PinboxError when it
    cannot start.
    """
    keep_files_private()
    _allow_many_connections()
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    if detached:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    held = claim(project, port)
    _set_up_logging(held.state.state_dir, detached=detached)
    gc.disable()  # a start makes hardly any garbage; looking for it is an eighth of its time
    try:
        lobby = Lobby(held.listener, held.state) if detached else None
        held.publish()
        load_stack(project)
        refresh_launchers(project)
        from pinbox_site import server

        return server.serve(held, lobby)
    finally:
        held.withdraw()


def _allow_many_connections() -> None:
    """Not the limit of whichever shell was first: with 256 or 1024 descriptors, as shells have it,
    that many idle connections make a hub deaf.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """A stop asked for before the server is up."""
    raise SystemExit(0)


def manage(words: list[str]) -> int:
    """Run one of the hub's management commands on the project of PINBOX_PROJECT, else of here."""
    keep_files_private()
    named = os.environ.get("PINBOX_PROJECT")
    load_stack(Path(named) if named else find())
    from django.core.management import execute_from_command_line

    execute_from_command_line(["pinbox", *words])
    return 0


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] not in ("serve", "-h", "--help"):
        return manage(words)
    parser = argparse.ArgumentParser(prog="pinbox.hub", description="the hub's own process")
    parser.add_argument("command", choices=["serve"])
    parser.add_argument("--project", type=Path, help="project folder (default: found from here)")
    parser.add_argument(
        "--port", type=int, default=0, help="port on 127.0.0.1 (default: the last one)"
    )
    parser.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    try:
        project = find() if options.project is None else options.project.resolve(strict=True)
        return run(project, port=options.port, detached=options.detached)
    except AlreadyServed as error:
        return _fail(str(error), daemon.ALREADY_SERVED if options.detached else 4)
    except PinboxError as error:
        return _fail(
            f"{error.message} ({error.hint})" if error.hint else error.message, error.exit_code
        )
    except OSError as error:
        return _fail(str(error), 1)
    except Exception as error:
        logger.exception("the hub could not start")
        return _fail(f"{type(error).__name__}: {error}", 1)


def _fail(message: str, code: int) -> int:
    print("pinbox: " + " ".join(message.split()), file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    from pinbox.hub import main as main_of_module  # the server must not meet a second copy of us

    sys.exit(main_of_module())
