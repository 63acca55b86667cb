"""Data → what is printed: the one envelope for programs, plain columns for people.

Everything a person sees passes through `plain`, so no text of a pin can move the cursor, write to
the clipboard, hide itself or turn the line round. stdout is data, stderr is talk.
"""

from __future__ import annotations

import os

from pinbox import light_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Final

#: stands where a character was that a terminal could act on
REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
#: what a cell shows for "there is none"
NONE: Final = "—"
#: columns of a terminal that will not say its width
DEFAULT_WIDTH: Final = 80

_BIDI = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
_SEPARATORS = [0x85, 0x2028, 0x2029]  # next line, line separator, paragraph separator
_DROPPED = (set(_CONTROLS) | set(_BIDI)) - {ord("\n"), ord("\t")} - set(_SEPARATORS)
_FOR_PEOPLE = dict.fromkeys(_DROPPED, REPLACEMENT) | dict.fromkeys(_SEPARATORS, "\n")
#: What a terminal obeys besides the C0 controls, which the encoder escapes by itself.
_IN_JSON = {code: f"\\u{code:04x}" for code in [*range(0x7F, 0xA0), *_BIDI, 0x2028, 0x2029]}


# --- for programs --------------------------------------------------------------------------------


def envelope(data: Any) -> bytes:
    """`{"ok": true, "data": …}` as one document, two spaces an indent, UTF-8."""
    return _document({"ok": True, "data": data})


def error_envelope(code: str, message: str, hint: str | None) -> bytes:
    error = {"code": code, "message": message}
    if hint is not None:
        error["hint"] = hint
    return _document({"ok": False, "error": error})


def json_text(value: Any) -> str:
    """`value` as JSON, two spaces an indent, with nothing in it that a terminal obeys."""
    # The characters of _IN_JSON can only stand inside strings, so the finished text can be escaped.
    text = light_json.document(value)
    if not text.isascii() or "\x7f" in text:
        text = text.translate(_IN_JSON)
    return text


def _document(value: Any) -> bytes:
    # A lone surrogate becomes \udXXX, which is its JSON escape too.
    return (json_text(value) + "\n").encode("utf-8", "backslashreplace")


# --- for people ----------------------------------------------------------------------------------


def plain(text: str) -> str:
    """The text without any character that a terminal obeys, newline and tab excepted.

    Gone: C0 and C1 controls, DEL, the bidirectional controls, line and paragraph separators.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_FOR_PEOPLE)
    return text.encode("utf-8", "replace").decode() if _has_surrogate(text) else text


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def for_people(text: str) -> bytes:
    """The last step of everything human: cleaned, one newline at the end, UTF-8 in any locale."""
    text = plain(text)
    if text and not text.endswith("\n"):
        text += "\n"
    return text.encode()


def one_line(text: str) -> str:
    """The text on one line: a newline in a pin must not look like a row of ours."""
    return " ".join(plain(text).split())


def width_of(text: str) -> int:
    """Columns a terminal needs for one line of clean text: wide East Asian ones are two."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    columns = 0
    for char in text:
        if combining(char) or char in _ZERO_WIDTH:
            continue
        columns += 2 if east_asian_width(char) in "WF" else 1
    return columns


#: zero width space, non-joiner, joiner, word joiner, byte order mark, emoji variation selectors
_ZERO_WIDTH: Final = frozenset("\u200b\u200c\u200d\u2060\ufeff\ufe0e\ufe0f")


def pad(text: str, columns: int) -> str:
    return text + " " * (columns - width_of(text))


def cut(text: str, columns: int) -> str:
    """The text if it fits, else its beginning and an ellipsis, never wider than `columns`."""
    if columns < 1 or width_of(text) <= columns:
        return text
    kept, used = [], 0
    for char in text:
        wide = width_of(char)
        if used + wide > columns - 1:
            break
        kept.append(char)
        used += wide
    return "".join(kept).rstrip() + "…"


def columns(
    rows: Sequence[Sequence[str]], *, minimum: Sequence[int] = (), screen: int | None = None
) -> str:
    """Rows as lines: cells two spaces apart, padded to the widest of their column, the last free.

    With `screen` (columns of the terminal) the last cell is cut to fit, but keeps at least 20.
    """
    table = [[one_line(cell) for cell in row] for row in rows]
    if not table:
        return ""
    widths = [max(width_of(row[i]) for row in table) for i in range(len(table[0]) - 1)]
    widths = [max(w, m) for w, m in zip(widths, [*minimum, *[0] * len(widths)], strict=False)]
    room = None if screen is None else max(screen - sum(widths) - 2 * len(widths), 20)
    lines = []
    for *cells, last in table:
        padded = [pad(cell, width) for cell, width in zip(cells, widths, strict=True)]
        lines.append("  ".join([*padded, last if room is None else cut(last, room)]).rstrip())
    return "\n".join(lines)


def facts(pairs: Sequence[tuple[str, str | None]], *, label: int = 8) -> str:
    """`label  value` lines for the pairs that have a value; further lines of it stand under it."""
    return "\n".join(
        f"{name:<{label}}  {hanging(value, label + 2)}" for name, value in pairs if value
    )


def hanging(text: str, indent: int) -> str:
    """All lines after the first moved right, so that none of them can pose as a line of ours."""
    first, *others = plain(text).split("\n")
    return "\n".join([first, *(" " * indent + line if line else "" for line in others)])


def screen_width(fd: int = 1) -> int | None:
    """Columns of the terminal on `fd`; None where there is none, and lines may be of any length."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and 20 <= int(asked[:6]) <= 10_000:
        return int(asked)
    try:
        return os.get_terminal_size(fd).columns or DEFAULT_WIDTH
    except OSError:
        return None


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def age(stamp: str, now: float) -> str:
    """How long before `now` (Unix seconds) an ISO instant was: `just now`, `5m ago`, `3h ago`.

    Rounded to the nearest unit; an instant in the future, or none at all, is not dressed up.
    """
    from datetime import datetime

    try:
        seconds = now - datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return one_line(stamp)
    minutes = _rounded(seconds / 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes}m ago"
    hours = _rounded(seconds / 3600)
    return f"{hours}h ago" if hours < 24 else f"{_rounded(seconds / 86400)}d ago"


def left(stamp: str, now: float) -> str:
    """How long after `now` (Unix seconds) an ISO instant is: `in 30s`, `in 5m`, or `now`."""
    from datetime import datetime

    try:
        seconds = datetime.fromisoformat(stamp).timestamp() - now
    except ValueError:
        return one_line(stamp)
    if seconds < 1:
        return "now"
    if seconds < 60:
        return f"in {int(seconds)}s"
    minutes = _rounded(seconds / 60)
    return f"in {minutes}m" if minutes < 60 else f"in {_rounded(seconds / 3600)}h"


def _rounded(number: float) -> int:
    """Half up: Python's own round() turns 2.5 minutes into 2 and 3.5 into 4."""
    return int(number + 0.5)


# --- what a pin looks like -----------------------------------------------------------------------


def locus(target: Any) -> str | None:
    """Where a target is, in one word: its selector, else its source place, else its url."""
    if not isinstance(target, dict):
        return None
    return target.get("selector") or source_place(target) or target.get("url")


def source_place(target: Any) -> str | None:
    """`file:line` of a target's source."""
    source = target.get("source")
    if not isinstance(source, dict) or not source.get("file"):
        return None
    line = source.get("line")
    return f"{source['file']}:{line}" if line is not None else str(source["file"])


def pin_table(pins: Sequence[dict[str, Any]], *, now: float, screen: int | None) -> str:
    """id, status, age, place, text: one line a pin. A long place is cut to leave the text room."""
    place = None if screen is None else max(screen // 4, 16)
    rows = []
    for pin in pins:
        where = one_line(locus(pin.get("target")) or NONE)
        rows.append(
            (
                pin["id"],
                pin["status"],
                age(pin["createdAt"], now),
                where if place is None else cut(where, place),
                pin["text"],
            )
        )
    return columns(rows, minimum=(0, 0, 7), screen=screen)
