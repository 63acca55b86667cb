"""A project, a home, a state folder and a hub of the checks' own: whatever has to be written is
written there, and nothing of it is left.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pinbox import contract, daemon, project, wire
from pinbox.checks.processes import Done, Processes, Stopped
from pinbox.contract import PinboxError
from pinbox.project import HubState

#: Seconds for a hub to start. It takes about one; a busy machine takes several.
START_TIMEOUT_S: Final = 12.0
#: Seconds from SIGTERM to SIGKILL for a hub that holds nothing of value.
_STOP_TIMEOUT_S: Final = 2.0
_ASK_TIMEOUT_S: Final = 5.0
#: Milliseconds after which the hub leaves by itself, should doctor be killed.
_IDLE_MS: Final = "20000"
_POLL_S: Final = 0.02
#: All that a program of ours or of an agent gets from the user's environment: no token, no setting
#: of a hub (it could send pins somewhere), nothing that names a session.
_KEPT: Final = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
#: What an agent that was started from a desktop has.
PLAIN_PATH: Final = "/usr/bin:/bin"


class HubFailed(Exception):
    """The throw-away hub did not start, or did not do what was asked. The message says why."""


class ThrowAway:
    """Lives from `with` to its end. `programs` may be used by any thread meanwhile."""

    def __init__(self) -> None:
        self.programs = Processes()
        #: one check at a time has the hub, so that none meets the pins of another
        self.turn = threading.Lock()
        self._hub: HubState | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._trouble = ""
        self._is_decided = threading.Event()

    def __enter__(self) -> "ThrowAway":
        try:
            made = tempfile.mkdtemp(prefix="pinbox-doctor-")
        except OSError as error:
            raise PinboxError(
                "E_INTERNAL",
                f"no temporary folder can be made: {error.strerror or error}",
                "set TMPDIR to a folder that can be written",
            ) from error
        self.root = Path(os.path.realpath(made))
        self.project, self.home = self.root / "project", self.root / "home"
        self.state_home, self.tmp = self.root / "state", self.root / "tmp"
        self.empty = self.root / "bin"
        for folder in (self.project, self.home, self.state_home, self.tmp, self.empty):
            folder.mkdir(mode=0o700)
        project.pinbox_dir(self.project)
        return self

    def __exit__(self, *_: object) -> None:
        self._trouble = self._trouble or "the checks are over"
        self._is_decided.set()
        # The hub last: a hook that finds it gone would start another one.
        self.programs.close(keep=self._process)
        if self._process is not None:
            self.programs.end(self._process, within_s=_STOP_TIMEOUT_S)
        with contextlib.suppress(project.NoHub, PinboxError):
            # A hook that found the hub silent has started another one.
            daemon.end_hub(self._read_state())
        deadline = time.monotonic() + _STOP_TIMEOUT_S
        while self.root.exists() and time.monotonic() < deadline:
            # Again, when a check that has not noticed the end yet made a file meanwhile.
            shutil.rmtree(self.root, ignore_errors=True)

    def environment(self, **more: str) -> dict[str, str]:
        """The user's language, and nothing else of theirs."""
        return {
            **{name: os.environ[name] for name in _KEPT if name in os.environ},
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.state_home),
            "TMPDIR": str(self.tmp),
            "PATH": PLAIN_PATH,
            **more,
        }

    def run(
        self,
        command: list[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        with_stderr: bool = False,
    ) -> Done | None:
        """`Processes.run` in the throw-away project."""
        return self.programs.run(
            command,
            env=self.environment() if env is None else env,
            cwd=self.project,
            timeout_s=timeout_s,
            stdin=stdin,
            with_stderr=with_stderr,
        )

    # --- the hub ----------------------------------------------------------------------------------

    def start_hub(self) -> float:
        """Start the hub; the seconds that took. Called once. Raises HubFailed."""
        try:
            began = time.monotonic()
            self._hub = self._started(began + START_TIMEOUT_S)
            return time.monotonic() - began
        except HubFailed as error:
            self._trouble = str(error)
            raise
        except Stopped:
            self._trouble = "the checks are over"
            raise
        finally:
            self._is_decided.set()

    def hub(self) -> HubState:
        """The hub, once it is up. Raises HubFailed."""
        self._is_decided.wait()
        if self._hub is None:
            raise HubFailed(self._trouble or "no hub was started")
        return self._hub

    def _started(self, deadline: float) -> HubState:
        self.state_dir.mkdir(mode=0o700, parents=True)
        path = self.state_dir / daemon.LOG_FILE  # as a command that starts one has it
        # Whatever becomes of a probe's pin, no agent is started for it, nor could be found.
        env = self.environment(PATH=str(self.empty), PINBOX_RESUME="0", PINBOX_IDLE_MS=_IDLE_MS)
        with path.open("ab") as out:
            try:
                command = daemon.spawn_command(self.project)
                process = self.programs.spawn(
                    command, env=env, cwd=Path("/"), stdout=out, stderr=out
                )
                self._process = process
            except OSError as error:
                raise HubFailed(f"it cannot be run: {error.strerror}") from error
        while time.monotonic() < deadline:
            if process.poll() is not None:
                lines = path.read_text("utf-8", "replace").strip().splitlines()
                last = lines[-1].removeprefix("pinbox: ") if lines else ""
                raise HubFailed(last or f"it ended with exit code {process.returncode}")
            with contextlib.suppress(project.NoHub, wire.WireError):
                state = self._read_state()
                left = max(0.05, deadline - time.monotonic())
                if state.pid == process.pid and daemon.health(state, left, ready=True) is not None:
                    return state
            time.sleep(_POLL_S)
        raise HubFailed(f"it did not answer within {START_TIMEOUT_S:g} seconds")

    @property
    def state_dir(self) -> Path:
        return self.state_home / "pinbox" / project.project_id(self.project)

    def _read_state(self) -> HubState:
        try:
            content = (self.state_dir / project.STATE_FILE).read_bytes()
            recorded = (self.state_dir / project.PID_FILE).read_text("ascii")
        except (OSError, ValueError):
            raise project.NoHub("missing", "no hub has written its state yet") from None
        state = project.parse_state(content, str(self.state_dir))
        state.mark = recorded.strip().partition(" ")[2]
        return state

    def ask(self, method: str, path: str, body: Any = None, *, session: str | None = None) -> Any:
        """One request to the hub; the answer's data. Raises HubFailed."""
        state = self.hub()
        headers = [("authorization", f"Bearer {state.token}")]
        if session is not None:
            headers.append((contract.SESSION_HEADER, session))
        content = b"" if body is None else json.dumps(body).encode()
        try:
            status, answer = wire.exchange(
                state.port, method, path, tuple(headers), content, timeout_s=_ASK_TIMEOUT_S
            )
            data = json.loads(answer)
            if status < 300 and data["ok"] is True:
                return data["data"]
            raise HubFailed(f"{method} {path} was answered with {data['error']['message']}")
        except wire.WireError as error:
            raise HubFailed(f"{method} {path}: {error}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise HubFailed(f"{method} {path} was answered with something else") from error

    def drop_pin(self, text: str, *, session: tuple[str, str] | None = None) -> str:
        """A pin in the throw-away project, for that session; its id. Raises HubFailed."""
        body: dict[str, Any] = {"text": text, "author": {"userId": "doctor"}}
        if session is not None:
            body["agentSession"] = {"agent": session[0], "key": session[1]}
        pin_id: str = self.ask("POST", "/pins", body)["id"]
        return pin_id
