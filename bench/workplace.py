"""A throw-away home and project with a real hub in it, as a person's machine has it."""

import http.client
import http.cookiejar
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any

from .pins import pin_input

ROOT = Path(__file__).resolve().parent.parent
PINBOX = Path(sys.executable).with_name("pinbox")
#: Long enough that no hub leaves in the middle of a run, short enough to clean up after a crash.
IDLE_MS = 1_800_000
TIMEOUT_S = 120


class Workplace:
    """Use it as a context manager: the hub is stopped and the folders are removed at the end."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="pinbox-bench-"))
        self.home = self._folder / "home"
        self.project = self._folder / "app"
        self.home.mkdir()
        self.project.mkdir()
        self.environ = {
            "HOME": str(self.home),
            "PATH": f"{PINBOX.parent}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "PINBOX_IDLE_MS": str(IDLE_MS),
        }
        self._connection: http.client.HTTPConnection | None = None
        self.command("git", "init", "-q")

    def __enter__(self) -> "Workplace":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_hub()
        shutil.rmtree(self._folder, ignore_errors=True)

    def command(self, *argv: str, stdin: str = "") -> str:
        done = subprocess.run(
            argv,
            cwd=self.project,
            env=self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        if done.returncode:
            raise RuntimeError(f"{argv}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def pinbox(self, *arguments: str) -> Any:
        return json.loads(self.command(str(PINBOX), *arguments))["data"]

    def init(self) -> None:
        self.command(str(PINBOX), "init", "--agent", "claude", "--yes")

    def hook_command(self, event: str = "UserPromptSubmit") -> str:
        """The shell line that `init` wrote for this event."""
        settings = json.loads((self.project / ".claude" / "settings.json").read_text())
        (entry,) = settings["hooks"][event]
        (hook,) = entry["hooks"]
        return str(hook["command"])

    def seed(self, **counts: int) -> dict[str, Any]:
        """Fill the database in bulk while no hub runs. See bench/seed.py for the counts."""
        self.pinbox("summary")  # makes the database
        self.stop_hub()
        arguments = [f"--{name.replace('_', '-')}={count}" for name, count in counts.items()]
        environ = {
            **self.environ,
            "PINBOX_PROJECT": str(self.project),
            "DJANGO_SETTINGS_MODULE": "pinbox_site.settings",
            "PYTHONPATH": str(ROOT),
        }
        done = subprocess.run(
            [sys.executable, "-m", "bench.seed", *arguments],
            cwd=self.project,
            env=environ,
            capture_output=True,
            text=True,
            timeout=600,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return dict(json.loads(done.stdout))

    def seed_log(self, count: int) -> None:
        """Fill the log alone, of a project whose hub does not run: nothing that is rebuilt from
        it.
        """
        self.pinbox("summary")  # makes the database
        self.stop_hub()
        with closing(sqlite3.connect(self.project / ".pinbox" / "pinbox.db")) as database, database:
            database.executemany(
                "INSERT INTO pins_event (seq, type, at, subject, payload)"
                " VALUES (?, 'pin.created', '2026-01-01T00:00:00.000Z', 'pin_aaaaaaaaaa', ?)",
                ((seq, json.dumps(pin_input(seq))) for seq in range(1, count + 1)),
            )

    def hub(self) -> dict[str, Any]:
        """The state of the running hub, started when there is none."""
        self.pinbox("summary")
        (path,) = (self.home / ".local" / "state" / "pinbox").glob("*/hub.json")
        return dict(json.loads(path.read_text()))

    def stop_hub(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None
        if (self.home / ".local").exists():
            subprocess.run(
                [str(PINBOX), "stop"],
                cwd=self.project,
                env=self.environ,
                capture_output=True,
                timeout=TIMEOUT_S,
            )

    def connect(self) -> None:
        """Open the one kept connection that `ask` uses."""
        state = self.hub()
        self._token = state["token"]
        self._connection = http.client.HTTPConnection("127.0.0.1", state["port"], timeout=TIMEOUT_S)
        self._connection.connect()
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> bytes:
        """One request on the kept connection; the answer's body. Raises on any error status."""
        self.send(method, path, body, **headers)
        return self.receive()

    def send(self, method: str, path: str, body: object = None, **headers: str) -> None:
        """A request, the answer to which is still to be received."""
        if self._connection is None:
            self.connect()
        assert self._connection is not None
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {self._token}", **headers}
        if data is not None:
            sent["Content-Type"] = "application/json"
        self._connection.request(method, path, body=data, headers=sent)

    def receive(self) -> bytes:
        assert self._connection is not None
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{answer.status} {text[:300]!r}")
        return text

    def data(self, method: str, path: str, body: object = None) -> Any:
        return json.loads(self.ask(method, path, body))["data"]

    def admin_cookie(self) -> str:
        """A Cookie header with which the admin knows us, by its own one-time link."""
        url = self.data("POST", "/admin-link", {})["url"]
        jar = http.cookiejar.CookieJar()
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        with browser.open(url, timeout=TIMEOUT_S) as page:
            form = page.read().decode()
        fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form))
        with browser.open(url, urllib.parse.urlencode(fields).encode(), TIMEOUT_S) as page:
            page.read()
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)


def spawn_and_wait(
    argv: list[str], cwd: Path, environ: dict[str, str], stdin: bytes = b""
) -> bytes:
    """Run a program to its end; its stdout. Raises when it fails."""
    done = subprocess.run(
        argv, cwd=cwd, env=environ, input=stdin, stdout=subprocess.PIPE, check=True
    )
    return done.stdout


def resident_mb(pid: int) -> float:
    """Resident memory of a process that belongs to us, in MB (10^6 bytes)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"no resident size for {pid}")


def sleep_until_idle(pid: int, seconds: float = 20.0) -> None:
    """Wait until a process has used no processor time for a second."""
    deadline = time.monotonic() + seconds
    last = _ticks(pid)
    while time.monotonic() < deadline:
        time.sleep(1)
        now = _ticks(pid)
        if now == last:
            return
        last = now


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def clean_environ() -> dict[str, str]:
    """For a floor's process: nothing but a PATH and a home."""
    return {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}
