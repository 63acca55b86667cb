"""A real OpenClaw gateway, offline: what a push does there, over HTTP and by the program."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from delivery.adapters import DeliveryFailed, Outcome, Parcel
from delivery.adapters.openclaw import OpenClawAdapter
from tests.hub.parcels import parcel, target
from tests.wait import wait_until

from . import install
from .model import Answer, Model, serving

pytestmark = [
    pytest.mark.agents,
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.timeout(420),  # the first of them waits for the gateway
]

KEY = "agent:main:pinbox"
HOOK_TOKEN, GATEWAY_TOKEN = "a-token-for-hooks-0000", "a-token-of-the-gateway-0000"
START_S, STOP_S, TURN_S = 240, 30, 90
FIRST_WORDS = "the words that the session began with"


@dataclass(slots=True, kw_only=True)
class Gateway:
    """A running gateway, its model, and the environment of a machine where it runs."""

    port: int
    model: Model
    environ: dict[str, str]
    process: subprocess.Popen[bytes]

    def by_http(self, **more: str) -> OpenClawAdapter:
        environ = {
            "PINBOX_OPENCLAW_URL": f"http://127.0.0.1:{self.port}",
            "PINBOX_OPENCLAW_TOKEN": HOOK_TOKEN,
            "PINBOX_OPENCLAW_GATEWAY_TOKEN": GATEWAY_TOKEN,
        }
        return OpenClawAdapter({**environ, **more})

    def by_program(self, **more: str) -> OpenClawAdapter:
        return OpenClawAdapter({**self.environ, **more}, program_s=TURN_S)

    def reads(self, words: str) -> list[int]:
        """The requests in which the model read these words, once there are any."""
        return wait_until(lambda: self.model.saw(words), TURN_S, f"the model reads {words!r}")

    def post(self, path: str, body: dict[str, object]) -> None:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {HOOK_TOKEN}"},
        )
        with urllib.request.urlopen(request, timeout=TURN_S):
            pass


def push(adapter: OpenClawAdapter, one: Parcel) -> Outcome:
    return adapter.deliver(one, spawned=lambda _: None, stop=threading.Event())


def failure(adapter: OpenClawAdapter, one: Parcel) -> DeliveryFailed:
    with pytest.raises(DeliveryFailed) as caught:
        push(adapter, one)
    return caught.value


def to_session(number: int, key: str = KEY) -> Parcel:
    """A parcel whose words occur nowhere else."""
    words = f"words of parcel {number}"
    return parcel(id=f"dlv_{number:024x}", target=target("openclaw", key), text=words)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    programs = install.openclaw()
    if programs is None:
        pytest.skip("OpenClaw is not installed here: `make agents` fetches it")
    folder = tmp_path_factory.mktemp("openclaw")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = {
        "HOME": str(folder),
        "PATH": f"{programs}:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_PROXY": "127.0.0.1,localhost",
        "DO_NOT_TRACK": "1",
        "NODE_COMPILE_CACHE": str(install.FOLDER / "openclaw" / "compiled"),
        "OPENCLAW_GATEWAY_TOKEN": GATEWAY_TOKEN,
        "OPENCLAW_SKIP_CHANNELS": "1",
        "OPENCLAW_DISABLE_BONJOUR": "1",
    }
    answers = [Answer(text=f"answer {number}") for number in range(20)]
    with serving(answers) as (model, url):
        (folder / ".openclaw").mkdir()
        (folder / ".openclaw" / "openclaw.json").write_text(_settings(port, url, folder))
        with _running(port, environ, folder) as process:
            found = Gateway(port=port, model=model, environ=environ, process=process)
            # Nothing but its own hooks makes a session, so this is no news from Pinbox.
            found.post(
                "/hooks/agent",
                {
                    "message": FIRST_WORDS,
                    "sessionKey": KEY,
                    "sessionMode": "persistent",
                    "deliver": False,
                    "waitForCompletion": True,
                },
            )
            yield found


def _settings(port: int, model_url: str, folder: Path) -> str:
    model = {"id": "fake-model", "name": "fake", "contextWindow": 200_000, "maxTokens": 4096}
    provider = {
        "baseUrl": model_url,
        "apiKey": "sk-invented-0000-not-a-key",
        "api": "anthropic-messages",
        "models": [model],
    }
    defaults = {
        "model": {"primary": "fake/fake-model"},
        "workspace": str(folder / "workspace"),
        "heartbeat": {"every": "0m", "target": "none"},
    }
    auth = {"mode": "token", "token": GATEWAY_TOKEN}
    return json.dumps(
        {
            "gateway": {"mode": "local", "port": port, "bind": "loopback", "auth": auth},
            "hooks": {
                "enabled": True,
                "token": HOOK_TOKEN,
                "allowRequestSessionKey": True,
                "allowedSessionKeyPrefixes": ["agent:main:", "hook:"],
            },
            "models": {"mode": "replace", "providers": {"fake": provider}},
            "agents": {"defaults": defaults},
            "plugins": {"enabled": False},
        }
    )


@contextlib.contextmanager
def _running(port: int, environ: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    (folder / "workspace").mkdir()
    log = folder / "gateway.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["openclaw", "gateway", "run", "--port", str(port)],
            cwd=folder,
            env=environ,
            executable=f"{environ['PATH'].split(':')[0]}/openclaw",
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until(
            lambda: process.poll() is not None or "[gateway] ready" in log.read_text(),
            START_S,
            "the gateway is ready",
        )
        assert process.poll() is None, log.read_text()[-2000:]
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the gateway and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


# --- over http ------------------------------------------------------------------------------------


def test_a_push_arrives_in_the_session_with_its_history(gateway: Gateway) -> None:
    outcome = push(gateway.by_http(), to_session(1))
    assert outcome.is_accepted_only
    (number, *_) = gateway.reads("words of parcel 1")
    assert number in gateway.model.saw(FIRST_WORDS)
    assert number in gateway.model.saw(f"OPENCLAW_SESSION_KEY={KEY} pinbox")


def test_the_same_delivery_twice_is_read_once(gateway: Gateway) -> None:
    adapter, one = gateway.by_http(), to_session(2)
    first = push(adapter, one)
    again = push(adapter, replace(one, attempt=2, text="framed anew"))
    assert again.output == first.output
    gateway.reads("words of parcel 2")
    assert gateway.model.saw("framed anew") == []


def test_a_key_that_never_was_is_refused_and_nobody_reads_it(gateway: Gateway) -> None:
    error = failure(gateway.by_http(), to_session(3, key="agent:main:never"))
    assert (error.code, error.reason) == ("E_SESSION_GONE", "refused")
    again = failure(gateway.by_http(), to_session(3, key="agent:main:never"))
    assert again.reason == "refused", "the question made a session"
    assert gateway.model.saw("words of parcel 3") == []


def test_a_wrong_token_is_a_matter_of_authentication(gateway: Gateway) -> None:
    for name in ("PINBOX_OPENCLAW_TOKEN", "PINBOX_OPENCLAW_GATEWAY_TOKEN"):
        error = failure(gateway.by_http(**{name: "a-wrong-token-0000"}), to_session(4))
        assert (error.code, error.reason) == ("E_DELIVERY", "auth")
        assert name in error.message
    assert gateway.model.saw("words of parcel 4") == []


def test_a_gateway_that_is_down_is_the_network_s_fault() -> None:
    """Needs no program, but stands here beside what the program says of it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = {
        "PINBOX_OPENCLAW_URL": f"http://127.0.0.1:{port}",
        "PINBOX_OPENCLAW_TOKEN": HOOK_TOKEN,
    }
    assert failure(OpenClawAdapter(environ), to_session(5)).reason == "network"


# --- by the program -------------------------------------------------------------------------------


def test_the_program_tells_the_session_where_to_look_and_no_word_of_the_pin(
    gateway: Gateway,
) -> None:
    one = to_session(6)
    assert push(gateway.by_program(), one).is_accepted_only
    (number, *_) = gateway.reads(f"pinbox show {one.pin_id}")
    assert number in gateway.model.saw(FIRST_WORDS)
    assert gateway.model.saw("words of parcel 6") == []


def test_an_id_that_the_gateway_has_is_taken_for_arrived(gateway: Gateway) -> None:
    one = to_session(7)
    push(gateway.by_program(), one)
    other = replace(one, pin_id="pin_9876543210")
    assert push(gateway.by_program(), other).is_accepted_only
    gateway.reads(f"pinbox show {one.pin_id}")
    assert gateway.model.saw("pin_9876543210") == []


def test_the_program_refuses_a_key_that_never_was(gateway: Gateway) -> None:
    error = failure(gateway.by_program(), to_session(8, key="agent:main:never"))
    assert (error.code, error.reason) == ("E_SESSION_GONE", "refused")


@pytest.mark.parametrize(
    ("is_up", "token", "reason"),
    [(True, "a-wrong-token-0000", "auth"), (False, GATEWAY_TOKEN, "network")],
)
def test_what_the_program_says_of_a_gateway_that_it_does_not_get_into(
    gateway: Gateway, tmp_path: Path, is_up: bool, token: str, reason: str
) -> None:
    """From another home: in its own it keeps what it was once let in with."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = gateway.port if is_up else free.getsockname()[1]
    (tmp_path / ".openclaw").mkdir()
    auth = {"mode": "token", "token": token}
    settings = {"gateway": {"mode": "local", "port": port, "auth": auth}}
    (tmp_path / ".openclaw" / "openclaw.json").write_text(json.dumps(settings))
    outside = gateway.by_program(HOME=str(tmp_path), OPENCLAW_GATEWAY_TOKEN=token)
    error = failure(outside, to_session(9))
    assert (error.code, error.reason) == ("E_DELIVERY", reason), error.output
