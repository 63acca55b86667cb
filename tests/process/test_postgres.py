"""A hub on PostgreSQL, whose server ends and comes back in the middle of its work."""

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.process.pages import Page, hub_with
from tests.process.served import Process

BIN = next(
    (path.parent for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))[-1:]),
    None,
)
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(BIN is None, reason="PostgreSQL is not installed in /usr/lib/postgresql"),
]


class Cluster:
    """A server of its own, which keeps nothing for long."""

    def __init__(self):
        self._folder = Path(tempfile.mkdtemp(prefix="pinbox-postgres-"))
        # It does not run as root, and who it runs as does not see a test's own folder.
        self._as = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
        if self._as:
            shutil.chown(self._folder, **self._as)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"postgresql://pinbox@127.0.0.1:{port}/postgres"
        self._run("initdb", "-U", "pinbox", "-A", "trust", "-E", "UTF8", "--no-sync")
        with (self._folder / "data" / "postgresql.conf").open("a") as settings:
            settings.write(
                f"listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = ''\n"
            )
        self.start()

    def _run(self, program, *arguments):
        subprocess.run(
            [BIN / program, "-D", self._folder / "data", *arguments],
            cwd=self._folder,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=60,
            **self._as,
        )

    def start(self):
        self._run("pg_ctl", "-w", "-l", self._folder / "log", "start")

    def stop(self):
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def remove(self):
        self.stop()
        shutil.rmtree(self._folder)


@pytest.fixture
def postgres():
    cluster = Cluster()
    yield cluster
    cluster.remove()


def test_after_a_restart_of_the_database_every_request_is_answered_and_no_event_is_missed(
    place, postgres
):
    place.environ["DATABASE_URL"] = postgres.url
    with hub_with(place, "pass"):
        hub = Process(place.state())
        page = Page(hub)
        page.join()
        hub.write(3)
        page.read_until(3)

        postgres.stop()
        assert hub.status("GET", "/summary") == 503
        postgres.start()
        # Each of the hub's threads has a connection that has ended.
        for _ in range(10):
            assert hub.status("GET", "/pins") == 200
            hub.write(1)
            assert hub.status("GET", "/sessions") == 200
        page.read_until(13)
        assert page.seqs == list(range(1, 14))
        page.leave()
    assert "Traceback" not in place.log()
