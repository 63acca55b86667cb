"""deliveries: what became of what was sent, looked at or waited for."""

from __future__ import annotations

from pinbox import render
from pinbox.commands import delivery_page as page
from pinbox.commands import hub as hubs
from pinbox.commands.pins import LIMIT
from pinbox.commands.verb import Answer, Argument, Option, Verb
from pinbox.contract import PinboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from pinbox.client import Hub
    from pinbox.commands.verb import Args

#: Seconds that --wait waits unless told otherwise, and the most it can be told.
WAIT_S: Final = 300
MAX_WAIT_S: Final = 86_400
#: Seconds between two looks: the first ones, and later.
_FIRST_PAUSE_S: Final = 0.2
_LAST_PAUSE_S: Final = 1.0
#: Seconds for which a hub that cannot be reached is asked again.
_PATIENCE_S: Final = 30.0


# --- deliveries ----------------------------------------------------------------------------------


def deliveries(args: Args) -> Answer:
    pin_id, status, limit = args.get("pin"), args.get("status"), args.get("limit")
    if args.has("wait"):
        if pin_id is None:
            raise _refused("--wait needs a pin: whose deliveries to wait for")
        hubs.pin_path(pin_id)
        hub = hubs.open_hub()
        rows = _settled(hub, pin_id, int(args.get("timeout") or WAIT_S), args)
        rows = [row for row in rows if status in (None, row["status"])][: int(limit or len(rows))]
    elif args.get("timeout") is not None:
        raise _refused("--timeout goes with --wait")
    else:
        if pin_id is not None:
            hubs.pin_path(pin_id)
        hub = hubs.open_hub()
        rows = _rows(hub, pin_id, status=status, limit=limit)

    def human() -> tuple[str, str]:
        from time import time

        now, sessions = time(), page.sessions_of(hub, rows)
        table = [page.cells(row, sessions, now=now) for row in rows]
        return render.columns(table, screen=render.screen_width()), _count(rows)

    return Answer(rows, human)


def _refused(message: str) -> PinboxError:
    return PinboxError("E_INVALID_INPUT", message, "pinbox deliveries --help")


def _rows(hub: Hub, pin_id: str | None, **query: str | None) -> list[dict[str, Any]]:
    """Deliveries, newest first. Raises E_NOT_FOUND for a pin that is not there."""
    try:
        rows: list[dict[str, Any]] = hub.request(
            "GET", "/deliveries", query={"pin": pin_id, **query}
        )
    except PinboxError as error:
        if error.code == "E_NOT_FOUND" and pin_id is not None:
            raise hubs.unknown_pin(pin_id) from error
        raise
    return rows


def _count(rows: list[dict[str, Any]]) -> str:
    return f"{len(rows)} {'delivery' if len(rows) == 1 else 'deliveries'}"


# --- deliveries --wait ---------------------------------------------------------------------------


def _settled(hub: Hub, pin_id: str, timeout_s: int, args: Args) -> list[dict[str, Any]]:
    """The pin's deliveries once none of them is pending any more.

    Raises E_SESSION_GONE or E_DELIVERY when one of them failed, and E_DELIVERY when one is still
    pending after `timeout_s`.
    """
    from time import monotonic, sleep

    deadline = monotonic() + timeout_s
    pause = _FIRST_PAUSE_S
    changes = _Changes(hub, pin_id, timeout_s, args)
    lost_at: float | None = None
    while True:
        left = deadline - monotonic()
        try:
            # Not much longer than a person wants to wait for the whole.
            hub.answer_timeout_s = min(hub.answer_timeout_s, max(left, 0) + 2)
            rows = _rows(hub, pin_id)
            changes.tell(rows)
        except PinboxError as error:
            # A hub that restarts comes back: the request itself has started it again, or it will.
            lost_at = lost_at if lost_at is not None else monotonic()
            is_patient = left > 0 and monotonic() - lost_at < _PATIENCE_S
            if not is_patient or error.status != 503:
                raise
        else:
            lost_at = None
            waiting = [row for row in rows if row["status"] == "pending"]
            if not waiting:
                _refuse_failed(rows, pin_id)
                return rows
            if left <= 0:
                raise _still_pending(hub, waiting, pin_id, timeout_s)
        sleep(max(min(pause, left), 0))
        pause = min(pause * 1.25, _LAST_PAUSE_S)


class _Changes:
    """Tells a person what is waited for, and each change of it once."""

    def __init__(self, hub: Hub, pin_id: str, timeout_s: int, args: Args) -> None:
        self._hub = hub
        self._about = f"of {pin_id}, at most {timeout_s} s; Ctrl-C stops the waiting alone"
        self._args = args
        self._known: dict[int, tuple[Any, ...]] | None = None

    def tell(self, rows: list[dict[str, Any]]) -> None:
        if self._args.tell is None:
            return
        found = {
            row["id"]: (page.state(row), row["adapter"], row["attempts"], row["sessionId"])
            for row in rows
        }
        news = [row for row in reversed(rows) if self._is_news(row, found[row["id"]])]
        if self._known is None and news:
            self._args.tell(f"waiting for {_count(news)} {self._about}")
        if news:
            from time import time

            now, sessions = time(), page.sessions_of(self._hub, news)
            lines = [[str(row["id"]), page.sentence(row, sessions, now=now)] for row in news]
            self._args.tell(render.columns(lines))
        self._known = found

    def _is_news(self, row: dict[str, Any], what: tuple[Any, ...]) -> bool:
        if self._known is None or row["id"] not in self._known:
            return bool(row["status"] == "pending")
        return self._known[row["id"]] != what


def _refuse_failed(rows: list[dict[str, Any]], pin_id: str) -> None:
    """Raise what the newest failed row says, if there is one."""
    failed = [row for row in rows if row["status"] == "failed"]
    if not failed:
        return
    newest = failed[0]
    code, _, reason = (newest["lastError"] or "").partition(": ")
    if code not in ("E_SESSION_GONE", "E_DELIVERY"):
        code, reason = "E_DELIVERY", newest["lastError"] or "no reason is known"
    more = f" (and {len(failed) - 1} more of this pin)" if failed[1:] else ""
    raise PinboxError(
        code,
        f"delivery {newest['id']} of {pin_id} failed{more}: {reason}",
        page.retry_command(newest),
    )


def _still_pending(
    hub: Hub, waiting: list[dict[str, Any]], pin_id: str, timeout_s: int
) -> PinboxError:
    from time import time

    first = waiting[-1]
    said = page.sentence(first, page.sessions_of(hub, [first]), now=time())
    due = f" (at {first['dueAt']})" if first["dueAt"] else ""
    more = f"; {len(waiting) - 1} more of this pin too" if waiting[1:] else ""
    is_free = first["sessionId"] is None and first["adapter"] == "none"
    return PinboxError(
        "E_DELIVERY",
        f"delivery {first['id']} of {pin_id} still waits after {timeout_s} s{more}: {said}{due}",
        "the next session of an agent in this project gets it"
        if is_free
        else f"pinbox deliveries {pin_id}",
    )


VERBS = (
    Verb(
        "deliveries",
        "Show what was sent to agents, and what became of it.",
        deliveries,
        arguments=(Argument("pin", "only those of this pin", required=False),),
        options=(
            Option(
                "--status",
                "STATUS",
                "pending (queued, in flight or accepted), delivered (handed over or "
                "acknowledged), skipped or failed",
                choices=("pending", "delivered", "failed", "skipped"),
            ),
            LIMIT,
            Option(
                "--wait", "", "wait until nothing of the pin is pending; fail if something failed"
            ),
            Option(
                "--timeout",
                "S",
                f"with --wait: at most S seconds (1 to {MAX_WAIT_S}), else {WAIT_S}",
                span=(1, MAX_WAIT_S),
            ),
        ),
        about=(
            "queued: waits for a session to ask, or for its next attempt. in flight: an attempt "
            "is under way. accepted: the other side took it, and the session gave no sign yet. "
            "handed over: it stands in a session's context. acknowledged: that session showed, "
            "answered or resolved the pin. skipped: nothing was to be sent. failed: nobody will "
            "try again by itself.\n\n"
            "--wait exits with 0 when all was handed over or skipped, with 6 when the session is "
            "gone for good, with 7 for any other failure and when the time is up."
        ),
    ),
)
