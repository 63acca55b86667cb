"""The worker: takes what is due, has adapters bring it out, folds what they saw into the ledger.

A row is claimed with a lease before anything leaves the hub, and no transaction is open while an
adapter works, so a worker that dies at any instant repeats at most what it had in hand, under the
same delivery id. See docs/architecture.md, "The worker ticks".
"""

import logging
import os
import queue
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import count
from typing import Final

from django.db import DatabaseError, close_old_connections, connection
from django.db.models import F, Max, Min, Q, QuerySet

from pinbox import project
from pinbox.faults import place_of
from pins.event_log import writer
from pins.models import Event
from sessions_app import services as sessions
from sessions_app.liveness import Farewell, Presence, Process, is_running, presence
from sessions_app.models import AgentSession

from . import clock, handover, ledger, notices, outcome, reach, retry, wake
from .adapters import DeliveryFailed, Parcel
from .models import Attempt, Delivery
from .outcome import Job, Result

log = logging.getLogger(__name__)

#: Deliveries under way at once. A thread of the pool does nothing but wait for its adapter.
_POOL: Final = 32
#: Deliveries under way at once that are for no session: they all go to one address.
_UNASSIGNED: Final = 4
#: Rows of one session looked at for one parcel that may carry several.
_ROWS: Final = 120
#: Seconds beyond an adapter's own deadline before its rows are anybody's.
_LEASE_MARGIN_S: Final = 60
#: Seconds after which it looks anew, whatever is due: processes end without a word, clocks jump.
_LOOK_S: Final = 30
#: Seconds until it looks again at what is due, but behind something else.
_STUCK_S: Final = 1.0
#: Seconds of rest after a fault of our own, so that it cannot become a busy loop.
_REST_S: Final = 5
#: Seconds that deliveries under way get when the worker is told to stop; `pinbox stop` waits five.
STOP_S: Final = 3.5
#: The wall clock was set when it is off by more: ordinary correction is slower.
_JUMP: Final = timedelta(seconds=5)

#: Before every lease: "later than this" finds an index that "not null" does not.
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)

_PENDING: Final = Delivery.Status.PENDING
_numbers = count(1)


def delivery_id(event: Event) -> str:
    """The id of an event's delivery, the same for ever: it depends on nothing but the event."""
    digest = sha256(f"{event.seq}/{event.at}/{event.payload}".encode("utf-8", "surrogatepass"))
    return f"dlv_{digest.hexdigest()[:24]}"


class Worker:
    """One worker. `tick` does one round in the caller's thread; `run` goes on until `stop`."""

    def __init__(self, name: str | None = None) -> None:
        mark = project.process_start(os.getpid()) or ""
        self.name = name or f"{socket.gethostname()}:{os.getpid()}:{mark}:{next(_numbers)}"
        self._inbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._sleeps_until: datetime | None = None
        self._leaving = threading.Event()
        self._in_hand = 0
        #: Of each row that we took, by its id: a lease can run out, and we take the row again.
        self._last_job: dict[int, Job] = {}
        self._is_stuck = False
        #: Whether something is under way or will be due soon: the hub must not leave.
        self.has_work = True

    # --- one round --------------------------------------------------------------------------------

    def tick(self, now: datetime | None = None) -> tuple[int, datetime | None]:
        """Deliver what is due, one after the other. Returns how many rows were taken in hand, and
        when something is due next. With `now`, time stands still.
        """
        done = 0
        # One at a time: the lease of the next must not run while this one is under way.
        while not self._leaving.is_set() and (jobs := self.claim(now or clock.now(), most=1)):
            for job in jobs:
                result = self.perform(job, spawned=partial(_runs_as, job))
                self.fold(result, now or clock.now())
                done += len(job.row_ids)
        return done, self.next_due(now or clock.now())

    def claim(self, now: datetime, most: int = _POOL) -> list[Job]:
        """Take in hand what is due, and move on what cannot be delivered as it is. One transaction;
        the at most `most` jobs it returns are nobody else's until their lease ends.
        """
        # Looked at without the lock: most often nothing is due.
        if not _due(now).exists() and not _claimed(now, is_over=True).exists():
            return []
        with writer():
            self._give_back_what_was_lost(now)
            in_hand = Counter(_claimed(now).values_list("session_id", flat=True))
            jobs: list[Job] = []
            for session_id, adapter in _due_groups(now):
                room = (1 if session_id else _UNASSIGNED) - in_hand[session_id]
                room = min(room, most - len(jobs))
                if room > 0:
                    jobs += self._claim_group(session_id, adapter, room, now)
                    in_hand.update(job.session_id for job in jobs)
            return jobs

    def _claim_group(
        self, session_id: str | None, adapter: str, most: int, now: datetime
    ) -> list[Job]:
        """At most `most` jobs for the due rows of one session that are with one adapter."""
        session = AgentSession.objects.filter(pk=session_id).first() if session_id else None
        rows = _due(now).filter(session_id=session_id, adapter=adapter)
        if session_id and session is None:
            outcome.fail(rows, "E_SESSION_GONE: the session is not known any more", now)
            return []
        reachable = list(reach.reachable(session, now=now))
        unsure = rows.exclude(pushed_at=None)
        _move_on(unsure, adapter, reachable, now)
        rows = rows.filter(pushed_at=None)
        if adapter in retry.PULLS:
            _move_on(rows, adapter, reachable, now)
            # What moved on to a push is due now: taken in the same round.
            moved = retry.following(adapter, reachable)
            if moved is None or moved in retry.PULLS:
                return []
            adapter = moved
            rows = _due(now).filter(session_id=session_id, adapter=adapter, pushed_at=None)
        elif adapter not in reachable:
            first, due_at = reach.first(session, now=now)
            rows.update(adapter=first, due_at=due_at, updated_at=now)
            if first in retry.PULLS:
                return []
            adapter = first
            rows = _due(now).filter(session_id=session_id, adapter=adapter, pushed_at=None)
        if session and reach.is_asking(session, now=now):
            _join_a_wake(session, rows, now)
        if session and adapter == "resume" and presence(session, now=now) is not Presence.GONE:
            rows.update(due_at=now + retry.LEAVING_WAIT)
            return []
        return list(self._jobs(session, adapter, rows, most, now))

    def _jobs(
        self,
        session: AgentSession | None,
        adapter: str,
        rows: QuerySet[Delivery],
        most: int,
        now: datetime,
    ) -> Iterator[Job]:
        way = reach.adapter(adapter)
        lease = now + timedelta(seconds=way.timeout_s() + _LEASE_MARGIN_S)
        is_asking = reach.is_asking(session, now=now)
        oldest = list(rows.order_by("event_seq")[: _ROWS if way.TAKES_MANY else most])
        for some in [oldest] if way.TAKES_MANY else [[row] for row in oldest]:
            newest_first = [(row.id, row.event_seq, row.pin_id) for row in reversed(some)]
            text, told = handover.for_a_push(newest_first) if session else ("", [])
            in_hand = [row for row in some if row.id in told] if way.TAKES_MANY else some
            event = in_hand and Event.objects.filter(pk=in_hand[0].event_seq).first()
            if not event:
                outcome.fail(rows.filter(pk__in=[row.id for row in some]), _NO_EVENT, now)
                continue
            is_wake = adapter == "codex" or (
                adapter == "openclaw" and _may_wake(in_hand[0], is_asking)
            )
            taken = rows.filter(pk__in=[row.id for row in in_hand], status=_PENDING).update(
                claimed_by=self.name,
                claimed_until=lease,
                pushed_at=now,
                is_wake=is_wake,
                updated_at=now,
            )
            if taken != len(in_hand):
                raise RuntimeError("a row changed under the write lock")
            job = Job(
                row_ids=[row.id for row in in_hand],
                adapter=adapter,
                session_id=session.id if session else None,
                parcel=Parcel(
                    id=delivery_id(event),
                    event_seq=event.seq,
                    event_type=event.type,
                    event_at=event.at,
                    payload=event.payload,
                    pin_id=event.subject,
                    target=reach.target(session, now=now),
                    text=text,
                    attempt=in_hand[0].attempts + 1,
                    is_wake=is_wake,
                ),
            )
            self._last_job.update(dict.fromkeys(job.row_ids, job))
            yield job

    def perform(self, job: Job, *, spawned: Callable[[Process], None]) -> Result:
        """Have the adapter deliver. Never raises, and touches no database."""
        began = time.monotonic()
        arrived, ended = None, None
        try:
            arrived = reach.adapter(job.adapter).deliver(
                job.parcel, spawned=spawned, stop=self._leaving
            )
        except DeliveryFailed as error:
            ended = error
        except Exception as error:  # an edge: whatever an adapter does, its row must not hang
            _log_fault(f"delivery {job.parcel.id} by {job.adapter}", error)
            ended = DeliveryFailed(f"a fault of ours: {type(error).__name__}", reason="answer")
        took = timedelta(seconds=time.monotonic() - began)
        return Result(job=job, took=took, arrived=arrived, ended=ended)

    def fold(self, result: Result, now: datetime) -> None:
        """Write down how an attempt went, and what follows from it."""
        job = result.job
        with writer():
            session = None
            if job.session_id:
                session = AgentSession.objects.filter(pk=job.session_id).first()
            for row in Delivery.objects.filter(pk__in=job.row_ids):
                outcome.record(row, result, now)
                is_last = self._last_job.get(row.id) is job
                if is_last:
                    del self._last_job[row.id]
                if not is_last or row.claimed_by != self.name:
                    continue  # it took so long that another attempt has it by now
                if row.status == _PENDING:
                    outcome.settle(row, result, now)
                else:
                    row.pushed_at = None  # the session gave a sign of it meanwhile
                row.claimed_by, row.claimed_until = "", None
                row.save(force_update=True)
                wake.at(row.due_at)
            is_refused = result.ended is not None and result.ended.reason == "refused"
            # Unless it was heard of since.
            if is_refused and session and session.last_seen_at <= now - result.took:
                outcome.has_gone(session, now)
        log.info(
            "delivery %s by %s: %s in %d ms",
            job.parcel.id,
            job.adapter,
            outcome.outcome_of(result),
            result.took / timedelta(milliseconds=1),
        )

    def _give_back_what_was_lost(self, now: datetime) -> None:
        """Rows whose worker died, or did not come back in time: nobody saw how the attempt went."""
        for row in _claimed(now, is_over=True):
            is_pending = row.status == _PENDING
            duration = now - row.pushed_at if row.pushed_at else timedelta()
            Attempt.objects.create(
                delivery=row,
                adapter=row.adapter,
                session_id=row.session_id or "",
                at=row.pushed_at or now,
                duration_ms=max(0, duration // timedelta(milliseconds=1)),
                outcome=Attempt.Outcome.LOST,
                error="the hub ended in the middle of it",
            )
            losses = row.tries.filter(outcome=Attempt.Outcome.LOST).count()
            row.claimed_by, row.claimed_until, row.pushed_at = "", None, None
            # A person may try it again, as often as it takes: what was before counts no more.
            if is_pending and losses % retry.MAX_LOSSES == 0:
                row.status = Delivery.Status.FAILED
                row.due_at = None
                row.last_error = f"E_DELIVERY: the hub ended {losses} times in the middle of it"
            elif is_pending and not outcome.redirect(row, now):
                row.due_at = now
            row.updated_at = now if is_pending else row.updated_at
            row.save(force_update=True)

    def next_due(self, now: datetime) -> datetime | None:
        """When something falls due that can be taken then: rows in hand, and those behind them, are
        looked at when their job is done.
        """
        busy = _claimed(now).exclude(session_id=None).values("session_id")
        waiting = Delivery.objects.filter(status=_PENDING, due_at__isnull=False, claimed_by="")
        due = waiting.exclude(session_id__in=busy).aggregate(at=Min("due_at"))["at"]
        over = Delivery.objects.filter(claimed_until__gt=_EVER)
        lease = over.exclude(claimed_by=self.name).aggregate(at=Min("claimed_until"))["at"]
        return min((at for at in (due, lease) if at is not None), default=None)

    # --- going on ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Deliver until `stop` is called. Adapters work on a pool; this thread alone touches the
        database.
        """
        pool = ThreadPoolExecutor(_POOL, thread_name_prefix="adapter")
        wake.listen(self._wake)
        notices.listen(self.poke, self._leaving)
        try:
            self._once(self._begin)
            while not self._leaving.is_set():
                self._once(lambda: self._round(pool))
                self._wait()
            self._finish()
        finally:
            wake.stop_listening(self._wake)
            pool.shutdown(wait=False, cancel_futures=True)
            connection.close()

    def stop(self) -> None:
        """End soon: what is under way is told to end, and its rows are given back. Callable from
        any thread, and from a signal handler.
        """
        # By its own thread: a signal handler must not take the lock of an event.
        self._inbox.put(self._leaving.set)

    def poke(self) -> None:
        """Look at once. Callable from any thread."""
        self._inbox.put(None)

    def _wake(self, due_at: datetime) -> None:
        self.has_work = True
        sleeps_until = self._sleeps_until
        if sleeps_until is None or due_at < sleeps_until:
            self._inbox.put(None)

    def _once(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception as error:  # an edge: the worker outlives a fault of one round
            _log_fault("a round of the worker", error)
            close_old_connections()
            self._leaving.wait(_REST_S)

    def _begin(self) -> None:
        """What had no way out may have one by now: the settings are new ones."""
        now = clock.now()
        with writer():
            stuck = Delivery.objects.filter(status=_PENDING, due_at=None, claimed_by="")
            name, due_at = reach.first(None, now=now)
            if due_at is not None:
                stuck.filter(session_id=None).update(adapter=name, due_at=due_at, updated_at=now)
            stuck.exclude(session_id=None).update(due_at=now + reach.window())

    def _round(self, pool: ThreadPoolExecutor) -> None:
        if connection.vendor == "sqlite":
            follow_the_wall()
        now = clock.now()
        _notice_the_dead(now)
        room = _POOL - self._in_hand
        jobs = self.claim(now, most=room) if room > 0 else []
        self._is_stuck = not jobs
        for job in jobs:
            self._in_hand += 1
            pool.submit(self._work, job)

    def _work(self, job: Job) -> None:
        """In a thread of the pool."""
        result = self.perform(job, spawned=lambda process: self._have_recorded(job, process))
        self._inbox.put(lambda: self._folded(result))

    def _folded(self, result: Result) -> None:
        self._in_hand -= 1
        self.fold(result, clock.now())

    def _have_recorded(self, job: Job, process: Process) -> None:
        """In a thread of the pool: returns when the process is on record."""
        done = threading.Event()
        failed: list[BaseException] = []

        def record() -> None:
            try:
                _runs_as(job, process)
            except BaseException as error:
                failed.append(error)
                raise
            finally:
                done.set()

        self._inbox.put(record)
        if not done.wait(_LEASE_MARGIN_S / 2) or failed:
            raise DeliveryFailed("the started agent could not be put on record", reason="answer")

    def _wait(self) -> None:
        """Sleep until something is due, is finished, or is told by a wake."""
        wait_s = float(_LOOK_S)
        with suppress(DatabaseError):
            now = clock.now()
            due = self.next_due(now)
            self.has_work = self._in_hand > 0 or _keeps_awake(now)
            self._sleeps_until = now + timedelta(seconds=wait_s)
            if due is not None and due < self._sleeps_until and self._in_hand < _POOL:
                self._sleeps_until = due
                # What is due and was not taken is behind others: in our hand, or another worker's.
                least = _STUCK_S if self._is_stuck and due <= now else 0.0
                wait_s = max(least, (due - now).total_seconds())
        if not self._inbox.empty():
            wait_s = 0.0
        self._take_messages(wait_s)

    def _take_messages(self, wait_s: float) -> None:
        """What others had to say, all of it; waits for the first."""
        with suppress(queue.Empty):
            message = self._inbox.get(timeout=wait_s) if wait_s else self._inbox.get_nowait()
            while True:
                if message is not None:
                    self._once(message)
                message = self._inbox.get_nowait()

    def _finish(self) -> None:
        """Take what comes to its end in time, give the rest back."""
        until = time.monotonic() + STOP_S
        while self._in_hand and (left := until - time.monotonic()) > 0:
            self._take_messages(left)
        self._once(self._release)

    def _release(self) -> None:
        now = clock.now()
        with writer():
            for row in Delivery.objects.filter(claimed_until__gt=_EVER, claimed_by=self.name):
                began = row.pushed_at or now
                Attempt.objects.create(
                    delivery=row,
                    adapter=row.adapter,
                    session_id=row.session_id or "",
                    at=began,
                    duration_ms=max(0, (now - began) // timedelta(milliseconds=1)),
                    outcome=Attempt.Outcome.RELEASED,
                    error="the hub left in the middle of it",
                )
                row.claimed_by, row.claimed_until, row.pushed_at = "", None, None
                if row.status == _PENDING and not outcome.redirect(row, now):
                    row.due_at = now
                row.save(force_update=True)


_NO_EVENT: Final = "E_DELIVERY: what it is about is not in the log"


def _log_fault(what: str, error: Exception) -> None:
    """Where it happened, but not what it says: that may quote a pin."""
    log.error("%s: %s, at %s", what, type(error).__qualname__, place_of(error))
    log.debug("%s", what, exc_info=error)


# --- rows -----------------------------------------------------------------------------------------


def _due(now: datetime) -> QuerySet[Delivery]:
    return Delivery.objects.filter(status=_PENDING, due_at__lte=now, claimed_by="")


def _claimed(now: datetime, *, is_over: bool = False) -> QuerySet[Delivery]:
    """Rows in somebody's hand, or whose lease is over. A session may have given a sign of one in
    hand meanwhile; whoever brings it is at work all the same.
    """
    rows = Delivery.objects.filter(claimed_until__gt=_EVER).order_by()
    dead = [name for name in rows.values_list("claimed_by", flat=True).distinct() if _is_dead(name)]
    # The lease of a worker that is gone is over, whatever the clock says.
    over = Q(claimed_until__lt=now) | Q(claimed_by__in=dead)
    return rows.filter(over) if is_over else rows.exclude(over)


def _is_dead(name: str) -> bool:
    """Whether the worker of that name was a process of this machine that is gone."""
    host, _, rest = name.partition(":")
    pid, _, rest = rest.partition(":")
    start, _, _ = rest.rpartition(":")
    if host != socket.gethostname() or not pid.isdecimal() or not start:
        return False
    return int(pid) != os.getpid() and not is_running(Process(int(pid), start))


def _due_groups(now: datetime) -> list[tuple[str | None, str]]:
    """(session, adapter) of what is due, those that wait longest first."""
    groups = _due(now).order_by().values("session_id", "adapter").annotate(at=Min("due_at"))
    return [(group["session_id"], group["adapter"]) for group in groups.order_by("at")]


def _keeps_awake(now: datetime) -> bool:
    """Whether anything pending can still get somewhere by itself. A pull that has waited for its
    window, and found no other way, waits for its session, and not for us.
    """
    waiting = Delivery.objects.filter(status=_PENDING, due_at__isnull=False)
    first_window = F("updated_at") + reach.window() + timedelta(seconds=1)
    is_push = ~Q(adapter__in=retry.PULLS) | Q(pushed_at__isnull=False)
    return waiting.filter(is_push | Q(due_at__lte=first_window)).exists()


def _move_on(rows: QuerySet[Delivery], adapter: str, reachable: list[str], now: datetime) -> None:
    """Nothing came of them within the window."""
    for attempts in set(rows.values_list("attempts", flat=True)):
        verdict = retry.after_window(
            adapter=adapter, attempts=attempts, reachable=reachable, window=reach.window()
        )
        some = rows.filter(attempts=attempts)
        if verdict.has_failed:
            outcome.fail(some, verdict.error or "", now, attempts=verdict.attempts)
        elif verdict.adapter == adapter and adapter in retry.PULLS:
            # Nothing changed, so nothing says that it did.
            some.update(due_at=now + (verdict.wait or reach.window()))
        else:
            some.update(
                adapter=verdict.adapter,
                due_at=now + (verdict.wait or timedelta()),
                attempts=verdict.attempts,
                pushed_at=None,
                updated_at=now,
                **({"last_error": verdict.error} if verdict.error else {}),
            )


def _may_wake(row: Delivery, is_asking: bool) -> bool:
    """Whether its push is a wake. One that was tried may have been read: it stays what it was."""
    return row.is_wake if row.tries.filter(adapter="openclaw").exists() else is_asking


def _join_a_wake(session: AgentSession, rows: QuerySet[Delivery], now: datetime) -> None:
    """A wake that is on its way to the session makes it ask for these too."""
    on_its_way = Delivery.objects.filter(
        session_id=session.id, status=_PENDING, is_wake=True, pushed_at__isnull=False, claimed_by=""
    )
    until = on_its_way.filter(due_at__gt=now).aggregate(at=Max("due_at"))["at"]
    if until is not None:
        rows.filter(adapter="openclaw", tries=None).update(
            pushed_at=now, is_wake=True, due_at=until, updated_at=now
        )


def _runs_as(job: Job, process: Process) -> None:
    with writer():
        session = AgentSession.objects.filter(pk=job.session_id).first()
        if session is not None:
            sessions.runs_as(session, process)


def _notice_the_dead(now: datetime) -> None:
    """Sessions that something waits for and whose process is gone: they have ended."""
    waiting = Delivery.objects.filter(status=_PENDING).order_by()
    ids = waiting.values_list("session_id", flat=True).distinct()
    for session in AgentSession.objects.filter(pk__in=ids, pid_is_ours=True):
        if presence(session, now=now) is Presence.GONE:
            with writer():
                session.refresh_from_db()
                if presence(session, now=now) is not Presence.GONE:
                    continue
                if session.ended_at is None:
                    ledger.end_session(session, now=now, by=Farewell.PROCESS)
                elif waiting.filter(session_id=session.id, adapter__in=retry.PULLS).exists():
                    # It had said goodbye and was there all the same, so it might have asked.
                    ledger.reroute(session, now=now)


def follow_the_wall() -> None:
    """The wall clock was set, or the machine slept: what is due moves by as much, and both clocks
    agree again. For the one worker of a local hub; a server's clock is kept by others.
    """
    jump = clock.clock.ahead_of_us()
    if abs(jump) < _JUMP:
        return
    log.info("the clock was set by %d s", jump.total_seconds())
    with writer():
        # All that is compared with the clock, so that as much time has passed as before.
        Delivery.objects.filter(status=_PENDING).update(
            due_at=F("due_at") + jump,
            pushed_at=F("pushed_at") + jump,
            updated_at=F("updated_at") + jump,
        )
        Delivery.objects.filter(claimed_until__gt=_EVER).update(
            claimed_until=F("claimed_until") + jump
        )
        sessions.move_with_the_clock(jump, before=clock.now())
        clock.clock.set_to_wall()
