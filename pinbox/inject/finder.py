"""Which hub a page should talk to: known at once or not at all, looked for and started aside.

A request never waits for a hub. It reads the state file (two small files and one of /proc), which
says whether the hub's process lives; whether it also answers, and starting one, is a thread's work.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

from pinbox.contract import PinboxError
from pinbox.project import HubState, NoHub, find_folder, project_id, read_hub

from .page import Place

logger = logging.getLogger("pinbox.inject")

#: Seconds for which what the state file said is believed.
_READ_EVERY_S: Final = 1.0
#: Seconds after which a hub that pages are using is asked again whether it answers.
_ASK_EVERY_S: Final = 5.0
#: Seconds a hub may take to answer that.
_ANSWER_S: Final = 2.0
#: Seconds until starting is tried again after it failed.
_RETRY_S: Final = 60.0
#: What the hub's process imports. The app under development may have Pinbox without them.
_HUB_NEEDS: Final = ("django", "channels", "daphne", "rest_framework", "drf_spectacular", "jwt")


class Finder:
    """The hub of the project that `start` (else the current directory) is in.

    Threads may share it.
    """

    def __init__(self, start: str | os.PathLike[str] | None = None) -> None:
        self._start = None if start is None else os.fspath(start)
        self._lock = threading.Lock()
        self._project: Path | None = None
        self._state: HubState | None = None
        self._read_at = float("-inf")
        self._asked_at = float("-inf")
        self._retry_at = float("-inf")
        self._deaf = ""
        self._thread: threading.Thread | None = None
        self._said: set[str] = set()

    def place(self) -> Place | None:
        """What is known of the hub now, without waiting. None starts one, for the next page."""
        try:
            return self._known()
        except Exception as error:  # the app's page comes first, whatever is wrong with us
            self.say_once(f"the toolbar is left out of pages: {type(error).__name__}: {error}")
            return None

    def project(self) -> Path:
        """The project's folder. Raises PinboxError when there is none to be found."""
        if self._project is None:
            named = os.environ.get("PINBOX_PROJECT")
            self._project = Path(os.path.realpath(named) if named else find_folder(self._start))
        return self._project

    def say_once(self, message: str) -> None:
        """Warn, but only once for the same message."""
        if message not in self._said and len(self._said) < 100:
            self._said.add(message)
            logger.warning("%s", message)

    def _known(self) -> Place | None:
        now = time.monotonic()
        if now - self._read_at >= _READ_EVERY_S:
            self._state, self._read_at = self._read(), now
        state = self._state
        is_heard = state is not None and state.instance != self._deaf
        if now >= (self._asked_at + _ASK_EVERY_S if is_heard else self._retry_at):
            self._look_aside(now)
        if state is None or not is_heard:
            return None
        return Place(
            endpoint=f"http://127.0.0.1:{state.port}",
            token=state.page_token,
            project=project_id(self.project()),
        )

    def _read(self) -> HubState | None:
        try:
            return read_hub(self.project())
        except NoHub:
            return None

    # --- in a thread --------------------------------------------------------------------------

    def _look_aside(self, now: float) -> None:
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._asked_at = now
            self._thread = threading.Thread(target=self._look, name="pinbox-hub", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        try:
            state = self._read()
            if state is not None and self._answers(state):
                self._deaf = ""
            else:
                self._deaf = state.instance if state is not None else ""
                self._begin()
                if state is None:
                    self.say_once(
                        "Pinbox's hub is started: load the page again, it has the toolbar"
                    )
                self._deaf = ""
            self._read_at = float("-inf")
        except Exception as error:
            self._retry_at = time.monotonic() + _RETRY_S
            hint = error.hint if isinstance(error, PinboxError) else None
            self.say_once(f"no hub for the toolbar: {error}" + (f" ({hint})" if hint else ""))

    @staticmethod
    def _answers(state: HubState) -> bool:
        from pinbox import daemon, wire

        try:
            return daemon.health(state, _ANSWER_S) is not None
        except wire.WireError:
            return False

    def _begin(self) -> None:
        """Start the hub, or replace one that is deaf.

        Raises PinboxError, OSError, TimeoutExpired.
        """
        from pinbox import daemon

        folder = self.project()
        if all(importlib.util.find_spec(name) for name in _HUB_NEEDS):
            daemon.ensure_hub(folder)
            return
        program = shutil.which("pinbox", path=_search_path())
        if program is None:
            raise PinboxError(
                "E_HUB_UNREACHABLE",
                "Pinbox is installed here without the hub's own dependencies",
                "install it beside the app as well, `pipx install pinbox`, and run `pinbox status`",
            )
        # Any command that needs the hub starts it, from the environment it is installed in.
        subprocess.run(  # noqa: S603 - our own program, without a shell
            [program, "summary", "--json"],
            cwd=folder,
            env=daemon.hub_environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=daemon.START_TIMEOUT_S + 10,
            check=False,
        )
        try:
            read_hub(folder)
        except NoHub as error:
            raise PinboxError(
                "E_HUB_UNREACHABLE", f"{program} started no hub", "`pinbox status` says more"
            ) from error


def _search_path() -> str:
    """Where another installation's program is looked for; an editor or desktop starts servers with
    a short PATH.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders += [os.path.join(os.path.expanduser("~"), ".local", "bin"), "/usr/local/bin"]
    own = (os.path.dirname(sys.executable), os.path.join(sys.prefix, "bin"))
    return os.pathsep.join(folder for folder in folders if folder not in own)
