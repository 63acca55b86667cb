"""Fills the project's database in bulk, as years of use would: `python -m bench.seed --open=…`.

The log is written directly and everything else is rebuilt from it by the product's own `rebuild`;
only the ledger and the sessions, which no log holds, are written as rows. Prints what it made.
"""

import argparse
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import django

django.setup()

from django.db import transaction  # noqa: E402

from delivery.models import Delivery  # noqa: E402
from pinbox.contract import iso, new_id  # noqa: E402
from pins import projections  # noqa: E402
from pins.event_log import encode  # noqa: E402
from pins.events import in_wire_order  # noqa: E402
from pins.models import Event, Pin  # noqa: E402
from sessions_app.models import AgentSession  # noqa: E402

from .pins import pin_input, text  # noqa: E402

#: Rows of one bulk insert.
_BATCH = 2_000
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class Log:
    """The events to be, numbered and dated."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, kind: str, subject: str, payload: dict[str, Any]) -> None:
        seq = len(self.events) + 1
        self.events.append(
            Event(seq=seq, type=kind, at=self.at(), subject=subject, payload=encode(payload))
        )

    def at(self) -> str:
        return iso(_BEGAN + timedelta(seconds=len(self.events)))

    def pin(self, number: int) -> dict[str, Any]:
        """A new open pin."""
        pin = dict(
            in_wire_order(
                {
                    **pin_input(number),
                    "id": new_id("pin"),
                    "n": number,
                    "schemaVersion": 1,
                    "status": "open",
                    "createdAt": self.at(),
                }
            )
        )
        self.add("pin.created", pin["id"], pin)
        return pin

    def message(self, pin: dict[str, Any], number: int, role: str) -> None:
        message = {
            "id": new_id("msg"),
            "pinId": pin["id"],
            "role": role,
            "text": text(number),
            "at": self.at(),
        }
        self.add("thread.message", pin["id"], message)

    def resolve(self, pin: dict[str, Any]) -> None:
        pin["status"] = "resolved"
        pin["resolution"] = {"by": "agent", "note": "Wider now.", "at": self.at()}
        self.add("pin.resolved", pin["id"], dict(in_wire_order(pin)))


def fill(*, open_pins: int, resolved: int, messages: int, pending: int, sessions: int) -> Any:
    log = Log()
    first = log.pin(1)
    for number in range(2, open_pins + resolved + 1):
        pin = log.pin(number)
        if number <= resolved:
            log.resolve(pin)
    # All messages but ten go to pins in turn; the first pin's thread is the same in every database.
    pins = [json.loads(e.payload) for e in log.events if e.type == "pin.created"]
    for number in range(messages):
        pin = first if number < min(messages, 10) else pins[number % len(pins)]
        log.message(pin, number, "human" if number % 2 else "agent")
    began = time.perf_counter()
    with transaction.atomic():
        Event.objects.bulk_create(log.events, batch_size=_BATCH)
    written = time.perf_counter()
    projections.rebuild()
    rebuilt = time.perf_counter()
    keys = _sessions(sessions)
    _ledger(log.events, pending, keys[0] if keys else None)
    return {
        "events": len(log.events),
        "firstPin": first["id"],
        "bulkSeconds": written - began,
        "rebuildSeconds": rebuilt - written,
    }


def _sessions(count: int) -> list[str]:
    rows = [
        AgentSession(
            id=new_id("ses"),
            agent="claude",
            key=f"00000000-0000-4000-8000-{number:012d}",
            cwd="/nowhere",
            registered_at=_BEGAN,
            last_seen_at=_BEGAN + timedelta(minutes=number),
            ended_at=_BEGAN + timedelta(minutes=number + 1),
        )
        for number in range(count)
    ]
    AgentSession.objects.bulk_create(rows, batch_size=_BATCH)
    return [row.id for row in rows]


def _ledger(events: list[Event], pending: int, session_id: str | None) -> None:
    """One row an event: the newest open pins' are pending and unassigned, the rest delivered."""
    Delivery.objects.all().delete()
    waiting = set(
        Pin.objects.filter(status="open").order_by("-n").values_list("id", flat=True)[:pending]
    )
    now = datetime.now(UTC)

    def rows() -> Iterator[Delivery]:
        for event in events:
            is_due = event.type == "pin.created" and event.subject in waiting
            yield Delivery(
                event_seq=event.seq,
                pin_id=event.subject,
                session_id=None if is_due else session_id,
                adapter="hooks",
                status="pending" if is_due else "delivered",
                attempts=0 if is_due else 1,
                updated_at=now,
                handed_over_at=None if is_due else now,
                handed_over_by="" if is_due else "hooks",
            )

    Delivery.objects.bulk_create(rows(), batch_size=_BATCH)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("open", "resolved", "messages", "pending", "sessions"):
        parser.add_argument(f"--{name}", type=int, default=0)
    args = parser.parse_args()
    made = fill(
        open_pins=args.open,
        resolved=args.resolved,
        messages=args.messages,
        pending=args.pending,
        sessions=args.sessions,
    )
    print(json.dumps(made))
