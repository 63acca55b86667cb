"""Values of ours in a JSON file of others, put in and taken out on the text itself. Pure.

Bytes in, bytes out; every other byte of the file stays.
"""

from collections.abc import Mapping
from typing import Any

from pinbox.agents.pieces import JsonFile
from pinbox.install import json_text
from pinbox.install.json_text import Edit, Node, appended, applied, without
from pinbox.install.settings import Refused, as_bytes, as_text, parsed


def with_values(content: bytes | None, piece: JsonFile) -> bytes:
    """The file with every value and item of `piece`. Raises Refused."""
    text = start = as_text(content)
    for keys, value in piece.values.items():
        text = _set(text, keys, value)
    for keys, item in piece.items.items():
        text = _added(text, keys, item)
    return content if content is not None and text == start else as_bytes(text, content)


def without_values(content: bytes, piece: JsonFile) -> bytes | None:
    """The file without them, and without what only held them; None when nothing is left of it.
    Raises Refused.
    """
    text = start = as_text(content)
    for keys in piece.values:
        text = _taken(text, keys)
    for keys, item in piece.items.items():
        text = _removed(text, keys, item)
    if text == start:
        return content
    return None if parsed(text).value == {} else as_bytes(text, content)


def has_any(content: bytes, piece: JsonFile) -> bool:
    """Whether anything of `piece` is in there; False for a file that cannot be read."""
    try:
        return without_values(content, piece) != content
    except Refused:
        return False


def _walk(text: str, keys: tuple[str, ...]) -> tuple[Node, list[Node]]:
    """The document, and the nodes that the keys lead to, as far as they are there. Raises Refused
    where they lead through something that is no object.
    """
    node = root = parsed(text)
    found = []
    for number, key in enumerate(keys):
        if not isinstance(node.value, dict):
            raise Refused(f'its "{".".join(keys[:number])}" is no object')
        if key not in node.members:
            break
        node = node[key]
        found.append(node)
    return root, found


def _set(text: str, keys: tuple[str, ...], value: object) -> str:
    root, found = _walk(text, keys)
    if len(found) == len(keys):
        node = found[-1]
        if node.value == value:
            return text
        return applied(text, Edit(node.start, node.end, json_text.compact(value, like=text)))
    return _grown(text, root, found, keys, value)


def _added(text: str, keys: tuple[str, ...], item: object) -> str:
    root, found = _walk(text, keys)
    if len(found) < len(keys):
        return _grown(text, root, found, keys, [item])
    node = found[-1]
    if not isinstance(node.value, list):
        raise Refused(f'its "{".".join(keys)}" is no list')
    return text if item in node.value else applied(text, appended(text, node, item))


def _grown(text: str, root: Node, found: list[Node], keys: tuple[str, ...], value: object) -> str:
    """With the objects that are missing on the way to `value`."""
    missing: Mapping[str, Any] | object = value
    for key in reversed(keys[len(found) + 1 :]):
        missing = {key: missing}
    place = found[-1] if found else root
    return applied(text, appended(text, place, missing, keys[len(found)]))


def _taken(text: str, keys: tuple[str, ...]) -> str:
    """Without the value at `keys`, and the objects that are empty then."""
    root, found = _walk(text, keys)
    if len(found) < len(keys):
        return text
    holders = [root, *found[:-1]]
    for depth in range(len(keys) - 1, -1, -1):
        holder = holders[depth]
        if len(holder.members) > 1 or depth == 0:
            index = list(holder.members).index(keys[depth])
            return applied(text, without(holder, index))
    return text


def _removed(text: str, keys: tuple[str, ...], item: object) -> str:
    _, found = _walk(text, keys)
    if len(found) < len(keys) or not isinstance(found[-1].value, list):
        return text
    node = found[-1]
    if item not in node.value:
        return text
    if len(node.items) == 1:
        return _taken(text, keys)
    return applied(text, without(node, node.value.index(item)))
