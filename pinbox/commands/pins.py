"""summary, pin, list, show: dropping pins and looking at them. Looking changes nothing."""

from __future__ import annotations

from pinbox import render
from pinbox.commands import hub as hubs
from pinbox.commands.verb import Answer, Argument, Option, Verb
from pinbox.contract import MAX_PAGE, MAX_SEARCH_BYTES, PinboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pinbox.client import Hub
    from pinbox.commands.verb import Args


# --- summary -------------------------------------------------------------------------------------


def summary(args: Args) -> Answer:
    data = hubs.open_hub().request("GET", "/summary")

    def human() -> tuple[str, str]:
        pairs = [
            ("open", str(data["open"])),
            ("resolved", str(data["resolved"])),
            ("sessions", str(data["sessions"])),
            ("last event", f"#{data['lastEventSeq']}"),
        ]
        return render.facts(pairs, label=10), ""

    return Answer(data, human)


# --- pin -----------------------------------------------------------------------------------------


def pin(args: Args) -> Answer:
    from pinbox.commands import places

    text = hubs.required_text(args["text"], "text", "pin").strip()
    url, selector, file = args.get("url"), args.get("selector"), args.get("file")
    if selector is not None and url is None:
        raise PinboxError(
            "E_INVALID_INPUT", "--selector needs --url: the page it is on", "pinbox pin --help"
        )
    target: dict[str, Any] = {}
    if url is not None:
        target["url"] = places.absolute_url(url)
    if selector is not None:
        target["selector"] = hubs.required_text(selector, "selector", "pin")
    if file is not None:
        target["source"] = places.source(file)
    body: dict[str, Any] = {"text": text, "author": places.author()}
    if target:
        body["target"] = target
    data = hubs.open_hub().request("POST", "/pins", body)

    def human() -> tuple[str, str]:
        place = render.source_place(target) or target.get("url")
        return data["id"], f"pinned to {place}" if place else "pinned"

    return Answer(data, human)


# --- list ----------------------------------------------------------------------------------------


def list_pins(args: Args) -> Answer:
    if len((args.get("search") or "").encode("utf-8", "replace")) > MAX_SEARCH_BYTES:
        raise PinboxError(
            "E_INVALID_INPUT",
            f"--search must be at most {MAX_SEARCH_BYTES:,} bytes of UTF-8",
            "a few words are enough",
        )
    query = {name: args.get(name) for name in ("status", "search", "limit")}
    hub = hubs.open_hub()
    pins = hub.request("GET", "/pins", query=query)

    def human() -> tuple[str, str]:
        from time import time

        table = render.pin_table(pins, now=time(), screen=render.screen_width())
        count = pin_count(pins)
        if not pins and not any(query.values()):
            count += f" in {hub.project}"  # it may be the wrong folder
        return table, "\n".join(filter(None, [count, _undelivered(hub, pins)]))

    return Answer(pins, human)


def _undelivered(hub: Hub, pins: list[dict[str, Any]]) -> str:
    """A failure that nobody asked about is told where people look anyway."""
    is_open = {pin["id"] for pin in pins if pin["status"] == "open"}
    if not is_open:
        return ""
    failed = hub.request("GET", "/deliveries", query={"status": "failed", "limit": MAX_PAGE})
    number = len(is_open & {row["pinId"] for row in failed})
    if not number:
        return ""
    return (
        f"of {render.count(number, 'pin')} not all was delivered: pinbox deliveries --status failed"
    )


def pin_count(pins: list[dict[str, Any]]) -> str:
    """`3 pins (2 open, 1 resolved)`, the parts that are not zero."""
    parts = []
    for status in ("open", "resolved"):
        number = sum(pin["status"] == status for pin in pins)
        if number:
            parts.append(f"{number} {status}")
    said = render.count(len(pins), "pin")
    return f"{said} ({', '.join(parts)})" if parts else said


# --- show ----------------------------------------------------------------------------------------


def show(args: Args) -> Answer:
    hub = hubs.open_hub()
    pin_id = args["id"]
    data: dict[str, Any] = {
        "pin": hubs.ask_about_pin(hub, "GET", pin_id),
        "thread": hubs.ask_about_pin(hub, "GET", pin_id, "thread"),
        "deliveries": hubs.ask_about_pin(hub, "GET", pin_id, "deliveries"),
    }

    def human() -> tuple[str, str]:
        from time import time

        from pinbox.commands import delivery_page, pin_page

        sessions = delivery_page.sessions_of(hub, data["deliveries"])
        events = hubs.ask_about_pin(hub, "GET", pin_id, "events") if data["deliveries"] else ()
        return pin_page.page(**data, events=events, sessions=sessions, now=time()), ""

    return Answer(data, human)


LIMIT = Option("--limit", "N", f"at most N, newest first (1 to {MAX_PAGE})", span=(1, MAX_PAGE))
PIN_ID = Argument("id", "the pin's whole id, as `pinbox list` prints it")

VERBS = (
    Verb(
        "pin",
        "Drop a pin: say what is wrong, and where.",
        pin,
        arguments=(Argument("text", "what is wrong or wanted"),),
        options=(
            Option(
                "--file", "PATH[:LINE]", "the source file it is about, with a line if you have one"
            ),
            Option("--url", "URL", "the page it is about: an absolute http or https address"),
            Option("--selector", "CSS", "the element on that page; needs --url"),
        ),
        about=(
            "PATH may hold any character and be followed by :LINE or :LINE:COLUMN; a file whose "
            "real name ends so wins. It is stored relative to the top of its git repository.\n\n"
            "The author is git's user.name and user.email, else $USER."
        ),
    ),
    Verb(
        "list",
        "List pins, newest first.",
        list_pins,
        options=(
            Option(
                "--status",
                "STATUS",
                "only open or only resolved ones",
                choices=("open", "resolved"),
            ),
            Option("--search", "TEXT", "only pins whose text or thread has all these words"),
            LIMIT,
        ),
    ),
    Verb(
        "show",
        "Show one pin whole: place, author, thread, resolution, deliveries.",
        show,
        arguments=(PIN_ID,),
        about="In an agent's own shell this also tells the sender that the session saw the pin.",
    ),
    Verb("summary", "Count pins and sessions.", summary),
)
