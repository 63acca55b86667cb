"""Many rows of everything at once, for tests of what a page costs. Not made by the services: rows
go in by the driver, a hundred times faster.
"""

import json

from django.db import connection, transaction

from delivery.models import Delivery
from pins import search
from pins.models import Binding, Event, Pin, SearchText, Tally, ThreadMessage
from sessions_app.models import AgentSession

AT = "2026-01-01T00:00:00.000Z"
#: One of so many pins is resolved, one of so many deliveries pending, one of so many sessions live.
RARE = 10


def pin_id(number):
    return f"pin_{number:010d}"


def session_id(number):
    return f"ses_{number:010d}"


def fill(first, last):
    """Pins number `first` to `last`, with two events, one message, a binding and two deliveries
    each, and as many sessions. On PostgreSQL too.
    """
    numbers = range(first, last + 1)
    with transaction.atomic():
        _insert(Pin, "id n status seq created_at head bound tail", map(_pin, numbers))
        _insert(ThreadMessage, "id pin_id seq role json", map(_message, numbers))
        _insert(Event, "seq type at subject payload", (e for n in numbers for e in _events(n)))
        _insert(SearchText, "id n body", map(_text, numbers))
        _insert(Binding, "pin_id agent key json", map(_binding, numbers))
        _insert(
            AgentSession,
            "id agent key cwd registered_at last_seen_at ended_at pid_started pid_is_ours"
            " superseded_by ended_by",
            map(_session, numbers),
        )
        _insert(
            Delivery,
            "event_seq pin_id session_id adapter status attempts updated_at handed_over_by"
            " acknowledged_at acknowledged_by claimed_by",
            (d for n in numbers for d in _deliveries(n)),
        )
        resolved = last // RARE
        Tally.objects.all().delete()
        Tally.objects.create(status="open", pins=last - resolved)
        Tally.objects.create(status="resolved", pins=resolved)


def _insert(model, columns, rows):
    names = columns.split()
    places = ", ".join(["%s"] * len(names))
    sql = f"INSERT INTO {model._meta.db_table} ({', '.join(names)}) VALUES ({places})"
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)


def _head(n):
    target = {"source": {"file": f"src/part{n}.ts", "line": n, "via": "plugin"}}
    text = f"The label of row {n} is cut" + " quixotically" * (n == 1)
    return {"text": text, "kind": "note", "target": target, "env": {}, "author": {"userId": "u"}}


def _tail(n):
    return {"id": pin_id(n), "n": n, "schemaVersion": 1, "status": _status(n), "createdAt": AT}


def _status(n):
    return "resolved" if n % RARE == 0 else "open"


def _pin(n):
    head, tail = (json.dumps(part)[1:-1] for part in (_head(n), _tail(n)))
    return pin_id(n), n, _status(n), 2 * n, AT, head + ",", "", tail


def _said(n):
    said = {"id": f"msg_{n:010d}", "pinId": pin_id(n), "role": "human", "text": "really", "at": AT}
    return json.dumps(said)


def _message(n):
    return f"msg_{n:010d}", pin_id(n), 2 * n, "human", _said(n)


def _events(n):
    pin = json.dumps({**_head(n), **_tail(n)})
    yield 2 * n - 1, "pin.created", AT, pin_id(n), pin
    yield 2 * n, "thread.message", AT, pin_id(n), _said(n)


def _text(n):
    return n << 40 | 2 * n, n, search.fold(_head(n)["text"])


def _binding(n):
    session = json.dumps({"agentSession": {"agent": "claude", "key": f"key-{n}"}})
    return pin_id(n), "claude", f"key-{n}", session[1:-1] + ","


def _at(n):
    """A later instant for each number, as both databases read it."""
    return f"2026-01-{1 + n // 86_400:02d} {n // 3600 % 24:02d}:{n // 60 % 60:02d}:{n % 60:02d}"


def _session(n):
    ended = None if n % RARE == 0 else _at(n)
    by = "goodbye" if ended else ""
    return session_id(n), "claude", f"key-{n}", "/p", _at(n), _at(n), ended, "", False, "", by


def _deliveries(n):
    status = "pending" if n % RARE == 0 else "delivered"
    shown = (_at(n), "reply") if n % 2 else (None, "")
    for seq in (2 * n - 1, 2 * n):
        yield seq, pin_id(n), session_id(n), "hooks", status, 0, _at(n), "", *shown, ""
