"""The examples, started as their pages say, and clicked: the pin knows the template's line."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pinbox import marks
from tests.browser.conftest import Hub, tag
from tests.wait import wait_until

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@contextlib.contextmanager
def running(hub: Hub, name: str, *command: str) -> Iterator[str]:
    """The example's own command, in a copy of its folder in the hub's project; its address."""
    folder = hub.project / name
    shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, *(word.format(port=port) for word in command)],
        cwd=folder,
        env=hub.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(listens, timeout=30, what=f"{name} listens")
        yield f"http://localhost:{port}/"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        shutil.rmtree(folder)


@contextlib.contextmanager
def another_server(port: int) -> Iterator[None]:
    """The hub's old port is somebody else's now."""
    server = ThreadingHTTPServer(("127.0.0.1", port), BaseHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("name", "command", "selector", "source"),
    [
        (
            "django_page",
            ("manage.py", "runserver", "127.0.0.1:{port}"),
            "button.pay",
            {"file": "django_page/templates/basket.html", "line": 13, "via": "framework"},
        ),
        (
            "django_page",
            ("manage.py", "runserver", "127.0.0.1:{port}"),
            ".item strong >> nth=1",
            {"file": "django_page/templates/item.html", "line": 3, "via": "framework"},
        ),
        (
            "flask_page",
            ("-m", "flask", "run", "--debug", "--port", "{port}"),
            "li >> nth=1",
            {"file": "flask_page/templates/notes.html", "line": 3, "via": "framework"},
        ),
        ("static_page", ("serve.py", "{port}"), "h1", None),
    ],
)
def test_a_click_in_an_example_reaches_the_hub_with_template_and_line(
    view, hub, name, command, selector, source
):
    with running(hub, name, *command) as address:
        view.open(address)
        view.place(selector)
        view.page.keyboard.type("This one")
        view.send()
        view.wait(hub.pins, "the pin is at the hub")
        [pin] = hub.pins()
        assert pin["text"] == "This one"
        assert pin["target"]["url"] == address
        assert pin["target"].get("source") == source


def test_a_page_that_stays_open_finds_its_hub_on_another_port(view, hub):
    with running(hub, "static_page", "serve.py", "{port}") as address:
        view.open(address)
        old = hub.url
        port = int(old.rpartition(":")[2])
        hub.stop()
        with another_server(port):
            hub.start()
            assert hub.url != old
            view.place("h1")
            view.page.keyboard.type("Still here")
            view.send()
            view.wait(hub.pins, "the pin is at the new address")


def test_odd_letters_of_a_file_s_name_are_as_they_are_on_disk(view, hub, site):
    mark = marks.Files("/").name("/my templates/ä#1.html")
    page = f"<body><h1 data-pb-source={mark}:3>Title</h1>{tag(hub)}</body>"
    view.open(site.put("/", page))
    view.place("h1")
    view.page.keyboard.type("here")
    view.send()
    view.wait(hub.pins)
    found = hub.pins()[0]["target"]["source"]
    assert found == {"file": "my templates/ä#1.html", "line": 3, "via": "framework"}
