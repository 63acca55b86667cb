"""deliveries, retry, rebind: what became of what was sent, and what a person can do about it."""

from __future__ import annotations

from pinbox import render
from pinbox.commands import delivery_page as page
from pinbox.commands import hub as hubs
from pinbox.commands.pins import LIMIT, PIN_ID
from pinbox.commands.verb import Answer, Argument, Option, Verb, shown
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
#: Digits of a delivery's id: no database has more.
_MOST_DIGITS: Final = 18


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
    more = f" (and {len(waiting) - 1} more of this pin)" if waiting[1:] else ""
    return PinboxError(
        "E_DELIVERY",
        f"delivery {first['id']} of {pin_id} still waits after {timeout_s} s{more}: {said}{due}",
        _way_out(first),
    )


def _way_out(row: dict[str, Any]) -> str:
    """What a person can do about a delivery that waits for too long."""
    if page.state(row) == "in flight":
        return f"pinbox deliveries --wait {row['pinId']} waits on"
    if row["adapter"] == "none":
        start = "start an agent in this project, or " if row["sessionId"] is None else ""
        return f"{start}pinbox rebind {row['pinId']} <session> gives it to a session that is there"
    return f"pinbox retry {row['id']} makes it due now; pinbox rebind --help for another session"


# --- retry ---------------------------------------------------------------------------------------


def retry(args: Args) -> Answer:
    name = args["id"]
    if hubs.is_id(name, "pin"):
        hub = hubs.open_hub()
        rows = _retry_failed(hub, name)
    elif name.isascii() and name.isdigit() and name[0] != "0" and len(name) <= _MOST_DIGITS:
        hub = hubs.open_hub()
        rows = [_retry_one(hub, name)]
    else:
        raise _unknown_delivery(name)

    def human() -> tuple[str, str]:
        from time import time

        now, sessions = time(), page.sessions_of(hub, rows)
        lines = [[str(row["id"]), page.sentence(row, sessions, now=now)] for row in rows]
        wait = f"pinbox deliveries --wait {rows[0]['pinId']}"
        return render.columns(lines), f"{_count(rows)} to be tried again; to see it out: {wait}"

    return Answer(rows, human)


def _retry_one(hub: Hub, delivery_id: str) -> dict[str, Any]:
    try:
        row: dict[str, Any] = hub.request("POST", f"/deliveries/{delivery_id}/retry")
    except PinboxError as error:
        raise _unknown_delivery(delivery_id) if error.code == "E_NOT_FOUND" else error from error
    return row


def _retry_failed(hub: Hub, pin_id: str) -> list[dict[str, Any]]:
    """Every failed delivery of the pin, oldest first. Raises E_CONFLICT when there is none."""
    try:
        failed = hub.request("GET", "/deliveries", query={"pin": pin_id, "status": "failed"})
    except PinboxError as error:
        raise _unknown_delivery(pin_id) if error.code == "E_NOT_FOUND" else error from error
    rows = []
    for row in reversed(failed):
        try:
            rows.append(_retry_one(hub, str(row["id"])))
        except PinboxError as error:
            # Somebody else was faster.
            if error.code != "E_CONFLICT":
                raise
    if not rows:
        raise PinboxError(
            "E_CONFLICT", f"no delivery of {pin_id} has failed", f"pinbox deliveries {pin_id}"
        )
    return rows


def _unknown_delivery(name: str) -> PinboxError:
    what = "pin" if name.startswith("pin_") else "delivery"
    return PinboxError("E_NOT_FOUND", f"no {what} {shown(name)}", "pinbox deliveries")


# --- rebind --------------------------------------------------------------------------------------


def rebind(args: Args) -> Answer:
    pin_id, session_id = args["pin"], args["session"]
    hubs.pin_path(pin_id)
    if not hubs.is_id(session_id, "ses"):
        raise hubs.unknown_session(session_id)
    hub = hubs.open_hub()
    before = {row["id"]: row for row in hubs.ask_about_pin(hub, "GET", pin_id, "deliveries")}
    try:
        pin = hub.request("POST", hubs.pin_path(pin_id, "rebind"), {"sessionId": session_id})
    except PinboxError as error:
        if error.code == "E_NOT_FOUND":
            raise hubs.unknown_session(session_id) from error
        raise
    moved = [
        row
        for row in hubs.ask_about_pin(hub, "GET", pin_id, "deliveries")
        if row["status"] == "pending" and _has_moved(before.get(row["id"]), row)
    ]
    bound = pin["agentSession"]
    name = hubs.origin_of(bound["agent"], bound["key"])

    def human() -> tuple[str, str]:
        numbers = ", ".join(str(row["id"]) for row in reversed(moved))
        what = f"{'delivery' if len(moved) == 1 else 'deliveries'} {numbers} moved with it"
        return (
            f"{pin_id} bound to {name}",
            what if moved else "nothing of it waited for another session",
        )

    return Answer({"pin": pin, "moved": moved}, human)


def _has_moved(before: dict[str, Any] | None, after: dict[str, Any]) -> bool:
    fields = ("sessionId", "status")
    return before is None or any(before[name] != after[name] for name in fields)


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
            "try again by itself; pinbox retry does.\n\n"
            "--wait exits with 0 when all was handed over or skipped, with 6 when the session is "
            "gone for good, with 7 for any other failure and when the time is up."
        ),
    ),
    Verb(
        "retry",
        "Try a delivery again, now.",
        retry,
        arguments=(
            Argument(
                "id",
                "a delivery's id, as `pinbox deliveries` prints it, or a pin's: then all of it "
                "that failed",
            ),
        ),
        about="A failed delivery starts over; one that waits for its next attempt has it now.",
    ),
    Verb(
        "rebind",
        "Bind a pin, and what waits of it, to another session.",
        rebind,
        arguments=(
            Argument("pin", PIN_ID.help),
            Argument("session", "the session's whole id, as `pinbox session list` prints it"),
        ),
        about="For a pin whose session will not come back. What failed is tried again.",
    ),
)
