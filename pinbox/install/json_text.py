"""JSON text changed at one place, with every other byte kept: order, indentation, number spelling.

A parser that remembers where each value stands, and edits made on the text itself. Pure.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

_BLANK: Final = re.compile(r"[ \t\n\r]*")
_SCALAR: Final = re.compile(r"[^\s,:\]}\[{\"]+")


class NotJson(ValueError):
    """The text is no JSON document, or one that programs read differently (a key twice)."""


@dataclass(slots=True)
class Node:
    """A value and where it stands in the text. An object's members are in `members`, in order."""

    value: Any
    start: int
    end: int
    items: list["Node"] = field(default_factory=list)
    members: dict[str, "Member"] = field(default_factory=dict)

    def __getitem__(self, key: str) -> "Node":
        return self.members[key].node


@dataclass(slots=True)
class Member:
    start: int  # of its key
    node: Node


@dataclass(frozen=True, slots=True)
class Edit:
    start: int
    end: int
    text: str


def parse(text: str) -> Node:
    """The document's root. Raises NotJson with a message about this text."""
    try:
        json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_key_twice)
        node, end = _value(text, _skip(text, 0))
    except json.JSONDecodeError as error:
        raise NotJson(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except ValueError as error:
        raise NotJson(str(error)) from None
    if _skip(text, end) != len(text):
        raise NotJson("there is text after its end")
    return node


def _no_constant(name: str) -> Any:
    raise NotJson(f"{name} is not JSON")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise NotJson(f"it has the key {twice[:40]!r} twice in one object")
    return found


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int) -> tuple[Node, int]:
    """The value that starts at `at`. The text is known to be valid."""
    opening = text[at]
    if opening == '"':
        end = _string_end(text, at)
        return Node(json.loads(text[at:end]), at, end), end
    if opening == "[":
        return _array(text, at)
    if opening == "{":
        return _object(text, at)
    match = _SCALAR.match(text, at)
    end = match.end() if match else at + 1
    return Node(json.loads(text[at:end]), at, end), end


def _string_end(text: str, at: int) -> int:
    at += 1
    while text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1


def _array(text: str, start: int) -> tuple[Node, int]:
    array = Node([], start, start)
    at = _skip(text, start + 1)
    while text[at] != "]":
        item, at = _value(text, at)
        array.items.append(item)
        array.value.append(item.value)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    array.end = at + 1
    return array, at + 1


def _object(text: str, start: int) -> tuple[Node, int]:
    found = Node({}, start, start)
    at = _skip(text, start + 1)
    while text[at] != "}":
        key_start, key_end = at, _string_end(text, at)
        key = json.loads(text[key_start:key_end])
        at = _skip(text, _skip(text, key_end) + 1)  # over the colon
        node, at = _value(text, at)
        found.members[key] = Member(key_start, node)
        found.value[key] = node.value
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    found.end = at + 1
    return found, at + 1


# --- edits ----------------------------------------------------------------------------------------


def applied(text: str, edit: Edit) -> str:
    return text[: edit.start] + edit.text + text[edit.end :]


def appended(text: str, container: Node, value: Any, key: str | None = None) -> Edit:
    """`value` as the last of `container` (of an object, under `key`), in the text's own style."""
    spans = _spans(container)
    newline = "\r\n" if "\r\n" in text else "\n"
    if spans:
        gap = text[container.start + 1 : spans[0][0]]
        at, end, lead = spans[-1][1], spans[-1][1], ","
        indent = gap[gap.rindex("\n") + 1 :] if "\n" in gap else None
        tail = ""
    else:
        at, end, lead = container.start + 1, container.end - 1, ""
        on_lines = "\n" in text.strip() or container.end - container.start == len(text.strip())
        indent = _line_indent(text, container.start) + _unit(text) if on_lines else None
        tail = newline + _line_indent(text, container.start)
    if indent is None:
        gap = " " if spans and _is_spaced(text) else ""
        return Edit(at, end, lead + gap + compact(value, key, like=text))
    return Edit(
        at, end, lead + newline + indent + _pretty(value, key, indent, text, newline) + tail
    )


def without(container: Node, index: int) -> Edit:
    """The edit that takes the child at `index` out, as if `appended` had never put it in."""
    spans = _spans(container)
    start, end = spans[index]
    if len(spans) == 1:
        return Edit(container.start + 1, container.end - 1, "")
    if index > 0:
        return Edit(spans[index - 1][1], end, "")
    return Edit(start, spans[1][0], "")


def _spans(container: Node) -> list[tuple[int, int]]:
    if container.members:
        return [(member.start, member.node.end) for member in container.members.values()]
    return [(item.start, item.end) for item in container.items]


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation: that of the first indented line, else two spaces."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "


def _is_spaced(text: str) -> bool:
    return re.search(r"[:,] ", text) is not None or len(text.strip()) <= 2


def compact(value: Any, key: str | None = None, *, like: str) -> str:
    """`value` (a member, with `key`) on one line, spaced as the text `like` is."""
    comma, colon = (", ", ": ") if _is_spaced(like) else (",", ":")
    body = json.dumps(value, ensure_ascii=False, separators=(comma, colon))
    return body if key is None else json.dumps(key) + colon + body


def _pretty(value: Any, key: str | None, indent: str, text: str, newline: str) -> str:
    body = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    body = body.replace("\n", newline + indent)
    return body if key is None else f"{json.dumps(key)}: {body}"
