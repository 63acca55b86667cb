"""The socket: an event to five hundred pages, and a page with a hundred thousand to catch up."""

import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

from .figures import Figure, in_turn
from .pins import pin_input
from .wire import Crowd, Wire
from .workplace import ROOT, Workplace, resident_mb, sleep_until_idle

SOCKETS = 500
EVENTS = 100_000


def fan_out(runs: int) -> list[Figure]:
    """From the sending of POST /pins to the last frame of the last of 500 sockets."""
    with ExitStack() as stack:
        place = stack.enter_context(Workplace())
        state = place.hub()
        place.connect()
        ours_crowd = Crowd(state["port"], state["pageToken"], SOCKETS)
        stack.callback(ours_crowd.close)
        ours_crowd.one_frame_each()  # the catch-up

        bare, port = _bare_server()
        stack.callback(bare.wait)
        stack.callback(bare.kill)
        floor_crowd = Crowd(port, "bench", SOCKETS)
        stack.callback(floor_crowd.close)
        floor_crowd.one_frame_each()
        post = f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\n\r\n".encode()
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), 60))

        def ours_run() -> None:
            place.send("POST", "/pins", pin_input(1))
            ours_crowd.one_frame_each()
            place.receive()

        def floor_run() -> None:
            connection.sendall(post)
            floor_crowd.one_frame_each()
            connection.recv(65536)

        ours, floor = in_turn(ours_run, floor_run, runs=runs, warm_up=3)
    return [
        Figure(
            name=f"fan-out-{SOCKETS}",
            what=f"POST /pins to the last frame of the last of {SOCKETS} sockets, with the commit",
            floor_is="raw ASGI sockets on the same server: one encoded frame, no commit",
            unit="ms",
            ours=ours,
            floor=floor,
            target=1.5,
        )
    ]


def _bare_server() -> tuple[subprocess.Popen[bytes], int]:
    with socket.create_server(("127.0.0.1", 0), backlog=SOCKETS) as listener:
        port: int = listener.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.bare_sockets", str(listener.fileno())],
            cwd=ROOT,
            pass_fds=[listener.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    return process, port


def catch_up(runs: int) -> list[Figure]:
    """A hundred thousand events to one page, and what the hub holds while it is slow."""
    with Workplace() as place:
        place.seed_log(EVENTS)
        database = sqlite3.connect(place.project / ".pinbox" / "pinbox.db")
        state = place.hub()

        def building() -> None:
            rows = database.execute("SELECT seq, type, at, payload FROM pins_event ORDER BY seq")
            for seq, kind, at, payload in rows:
                (
                    f'{{"type":"event","seq":{seq},"eventType":"{kind}","at":"{at}",'
                    f'"payload":{payload}}}'
                ).encode()

        sleep_until_idle(state["pid"])
        idle = resident_mb(state["pid"])
        ours, floor = in_turn(lambda: _drain(state), building, runs=runs, warm_up=1)
        database.close()
        peak = _drain(state, pause_s=0.005)
    return [
        Figure(
            name=f"catch-up-{EVENTS}",
            what=f"{EVENTS:,} events to one page, from its hello to the last of them",
            floor_is="reading the log and building the same frames, in process",
            unit="ms",
            ours=ours,
            floor=floor,
        ),
        Figure(
            name="catch-up-memory",
            what=f"resident memory of the hub while a slow page reads {EVENTS:,} events, at most",
            floor_is="the same hub, idle",
            unit="MB",
            ours=[peak],
            floor=[idle],
            target=round(1 + 64 / idle, 2),
        ),
    ]


def _drain(state: dict[str, Any], pause_s: float = 0) -> float:
    """Read the whole log. The most memory that the hub had meanwhile, in MB, if it is slow."""
    wire = Wire(state["port"], state["pageToken"])
    seen, reads, peak = 0, 0, 0.0
    try:
        while seen < EVENTS:
            for frame in wire.ready():
                is_event = bytes(frame[:15]) == b'{"type":"event"'
                seen += 1 if is_event else bytes(frame).count(b'"eventType":')
            if pause_s:
                time.sleep(pause_s)
                reads += 1
                if reads % 20 == 0:
                    peak = max(peak, resident_mb(state["pid"]))
    finally:
        wire.close()
    if seen != EVENTS:
        raise RuntimeError(f"{seen} events of {EVENTS}")
    return peak
