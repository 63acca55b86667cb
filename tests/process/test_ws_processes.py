"""Several processes serve one log, and tell each other over a real Redis that it has grown."""

import contextlib
import shutil
import socket
import subprocess
from types import SimpleNamespace

import pytest

from tests.process.conftest import PYTHON
from tests.process.pages import Page, hub_with
from tests.process.served import Process
from tests.wait import wait_until

pytest.importorskip("channels_redis", reason="pip install 'pinbox[team]' brings it")
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed"),
]

#: Code for a process that looks for itself so seldom that only news wakes it.
DEAF = "live.live_log._look_every_s = 300.0"

#: A second process of the same hub, behind another server.
WORKER = """
import socket, sys
from pathlib import Path
from pinbox import hub
hub.load_stack(Path(sys.argv[1]))
from pinbox_site import runtime
tokens = dict(token=sys.argv[3], page_token=sys.argv[4], instance="second", started_at="")
runtime.install(runtime.Runtime(project_dir=Path(sys.argv[1]), **tokens))
from pinbox_site.asgi import application
from pins import live
exec(sys.argv[5])
import uvicorn
uvicorn.run(application, fd=int(sys.argv[2]), log_config=None, lifespan="off")
"""


class Redis:
    """A server of its own, with nothing on disk."""

    def __init__(self, folder):
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.start()

    def start(self):
        argv = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        self._process = subprocess.Popen(
            argv, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        wait_until(self._answers, what="redis answers")

    def _answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def kill(self):
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def worker(place, log, changes):
    state = place.state()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        argv = [PYTHON, "-I", "-c", WORKER, place.project, str(listener.fileno())]
        process = subprocess.Popen(
            [*argv, state.token, state.page_token, changes],
            cwd=place.project,
            env=place.environ,
            pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        here = SimpleNamespace(
            port=listener.getsockname()[1], token=state.token, page_token=state.page_token
        )
    try:
        yield Process(here)
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def redis(tmp_path):
    server = Redis(tmp_path)
    yield server
    server.kill()


@pytest.fixture
def pair(place, redis, tmp_path):
    """A function that starts a hub and a worker on one database and one Redis."""
    place.environ["REDIS_URL"] = f"redis://127.0.0.1:{redis.port}/0"
    with contextlib.ExitStack() as stack:

        def start(changes="pass"):
            stack.enter_context(hub_with(place, changes))
            log = stack.enter_context((tmp_path / "worker.log").open("w"))
            return Process(place.state()), stack.enter_context(worker(place, log, changes))

        yield start


def joined(*processes):
    pages = [Page(process) for process in processes]
    for page in pages:
        page.join()
        page.read()
    return pages


def test_what_one_process_writes_is_seen_on_the_sockets_of_another_once_and_in_order(pair):
    hub, second = pair(DEAF)
    pages = joined(hub, second, second)
    for round_ in range(4):
        (hub, second)[round_ % 2].write(5)
    for page in pages:
        page.read_until(20)
        assert page.seqs == list(range(1, 21))
        with pytest.raises(TimeoutError):
            page.socket.recv(0.2)
        page.leave()


def test_every_process_counts_the_toolbars_of_all_of_them(pair):
    hub, second = pair()
    pages = joined(hub, second, second)
    for process in (hub, second):
        wait_until(lambda process=process: process.toolbars() == 3, what="all are counted")
    pages[1].leave()
    wait_until(lambda: hub.toolbars() == second.toolbars() == 2, what="one has left")
    for page in pages:
        page.leave()
    wait_until(lambda: hub.toolbars() == second.toolbars() == 0, what="all have left")


def test_a_redis_that_dies_and_comes_back_costs_no_event_and_no_word_in_the_log(
    place, pair, redis, tmp_path
):
    hub, second = pair()
    pages = joined(hub, second)
    wait_until(lambda: hub.toolbars() == 2, what="news passes")

    redis.kill()
    hub.write(3)
    second.write(3)
    for page in pages:
        page.read_until(6)
    wait_until(lambda: hub.toolbars() == second.toolbars() == 1, what="nothing is heard")

    redis.start()
    hub.write(3)
    second.write(3)
    for page in pages:
        page.read_until(12)
    wait_until(lambda: hub.toolbars() == second.toolbars() == 2, what="news passes again")
    hub.write(3)
    for page in pages:
        page.read_until(15)
        assert page.seqs == list(range(1, 16))
        page.leave()
    assert "news does not pass between processes just now" in place.log()
    assert "news passes between processes again" in place.log()
    assert "Traceback" not in place.log()
