"""Pages on the socket of a real hub, and hubs some of whose times are shorter."""

import contextlib
import json
import subprocess

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from pinbox import client
from tests.process.conftest import PYTHON
from tests.wait import wait_until


class Page:
    """What a toolbar is to its hub: a cursor and the events it was told, over any number of
    sockets.
    """

    def __init__(self, place):
        self.place = place
        self.events = []
        self.largest = 0
        self._stack = contextlib.ExitStack()

    @property
    def cursor(self):
        return self.events[-1]["seq"] if self.events else 0

    def join(self, **options):
        """Connect to whichever hub runs now, by the port that was known before."""
        self.leave()
        state = self.place.state()
        self.socket = self._stack.enter_context(
            connect(
                f"ws://127.0.0.1:{state.port}/ws",
                subprotocols=[f"pinbox.token.{state.page_token}"],
                max_size=None,
                **options,
            )
        )
        hello = {"type": "hello", "protocol": 1, "consumerId": "page", "lastSeq": self.cursor}
        self.socket.send(json.dumps(hello))

    def leave(self):
        self._stack.close()

    def read(self):
        text = self.socket.recv(30)
        self.largest = max(self.largest, len(text.encode()))
        frame = json.loads(text)
        self.events += frame["events"] if frame["type"] == "catch-up" else [frame]
        return frame

    def read_until(self, seq):
        while self.cursor < seq:
            self.read()

    def closed(self):
        """Read what still comes; the code of the end."""
        try:
            while True:
                self.read()
        except ConnectionClosed as end:
            return end.rcvd and end.rcvd.code

    @property
    def seqs(self):
        return [event["seq"] for event in self.events]


def write(place, count, size=100):
    """So many events more, by a command's own client."""
    with place.as_environment():
        hub = client.connect(place.project)
        for number in range(count):
            text = f"{number} " + "x" * size
            hub.request("POST", "/pins", body={"text": text, "author": {"userId": "u"}})


@contextlib.contextmanager
def hub_with(place, changes):
    """A hub some of whose times are shorter: `changes` is code that runs before it serves."""
    script = (
        "import sys; from pinbox import hub; load = hub.load_stack\n"
        "def changed(project):\n    load(project)\n"
        "    import django; django.setup(set_prefix=False)\n"
        f"    from pinbox_site import server; from pins import live; {changes}\n"
        "hub.load_stack = changed\nsys.exit(hub.main())"
    )
    process = subprocess.Popen(
        [PYTHON, "-I", "-c", script, "serve", "--project", str(place.project), "--detached"],
        cwd=place.project,
        env=place.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(place.has_hub, what="the hub serves")
        place.run("summary")
        yield process
    finally:
        process.kill()
        process.wait()


def toolbars(place):
    return json.loads(place.run("summary").stdout)["data"]["connectedToolbars"]
