"""The socket of a real hub, over the wire: slow readers, stops, upgrades, what is left behind."""

import contextlib
import json
import os
import signal
import socket as sockets
import sqlite3
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from pinbox import client, wire
from tests.process.pages import Page, hub_with, toolbars, write
from tests.process.versions import run_copy
from tests.wait import wait_until

pytestmark = [pytest.mark.process]

KIB, MIB = 1024, 1024 * 1024


def fill(place, count, size):
    """A log of `count` events of `size` bytes, put into the database of a hub that is not there."""
    payload = json.dumps({"text": "x" * size})
    path = place.project / ".pinbox" / "pinbox.db"
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.executemany(
            "INSERT INTO pins_event (seq, type, at, subject, payload)"
            " VALUES (?, 'pin.created', '2026-01-01T00:00:00.000Z', 'pin_aaaaaaaaaa', ?)",
            ((seq, payload) for seq in range(1, count + 1)),
        )


def memory(pid):
    """Resident bytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * KIB
    raise AssertionError(f"process {pid} has no size")


@pytest.fixture
def page(daemon):
    made = Page(daemon)
    yield made
    made.leave()


# --- nothing is missed ------------------------------------------------------------------------


def test_a_page_that_reads_nothing_for_long_gets_every_event_in_the_end(daemon, page):
    page.join(max_queue=1)
    for round_ in range(5):
        write(daemon, 100)
        neighbour = Page(daemon)
        neighbour.join()
        neighbour.read_until((round_ + 1) * 100)
        neighbour.leave()
    page.read_until(500)
    assert page.seqs == list(range(1, 501))


def test_events_of_every_size_arrive_as_they_are_stored(daemon, page):
    """One frame each, with its size in two or in eight bytes; sizes are bytes, not letters."""
    page.join()
    assert page.read()["type"] == "catch-up"
    texts = ["x", "x" * 65_000, "x" * 65_536, "ß" * 32_768, "\N{PUSHPIN}" * 16_000]
    with daemon.as_environment():
        hub = client.connect(daemon.project)
        for text in texts:
            hub.request("POST", "/pins", body={"text": text, "author": {"userId": "u"}})
    page.read_until(len(texts))
    again = Page(daemon)
    again.join()
    again.read_until(len(texts))
    again.leave()
    assert [event["payload"]["text"] for event in page.events] == texts
    assert again.events == page.events


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_page_misses_nothing_over_a_restart_of_its_hub(daemon, page, end):
    page.join()
    write(daemon, 3)
    page.read_until(3)
    write(daemon, 20)
    if end == "stop":
        daemon.run("stop")
        assert page.closed() == 1012
    else:
        os.kill(daemon.state().pid, signal.SIGKILL)
        assert page.closed() is None
    write(daemon, 5)  # starts the hub again, on the same port with the same tokens
    page.join()
    page.read_until(28)
    assert page.seqs == list(range(1, 29))


@pytest.mark.slow
def test_a_page_misses_nothing_when_its_hub_is_upgraded(place, other_version):
    old = other_version("0.0.9")
    assert run_copy(old, place, "pin", "by the old hub").returncode == 0
    before = place.state()
    page = Page(place)
    page.join()
    page.read_until(1)
    assert run_copy(old, place, "pin", "also by the old hub").returncode == 0

    place.run("pin", "by the new hub")

    assert page.closed() == 1012
    assert place.hubs() == {place.state().pid} != {before.pid}
    page.join()
    page.read_until(3)
    page.leave()
    assert page.seqs == [1, 2, 3]


# --- slow readers -----------------------------------------------------------------------------


@pytest.mark.slow
def test_memory_stays_flat_while_a_slow_reader_takes_a_long_log(daemon, page):
    count, size = 20_000, 4 * KIB  # 80 MB
    daemon.run("stop")
    fill(daemon, count, size)
    daemon.run("list")
    pid = daemon.state().pid
    before = peak = memory(pid)
    page.join(max_queue=1)
    while page.cursor < count:
        frame = page.read()
        if len(page.events) % 500 == 0 or frame["type"] == "catch-up":
            daemon.run("summary")  # slow, and the hub has something else to do as well
            peak = max(peak, memory(pid))
    assert page.seqs == list(range(1, count + 1))
    assert peak - before < 16 * MIB
    assert page.largest <= 256 * KIB


def test_a_reader_that_stands_still_is_told_to_try_later(place):
    place.run("list")
    place.run("stop")
    fill(place, 3000, 4 * KIB)  # more than fits into the buffers of two sockets
    with hub_with(place, "server._STALLED_S = 0.5"):
        page = Page(place)
        page.join(max_queue=1, ping_interval=None)
        # What it had been sent before lies in buffers, and the reason after it.
        wait_until(lambda: toolbars(place) == 0, what="the hub has given it up")
        assert page.closed() == 1013
        assert page.seqs == list(range(1, len(page.seqs) + 1))
        page.join()
        page.read_until(3000)
        page.leave()
    assert page.seqs == list(range(1, 3001))


def test_a_peer_that_gives_no_sign_of_life_is_dropped(place):
    changes = "server._PING_EVERY_S = 0.1; server._PONG_WITHIN_S = 1.5"
    with hub_with(place, changes), contextlib.ExitStack() as stack:
        page = Page(place)
        page.join()  # answers pings by itself
        page.read()
        dead = stack.enter_context(handshake(place))
        dead.sendall(frame(b'{"type":"hello","protocol":1,"consumerId":"dead","lastSeq":0}'))
        assert toolbars(place) == 2
        wait_until(lambda: toolbars(place) == 1, what="the dead one is gone")
        place.run("pin", "still here")
        page.read_until(1)
        page.leave()


def test_who_asks_and_does_not_read_fills_no_memory(place):
    place.run("list")
    with handshake(place) as deaf:
        deaf.sendall(frame(b'{"type":"hello","protocol":1,"consumerId":"deaf","lastSeq":0}'))
        wait_until(lambda: toolbars(place) == 1)
        pid = place.state().pid
        before = memory(pid)
        for _ in range(200):
            deaf.sendall(1000 * ping(b"p" * 125))
        deaf.sendall(ping(b"the last one"))
        assert memory(pid) - before < 8 * MIB
        received = bytearray()
        while not received.endswith(b"\x8a\x0cthe last one"):
            received += deaf.recv(64 * KIB)
        assert received.count(b"p" * 125) < 100_000


def ping(payload):
    return b"\x89" + frame(payload)[1:]


def handshake(place):
    """A bare connection that has become a socket and answers nothing."""
    state = place.state()
    connection = sockets.create_connection(("127.0.0.1", state.port), 10)
    connection.sendall(
        b"GET /ws?token=%b HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n" % state.page_token.encode()
    )
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(1)
    assert received.startswith(b"HTTP/1.1 101"), received
    return connection


def frame(payload):
    """A short text frame of a client, masked with zeros."""
    return bytes([0x81, 0x80 | len(payload)]) + bytes(4) + payload


# --- what is left behind ----------------------------------------------------------------------


def test_a_token_in_the_address_is_in_no_log(daemon):
    state = daemon.state()
    for token in (state.token, state.page_token, "wrong-" + state.token):
        address = f"ws://127.0.0.1:{state.port}/ws?token={token}"
        with connect(address) as socket:
            with contextlib.suppress(ConnectionClosed):  # a wrong one was closed at once
                socket.send("no hello")
            wait_until(lambda: socket.close_code, what="it was closed")
    daemon.run("stop")
    assert daemon.log()
    assert state.token not in daemon.log()
    assert state.page_token not in daemon.log()


def test_sockets_and_requests_leave_no_database_open(daemon):
    pid = daemon.state().pid
    state = daemon.state()

    def handles():
        links = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
        return len(links), sum("pinbox.db" in link for link in links)

    def use(times):
        for _ in range(times):
            page = Page(daemon)
            page.join()
            page.read()
            page.leave()
            for _ in range(4):
                answer = wire.exchange(
                    state.port, "GET", "/pins", (("Authorization", f"Bearer {state.token}"),)
                )
                assert answer[0] == 200

    use(20)
    wait_until(lambda: toolbars(daemon) == 0)
    before = handles()
    use(500)
    wait_until(lambda: handles() <= before, what="every handle is closed again")


def test_a_page_on_which_nothing_happens_lets_its_hub_leave(place):
    place.environ["PINBOX_IDLE_MS"] = "1"
    with hub_with(place, "live.LIVELY_S = 2.0"):
        page = Page(place)
        page.join()
        page.read()
        assert page.closed() == 1012
        assert "idle" in place.log()
