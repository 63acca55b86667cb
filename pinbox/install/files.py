"""Changes to other people's files: all of them or none, each in one step, each remembered for undo.

A file's owner, mode and bytes are theirs: what is written keeps the mode, goes nowhere through a
link that leaves the folder it belongs to, and can be put back byte for byte.
"""

import base64
import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pinbox import project
from pinbox.contract import PinboxError

#: in `.pinbox/`: what init changed, for undo
RECORD: Final = "init.json"
#: among the state of this user: what records are signed with. A repository may bring a record of
#: its own, and undo would write what that says over any file.
KEY: Final = "init.key"
_TEMPORARY: Final = ".pinbox-"
MAX_READ_BYTES: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file from `before` to `after`; None is a file that does not exist.

    `kind` tells undo how to take our part out of a file that has changed since. `mode` is for a
    new file, before the umask; one that exists keeps its own. A `private` file is 0700 whatever the
    umask and however it was before, and so are the folders made for it.
    """

    path: Path
    kind: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o666
    private: bool = False


class Unsafe(Exception):
    """This file is not written. The message says why."""


def within(root: Path, path: Path) -> Path:
    """The physical path of a file to write, links inside `root` followed. Raises Unsafe."""
    real_root = root.resolve()
    try:
        real = path.resolve()
    except (OSError, RuntimeError):
        raise Unsafe(f"{path} is a link that leads nowhere") from None
    if not real.is_relative_to(real_root):
        raise Unsafe(f"it is a link out of {root}, to {real}")
    for part in [real, *real.parents]:
        if part == real_root.parent:
            break
        if part != real and os.path.lexists(part) and not os.path.isdir(part):
            raise Unsafe(f"{part} is no folder")
    if os.path.lexists(real) and not os.path.isfile(real):
        raise Unsafe("it is no file")
    return real


def content_of(path: Path) -> bytes | None:
    """The file's bytes, None if there is none. Raises Unsafe."""
    try:
        with open(path, "rb", opener=_opened) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unsafe("it is no file")
            found = file.read(MAX_READ_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unsafe(f"it cannot be read: {error.strerror}") from None
    if len(found) > MAX_READ_BYTES:
        raise Unsafe("it is too large")
    return found


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe would wait for a writer


# --- writing --------------------------------------------------------------------------------------


def check(changes: Iterable[Change]) -> None:
    """Raise PinboxError unless the changes can be made: E_CONFLICT if a file is not as it was
    planned from, E_INTERNAL if it or its folder cannot be written.
    """
    for change in changes:
        if _now(change) != change.before:
            raise PinboxError(
                "E_CONFLICT",
                f"{change.path} changed while init was looking at it; nothing was written",
                "run pinbox init again",
            )
        _check_writable(change.path)


def missing_folders(changes: Iterable[Change]) -> list[Path]:
    """Folders that will be made for the changes, outermost first."""
    missing = [
        folder
        for change in changes
        for folder in reversed(change.path.parents)
        if not os.path.exists(folder)
    ]
    return list(dict.fromkeys(missing))


def apply_all(changes: Iterable[Change]) -> None:
    """Make the changes, or none of them. Raises PinboxError, as `check` does."""
    changes = list(changes)
    check(changes)
    made = missing_folders(changes)
    done: list[Change] = []
    try:
        for change in changes:
            done.append(change)
            _make_parents(change)
            _put(change, change.after)
    except OSError as error:
        for change in reversed(done):
            with contextlib.suppress(OSError):
                if _now(change) != change.before:
                    _put(change, change.before)
        remove_empty(made)
        raise project.cannot_write(done[-1].path, error) from error


def _now(change: Change) -> bytes | None:
    try:
        return content_of(change.path)
    except Unsafe as error:
        raise PinboxError("E_INTERNAL", f"{change.path}: {error}; nothing was written") from None


def _check_writable(path: Path) -> None:
    folder = path.parent
    while not os.path.exists(folder):
        folder = folder.parent
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK | os.X_OK):
        why = "is read-only" if os.path.isdir(folder) else "is no folder"
        raise PinboxError(
            "E_INTERNAL",
            f"cannot write {path}: {folder} {why}; nothing was written",
            f"make {folder} writable, or run pinbox init as its owner",
        )


def _make_parents(change: Change) -> None:
    for folder in reversed(change.path.parents):
        if os.path.exists(folder):
            continue
        with contextlib.suppress(FileExistsError):  # a hub that starts makes some of them
            folder.mkdir(0o700 if change.private else 0o777)
        if change.private:
            folder.chmod(0o700)  # a umask may have taken our own rights


def _put(change: Change, content: bytes | None) -> None:
    """Replace, make or remove the file in one step."""
    path = change.path
    if content is None:
        path.unlink(missing_ok=True)
        return
    temporary = path.with_name(f".{path.name}{_TEMPORARY}{secrets.token_hex(4)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(temporary, flags, 0o700 if change.private else change.mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
            if change.private:
                os.fchmod(descriptor, 0o700)
            else:
                _keep_owner_and_mode(descriptor, path)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _keep_owner_and_mode(descriptor: int, path: Path) -> None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    with contextlib.suppress(OSError):  # only root can give a file away
        os.fchown(descriptor, found.st_uid, found.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(found.st_mode))


def is_leftover(name: str, of: Iterable[str]) -> bool:
    """Whether `name` is a file that a killed init was writing in place of one of these."""
    return any(name.startswith((f".{one}{_TEMPORARY}", f"{one}.tmp-")) for one in of)


def remove_leftovers(path: Path) -> None:
    """Remove what a killed init left beside a file it was writing."""
    with contextlib.suppress(OSError):
        for other in path.parent.iterdir():
            if is_leftover(other.name, [path.name]):
                other.unlink()


def remove_file(path: Path) -> None:
    """Nothing where there is none: a folder of that name is not ours."""
    if os.path.islink(path) or not os.path.isdir(path):
        path.unlink(missing_ok=True)


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove those of the folders that are empty, innermost first."""
    for folder in reversed(list(folders)):
        with contextlib.suppress(OSError):
            folder.rmdir()


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """One init or undo of this user at a time: projects share what is in the user's folders, and
    `.pinbox/` comes and goes.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # some network file systems lock no folder
            descriptor = os.open(Path.home(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


# --- remembering ----------------------------------------------------------------------------------


#: Kinds whose files may hold keys of other people: only what init changed in them is kept, nothing
#: of what stands around it.
_PATCHED: Final = frozenset(("json", "yaml"))


@dataclass(frozen=True, slots=True)
class Patch:
    """What a file had before: its first `head` bytes, then `middle`, then its last `tail` bytes."""

    head: int
    middle: bytes
    tail: int
    digest: str

    @classmethod
    def between(cls, before: bytes, after: bytes) -> "Patch":
        most = min(len(before), len(after))
        head = next((at for at in range(most) if before[at] != after[at]), most)
        left = most - head
        tail = next((at for at in range(left) if before[-1 - at] != after[-1 - at]), left)
        return cls(head, before[head : len(before) - tail], tail, digest(before))

    def undone(self, after: bytes) -> bytes:
        return after[: self.head] + self.middle + after[len(after) - self.tail :]


@dataclass(slots=True, kw_only=True)
class Entry:
    """A file that init changed: as it was before the first time (whole, or as a patch), and a
    digest of what we wrote. Neither is a file that did not exist.
    """

    kind: str
    after: str
    before: bytes | None = None
    patch: Patch | None = None

    def previous(self, now: bytes) -> bytes | None:
        """What the file was before; `now` is what init made of it."""
        return self.patch.undone(now) if self.patch is not None else self.before

    def is_before(self, now: bytes) -> bool:
        """Whether the file is again as it was before."""
        return digest(now) == self.patch.digest if self.patch is not None else now == self.before


@dataclass(slots=True)
class Record:
    """What init changed in this project since it was last undone."""

    files: dict[str, Entry] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)

    def add(self, change: Change, *, cleaned: bytes | None) -> None:
        """Remember a change about to be made. `cleaned` is `before` without anything of ours."""
        known = self.files.get(str(change.path))
        if known is not None and change.before is not None and digest(change.before) == known.after:
            before = known.previous(change.before)
        else:
            before = cleaned
        after = digest(change.after) if change.after is not None else ""
        entry = Entry(kind=change.kind, after=after, before=before)
        if change.kind in _PATCHED and before is not None and change.after is not None:
            entry.before, entry.patch = None, Patch.between(before, change.after)
        self.files[str(change.path)] = entry

    def encode(self, root: Path) -> bytes:
        files = {_relative(path, root): _entry(entry) for path, entry in self.files.items()}
        folders = [_relative(folder, root) for folder in self.folders]
        data = {"version": 1, "files": files, "folders": folders}
        return json.dumps({**data, "signature": _signature(data)}, indent=1).encode()


def _entry(entry: Entry) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": entry.kind, "before": None, "after": entry.after}
    if entry.before is not None:
        found["before"] = _base64(entry.before)
    if entry.patch is not None:
        patch = entry.patch
        found["patch"] = [patch.head, _base64(patch.middle), patch.tail, patch.digest]
    return found


def read_record(root: Path) -> Record:
    """The project's record; an empty one if there is none, it is damaged, or not this user's."""
    record = Record()
    try:
        data: dict[str, Any] = json.loads((root / project.FOLDER / RECORD).read_bytes())
        if not hmac.compare_digest(data.pop("signature"), _signature(data)):
            return record
        for name, entry in data["files"].items():
            before, patch = entry["before"], entry.get("patch")
            record.files[str(root / name)] = Entry(
                kind=str(entry["kind"]),
                before=None if before is None else base64.b64decode(before, validate=True),
                after=str(entry["after"]),
                patch=None
                if patch is None
                else Patch(
                    int(patch[0]),
                    base64.b64decode(patch[1], validate=True),
                    int(patch[2]),
                    str(patch[3]),
                ),
            )
        record.folders = [str(root / name) for name in data["folders"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return Record()
    return record


def _signature(data: dict[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True).encode()
    return hmac.new(key_path().read_bytes(), text, hashlib.sha256).hexdigest()


def key_path() -> Path:
    return project.state_home() / "pinbox" / KEY


def make_key() -> bool:
    """Have a key to sign with; whether it is new."""
    path = key_path()
    if os.path.exists(path):
        return False
    project.private_folder(path.parent)
    project.private_write(path, secrets.token_bytes(32))
    return True


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _relative(path: str, root: Path) -> str:
    """Relative inside the project, so that a project that moved can still be undone."""
    return os.path.relpath(path, root) if Path(path).is_relative_to(root) else path


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
