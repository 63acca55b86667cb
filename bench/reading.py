"""Reading a large project: the whole list of pins, and pages of everything at two sizes."""

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

from .figures import Figure, in_turn
from .workplace import Workplace

LISTED_PINS = 10_000
#: Events at the two sizes that pages are compared at. Half are messages.
SMALL = {"open": 400, "resolved": 50, "messages": 500, "sessions": 100}
LARGE = {"open": 40_000, "resolved": 5_000, "messages": 50_000, "sessions": 10_000}
PAGE = 50


def pins(runs: int) -> list[Figure]:
    """GET /pins of ten thousand pins against reading and joining the same text in process."""
    with Workplace() as place:
        place.seed(open=LISTED_PINS)
        database = sqlite3.connect(place.project / ".pinbox" / "pinbox.db")
        sizes = set()

        def floor_run() -> None:
            rows = database.execute(
                "SELECT '{' || head || bound || tail || '}' FROM pins_pin ORDER BY n DESC"
            ).fetchall()
            sizes.add(len(("[" + ",".join(row[0] for row in rows) + "]").encode()))

        def ours_run() -> None:
            sizes.add(len(place.ask("GET", "/pins")) - len(b'{"ok":true,"data":}'))

        ours, floor = in_turn(ours_run, floor_run, runs=runs)
        database.close()
        if len(sizes) != 1:
            raise RuntimeError(f"the two did not read the same text: {sizes} bytes")
    return [
        Figure(
            name="list-10000",
            what=f"GET /pins of {LISTED_PINS} pins, last byte read",
            floor_is="SELECT of the stored JSON and one join of it, in process",
            unit="ms",
            ours=ours,
            floor=floor,
            target=4.0,
            note=f"{sizes.pop() / 1e6:.1f} MB",
        )
    ]


def pages(runs: int) -> list[Figure]:
    """A page of each list at 100,000 events against the same at 1,000; rebuilding 100,000."""
    figures: list[Figure] = []
    with ExitStack() as stack:
        small, large = (stack.enter_context(Workplace()) for _ in range(2))
        counts = [(place, place.seed(**size)) for place, size in ((small, SMALL), (large, LARGE))]
        figures.append(_rebuild(large, counts[1][1], runs=3))
        for name, path_of in PAGES.items():
            paths = [path_of(place, made) for place, made in counts]
            figures.append(_page(name, (small, large), paths, runs))
        cookies = [place.admin_cookie() for place in (small, large)]
        for name, path in ADMIN_PAGES.items():
            figures.append(_page(name, (small, large), [path, path], runs, cookies))
    return figures


def _page(
    name: str,
    places: tuple[Workplace, Workplace],
    paths: list[str],
    runs: int,
    cookies: list[str] | None = None,
) -> Figure:
    """The same page of a small and of a large place."""

    def ask(side: int) -> None:
        headers = {"Cookie": cookies[side]} if cookies else {}
        places[side].ask("GET", paths[side], **headers)

    ours, floor = in_turn(lambda: ask(1), lambda: ask(0), runs=runs, warm_up=5)
    return Figure(
        name=f"page-{name}",
        what=f"GET {paths[1].split('&before')[0]} at 100,000 events",
        floor_is="the same at 1,000 events",
        unit="ms",
        ours=ours,
        floor=floor,
        target=None if name in UNTARGETED else 1.3,
    )


def _newest_pin(place: Workplace) -> str:
    return str(place.data("GET", "/pins?limit=1")[0]["id"])


def _middle(place: Workplace, path: str) -> str:
    """The id of the item in the middle of a list of pins."""
    return str(place.data("GET", path)[-1]["id"])


#: name -> the path to ask for, given the place and what was seeded in it.
PAGES: dict[str, Callable[[Workplace, dict[str, Any]], str]] = {
    "summary": lambda place, made: "/summary",
    "events-newest": lambda place, made: f"/events?after={made['events'] - PAGE}&limit={PAGE}",
    "events-oldest": lambda place, made: f"/events?after=0&limit={PAGE}",
    "pins-newest": lambda place, made: f"/pins?limit={PAGE}",
    "pins-open": lambda place, made: f"/pins?status=open&limit={PAGE}",
    "pins-resolved": lambda place, made: f"/pins?status=resolved&limit={PAGE}",
    "pins-before": lambda place, made: (
        f"/pins?limit={PAGE}&before={_middle(place, '/pins?limit=200')}"
    ),
    "pins-after-oldest": lambda place, made: f"/pins?limit={PAGE}&after={made['firstPin']}",
    "search-common": lambda place, made: f"/pins?search=button&limit={PAGE}",
    "search-common-open": lambda place, made: (
        f"/pins?search={quote('save button')}&status=open&limit={PAGE}"
    ),
    "search-rare": lambda place, made: f"/pins?search=mark123:&limit={PAGE}",
    "search-none": lambda place, made: f"/pins?search=zebra&limit={PAGE}",
    "search-short": lambda place, made: f"/pins?search=of&limit={PAGE}",
    "search-short-none": lambda place, made: f"/pins?search=zq&limit={PAGE}",
    "pin": lambda place, made: f"/pins/{_newest_pin(place)}",
    "thread": lambda place, made: f"/pins/{made['firstPin']}/thread?limit={PAGE}",
    "pin-events": lambda place, made: f"/pins/{made['firstPin']}/events?limit={PAGE}",
    "pin-deliveries": lambda place, made: f"/pins/{made['firstPin']}/deliveries?limit={PAGE}",
    "sessions": lambda place, made: f"/sessions?limit={PAGE}",
    "deliveries": lambda place, made: f"/deliveries?limit={PAGE}",
    "deliveries-delivered": lambda place, made: f"/deliveries?status=delivered&limit={PAGE}",
    "deliveries-failed": lambda place, made: f"/deliveries?status=failed&limit={PAGE}",
}

#: One or two letters that stand nowhere: no index has them, so every text is looked at.
UNTARGETED = {"search-short-none"}

#: The admin's lists, which Django renders.
ADMIN_PAGES = {
    "admin-pins": "/admin/pins/pin/",
    "admin-pins-search": "/admin/pins/pin/?q=mark123:",
    "admin-events": "/admin/pins/event/",
    "admin-deliveries": "/admin/delivery/delivery/",
    "admin-sessions": "/admin/agent_sessions/agentsession/",
}


def _rebuild(place: Workplace, made: dict[str, Any], runs: int) -> Figure:
    """The rebuild that seeding ended with, against reading and decoding the same events."""
    path = place.project / ".pinbox" / "pinbox.db"
    floor: list[float] = []
    for _ in range(runs):
        began = time.perf_counter()
        database = sqlite3.connect(path)
        for (payload,) in database.execute("SELECT payload FROM pins_event ORDER BY seq"):
            json.loads(payload)
        database.close()
        floor.append((time.perf_counter() - began) * 1000)
    return Figure(
        name="rebuild-100000",
        what=f"rebuild of {made['events']} events",
        floor_is="reading and decoding the same events in process",
        unit="ms",
        ours=[made["rebuildSeconds"] * 1000],
        floor=floor,
        note=f"{made['events'] / made['rebuildSeconds']:.0f} events a second",
    )
