"""The end of the log, for everyone in this process who follows it: who waits for news, and the
pages they share. The protocol of a socket is `consumers`' business.

News is only ever "there is something newer than N". What it is comes from the log, so news that is
lost, doubled or late costs time and no event: whoever follows looks for itself every LOOK_EVERY_S.
Processes that share a log tell each other how many toolbars they have along with it.
"""

import asyncio
import contextlib
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from channels.layers import get_channel_layer
from django.db import DatabaseError, connections

from pinbox.faults import Outage

from . import attachments, statements

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Bytes in the frames of one page. An event that is larger is a page of its own.
PAGE_BYTES: Final = 64 * 1024
#: The same for who takes a page at once, as long as there are not more than so many followers: a
#: page costs some 300 us however small it is, and each follower may leave one lying in memory.
QUICK_PAGE_BYTES: Final = 512 * 1024
_FEW: Final = 32
PAGE_EVENTS: Final = 2000
#: Events asked for first: what an event weighs is known only then, and it may be a mebibyte.
_FIRST_EVENTS: Final = 8
#: Pages kept for others who come to the same place, besides those under way.
_PAGES: Final = 16
#: Seconds for which a page is kept: addresses of attachments in it get old.
_PAGE_KEPT_S: Final = 600.0
#: Seconds between two looks at the log while somebody follows.
LOOK_EVERY_S: Final = 2.0
#: Seconds after which a log that could not be read is tried again.
_RETRY_S: Final = 1.0
#: The same for a layer that is not there, in the end.
_LONGEST_RETRY_S: Final = 30.0
#: Seconds a layer may take for a message.
_TELL_S: Final = 5.0
#: How often another process may fail to say how many toolbars it has, before it counts as gone.
_TOLD_TIMES: Final = 3
#: Seconds for which followers who saw nothing new still count as somebody's work: a page that was
#: left open over night does not keep a hub for ever.
LIVELY_S: Final = 12 * 3600.0

_GROUP: Final = "pinbox.log"


class Page(NamedTuple):
    """Events that follow a place in the log, as frames of the socket in UTF-8, and the seq of the
    last.
    """

    frames: list[bytes]
    last: int
    #: By the monotonic clock.
    read_at: float


class LogEnds(NamedTuple):
    """`last` is the newest seq, 0 in an empty log. `first` tells this log from another that began
    anew in its place: the subject of its first event, None in an empty log.
    """

    last: int
    first: str | None


class Layer(Protocol):
    """What is used of a Channels layer."""

    async def new_channel(self) -> str: ...
    async def group_add(self, group: str, channel: str) -> None: ...
    async def receive(self, channel: str) -> dict[str, Any]: ...
    async def group_send(self, group: str, message: dict[str, Any]) -> None: ...


def read_page(after: int, page_bytes: int) -> Page:
    """The events after a seq that fit into so many bytes, at least one; no frames where there are
    none.
    """
    frames: list[bytes] = []
    size, last, wanted = 0, after, _FIRST_EVENTS
    read_at, now = time.monotonic(), time.time()
    while True:
        rows = statements.events_after(last, wanted)
        for seq, kind, at, payload in rows:
            # Every socket gets the same page, and a page's own view of it: without paths.
            if attachments.REFERENCE in payload:
                payload = attachments.filled(payload, now)
            frame = (
                f'{{"type":"event","seq":{seq},"eventType":"{kind}","at":"{at}",'
                f'"payload":{payload}}}'
            ).encode()
            size += len(frame)
            if size > page_bytes and frames:
                return Page(frames, last, read_at)
            frames.append(frame)
            last = seq
        room = min((page_bytes - size) * len(frames) // (size or 1), PAGE_EVENTS - len(frames))
        if len(rows) < wanted or room <= 0:
            return Page(frames, last, read_at)
        wanted = room


class LiveLog:
    """Follows the log for the sockets of one event loop.

    `newer`, `followers`, `keepers` and `toolbars` may be used from any thread, all else from the
    loop only.
    """

    def __init__(
        self,
        *,
        look_every_s: float = LOOK_EVERY_S,
        clock: Callable[[], float] = time.monotonic,
        layer: Callable[[], Layer | None] = lambda: None,
    ) -> None:
        #: Sockets that said hello.
        self.followers = 0
        #: Those among them that keep the hub here.
        self.keepers = 0
        self._look_every_s = look_every_s
        self._clock = clock
        self._make_layer = layer
        self._layer: Layer | None = None
        self._lively_until = clock()
        self._newest = 0
        #: The newest event of this process' own.
        self._written = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._reading = Outage(
            logger, "the log cannot be read just now", "the log can be read again"
        )
        self._news = asyncio.Event()
        self._pages: OrderedDict[int, asyncio.Task[Page]] = OrderedDict()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._looking: asyncio.Task[None] | None = None
        # Among the processes that share the log.
        self._name = secrets.token_hex(4)
        self._telling: asyncio.Task[None] | None = None
        self._untold = False
        self._passing = Outage(
            logger,
            "news does not pass between processes just now",
            "news passes between processes again",
        )
        #: Toolbars of another process, and until when it is good, by the clock.
        self._others: dict[str, tuple[int, float]] = {}

    # --- news -------------------------------------------------------------------------------------

    def committed(self, sender: object, *, seq: int, **_: object) -> None:
        """Receiver of `event_committed`."""
        self.newer(seq)

    def newer(self, seq: int) -> None:
        """The log has an event of this seq, written by this process. From any thread."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                # What a plain thread puts into a loop's queues does not wake the loop; this does.
                loop.call_soon_threadsafe(self._publish, seq)

    def _publish(self, seq: int) -> None:
        self._written = max(seq, self._written)
        self._hear(seq)
        self._tell_others()

    def _hear(self, seq: int) -> None:
        if seq > self._newest:
            self._newest = seq
            self._lively_until = self._clock() + LIVELY_S
            self._news.set()
            self._news.clear()

    def _tell_others(self) -> None:
        """Let other processes know how things stand here: in one message, whatever comes while one
        is under way.
        """
        self._untold = True
        if self._layer is not None and (self._telling is None or self._telling.done()):
            self._telling = self._start(self._tell(self._layer))

    async def _tell(self, layer: Layer) -> None:
        while self._untold:
            self._untold = False
            news = {
                "type": "log.newer",
                "seq": self._written,
                "from": self._name,
                "toolbars": self.keepers,
            }
            try:
                async with asyncio.timeout(_TELL_S):
                    await layer.group_send(_GROUP, news)
            except Exception as error:  # whatever a layer raises: the others look for themselves
                self._passing.begins(error)
            else:
                self._passing.ends()

    async def _keep_telling(self) -> None:
        while True:
            self._tell_others()
            await asyncio.sleep(self._look_every_s)

    async def _listen(self, layer: Layer) -> None:
        """Hear what other processes know, for as long as this one lives."""
        wait_s = _RETRY_S
        while True:
            try:
                channel = await layer.new_channel()
                await layer.group_add(_GROUP, channel)
                while True:
                    self._hear_from(await layer.receive(channel))
                    wait_s = _RETRY_S
            except Exception as error:  # whatever a layer raises: until it is back, we look
                self._passing.begins(error)
                await asyncio.sleep(wait_s)
                # Each try leaves a queue behind in Redis' layer.
                wait_s = min(2 * wait_s, _LONGEST_RETRY_S)

    def _hear_from(self, news: dict[str, Any]) -> None:
        self._hear(int(news["seq"]))
        if news["from"] != self._name:
            good_until = self._clock() + _TOLD_TIMES * self._look_every_s
            self._others[news["from"]] = (int(news["toolbars"]), good_until)

    @property
    def toolbars(self) -> int:
        """Sockets of pages, as far as it is known those of other processes too."""
        now = self._clock()
        others = list(self._others.items())
        for name, (_, good_until) in others:
            if good_until < now:
                self._others.pop(name, None)
        return self.keepers + sum(count for _, (count, until) in others if until >= now)

    async def _keep_looking(self) -> None:
        """Find what no news told of. Ends with the last follower."""
        while self.followers:
            await asyncio.sleep(self._look_every_s)
            await self.ends()

    # --- following --------------------------------------------------------------------------------

    def attach(self) -> None:
        """Belong to the running loop, so that news can wake it. May be called again."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        self._loop = loop
        self._layer = self._make_layer()
        if self._layer is not None:
            self._start(self._listen(self._layer))
            self._start(self._keep_telling())

    @contextlib.contextmanager
    def following(self, *, keeps_hub: bool = True) -> Iterator[None]:
        """One more follower, until left. Who can start a hub itself need not keep this one."""
        self.attach()
        if keeps_hub:
            self._lively_until = self._clock() + LIVELY_S
        self.followers += 1
        self.keepers += keeps_hub
        self._tell_others()
        if self._looking is None or self._looking.done():
            self._looking = self._start(self._keep_looking())
        try:
            yield
        finally:
            self.followers -= 1
            self.keepers -= keeps_hub
            self._tell_others()

    def is_lively(self) -> bool:
        """Whether somebody needs the hub to follow, and something happened in the last LIVELY_S
        seconds.
        """
        return self.keepers > 0 and self._clock() < self._lively_until

    async def ends(self) -> LogEnds:
        found = await self._read(lambda: LogEnds(*statements.log_ends()))
        self._hear(found.last)
        return found

    async def page_after(self, seq: int, *, quick: bool = False) -> Page:
        """What follows `seq` in the log; waits until there is something. All who stand at the same
        place get the same page, read once. `quick`: a large one will not lie around for long.
        """
        task = self._pages.get(seq)
        if task is None or _is_stale(task):
            self._drop_old_pages()
            task = self._pages[seq] = asyncio.get_running_loop().create_task(
                self._next_page(seq, quick=quick)
            )
        # Shielded: one who leaves does not take it from the others.
        return await asyncio.shield(task)

    def _drop_old_pages(self) -> None:
        done = [seq for seq, task in self._pages.items() if task.done()]
        for seq in done[: max(0, len(done) - _PAGES + 1)]:
            del self._pages[seq]

    async def _next_page(self, after: int, *, quick: bool) -> Page:
        while True:
            seen = self._newest
            if seen > after:
                large = quick and self.followers <= _FEW
                read = partial(read_page, after, QUICK_PAGE_BYTES if large else PAGE_BYTES)
                page = await self._read(read)
                if page.frames:
                    return page
                if self._newest != seen:
                    continue
                self._newest = after  # the news was wrong
            await self._news.wait()

    async def _read(self, query: Callable[[], T]) -> T:
        """What the query returns, in the thread that reads the log. While the database cannot be
        used, waits for it.
        """
        self.attach()
        loop = asyncio.get_running_loop()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="live-log")
        while True:
            try:
                found = await loop.run_in_executor(self._thread, _fresh, query)
            except DatabaseError as error:
                self._reading.begins(error)
                await asyncio.sleep(_RETRY_S)
            else:
                self._reading.ends()
                return found

    # --- ending -----------------------------------------------------------------------------------

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)  # a loop holds its tasks weakly
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """End everything that was started. For tests: a hub's process ends with it."""
        tasks = [*self._tasks, *self._pages.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._pages.clear()
        self._loop = None
        if self._thread is not None:
            self._thread.submit(connections.close_all).result()
            self._thread.shutdown()
            self._thread = None


def _is_stale(task: "asyncio.Task[Page]") -> bool:
    return task.done() and time.monotonic() - task.result().read_at > _PAGE_KEPT_S


def _fresh(query: Callable[[], T]) -> T:
    for connection in connections.all(initialized_only=True):
        connection.close_if_unusable_or_obsolete()
    return query()


#: This process's own. `committed` is connected to its signal when Django is ready; the server
#: attaches it to its loop, else the first socket does.
live_log = LiveLog(layer=get_channel_layer)
