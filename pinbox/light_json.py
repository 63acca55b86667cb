"""JSON for warm commands: what `json` reads and writes, without importing it.

`json` brings `re` and `enum` along, a third of what `pinbox summary` costs; the C functions behind
it need neither. Bodies of requests are written by `json` itself.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

try:
    from _json import encode_basestring as _quoted
    from _json import make_scanner
except ImportError:  # not CPython: there is nothing to be saved
    from json import JSONDecoder
    from json.encoder import encode_basestring as _quoted

    def _scanner() -> Any:
        decoder: Any = JSONDecoder(parse_constant=_no_constant)
        return decoder.scan_once
else:

    def _scanner() -> Any:
        rules: Any = _Rules()
        return make_scanner(rules)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


class _Rules:
    """What the scanner asks its decoder for."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_no_constant)


def loads(content: bytes) -> Any:
    """The value that UTF-8 `content` is the text of. Raises ValueError or RecursionError."""
    text = content.decode()
    start = len(text) - len(text.lstrip(" \t\n\r"))
    try:
        value, end = _scanner()(text, start)
    except StopIteration:
        raise ValueError("there is no JSON value") from None
    if text[end:].strip(" \t\n\r"):
        raise ValueError("something follows the JSON value")
    return value


def document(value: Any) -> str:
    """As `json.dumps(value, ensure_ascii=False, indent=2)`, and several times as fast."""
    parts: list[str] = []
    _write(value, "\n", parts.append)
    return "".join(parts)


def _write(value: Any, line: str, add: Callable[[str], None]) -> None:
    """`line` is a line end with the indent of the value's own line."""
    if type(value) is str:
        add(_quoted(value))
    elif value is None:
        add("null")
    elif value is True:
        add("true")
    elif value is False:
        add("false")
    elif type(value) is int or type(value) is float:
        add(repr(value))
    elif type(value) is dict:
        _write_object(value, line, add)
    elif type(value) in (list, tuple):
        _write_array(value, line, add)
    else:
        raise TypeError(f"{type(value).__name__} has no JSON")


def _write_object(value: dict[str, Any], line: str, add: Callable[[str], None]) -> None:
    if not value:
        add("{}")
        return
    inner = f"{line}  "
    between = f"{{{inner}"
    for key, item in value.items():
        add(f"{between}{_quoted(key)}: ")
        _write(item, inner, add)
        between = f",{inner}"
    add(f"{line}}}")


def _write_array(value: list[Any] | tuple[Any, ...], line: str, add: Callable[[str], None]) -> None:
    if not value:
        add("[]")
        return
    inner = f"{line}  "
    between = f"[{inner}"
    for item in value:
        add(between)
        _write(item, inner, add)
        between = f",{inner}"
    add(f"{line}]")
