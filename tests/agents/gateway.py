"""A real OpenClaw gateway on loopback and its model."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from delivery.adapters.openclaw import OpenClawAdapter
from tests.wait import wait_until

from . import install
from .model import Answer, Model, serving

KEY = "agent:main:pinbox"
HOOK_TOKEN, GATEWAY_TOKEN = "a-token-for-hooks-0000", "a-token-of-the-gateway-0000"
START_S, STOP_S, TURN_S = 240, 30, 180


@dataclass(slots=True, kw_only=True)
class Gateway:
    """A running gateway, its model, and the environment of a machine where it runs."""

    port: int
    model: Model
    environ: dict[str, str]
    process: subprocess.Popen[bytes]

    def by_http(self, **more: str) -> OpenClawAdapter:
        return OpenClawAdapter({**http_environ(self.port), **more})

    def by_program(self, **more: str) -> OpenClawAdapter:
        return OpenClawAdapter({**self.environ, **more}, program_s=TURN_S)

    def reads(self, words: str) -> list[int]:
        """The requests in which the model read these words, once there are any."""
        return wait_until(lambda: self.model.saw(words), TURN_S, f"the model reads {words!r}")

    def post(
        self, path: str, body: dict[str, object], token: str = HOOK_TOKEN, **more: str
    ) -> None:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {token}", **more},
        )
        with urllib.request.urlopen(request, timeout=TURN_S):
            pass

    def turn(self, message: str, key: str = KEY) -> list[dict[str, Any]]:
        """Have the session take one turn, to its end. What the model was asked meanwhile."""
        before = len(self.model.requests)
        self.post(
            "/hooks/agent",
            {
                "message": message,
                "sessionKey": key,
                "sessionMode": "persistent",
                "deliver": False,
                "waitForCompletion": True,
            },
        )
        return self.model.requests[before:]

    def chat(self, message: str, key: str) -> list[dict[str, Any]]:
        """The same, as a person would: this makes the session, if it is a new one."""
        before = len(self.model.requests)
        said = [{"role": "user", "content": message}]
        body = {"model": f"openclaw/{key.split(':')[1]}", "messages": said}
        header = {"x-openclaw-session-key": key}
        self.post("/v1/chat/completions", body, GATEWAY_TOKEN, **header)
        return self.model.requests[before:]

    def call(self, method: str, **parameters: str) -> None:
        """A call of the gateway by its program, which takes some seconds to start."""
        subprocess.run(
            ["openclaw", "gateway", "call", method, "--params", json.dumps(parameters), "--json"],
            executable=f"{self.environ['PATH'].split(':')[0]}/openclaw",
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TURN_S,
            check=True,
        )


def http_environ(port: int) -> dict[str, str]:
    """What a hub needs to push over HTTP."""
    return {
        "PINBOX_OPENCLAW_URL": f"http://127.0.0.1:{port}",
        "PINBOX_OPENCLAW_TOKEN": HOOK_TOKEN,
        "PINBOX_OPENCLAW_GATEWAY_TOKEN": GATEWAY_TOKEN,
    }


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


@contextlib.contextmanager
def running(
    home: Path,
    *,
    port: int,
    answers: list[Answer],
    workspace: Path,
    more: Mapping[str, Any] = {},
    agents: list[dict[str, Any]] | None = None,
    environ: Mapping[str, str] = {},
) -> Iterator[Gateway]:
    """A gateway with its state in `home`, beginning with what is in its configuration there. `more`
    is merged into it. Skips the test where the program is not installed.
    """
    programs = install.openclaw()
    if programs is None:
        pytest.skip("OpenClaw is not installed here: `make agents` fetches it")
    environment = {
        "HOME": str(home),
        "PATH": f"{programs}:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_PROXY": "127.0.0.1,localhost",
        "DO_NOT_TRACK": "1",
        "NODE_COMPILE_CACHE": str(install.FOLDER / "openclaw" / "compiled"),
        "OPENCLAW_GATEWAY_TOKEN": GATEWAY_TOKEN,
        "OPENCLAW_SKIP_CHANNELS": "1",
        "OPENCLAW_DISABLE_BONJOUR": "1",
        **environ,
    }
    with serving(answers) as (model, url):
        (home / ".openclaw").mkdir(exist_ok=True)
        path = home / ".openclaw" / "openclaw.json"
        settings = json.loads(path.read_text()) if path.exists() else {}
        settings |= _settings(port, url, workspace) | more
        if agents:
            settings["agents"]["list"] = agents
        path.write_text(json.dumps(settings))
        with _process(port, environment, home) as process:
            yield Gateway(port=port, model=model, environ=environment, process=process)


def _settings(port: int, model_url: str, workspace: Path) -> dict[str, Any]:
    model = {"id": "fake-model", "name": "fake", "contextWindow": 200_000, "maxTokens": 4096}
    provider = {
        "baseUrl": model_url,
        "apiKey": "sk-invented-0000-not-a-key",
        "api": "anthropic-messages",
        "models": [model],
    }
    defaults = {
        "model": {"primary": "fake/fake-model"},
        "workspace": str(workspace),
        "heartbeat": {"every": "0m", "target": "none"},
    }
    auth = {"mode": "token", "token": GATEWAY_TOKEN}
    return {
        "gateway": {
            "mode": "local",
            "port": port,
            "bind": "loopback",
            "auth": auth,
            "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
        },
        "hooks": {
            "enabled": True,
            "token": HOOK_TOKEN,
            "allowRequestSessionKey": True,
            "allowedSessionKeyPrefixes": ["agent:main:", "hook:"],
        },
        "models": {"mode": "replace", "providers": {"fake": provider}},
        "agents": {"defaults": defaults},
    }


@contextlib.contextmanager
def _process(port: int, environ: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
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
