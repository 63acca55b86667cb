"""export: pins as markdown to paste somewhere, or as the list's own JSON.

Three levels: compact is one line a pin, standard adds where and what was said, forensic adds the
page's context and environment as JSON.
"""

from __future__ import annotations

import json

from pinbox import render
from pinbox.commands import hub as hubs
from pinbox.commands.pin_page import attachment, rect_text
from pinbox.commands.verb import Answer, Option, Verb
from pinbox.contract import MAX_PAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Final

    from pinbox.client import Hub
    from pinbox.commands.verb import Args

LEVELS: Final = ("compact", "standard", "forensic")
#: a JSON object without objects in it stands on one line up to this many columns
_INLINE_COLUMNS: Final = 80


def export(args: Args) -> Answer:
    hub = hubs.open_hub()
    status = args.get("status")
    pins = hub.request("GET", "/pins", query={"status": status})
    if args.json or args["format"] == "json":
        return Answer(pins, lambda: (render.envelope(pins).decode(), ""))

    level = args["detail"]
    thread = (lambda _: ()) if level == "compact" else threads(hub, pins)
    text = markdown(pins, level, thread)
    return Answer(pins, lambda: (text, "" if pins else render.count(0, "pin")), bare=True)


def threads(hub: Hub, pins: Sequence[dict[str, Any]]) -> Callable[[str], Sequence[dict[str, Any]]]:
    """Gives the messages of each of the pins. Asks for each, or reads the log: what is shorter."""
    if not pins:
        return lambda _: ()
    newest = hub.request("GET", "/summary")["lastEventSeq"]
    if len(pins) <= newest // MAX_PAGE + 1:
        return lambda pin_id: hubs.ask_about_pin(hub, "GET", pin_id, "thread")
    found: dict[str, list[dict[str, Any]]] = {pin["id"]: [] for pin in pins}
    seq = 0
    while page := hub.request("GET", "/events", query={"after": seq, "limit": MAX_PAGE}):
        for event in page:
            if event["type"] == "thread.message" and event["payload"]["pinId"] in found:
                found[event["payload"]["pinId"]].append(event["payload"])
        seq = page[-1]["seq"]
    return found.__getitem__


def markdown(
    pins: Sequence[dict[str, Any]], level: str, thread: Callable[[str], Sequence[dict[str, Any]]]
) -> str:
    """The pins in the order given. `thread` gives a pin's messages; compact never asks for them."""
    return "\n".join(_pin(pin, level, thread) for pin in pins)


def _pin(pin: dict[str, Any], level: str, thread: Callable[[str], Sequence[dict[str, Any]]]) -> str:
    lines = [compact_line(pin)]
    if level != "compact":
        lines += _standard(pin, thread(pin["id"]))
    if level == "forensic":
        lines += _forensic(pin)
    return "\n".join(lines)


def compact_line(pin: dict[str, Any]) -> str:
    """`- [open] button.save (+a.next) — Too small (pin_…)`: always one line."""
    target = pin.get("target") or {}
    place = render.locus(target)
    extras = [name for name in map(_name_of, target.get("targets", [])) if name]
    where = f"{place} (+{', '.join(extras)})" if place and extras else place
    text = f"{where} — {pin['text']}" if where else pin["text"]
    return render.one_line(f"- [{pin['status']}] {text} ({pin['id']})")


def _name_of(target: dict[str, Any]) -> str | None:
    return target.get("selector") or target.get("anchor") or target.get("tag")


def _standard(pin: dict[str, Any], thread: Sequence[dict[str, Any]]) -> list[str]:
    target = pin.get("target") or {}
    resolution = pin.get("resolution") or {}
    pairs = [
        ("number", f"#{pin['n']}" if "n" in pin else None),
        ("url", target.get("url")),
        ("source", render.source_place(target)),
        ("rect", rect_text(target.get("rect"))),
        ("nearby", (target.get("context") or {}).get("nearbyText")),
        *(("attachment", attachment(a)) for a in pin.get("attachments", [])),
        ("resolved", f"by {resolution['by']}" if resolution else None),
        ("note", resolution.get("note")),
        ("commit", resolution.get("commit")),
        ("verified", (pin.get("verification") or {}).get("outcome")),
        *(("link", f"{x['connector']}#{x['ref']} {x['url']}") for x in pin.get("links", [])),
    ]
    lines = [f"  {name}: {render.one_line(value)}" for name, value in pairs if value]
    text = render.plain(pin["text"]).strip()
    if "\n" in text:
        lines += ["  text:", *_quoted(text)]
    for message in thread:
        origin = f" ({message['origin']})" if message.get("origin") else ""
        lines.append("  " + render.one_line(f"{message['role']}{origin}, {message['at']}:"))
        lines += _quoted(render.plain(message["text"]))
        lines += [f"  attachment: {attachment(a)}" for a in message.get("attachments", [])]
    return lines


def _quoted(text: str) -> list[str]:
    """Every line marked, so that none of them reads as a line of the export itself."""
    return [f"  > {line}".rstrip() for line in text.split("\n")]


def _forensic(pin: dict[str, Any]) -> list[str]:
    """An indented block of JSON with whatever context and environment the pin has."""
    context = (pin.get("target") or {}).get("context")
    found = {"context": context, "env": pin.get("env")}
    present = {name: value for name, value in found.items() if value}
    if not present:
        return []
    body = _json(present, 0)
    fence = "`" * max(3, _longest_run(body) + 1)
    return ["", *(f"  {line}".rstrip() for line in [f"{fence}json", *body.split("\n"), fence])]


def _longest_run(text: str) -> int:
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest


def _json(value: Any, indent: int) -> str:
    """JSON with two spaces an indent; what holds no object stands on one line when it fits."""
    inline = json.dumps(value, ensure_ascii=False)
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    is_leaf = not any(isinstance(item, dict) and item for item in items)
    if not items or (is_leaf and len(inline) + indent <= _INLINE_COLUMNS):
        return inline
    pad = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [
            f"{json.dumps(k, ensure_ascii=False)}: {_json(v, indent + 2)}" for k, v in value.items()
        ]
        start, end = "{", "}"
    else:
        parts = [_json(item, indent + 2) for item in value]
        start, end = "[", "]"
    return f"{start}\n{pad}" + f",\n{pad}".join(parts) + "\n" + " " * indent + end


VERBS = (
    Verb(
        "export",
        "Print pins as markdown, or as JSON.",
        export,
        options=(
            Option(
                "--format",
                "FORMAT",
                "md (unless given) or json",
                choices=("md", "json"),
                default="md",
            ),
            Option(
                "--detail",
                "LEVEL",
                "of the markdown: compact, standard (unless given) or forensic",
                choices=LEVELS,
                default="standard",
            ),
            Option(
                "--status",
                "STATUS",
                "only open or only resolved ones",
                choices=("open", "resolved"),
            ),
        ),
        about=(
            "Markdown is printed into pipes too. JSON is what pinbox list prints.\n\n"
            "compact: one line a pin. standard: also url, source, rect, nearby text, attachments, "
            "links, resolution and the thread. forensic: also the page's context and environment."
        ),
    ),
)
