"""Hearing on PostgreSQL that another process made something due (`delivery.wake`)."""

import logging
import threading
from collections.abc import Callable

from django.db import connection

from pinbox.faults import Outage

from .wake import CHANNEL

log = logging.getLogger(__name__)

#: Seconds after which it looks whether it should end.
_LOOK_S = 1.0
#: Seconds of rest before another try at a connection.
_REST_S = 5.0


def listen(poke: Callable[[], None], leaving: threading.Event) -> threading.Thread | None:
    """Have `poke` called at each notice, on a thread of its own that ends with `leaving`. None
    where the database has no notices.
    """
    if connection.vendor != "postgresql":
        return None
    parameters = connection.get_connection_params()
    thread = threading.Thread(
        target=_listen, args=(parameters, poke, leaving), name="notices", daemon=True
    )
    thread.start()
    return thread


def _listen(
    parameters: dict[str, object], poke: Callable[[], None], leaving: threading.Event
) -> None:
    outage = Outage(log, "no notices from the database", "notices of the database are heard again")
    while not leaving.is_set():
        try:
            _hear(parameters, outage, poke, leaving)
        except Exception as error:  # an edge: without notices the worker only looks later
            outage.begins(error)
            leaving.wait(_REST_S)


def _hear(
    parameters: dict[str, object],
    outage: Outage,
    poke: Callable[[], None],
    leaving: threading.Event,
) -> None:
    import psycopg  # an extra; installed where the database is PostgreSQL

    with psycopg.connect(**parameters, autocommit=True) as ear:  # type: ignore[arg-type]  # Django's own
        ear.execute(f"LISTEN {CHANNEL}")
        outage.ends()
        poke()  # for what was told before it listened
        while not leaving.is_set():
            for _ in ear.notifies(timeout=_LOOK_S, stop_after=1):
                poke()
