"""What `pinbox pin` finds out by itself: the source file meant by `--file`, and who is speaking."""

from __future__ import annotations

import os
import subprocess

from pinbox.commands.verb import shown
from pinbox.contract import PinboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

#: git reads its configuration in milliseconds; a home folder on a network may be slow
_GIT_TIMEOUT_S: Final = 5.0


def source(given: str) -> dict[str, Any]:
    """`--file PATH[:LINE[:COLUMN]]` → the wire's source. `#`, `?` and `%` are names like any other.

    Stored relative to the top of the file's git repository, else to the current directory when it
    is inside, else absolute. Raises E_INVALID_INPUT when there is no such file.
    """
    path, line = split_line(given)
    if not os.path.exists(path):
        raise _refused(f"--file: there is no file {shown(given)}")
    if not os.path.isfile(path):
        raise _refused(f"--file: {shown(path)} is not a file")
    if line == 0:
        raise _refused("--file: lines are counted from 1")
    # The folder is resolved, the file is not: a link inside the repository is a file of its own.
    folder, name = os.path.split(os.path.abspath(path))
    folder = os.path.realpath(folder)
    absolute = os.path.join(folder, name)
    base = git_top(folder) or os.path.realpath(os.getcwd())
    inside = absolute.startswith(base.rstrip("/") + "/")
    stored = os.path.relpath(absolute, base) if inside else absolute
    if not _is_text(stored):
        raise _refused("--file: the path is not UTF-8, so it cannot be written in a pin")
    found: dict[str, Any] = {"file": stored}
    if line is not None:
        found["line"] = line
    return found | {"via": "none"}


def split_line(given: str) -> tuple[str, int | None]:
    """Path and line of `path`, `path:line`, `path:line:column`. A file really named so wins."""
    if os.path.lexists(given):
        return given, None
    path, line = _number_off(given)
    if line is None or os.path.lexists(path):
        return path, line
    shorter, outer = _number_off(path)
    return (path, line) if outer is None else (shorter, outer)


def _number_off(given: str) -> tuple[str, int | None]:
    path, colon, digits = given.rpartition(":")
    if path and colon and digits.isascii() and digits.isdigit() and len(digits) < 10:
        return path, int(digits)
    return given, None


def git_top(folder: str) -> str | None:
    """The top of the git repository that `folder` is in: where `.git` is, be it folder or file."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def absolute_url(given: str) -> str:
    """The url as given. Raises E_INVALID_INPUT unless it is http or https with a host."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(given)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_web = False
    if not is_web or given != given.strip():
        raise _refused(f"--url must be an absolute http or https address; got {shown(given)}")
    return given


def author() -> dict[str, str]:
    """git's user.email as userId, else $USER, else `unknown`; name and email when git has them."""
    name, email = git_identity()
    found = {"userId": email or os.environ.get("USER") or "unknown"}
    if name:
        found["name"] = name
    if email:
        found["email"] = email
    return found


def git_identity() -> tuple[str | None, str | None]:
    """(user.name, user.email) as git configures them for the current directory; one process."""
    command = ["git", "config", "--null", "--get-regexp", r"^user\.(name|email)$"]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None, None
    found: dict[str, str] = {}
    for entry in done.stdout.decode("utf-8", "replace").split("\0"):
        key, _, value = entry.partition("\n")
        if value.strip():
            found[key] = value.strip()  # the nearest configuration comes last and wins
    return found.get("user.name"), found.get("user.email")


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refused(message: str) -> PinboxError:
    return PinboxError("E_INVALID_INPUT", message, "pinbox pin --help")
