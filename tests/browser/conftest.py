"""A real browser, a real hub, and pages on a port of their own.

One browser a module, closed with it: Playwright keeps an event loop in its thread, where Django's
ORM refuses to work.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import threading
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.process.conftest import Place
from tests.wait import wait_until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
#: No sandbox, for the suite runs as root in CI; nothing may leave the machine.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--auto-accept-this-tab-capture",  # as if the person chose this tab
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 390, "height": 780}
#: Milliseconds Playwright waits for anything. A guard against a hang: two cores may be busy.
PATIENCE_MS = int(os.environ.get("PINBOX_TEST_PATIENCE_MS", "40000"))


def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium on PATH")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield launched
        launched.close()


class Hub(Place):
    """A project with its hub, as a test speaks to it: by HTTP with the full token."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.run("list")
        self._record = json.loads((self.state_dir / "hub.json").read_text())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._record['port']}"

    @property
    def token(self) -> str:
        return str(self._record["token"])

    @property
    def page_token(self) -> str:
        return str(self._record["pageToken"])

    @property
    def id(self) -> str:
        return self.state_dir.name

    def ask(self, path: str, body: object = None, token: str | None = None, headers=()):
        """The data of an answer. A body makes it a POST."""
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {token or self.token}",
                "Content-Type": "application/json",
                **dict(headers),
            },
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)["data"]

    def pins(self) -> list[dict]:
        return self.ask("/pins")

    def pin(self, text: str, **fields) -> dict:
        return self.ask("/pins", {"text": text, "author": {"userId": "t"}, **fields})

    def says(self, pin: str, text: str, role: str = "agent", **fields) -> dict:
        return self.ask(f"/pins/{pin}/thread", {"role": role, "text": text, **fields})

    def stop(self) -> None:
        self.run("stop")
        wait_until(lambda: not self.hubs(), what="the hub has ended")

    def start(self) -> None:
        self.run("list")
        self._record = json.loads((self.state_dir / "hub.json").read_text())

    def forget(self) -> None:
        """An empty log again: a fresh hub for each test would cost more than most tests."""
        with contextlib.closing(sqlite3.connect(self.database, timeout=20)) as database, database:
            for table in KEPT_BY_HUB:
                database.execute(f"DELETE FROM {table}")
            # The newest stays, for a running hub goes on counting from it.
            database.execute("DELETE FROM pins_event WHERE seq < (SELECT max(seq) FROM pins_event)")
            database.execute("UPDATE pins_tally SET pins = 0")

    @property
    def database(self) -> Path:
        return self.project / ".pinbox" / "pinbox.db"


#: All that a test may have written, what refers to others before them.
KEPT_BY_HUB = (
    "delivery_showing", "delivery_attempt", "delivery_delivery", "pins_binding", "pins_attachment",
    "pins_threadmessage", "pins_searchtext", "pins_pin", "agent_sessions_agentsession",
    "pinbox_site_idempotentanswer",
)  # fmt: skip


@pytest.fixture(scope="module")
def _module_hub(tmp_path_factory):
    made = Hub(tmp_path_factory.mktemp("place"))
    yield made
    made.reap()


@pytest.fixture
def hub(_module_hub):
    """The module's hub, running and empty."""
    if not _module_hub.has_hub():
        _module_hub.start()
    _module_hub.forget()
    return _module_hub


class Site:
    """Pages by path, on a port that is not the hub's. `answer` makes one from (status, body)."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[int, str, dict[str, str]]] = {}
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.split("?")[0]
                status, body, headers = site.pages.get(path, (404, "no such page", {}))
                data = body.encode()
                self.send_response(status)
                for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(data)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def put(self, path: str, body: str, status: int = 200, **headers: str) -> str:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages[path] = (status, body, named)
        return self.url + path

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def site():
    made = Site()
    yield made
    made.close()


def tag(hub: Hub, **data: str) -> str:
    """The script tag, as the middleware writes it."""
    named = {"endpoint": hub.url, "token": hub.page_token, "project": hub.id, "lang": "en", **data}
    nonce = named.pop("nonce", "")
    attributes = " ".join(f'data-{name}="{value}"' for name, value in named.items())
    attributes += f' nonce="{nonce}"' if nonce else ""
    src = f"{hub.url}/toolbar/toolbar.js"
    return f'<script type="module" crossorigin src="{src}" {attributes}></script>'


#: A page of a small shop; the toolbar's tag goes where __TOOLBAR__ stands.
SHOP = (Path(__file__).parent / "shop.html").read_text()


@pytest.fixture
def shop(site, hub) -> str:
    """The address of a page with the toolbar."""
    return site.put("/", SHOP.replace("__TOOLBAR__", tag(hub)))


class View:
    """A page with the toolbar, and short ways to its parts."""

    def __init__(self, page) -> None:
        self.page = page
        self.bar = page.get_by_role("toolbar", name="Pinbox")
        self.card = page.locator("pinbox-toolbar .card")
        self.field = page.locator("pinbox-toolbar .composer textarea")
        self.inbox = page.get_by_role("region", name="Inbox")
        self.chips = page.locator("pinbox-toolbar .chip")

    def open(self, url: str) -> "View":
        self.page.goto(url)
        self.bar.wait_for()
        return self

    def place(self, selector: str, **click) -> None:
        self.bar.get_by_role("button", name="Pin", exact=True).click()
        box = self.page.locator(selector).bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.click(x, y, **click)
        if self.page.viewport_size["width"] < 720:  # there a mark is put, and then taken
            self.page.get_by_role("button", name="Pin here").click()

    def send(self) -> None:
        self.card.get_by_role("button", name="Send").click()

    def state(self, chip: int = 0) -> str:
        """What a chip says of its pin, as a screen reader reads it."""
        return self.chips.nth(chip).get_attribute("aria-label") or ""

    def wait(self, condition: Callable[[], object], what: str = "") -> None:
        """Like `wait_until`, with the browser's own events handled meanwhile."""
        wait_until(
            lambda: (self.page.wait_for_timeout(20), condition())[1], PATIENCE_MS / 1000, what
        )


LOOKS = {
    f"{size} {theme}": {"viewport": pixels, "color_scheme": theme}
    for size, pixels in (("wide", WIDE), ("narrow", NARROW))
    for theme in ("light", "dark")
}
#: For a test of one of the acceptance points: they hold at both sizes and in both themes.
in_every_look = pytest.mark.parametrize("page", LOOKS, indirect=True)


@pytest.fixture
def page(browser, request):
    """A fresh profile, at 1280 × 800 and light. Fails on any error the toolbar throws."""
    look = LOOKS[getattr(request, "param", "wide light")]
    context = browser.new_context(**look, locale="en-GB")
    context.set_default_timeout(PATIENCE_MS)
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert errors == []


@pytest.fixture
def view(page) -> View:
    return View(page)
