"""Whatever is written, joins, drops, restarts or gets lost on the way, in whatever order: every
client ends with exactly the log.
"""

import asyncio
import json

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TransactionTestCase

from pins import live
from pins.models import Event
from pins.signals import event_committed
from tests.sockets import Process, drop, tokens
from tests.wait import wait_until

CLIENTS = 3
#: Seconds after which a process finds what no news told of.
LOOK_EVERY_S = 0.02


class LossyLayer:
    """A layer between two processes that loses, doubles, delays and invents news, as it is told."""

    def __init__(self):
        self.fate = "pass"
        self._queues = {}
        self._late = []

    async def new_channel(self):
        return f"channel-{len(self._queues)}"

    async def group_add(self, group, channel):
        self._queues[channel] = asyncio.Queue()

    async def receive(self, channel):
        return await self._queues[channel].get()

    async def group_send(self, group, message):
        if self.fate == "break":
            raise ConnectionError("no layer")
        if self.fate == "delay":
            self._late.append(message)
            return
        # What was late comes after what was not.
        times = {"pass": 1, "lose": 0, "double": 2, "invent": 1}[self.fate]
        told, self._late = [message] * times + self._late, []
        if self.fate == "invent":
            told = [{**news, "seq": 10**6} for news in told]
        for queue in self._queues.values():
            for news in told:
                queue.put_nowait(dict(news))


class Client:
    """A page: keeps its cursor and what it was told, over sockets and hubs."""

    def __init__(self):
        self.events = []
        self.socket = None
        self.joins = 0

    @property
    def cursor(self):
        return self.events[-1]["seq"] if self.events else 0

    async def join(self, process):
        if self.socket is None:
            self.joins += 1
            self.socket = await process.open()
            await self.socket.hello(self.cursor)

    async def leave(self):
        """What was on its way is lost with the socket."""
        if self.socket is not None:
            await self.socket.leave()
            self.socket = None

    async def read(self):
        """One frame. Every event must follow the last one directly."""
        frame = await self.socket.frame()
        for found in frame["events"] if frame["type"] == "catch-up" else [frame]:
            assert found["seq"] == self.cursor + 1
            self.events.append(found)


class World:
    """Two processes of one hub on one log, and the layer between them."""

    async def __aenter__(self):
        self.layer = LossyLayer()
        self.clients = [Client() for _ in range(CLIENTS)]
        self.processes = [await self._start() for _ in range(2)]
        return self

    async def __aexit__(self, *_):
        for process in self.processes:
            await process.__aexit__()

    async def _start(self):
        process = Process(hears_commits=False, look_every_s=LOOK_EVERY_S, layer=lambda: self.layer)
        await process.__aenter__()
        process.live.attach()
        return process

    async def do(self, step):
        match step:
            case ("write", process, count):
                # This process wrote, so it alone hears of it by itself.
                heard = self.processes[process].live.committed
                event_committed.connect(heard)
                await drop(*["x" * 100] * count)
                event_committed.disconnect(heard)
            case ("join", process, client):
                await self.clients[client].join(self.processes[process])
            case ("drop", client):
                await self.clients[client].leave()
            case ("read", client):
                if self.clients[client].socket and not self.clients[client].socket.is_silent():
                    await self.clients[client].read()
            case ("restart", process):
                old = self.processes[process]
                for client in self.clients:
                    if client.socket in old.sockets:
                        await client.leave()
                await old.__aexit__()
                self.processes[process] = await self._start()
            case ("layer", fate):
                self.layer.fate = fate

    async def settle(self, newest):
        """Everybody is there again, and reads until it has everything."""
        for number, client in enumerate(self.clients):
            await client.join(self.processes[number % 2])
            while client.cursor < newest:
                await client.read()


PROCESS, CLIENT = st.integers(0, 1), st.integers(0, CLIENTS - 1)
FATES = ["pass", "lose", "double", "delay", "invent", "break"]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), PROCESS, st.integers(1, 12)),
        st.tuples(st.just("join"), PROCESS, CLIENT),
        st.tuples(st.just("drop"), CLIENT),
        st.tuples(st.just("read"), CLIENT),
        st.tuples(st.just("restart"), PROCESS),
        st.tuples(st.just("layer"), st.sampled_from(FATES)),
    ),
    min_size=4,
    max_size=25,
)


async def play(steps):
    async with World() as world:
        for step in steps:
            await world.do(step)
        # So that the run tells something: the last events come while everybody is somewhere.
        for process in range(2):
            await world.do(("write", process, 1))
        newest = await asyncio.to_thread(_last)
        await world.settle(newest)
        # Nothing more comes, and nothing twice.
        await world.do(("write", 0, 1))
        await world.settle(newest + 1)
        assert all(client.socket.is_silent() for client in world.clients)
        # As soon as news passes, each process knows of the toolbars of both.
        world.layer.fate = "pass"
        for live_log in [process.live for process in world.processes]:
            await asyncio.to_thread(wait_until, lambda log=live_log: log.toolbars == CLIENTS)
        event(f"joins: {max(client.joins for client in world.clients)}")
        return [client.events for client in world.clients]


def _last():
    from django.db import connection

    from pins import event_log

    try:
        return event_log.last_seq()
    finally:
        connection.close()


class TestEveryClientEndsWithExactlyTheLog(TransactionTestCase):
    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(STEPS, st.sampled_from([300, 2000, live.PAGE_BYTES]))
    def test_for_any_interleaving(self, steps, page_bytes):
        Event.objects.all().delete()
        before = live.PAGE_BYTES, live.QUICK_PAGE_BYTES
        live.PAGE_BYTES, live.QUICK_PAGE_BYTES = page_bytes, 3 * page_bytes
        try:
            with tokens():
                told = asyncio.run(play(steps))
        finally:
            live.PAGE_BYTES, live.QUICK_PAGE_BYTES = before
        log = [(e.seq, e.type, e.at, json.loads(e.payload)) for e in Event.objects.order_by("seq")]
        for events in told:
            assert [(e["seq"], e["eventType"], e["at"], e["payload"]) for e in events] == log
