"""A hook's payload made safe: bytes from a machine to a HookCall, whatever the bytes are.

Left to the agents' modules: which fields there are and what they mean.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from pinbox.contract import MAX_HOOK_BODY_BYTES

#: longest path Linux takes, in bytes
MAX_PATH_BYTES: Final = 4096
#: names such as source and reason: longer ones are not names
MAX_NAME_CHARS: Final = 200

#: Never a leading dash: a key becomes an argument when its session is resumed.
SESSION_KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """One call of an agent's hook. What the payload did not say, or said in another type, is None.

    `subagent`: it comes from a helper inside the session `key`, which has no turn of its own.
    `stop_hook_active`: this stop follows a hold, so another hold could loop.
    `is_heard` False: whatever is answered, the agent reads nothing of it.
    `shares_process`: the process that calls may have conversations of other terminals as well.
    """

    agent: str
    event: str
    key: str
    cwd: str | None = None
    source: str | None = None
    stop_hook_active: bool = False
    subagent: bool = False
    is_heard: bool = True
    shares_process: bool = False
    reason: str | None = None
    prompt_id: str | None = None


def json_object(body: bytes) -> dict[str, Any] | None:
    """The JSON object in `body`, or None.

    Bytes that are no text become U+FFFD instead of costing the whole payload (a tool's output
    pasted into a prompt may be anything), and UTF-16, UTF-32 and a byte order mark are understood.
    """
    if len(body) > MAX_HOOK_BODY_BYTES:
        return None
    try:
        text = body.decode(json.detect_encoding(body), "replace")
        value = json.loads(text.lstrip("\ufeff"), strict=False)
    except (ValueError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, dict) else None


def session_key(value: object) -> str | None:
    return value if isinstance(value, str) and SESSION_KEY.fullmatch(value) else None


def name(value: object) -> str | None:
    """A short printable word, or None."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME_CHARS:
        return None
    return value if value.isprintable() else None


def path(value: object) -> str | None:
    """An absolute path that every database and system call takes, or None."""
    if not isinstance(value, str) or not value.startswith("/") or "\0" in value:
        return None
    try:
        return value if len(value.encode()) <= MAX_PATH_BYTES else None
    except UnicodeEncodeError:  # a lone surrogate
        return None


def json_line(value: dict[str, Any]) -> bytes:
    """One line of ASCII JSON: whatever encoding the reader assumes, it reads the same.

    Lone surrogates become U+FFFD: some JSON readers refuse them.
    """
    return json.dumps(_without_surrogates(value), separators=(",", ":")).encode("ascii") + b"\n"


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return value
