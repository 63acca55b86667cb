"""What the machine gives us: an interpreter, SQLite, a private folder, agents, GitHub's command."""

import contextlib
import errno
import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from pinbox import project
from pinbox.checks import launcher
from pinbox.checks.findings import Finding, fail, ok, skip, warn
from pinbox.checks.throwaway import ThrowAway
from pinbox.contract import PinboxError
from pinbox.install import launchers

#: The agents Pinbox knows, as they are called on PATH.
AGENTS: Final = ("claude", "codex", "hermes", "openclaw")
#: Seconds a program gets to say its version. OpenClaw's needs four and more.
VERSION_TIMEOUT_S: Final = 7.0
_GH_TIMEOUT_S: Final = 5.0
_OLDEST_PYTHON: Final = (3, 11)
#: The first with the trigram tokenizer that the search is built on.
_OLDEST_SQLITE: Final = (3, 34, 0)
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")


def python(root: Path | None, away: ThrowAway) -> Finding:
    """The interpreter that answers hooks: the one a launcher names, else the one that runs us."""
    path = launcher.interpreter(root) or launchers.names()[0]
    script = "import sys; print(*sys.version_info[:3], sep='.')"
    try:
        done = away.run([path, "-I", "-S", "-c", script], timeout_s=VERSION_TIMEOUT_S)
    except OSError as error:
        return fail(
            "python", f"{path}, which runs the hooks: {error.strerror}", "pinbox init --yes"
        )
    version = done.out.decode("ascii", "replace").strip() if done is not None else ""
    if done is None or done.code or not _VERSION.fullmatch(version):
        return fail("python", f"{path}, which runs the hooks, does not work", "pinbox init --yes")
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_PYTHON:
        oldest = ".".join(map(str, _OLDEST_PYTHON))
        return fail(
            "python", f"{path} is {version}; {oldest} or newer is needed", "pipx reinstall pinbox"
        )
    return ok("python", f"{version}, {path}")


def sqlite(away: ThrowAway) -> Finding:
    """A database in WAL mode that one connection writes and another reads."""
    version = sqlite3.sqlite_version
    hint = "install Python with a newer SQLite"
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        oldest = ".".join(map(str, _OLDEST_SQLITE))
        return fail("sqlite", f"{version}; {oldest} or newer is needed", hint)
    path = away.root / "probe.db"
    try:
        with (
            contextlib.closing(sqlite3.connect(path)) as writer,
            contextlib.closing(sqlite3.connect(path)) as reader,
        ):
            (mode,) = writer.execute("PRAGMA journal_mode = WAL").fetchone()
            with writer:
                writer.execute("CREATE TABLE probe (word TEXT)")
                writer.execute("INSERT INTO probe VALUES ('found')")
            (word,) = reader.execute("SELECT word FROM probe").fetchone()
    except sqlite3.Error as error:
        return fail("sqlite", f"{version}: {error}", "set TMPDIR to a folder on a local disk")
    if mode != "wal" or word != "found":
        return fail("sqlite", f"{version} keeps its log as {mode}, not in WAL mode", hint)
    return ok("sqlite", f"{version}, written and read in WAL mode")


def has_fts5() -> str | None:
    """What SQLite says when it lacks the search index that we use; None when it has it."""
    try:
        with contextlib.closing(sqlite3.connect(":memory:")) as made:
            made.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='trigram')")
    except sqlite3.Error as error:
        return str(error)
    return None


# --- the state folder -----------------------------------------------------------------------------


def state_dir(root: Path | None) -> Finding:
    """The private folder of this project: ours alone, and the disk takes what is written there.

    Before a hub ever ran it does not exist; then the place where it will be is looked at.
    """
    name = "state-dir"
    try:
        folder = project.state_home() / "pinbox" if root is None else project.state_path(root)
    except PinboxError as error:
        return fail(name, error.message, error.hint or "set HOME")
    there = folder
    while not os.path.lexists(there) and there != there.parent:
        there = there.parent
    try:
        found = there.stat()
        if not stat.S_ISDIR(found.st_mode):
            return fail(name, f"{there} is no folder", f"move {there} away")
        takes_files(there)
        if there != folder:
            return ok(name, f"{folder}: not there yet, and can be made")
        if found.st_uid != os.geteuid():
            return fail(name, f"{folder} belongs to another user", "run pinbox as its owner")
        if root is not None and found.st_mode & 0o077:
            mode = stat.filemode(found.st_mode)
            return fail(name, f"{folder} is open to others ({mode})", f"chmod go= {folder}")
        for path in _open_to_others(folder if root is not None else None):
            return warn(name, f"{path} is open to others", f"chmod go= {path}")
    except OSError as error:
        return fail(
            name,
            f"{there} cannot be written: {error.strerror}",
            "make it writable, or set XDG_STATE_HOME to a folder that is",
        )
    return ok(name, f"{folder}: private, and takes files")


def takes_files(folder: Path) -> None:
    """Write a byte there, under no name, so that even the folder's own times stay as they were.

    Raises OSError. Where the file system has no nameless files, only the permission is looked at.
    """
    flags = getattr(os, "O_TMPFILE", 0)
    try:
        if not flags:
            raise OSError(errno.EOPNOTSUPP, "")
        descriptor = os.open(folder, flags | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
            raise
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES)) from None
        return
    try:
        os.write(descriptor, b".")
    finally:
        os.close(descriptor)


def _open_to_others(folder: Path | None) -> Iterator[Path]:
    """Files in it that others could read or write if they got past the folder."""
    for path in sorted(folder.iterdir()) if folder is not None else ():
        with contextlib.suppress(FileNotFoundError):  # a hub's, just replaced
            if path.lstat().st_mode & 0o077 and not path.is_symlink():
                yield path


# --- programs -------------------------------------------------------------------------------------


def agents(away: ThrowAway) -> Finding:
    """The agents on PATH, each asked for its version under a home that is not the user's."""
    paths = {agent: path for agent in AGENTS if (path := shutil.which(agent)) is not None}
    if not paths:
        return warn(
            "agents",
            f"none of {', '.join(AGENTS)} is on this PATH",
            "install one, or add its folder to PATH",
        )
    with ThreadPoolExecutor(len(paths)) as pool:
        versions = dict(
            zip(paths, pool.map(lambda p: version(p, away), paths.values()), strict=True)
        )
    said = [f"{agent} {found or '(does not say its version)'}" for agent, found in versions.items()]
    return ok("agents", ", ".join(said))


def version(path: str, away: ThrowAway) -> str | None:
    """The first thing in the output of `--version` that looks like a version."""
    # Its own PATH: what npm installs starts with `env node`.
    env = away.environment(PATH=os.environ.get("PATH", os.defpath), DISABLE_AUTOUPDATER="1", CI="1")
    try:
        done = away.run([path, "--version"], timeout_s=VERSION_TIMEOUT_S, env=env)
    except OSError:
        return None
    found = _VERSION.search(done.out.decode("utf-8", "replace")) if done and not done.code else None
    return found[0] if found else None


def gh(away: ThrowAway) -> Finding:
    """GitHub's command, and whether it holds a login. Asks no server; no token is ever seen."""
    path = shutil.which("gh")
    if path is None:
        return skip("gh", "not on this PATH; only links to GitHub issues would need it")
    number = version(path, away)
    env = away.environment(
        PATH=os.environ.get("PATH", os.defpath),
        GH_NO_UPDATE_NOTIFIER="1",
        GH_PROMPT_DISABLED="1",
        DO_NOT_TRACK="1",
    )
    # Where its login is: that, and nothing of it, is what `gh` needs of the user's own.
    for name in ("HOME", "GH_CONFIG_DIR", "XDG_CONFIG_HOME", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"):
        if name in os.environ:
            env[name] = os.environ[name]
    # `gh auth status` asks GitHub; this one only looks. It prints the token, so that goes nowhere.
    command = ["/bin/sh", "-c", 'exec "$0" auth token >/dev/null 2>&1', path]
    done = away.run(command, timeout_s=_GH_TIMEOUT_S, env=env)
    shown = number or "(does not say its version)"
    if done is None:
        return warn("gh", f"{shown}: does not answer", "gh auth status")
    if done.code:
        return warn("gh", f"{shown}: not logged in", "gh auth login")
    return ok("gh", f"{shown}: logged in")
