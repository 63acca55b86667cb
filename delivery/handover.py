"""What a session is told now, and the record that it was told.

Only what the text holds in full is marked as handed over; the rest stays pending. However many pins
are open or pending, no more rows are read than the text has room for.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, Final

from pins import attachments
from pins import statements as pins
from sessions_app.models import AgentSession

from . import statements
from .prompt import Card, Context, Line, Occasion, Words, context, shortened

_Head = tuple[int, str, dict[str, Any]]
#: Pin id -> its newest pending rows as (delivery id, event seq). The pin with the newest is first.
News = dict[str, list[tuple[int, int]]]

#: Pins told in full in one text: more than a turn can see to, and what a turn costs the hub stays
#: the same however many wait.
_CARDS: Final = 20
#: Pending rows looked at for one text, and messages of one pin in it.
_NEWS: Final = 120
_MESSAGES: Final = 12
#: Open pins looked at for the lines of one text: more than fit.
_WINDOW: Final = 150
#: Documents read at a time.
_CHUNK: Final = 20
#: Lines kept ready.
_READY: Final = 1024
#: The last messages of a pin that a fresh conversation reads, and further elements of one pin.
_LAST_MESSAGES: Final = 3
_MORE_PLACES: Final = 4
_SCREENSHOTS: Final = 3
#: A stop is held at most so often for one pin, in one session.
MAX_HOLDS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver:
    text: str = ""
    deliveries: int = 0


# --- what a session is told -----------------------------------------------------------------------


def at_a_prompt(
    session: AgentSession, *, by: str, now: datetime, is_start: bool = False
) -> HandedOver:
    """The context of a turn: its news in full, every other open pin in a line. At the start of a
    conversation also the session's own open pins in full, for nothing of them may be left in its
    context. Needs `pins.event_log.writer()`.
    """
    news = _by_pin(statements.pending(session.id, _NEWS))
    open_pins = pins.open_pins()
    if not news and not open_pins:
        return HandedOver()
    unseen = _unseen(session, news) if is_start else []
    told = context(
        open_pins=open_pins,
        cards=islice(_cards(news, unseen), _CARDS),
        lines_besides=lambda in_full: _lines(session, in_full),
        news=len(news),
    )
    return HandedOver(text=told.text, deliveries=_mark(session, told, news, by=by, now=now))


def at_a_stop(session: AgentSession, *, now: datetime) -> HandedOver:
    """The reason to hold a stop: what came since and was not shown yet, unless the session was held
    for it often enough. Needs `pins.event_log.writer()`.
    """
    news = _by_pin(statements.pending_unseen(session.id, MAX_HOLDS, _NEWS))
    if not news:
        return HandedOver()
    told = context(
        open_pins=pins.open_pins(),
        cards=islice(_cards(news), _CARDS),
        news=len(news),
        occasion=Occasion.STOP,
    )
    marked = _mark(session, told, news, by="hooks", now=now, holds=1)
    return HandedOver(text=told.text, deliveries=marked)


def for_a_push(rows: Iterable[statements.Row]) -> tuple[str, list[int]]:
    """The text that brings these rows to a session, newest first, and the ids of those it holds.
    Marks nothing: whether it arrived is not known yet.
    """
    news = _by_pin(rows)
    told = context(
        open_pins=pins.open_pins(),
        cards=islice(_cards(news), _CARDS),
        occasion=Occasion.PUSH,
    )
    return told.text, [row_id for pin_id in told.in_full for row_id, _ in news[pin_id]]


# --- reading --------------------------------------------------------------------------------------


def _by_pin(rows: Iterable[statements.Row]) -> News:
    found: News = {}
    for row_id, seq, pin_id in rows:
        rows_of_pin = found.setdefault(pin_id, [])
        if len(rows_of_pin) < _MESSAGES:
            rows_of_pin.append((row_id, seq))
    return found


def _open_window(session: AgentSession) -> list[tuple[str, bool, bool]]:
    """The newest open pins as (id, is the session's own, is another's), its own first."""
    me = (session.agent, session.key)
    found = [
        (pin_id, (agent, key) == me, agent is not None and (agent, key) != me)
        for pin_id, agent, key in pins.newest_open(_WINDOW)
    ]
    return sorted(found, key=lambda row: not row[1])


def _unseen(session: AgentSession, news: News) -> list[str]:
    """The session's own open pins that it was never shown in full and that have no news."""
    own = [pin_id for pin_id, is_own, _ in _open_window(session) if is_own and pin_id not in news]
    seen = statements.shown(session.id, own)
    return [pin_id for pin_id in own if pin_id not in seen]


def _cards(news: News, unseen: Iterable[str] = ()) -> Iterator[Card]:
    for some in _in_chunks(news):
        heads = pins.heads(some)
        happened = statements.what_happened([seq for one in some for _, seq in news[one]])
        for pin_id in some:
            if pin_id in heads:
                seqs = sorted(seq for _, seq in news[pin_id])
                own = [happened[seq] for seq in seqs if seq in happened]
                yield _card(
                    pin_id,
                    heads[pin_id],
                    is_new=any(kind == "pin.created" for kind, _ in own),
                    is_reopened=any(kind == "pin.verified" for kind, _ in own),
                    messages=[_words(message) for _, message in own if message],
                )
    for some in _in_chunks(unseen):
        heads = pins.heads(some)
        for pin_id in some:
            newest = statements.last_messages(pin_id, _LAST_MESSAGES)
            # What an agent answered last waits for a person, not for the agent.
            if pin_id in heads and not (newest and newest[0][0] == "agent"):
                words = [_words(message) for _, message in reversed(newest)]
                yield _card(pin_id, heads[pin_id], messages=words, is_recap=True)


def _card(pin_id: str, head: _Head, *, messages: list[Words], **more: bool) -> Card:
    n, status, pin = head
    return Card(
        id=pin_id,
        n=n,
        status=status,
        text=pin["text"],
        place=_places(pin),
        url=pin.get("target", {}).get("url"),
        screenshots=_screenshots(pin),
        messages=messages,
        **more,
    )


def _screenshots(pin: dict[str, Any]) -> list[str]:
    """The files of the first few, which the hub itself has named."""
    if not attachments.are_readers_here():
        return []
    shown = [one for one in pin.get("attachments", ()) if one["kind"] == "screenshot"]
    return [str(attachments.path_of(one["id"], one["contentType"])) for one in shown[:_SCREENSHOTS]]


def _lines(session: AgentSession, in_full: Collection[str]) -> Iterator[Line]:
    in_full = set(in_full)
    for some in _in_chunks(row for row in _open_window(session) if row[0] not in in_full):
        lines = _ready_lines([pin_id for pin_id, _, _ in some])
        for pin_id, _, is_elsewhere in some:
            line = lines[pin_id]
            yield replace(line, is_elsewhere=True) if is_elsewhere else line


#: Pin id -> its line. Every turn repeats the same ones, and what a pin says never changes.
_ready: dict[str, Line] = {}


def _ready_lines(pin_ids: list[str]) -> dict[str, Line]:
    """The line of each pin. What is kept for the next turn has its bound, what is asked for has
    not: making room must not take a line that this very text needs.
    """
    lines = {pin_id: _ready[pin_id] for pin_id in pin_ids if pin_id in _ready}
    if len(lines) == len(pin_ids):
        return lines
    made = {}
    for pin_id, (n, _, pin) in pins.heads([one for one in pin_ids if one not in lines]).items():
        target = pin.get("target", {})
        place = _place(target) or target.get("url")
        made[pin_id] = Line(
            id=pin_id, n=n, text=shortened(pin["text"]), place=place and shortened(place)
        )
    if len(_ready) + len(made) > _READY:
        _ready.clear()
    _ready.update(made)
    return lines | made


def _place(target: dict[str, Any]) -> str | None:
    """What a target points at: its selector, else the source file and line."""
    if selector := target.get("selector"):
        return str(selector)
    source = target.get("source", {})
    if not source.get("file"):
        return None
    return f"{source['file']}:{source['line']}" if "line" in source else str(source["file"])


def _places(pin: dict[str, Any]) -> str | None:
    """Everything a card says of where: selector and source, and the further elements."""
    target = pin.get("target", {})
    source = _place({"source": target.get("source", {})})
    more = [_place(one) or one.get("tag") for one in target.get("targets", [])[:_MORE_PLACES]]
    found = [target.get("selector"), source, *more]
    return ", ".join(str(place) for place in found if place) or None


def _words(message: str) -> Words:
    said = json.loads(message)
    return Words(by=said["role"], of=said.get("origin"), text=said["text"])


def _in_chunks(items: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(items)
    while chunk := list(islice(rest, _CHUNK)):
        yield chunk


# --- marking --------------------------------------------------------------------------------------


def _mark(
    session: AgentSession, told: Context, news: News, *, by: str, now: datetime, holds: int = 0
) -> int:
    """Record what the text holds in full. Returns how many rows were handed over.

    Those rows tell that their pins were shown; what they do not tell is how often a stop was held
    for a pin, and that a pin without news was shown.
    """
    told_rows = {pin_id: news.get(pin_id, []) for pin_id in told.in_full}
    statements.show(
        session.id,
        [
            (pin_id, max((seq for _, seq in rows), default=0))
            for pin_id, rows in told_rows.items()
            if holds or not rows
        ],
        holds=holds,
    )
    row_ids = [row_id for rows in told_rows.values() for row_id, _ in rows]
    return statements.hand_over(row_ids, by=by, now=now)
