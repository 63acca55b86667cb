"""The project's own database, read without a trace: no lock file, no log, no checkpoint."""

import contextlib
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pinbox import client, contract, project, render
from pinbox.checks import machine
from pinbox.checks.findings import Finding, fail, ok, skip, warn
from pinbox.checks.throwaway import ThrowAway
from pinbox.hub import hub_folder

NAME: Final = "db-writable"
FILE: Final = "pinbox.db"
#: Seconds for reading the whole file. A hundred thousand pins take about one.
_READ_TIMEOUT_S: Final = 5.0
_LOCK_TIMEOUT_S: Final = 2.0
#: Virtual machine steps between two looks at the clock.
_STEPS: Final = 10_000
#: Bytes of a database that is copied to be read, when nothing else leaves its log as it is.
_MAX_COPY_BYTES: Final = 1024 * 1024 * 1024
#: Django's labels of our own applications, as they stand in its table of migrations.
_OUR_APPS: Final = ("agent_sessions", "delivery", "pinbox_site", "pins")

#: Closing any descriptor of a file lets go of all locks that this process has on it.
_turn = threading.Lock()


def path_in(root: Path) -> Path:
    return root / project.FOLDER / FILE


def db_writable(root: Path | None, away: ThrowAway) -> Finding:
    """Every page is read, the schema is one that we know, and its folder takes what is written."""
    if root is None:
        return skip(NAME, "no project here")
    path = path_in(root)
    if not path.exists():
        skipped = skip(NAME, f"{path} is not there yet; the first command makes it")
        return _takes_no_files(path.parent) or skipped
    if not path.stat().st_size:
        return skip(NAME, f"{path} is empty; the hub makes its tables when it starts")
    if not os.access(path, os.R_OK):
        return fail(NAME, f"{path} cannot be read", f"chmod u+rw {path}")
    seen = _seen(path, away)
    if seen.trouble is not None and not seen.was_in_use and _is_in_use(path):
        seen = _seen(path, away)  # a hub began to write while it was read as one that nobody does
    size = f"{path.stat().st_size // 1024:,} KiB"
    if seen.is_busy:
        return warn(NAME, f"{size} were not read: {seen.trouble}", "try again")
    if seen.trouble is not None:
        return fail(
            NAME,
            f"{path} is damaged: {seen.trouble}",
            f"pinbox stop, copy {path}, then `sqlite3 {path} .recover` or a backup",
        )
    if seen.unknown:
        return fail(
            NAME,
            f"a newer Pinbox made it (it has {seen.unknown[0]})",
            "upgrade: pipx upgrade pinbox",
        )
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        if file.exists() and not os.access(file, os.W_OK):
            return fail(NAME, f"{file} cannot be written", f"chmod u+w {file}")
    refused = _takes_no_files(path.parent)
    if refused is not None:
        return refused
    if seen.pins is None:
        return ok(NAME, f"{size}: whole; the hub brings it up to date when it starts next")
    return ok(NAME, f"{size}, {render.count(seen.pins, 'pin')}: whole, and can be written")


def _takes_no_files(folder: Path) -> Finding | None:
    """What is wrong with the folder, or while it is not there with the one it would be made in."""
    while not os.path.lexists(folder):
        folder = folder.parent
    try:
        machine.takes_files(folder)
    except OSError as error:
        said = f"{folder} takes no files: {error.strerror}"
        return fail(NAME, said, f"make {folder} writable, or free some space")
    return None


@dataclass(slots=True, kw_only=True)
class _Seen:
    """What reading a database told. `pins` is None when its tables are of an older version."""

    was_in_use: bool
    trouble: str | None = None
    is_busy: bool = False
    unknown: tuple[str, ...] = ()
    pins: int | None = None


def _seen(path: Path, away: ThrowAway) -> _Seen:
    seen = _Seen(was_in_use=_is_in_use(path))
    try:
        with opened(path, away) as database:
            (first,) = database.execute("PRAGMA quick_check(1)").fetchone()
            seen.trouble = None if first == "ok" else str(first)
            applied, known = _migrations_in(database), _known_migrations()
            seen.unknown = tuple(sorted(applied - known))
            if applied == known:
                found = database.execute("SELECT coalesce(sum(pins), 0) FROM pins_tally")
                (seen.pins,) = found.fetchone()
    except sqlite3.OperationalError as error:
        seen.trouble = str(error)
        seen.is_busy = any(word in seen.trouble for word in ("interrupted", "locked", "busy"))
    except (sqlite3.DatabaseError, OSError) as error:
        seen.trouble = str(error)
    return seen


def _is_in_use(path: Path) -> bool:
    """Whether a hub has it open, or had when it was killed."""
    return Path(f"{path}-shm").exists() or Path(f"{path}-wal").exists()


@contextmanager
def opened(path: Path, away: ThrowAway) -> Iterator[sqlite3.Connection]:
    """The database for reading. Raises sqlite3.Error and OSError.

    Plain read-only opening would make a -shm file and let a log be folded. So: what has no log is
    opened as a file that nobody changes; what has one, by way of the index that its writers share,
    read-only; and a log whose index is gone, after a crash of the machine, in a copy.
    """
    with _turn, closing(_connected(path, away)) as database:
        deadline = time.monotonic() + _READ_TIMEOUT_S
        database.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        yield database


def _connected(path: Path, away: ThrowAway) -> sqlite3.Connection:
    log, shared = Path(f"{path}-wal"), Path(f"{path}-shm")
    has_log = log.exists() and log.stat().st_size > 0
    if not has_log and not shared.exists():
        return _connection(path, "immutable=1")
    with contextlib.suppress(sqlite3.OperationalError):
        if shared.exists():
            database = _connection(path, "mode=ro&readonly_shm=1")
            try:
                database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
            except BaseException:
                database.close()
                raise
            return database
    if path.stat().st_size > _MAX_COPY_BYTES:
        raise sqlite3.OperationalError("busy: too large to be copied, and in use")
    copy = away.root / f"copy-{time.monotonic_ns()}.db"
    shutil.copyfile(path, copy)
    if has_log:
        shutil.copyfile(log, f"{copy}-wal")
    return _connection(copy, "mode=rw")


def _connection(path: Path, how: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(str(path))}?{how}",
        uri=True,
        timeout=_LOCK_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
    )


def _migrations_in(database: sqlite3.Connection) -> set[str]:
    """`app.name` of every migration of ours that was applied to it."""
    rows = database.execute("SELECT app, name FROM django_migrations").fetchall()
    return {f"{app}.{name}" for app, name in rows if app in _OUR_APPS}


def _known_migrations() -> set[str]:
    """The same of the schema that a fresh database is made with."""
    start = "INSERT INTO django_migrations (app, name, applied) VALUES ("
    found = set()
    with (hub_folder() / "pinbox_site" / "schema.sql").open(encoding="utf-8") as file:
        for line in file:
            if line.startswith(start):
                app, name = (word.strip("'") for word in line.removeprefix(start).split(", ")[:2])
                if app in _OUR_APPS:
                    found.add(f"{app}.{name}")
    return found


def last_seen(root: Path, away: ThrowAway) -> dict[str, str]:
    """When a session of each agent was last heard of, as an ISO instant; no entry for one that
    never was. Raises sqlite3.Error, OSError, PinboxError.
    """
    if not path_in(root).exists():
        return _last_seen_by_hub(root)
    with opened(path_in(root), away) as database:
        rows = database.execute(
            "SELECT agent, max(last_seen_at) FROM agent_sessions_agentsession GROUP BY agent"
        ).fetchall()
    return {
        agent: contract.iso(datetime.fromisoformat(at).replace(tzinfo=UTC)) for agent, at in rows
    }


def _last_seen_by_hub(root: Path) -> dict[str, str]:
    """The same from a hub that keeps its database elsewhere; nothing when none runs."""
    try:
        project.read_hub(root)
    except project.NoHub:
        return {}
    hub = client.connect(root, start=False)
    sessions = hub.request("GET", "/sessions", query={"limit": contract.MAX_PAGE})
    return {one["agent"]: one["lastSeenAt"] for one in reversed(sessions)}  # newest first
