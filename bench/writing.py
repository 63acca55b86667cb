"""Writing: pins by eight clients at once, and messages by one, against the bare SQLite driver."""

import json
import selectors
import socket
import sqlite3
import time
from pathlib import Path
from typing import Any

from .figures import Figure
from .pins import pin_input, text
from .workplace import Workplace

CLIENTS = 8
#: Tables a write touches, in the order in which the hub fills them; `pins_tally` is counted up.
_TABLES = ("pins_event", "pins_pin", "pins_threadmessage", "pins_searchtext", "delivery_delivery")

#: How a table names the event a row belongs to, where not by `seq`.
_SEQ_OF = {"delivery_delivery": "event_seq", "pins_searchtext": "id & ((1 << 40) - 1)"}


def post_pins(runs: int) -> list[Figure]:
    """Closed loop: each client sends its next pin when it has the answer to the last."""
    bodies = [json.dumps(pin_input(number)).encode() for number in range(200)]
    return [
        _compared(
            name="post-pins-8",
            what=f"POST /pins, {CLIENTS} clients at once, one connection each",
            clients=CLIENTS,
            requests=lambda place: ("/pins", bodies),
            runs=runs,
            target=0.2,
        )
    ]


def append_rate(runs: int) -> list[Figure]:
    """One client that appends one message after the other to one thread."""
    bodies = [json.dumps({"role": "human", "text": text(n)}).encode() for n in range(200)]

    def requests(place: Workplace) -> tuple[str, list[bytes]]:
        return f"/pins/{place.data('POST', '/pins', pin_input(0))['id']}/thread", bodies

    return [
        _compared(
            name="append-1",
            what="POST /pins/:id/thread, one client",
            clients=1,
            requests=requests,
            runs=runs,
            target=None,
        )
    ]


def _compared(
    *, name: str, what: str, clients: int, requests: Any, runs: int, target: float | None
) -> Figure:
    """Rates of the hub and of the driver writing the very rows that the hub wrote, in turn."""
    with Workplace() as place:
        path, bodies = requests(place)
        database = place.project / ".pinbox" / "pinbox.db"
        state = place.hub()
        _drive(state, clients, path, bodies[:50])  # warm up
        ours: list[float] = []
        floor: list[float] = []
        for _ in range(runs):
            before = _last_seq(database)
            began = time.perf_counter()
            _drive(state, clients, path, bodies)
            ours.append(len(bodies) / (time.perf_counter() - began))
            floor.append(_driver_rate(database, before))
    return Figure(
        name=name,
        what=what,
        floor_is="the same rows by the bare SQLite driver, one transaction each, WAL, FULL",
        unit="/s",
        ours=ours,
        floor=floor,
        target=target,
        more_is_better=True,
    )


def _drive(state: dict[str, Any], clients: int, path: str, bodies: list[bytes]) -> None:
    """POST every body, `clients` at a time, in one thread. Raises on any answer but 201."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{state['port']}\r\n"
        f"Authorization: Bearer {state['token']}\r\nContent-Type: application/json\r\n"
    )
    waiting = iter(bodies)
    with selectors.DefaultSelector() as ready:
        for _ in range(clients):
            connection = socket.create_connection(("127.0.0.1", state["port"]))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if _send_next(connection, head, waiting):
                ready.register(connection, selectors.EVENT_READ, bytearray())
        while ready.get_map():
            for key, _ in ready.select():
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                key.data.extend(connection.recv(65536))
                if not _is_whole(key.data):
                    continue
                if not key.data.startswith(b"HTTP/1.1 201"):
                    raise RuntimeError(bytes(key.data[:400]))
                key.data.clear()
                if not _send_next(connection, head, waiting):
                    ready.unregister(connection)
                    connection.close()


def _send_next(connection: socket.socket, head: str, waiting: Any) -> bool:
    body = next(waiting, None)
    if body is None:
        return False
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return True


def _is_whole(answer: bytearray) -> bool:
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    head = bytes(answer[:end]).lower()
    if b"transfer-encoding: chunked" in head:
        return answer.endswith(b"0\r\n\r\n")
    length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
    return len(answer) >= end + 4 + length


def _last_seq(database: Path) -> int:
    with sqlite3.connect(database) as reader:
        (last,) = reader.execute("SELECT COALESCE(MAX(seq), 0) FROM pins_event").fetchone()
    reader.close()
    return int(last)


def _driver_rate(database: Path, after: int) -> float:
    """Transactions a second of the driver alone, for the rows of the events after that seq."""
    copy = database.with_name("floor.db")
    source, target = sqlite3.connect(database), sqlite3.connect(copy, isolation_level=None)
    source.backup(target)
    writes = _rows_by_event(source, after)
    source.close()
    target.execute("PRAGMA journal_mode=WAL")
    target.execute("PRAGMA synchronous=FULL")
    _forget(target, after)
    began = time.perf_counter()
    for rows in writes:
        target.execute("BEGIN IMMEDIATE")
        for statement, values in rows:
            target.execute(statement, values)
        target.execute("UPDATE pins_tally SET pins = pins + 1 WHERE status = 'open'")
        target.execute("COMMIT")
    spent = time.perf_counter() - began
    target.close()
    for leftover in copy.parent.glob("floor.db*"):
        leftover.unlink()
    return len(writes) / spent


def _rows_by_event(source: sqlite3.Connection, after: int) -> list[list[tuple[str, Any]]]:
    """For each event the statements that write what the hub wrote for it."""
    writes: dict[int, list[tuple[str, Any]]] = {}
    for table in _TABLES:
        seq = _SEQ_OF.get(table, "seq")
        rows = source.execute(f"SELECT {seq}, * FROM {table} WHERE {seq} > ? ORDER BY 1", [after])
        holes = ", ".join("?" * (len(rows.description) - 1))
        for event, *values in rows:
            statement = f"INSERT INTO {table} VALUES ({holes})"
            writes.setdefault(event, []).append((statement, values))
    return list(writes.values())


def _forget(target: sqlite3.Connection, after: int) -> None:
    for table in reversed(_TABLES):
        seq = _SEQ_OF.get(table, "seq")
        target.execute(f"DELETE FROM {table} WHERE {seq} > ?", [after])
