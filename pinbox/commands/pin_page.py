"""One pin as a page for people: everything it has, one fact a line, and nothing it has not."""

from __future__ import annotations

from pinbox import render
from pinbox.commands import delivery_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pinbox.commands.delivery_page import Sessions

_SHORT_SHA = 7
#: begins the line of a delivery
_LABEL = "delivery"


def page(
    *,
    pin: dict[str, Any],
    thread: Sequence[dict[str, Any]],
    deliveries: Sequence[dict[str, Any]],
    events: Sequence[dict[str, Any]],
    sessions: Sessions,
    now: float,
) -> str:
    target = pin.get("target") or {}
    heading = f"{pin['id']}  {pin['status']}  {pin.get('kind', 'note')}"
    parts = [render.facts(_facts(pin, target, now))]
    parts += [_thread(thread, now), _deliveries(deliveries, events, sessions, now)]
    return "\n".join([heading, "\n\n".join(part for part in parts if part)])


def _facts(pin: dict[str, Any], target: dict[str, Any], now: float) -> list[tuple[str, str | None]]:
    session = pin.get("agentSession")
    move = pin.get("move")
    return [
        ("text", pin["text"]),
        ("number", f"#{pin['n']}" if "n" in pin else None),
        ("target", _element(target)),
        ("anchor", target.get("anchor")),
        *(("also", _extra(extra)) for extra in target.get("targets", [])),
        ("source", render.source_place(target)),
        ("url", target.get("url")),
        ("rect", rect_text(target.get("rect"))),
        ("moved", f"{rect_text(move['from'])} to {rect_text(move['to'])}" if move else None),
        ("nearby", (target.get("context") or {}).get("nearbyText")),
        ("selected", (target.get("context") or {}).get("selectedText")),
        *(("failed", text) for text in (target.get("context") or {}).get("failedRequests", [])),
        *(("console", text) for text in (target.get("context") or {}).get("consoleErrors", [])),
        ("env", _environment(pin.get("env") or {})),
        ("git", _git(pin.get("env") or {})),
        *(("file", attachment(a)) for a in pin.get("attachments", [])),
        ("author", _author(pin["author"])),
        ("session", f"{session['agent']} {session['key']}" if session else None),
        ("created", when(pin["createdAt"], now)),
        ("resolved", _resolution(pin.get("resolution"), now)),
        ("commit", (pin.get("resolution") or {}).get("commit")),
        ("verified", _verification(pin.get("verification"), now)),
        *(("link", f"{x['connector']}#{x['ref']}  {x['url']}") for x in pin.get("links", [])),
    ]


def _element(target: dict[str, Any]) -> str | None:
    parts = (target.get("selector"), f"<{target['tag']}>" if target.get("tag") else None)
    return "  ".join(part for part in parts if part) or None


def _extra(target: dict[str, Any]) -> str:
    """One more element of a pin that points at several."""
    return _element(target) or render.locus(target) or render.NONE


def rect_text(rect: dict[str, Any] | None) -> str | None:
    if not rect:
        return None
    x, y, width, height = (_number(rect[side]) for side in ("x", "y", "width", "height"))
    return f"{x},{y} {width}x{height}"


def _number(value: float) -> str:
    """12.0 → 12, 12.3456 → 12.35: pixels."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _environment(env: dict[str, Any]) -> str | None:
    viewport = env.get("viewport")
    if not viewport:
        return None
    size = f"{_number(viewport['w'])}x{_number(viewport['h'])}@{_number(viewport['dpr'])}x"
    rest = (env.get("browser"), env.get("os"), env.get("colorScheme"))
    return "  ".join([size, *(part for part in rest if part)])


def _git(env: dict[str, Any]) -> str | None:
    branch, commit = env.get("branch"), (env.get("commit") or "")[:_SHORT_SHA]
    return " @ ".join(part for part in (branch, commit) if part) or None


def _author(author: dict[str, Any]) -> str:
    """Who: the name, as far as there is one, then the id and the address if that is another."""
    known = [author.get(key) for key in ("name", "userId", "email")]
    who, *more = [*dict.fromkeys(filter(None, known))] or [render.NONE]
    return f"{who} ({', '.join(more)})" if more else str(who)


def when(stamp: str, now: float) -> str:
    return f"{stamp} ({render.age(stamp, now)})"


def _resolution(resolution: dict[str, Any] | None, now: float) -> str | None:
    if not resolution:
        return None
    note = resolution.get("note")
    said = f"by {resolution['by']}, {render.age(resolution['at'], now)}"
    return f"{said} — {note}" if note else said


def _verification(verification: dict[str, Any] | None, now: float) -> str | None:
    if not verification:
        return None
    return f"{verification['outcome']}, {render.age(verification['at'], now)}"


def attachment(attachment: dict[str, Any]) -> str:
    place = attachment.get("path") or attachment.get("url") or attachment["id"]
    return f"{place}  {attachment['kind']}"


def _thread(thread: Sequence[dict[str, Any]], now: float) -> str:
    """`role  age  text` a message; its further lines stand under the text."""
    heads = [(_speaker(m), render.age(m["at"], now)) for m in thread]
    widths = [max((render.width_of(head[i]) for head in heads), default=0) for i in (0, 1)]
    lines = []
    for (speaker, age), message in zip(heads, thread, strict=True):
        start = f"{render.pad(speaker, widths[0])}  {render.pad(age, widths[1])}  "
        indent = sum(widths) + 4
        lines.append(start + render.hanging(message["text"], indent))
        edit = message.get("edit")
        if edit:
            lines.append(
                " " * indent + render.one_line(f"edit {edit['selector']}: {edit['texts']}")
            )
        lines += [
            " " * indent + render.one_line(attachment(a)) for a in message.get("attachments", [])
        ]
    return "\n".join(lines)


def _speaker(message: dict[str, Any]) -> str:
    """The role, and in brackets who spoke in it."""
    origin = render.one_line(message.get("origin") or "")
    return f"{message['role']} ({origin})" if origin else str(message["role"])


def _deliveries(
    deliveries: Sequence[dict[str, Any]],
    events: Sequence[dict[str, Any]],
    sessions: Sessions,
    now: float,
) -> str:
    """A line a delivery, oldest first: which, of what, and what became of it."""
    what = {event["seq"]: _what(event) for event in events}
    oldest_first = list(reversed(deliveries))
    table = [
        [
            _LABEL,
            str(row["id"]),
            what.get(row["eventSeq"], f"event #{row['eventSeq']}"),
            delivery_page.sentence(row, sessions, now=now),
        ]
        for row in oldest_first
    ]
    lines = []
    for line, row in zip(render.columns(table).splitlines(), oldest_first, strict=True):
        lines.append(line)
        command = delivery_page.retry_command(row)
        if command:
            lines.append(f"{'':{len(_LABEL)}}  to try again: {command}")
    return "\n".join(lines)


def _what(event: dict[str, Any]) -> str:
    """What an event was, in two words."""
    payload = event["payload"]
    match event["type"]:
        case "thread.message":
            return f"{payload['role']} reply"
        case "pin.verified":
            return str(payload["verification"]["outcome"])
        case "pin.created":
            return "new pin"
    return str(event["type"].partition(".")[2])
