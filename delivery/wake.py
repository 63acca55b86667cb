"""Telling the worker that something is due. Only a hint: it finds what is due in the ledger, so a
lost wake costs time and nothing else.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from django.db import connection, transaction

#: Channel on which PostgreSQL tells the workers of other processes.
CHANNEL: Final = "pinbox_delivery"

_workers: list[Callable[[datetime], None]] = []


def listen(worker: Callable[[datetime], None]) -> None:
    """Have `worker` called after each commit that makes something due, with when that is."""
    _workers.append(worker)


def stop_listening(worker: Callable[[datetime], None]) -> None:
    _workers.remove(worker)


def at(due_at: datetime | None) -> None:
    """Something is due then. Needs a transaction; nothing is told when it is rolled back."""
    if due_at is None:
        return
    if _workers:
        transaction.on_commit(lambda: _tell(due_at))
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])


def _tell(due_at: datetime) -> None:
    for worker in list(_workers):
        worker(due_at)
