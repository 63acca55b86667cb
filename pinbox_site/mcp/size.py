"""Cutting what a model reads to size: whole where there is room, else as much as there is."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pinbox import render
from pinbox.contract import MAX_CONTEXT_BYTES

#: Bytes of a result's JSON. Some clients put a preview in the place of what is much larger.
BUDGET: Final = MAX_CONTEXT_BYTES
#: Characters of a pin's text in a list.
ROW_TEXT: Final = 400

#: Characters of a string, items of an array and keys of an object: tried one after the other.
_STEPS: Final = ((4000, 50), (1500, 30), (600, 20), (200, 20), (80, 12), (40, 6))
#: What stands in the place of a pin that no step makes small enough.
_CORE: Final = ("id", "n", "status", "createdAt", "text")


def size_of(value: Any) -> int:
    """Bytes of UTF-8 that `value` takes as a result's text."""
    return len(render.json_text(value).encode("utf-8", "backslashreplace"))


def cut(text: str, length: int) -> str:
    left_out = len(text) - length
    return text if left_out <= 0 else f"{text[:length]}… ({left_out:,} characters more)"


def row(pin: Mapping[str, Any]) -> dict[str, Any]:
    """One pin in a list."""
    target = pin.get("target") or {}
    verification = pin.get("verification") or {}
    found = {
        "id": pin["id"],
        "n": pin.get("n"),
        "status": pin["status"],
        "text": cut(pin["text"], ROW_TEXT),
        "place": render.locus(target),
        "url": target.get("url"),
        "createdAt": pin["createdAt"],
        "verified": verification.get("outcome"),
    }
    return {
        name: cut(value, ROW_TEXT) if isinstance(value, str) else value
        for name, value in found.items()
        if value is not None
    }


def rows(pins: Sequence[Mapping[str, Any]], room: int) -> list[dict[str, Any]]:
    """As many rows, from the first on, as fit into `room` bytes; at least one."""
    found: list[dict[str, Any]] = []
    for pin in pins:
        made = row(pin)
        room -= size_of([[made]])  # as far to the right as it will stand
        if found and room < 0:
            break
        found.append(made)
    return found


def fitted(value: dict[str, Any], room: int) -> dict[str, Any]:
    """`value` when it fits into `room` bytes, else what is left of it under the first step that
    makes it fit, marked by `cut`.

    `value` is a pin, a message, or `{"pin": …, "thread": […]}`, of which the newest messages stay.
    """
    if size_of(value) <= room:
        return value
    for length, most in _STEPS:
        shorter = {**_shortened(value, length, most), "cut": True}
        if isinstance(thread := value.get("thread"), list):
            shorter["thread"] = [_shortened(message, length, most) for message in thread[-most:]]
            shorter["messagesLeftOut"] = max(0, len(thread) - most)
        if size_of(shorter) <= room:
            return shorter
    core = value.get("pin", value)
    least = {name: core[name] for name in _CORE if name in core}
    least = _shortened(least, 500, len(_CORE))
    return {"pin": least, "thread": [], "cut": True} if "pin" in value else {**least, "cut": True}


def _shortened(value: Any, length: int, most: int) -> Any:
    if isinstance(value, str):
        return cut(value, length)
    if isinstance(value, list):
        return [_shortened(item, length, most) for item in value[:most]]
    if isinstance(value, dict):
        # A pin has fewer keys than that; a map of styles may have a thousand.
        kept = list(value.items())[: max(most, 20)]
        return {key[:80]: _shortened(item, length, most) for key, item in kept}
    return value
