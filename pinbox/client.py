"""A command's way to the hub: find or start it, ask, get data or a PinboxError.

Standard library only, and none of it that a warm command can do without. Starting is
`pinbox.daemon`'s work.
"""

from __future__ import annotations

import os

from . import light_json, wire
from .contract import AGENT_SESSION_ENV, ERRORS, IDEMPOTENCY_HEADER, SESSION_HEADER, PinboxError
from .project import FOLDER, HUB_LOCK, NoHub, find_folder, read_hub, state_path

TYPE_CHECKING = False  # as `typing` has it
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any, Final

    from .daemon import Silence
    from .project import HubState

#: Seconds a hub may take for one answer. Longer than the ten it waits for SQLite's write lock.
ANSWER_TIMEOUT_S: Final = 30.0
#: Seconds of silence after which a command looks whether the hub is alive.
SILENCE_S: Final = 1.0
_MAX_SESSION_KEY: Final = 255


def connect(
    project: Path | str | None = None, *, start: bool = True, timeout_s: float | None = None
) -> Hub:
    """The hub of `project` (default: of the current directory), started if it is absent.

    With `start=False` a missing hub is E_HUB_UNREACHABLE and nothing is created. `timeout_s`
    bounds the start, in seconds. A hub of a newer version is used as it is; `Hub.notice` then has
    a sentence to print.
    """
    if project is None:
        project = find_folder()
    try:
        state = read_hub(project)
        if not os.path.exists(os.path.join(project, FOLDER, HUB_LOCK)):
            raise NoHub("dead", f"{project}/{FOLDER} was removed while its hub ran")
        if state.version != _own_version() and _compare(state.version) < 0:
            raise NoHub("old", f"the hub runs version {state.version}")
    except NoHub as error:
        if not start:
            raise PinboxError(
                "E_HUB_UNREACHABLE",
                f"no hub runs for {project}: {error}",
                "any command that needs it starts it, `pinbox list` for one",
            ) from error
        state = _ensure(project, timeout_s)
    return Hub(project, state, start=start)


class Hub:
    """A hub that can be asked. Holds no connection, so it may be kept for as long as one likes."""

    def __init__(self, project: Path | str, state: HubState, *, start: bool = True) -> None:
        self.project = project
        self.state = state
        self._start = start
        #: Seconds that one answer may take.
        self.answer_timeout_s = ANSWER_TIMEOUT_S

    @property
    def notice(self) -> str | None:
        """A sentence for people when the hub's version is newer than ours; it is used
        nevertheless.
        """
        own = _own_version()
        if self.state.version == own or _compare(self.state.version) <= 0:
            return None
        return f"the hub runs pinbox {self.state.version}, this is {own}: upgrade this one"

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str | int | None] | None = None,
        idempotency_key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Ask once and return the answer's `data`. Raises the PinboxError of the answer, or
        E_HUB_UNREACHABLE.

        A hub that is lost on the way is started or replaced and asked again, once: a read because
        it changes nothing, a write because it carries an idempotency key (`idempotency_key`, else
        a random one).
        """
        given = dict(headers or {})
        content = b""
        if method != "GET":
            given.setdefault(IDEMPOTENCY_HEADER, idempotency_key or os.urandom(16).hex())
            if body is not None:
                given["content-type"] = "application/json"
                content = _encode(body)
        if (session := session_header(os.environ)) is not None:
            given.setdefault(SESSION_HEADER, session)
        target = path + encode_query(query or {})

        status, answer = self._exchange(method, target, tuple(given.items()), content)
        return answer_data(status, answer)

    def _exchange(
        self, method: str, target: str, headers: tuple[tuple[str, str], ...], content: bytes
    ) -> tuple[int, bytes]:
        try:
            answer = self._ask(method, target, headers, content)
        except (wire.WireError, _Deaf) as error:
            # One that lives and is merely slow would be as slow again.
            if not self._start or isinstance(error, wire.TimedOut):
                raise self._unreachable(error) from error
            silence = error.silence if isinstance(error, _Deaf) else None
        else:
            if answer[0] != 401 or not self._has_moved():
                return answer
            silence = None
        self.state = _ensure(self.project, None, silence)
        try:
            return self._ask(method, target, headers, content)
        except (wire.WireError, _Deaf) as error:
            raise self._unreachable(error) from error

    def _ask(
        self, method: str, target: str, headers: tuple[tuple[str, str], ...], content: bytes
    ) -> tuple[int, bytes]:
        all_headers = (("authorization", f"Bearer {self.state.token}"), *headers)
        return wire.exchange(
            self.state.port,
            method,
            target,
            all_headers,
            content,
            timeout_s=self.answer_timeout_s,
            silence_s=SILENCE_S,
            on_silence=_Listener(self.state),
        )

    def _has_moved(self) -> bool:
        try:
            return read_hub(self.project).instance != self.state.instance
        except NoHub:
            return True

    def _unreachable(self, error: Exception) -> PinboxError:
        return PinboxError(
            "E_HUB_UNREACHABLE",
            f"the hub of {self.project} does not answer: {error}",
            f"see {self.state.state_dir / 'hub.log'}, then try again; `pinbox status` says more",
        )


class _Deaf(Exception):
    """The hub will not answer any more; `silence` is what was seen of it."""

    def __init__(self, message: str, silence: Silence | None = None) -> None:
        super().__init__(message)
        self.silence = silence


class _Listener:
    """Called while an answer is awaited: raises when the hub turns out to be gone or deaf."""

    def __init__(self, state: HubState) -> None:
        self.state = state
        self.silence: Silence | None = None

    def __call__(self) -> None:
        from . import daemon  # only a command that waits needs it

        if daemon.is_gone(self.state):
            raise _Deaf("its process ended")
        if self.silence is None:
            self.silence = daemon.Silence(self.state, SILENCE_S)
        try:
            if daemon.health(self.state, SILENCE_S / 2) is not None:
                self.silence.heard()
        except wire.WireError:
            if self.silence.is_deaf():
                raise _Deaf("its process is stopped or hangs", self.silence) from None


def _ensure(
    project: Path | str, timeout_s: float | None, silence: Silence | None = None
) -> HubState:
    from pathlib import Path

    from . import daemon  # a command that finds a hub does not need it

    seconds = daemon.START_TIMEOUT_S if timeout_s is None else timeout_s
    return daemon.ensure_hub(Path(project), seconds, silence)


def _own_version() -> str:
    from . import __version__

    return __version__


def _compare(version: str) -> int:
    """-1, 0 or 1 as `version` is older than ours, as good as equal, or newer."""
    from .daemon import compare_versions  # only when versions differ

    return compare_versions(version, _own_version())


def session_header(environ: Mapping[str, str]) -> str | None:
    """`<agent>/<key>` of the agent session whose shell this is; None outside one."""
    for name, agent in AGENT_SESSION_ENV.items():
        key = environ.get(name, "")
        if key and len(key) <= _MAX_SESSION_KEY and key.isascii() and key.isprintable():
            return f"{agent}/{key}"
    return None


def _encode(body: Any) -> bytes:
    import json  # only a write needs it

    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        # An argument that is not UTF-8 came in as lone surrogates: the hub says what is wrong with
        # it.
        return json.dumps(body, separators=(",", ":")).encode()


_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def quote(text: str) -> str:
    """Percent-encode one path segment or query value (`urllib.parse` costs more than a whole
    request).
    """
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = text.encode("utf-8", "replace")
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in data)


def encode_query(query: Mapping[str, str | int | None]) -> str:
    """`?a=b&…`, without what is None; empty where nothing is left."""
    pairs = [
        f"{quote(name)}={quote(str(value))}" for name, value in query.items() if value is not None
    ]
    return "?" + "&".join(pairs) if pairs else ""


def answer_data(status: int, body: bytes) -> Any:
    """The `data` of an answer. Raises its PinboxError, or E_INTERNAL for what is no answer."""
    try:
        answer = light_json.loads(body)
        if status < 400 and answer["ok"] is True:
            return answer["data"]
        error = answer["error"]
        code, message, hint = error["code"], error["message"], error.get("hint")
        if code in ERRORS and isinstance(message, str) and isinstance(hint, str | None):
            raise PinboxError(code, message, hint, status=status)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise PinboxError(
        "E_INTERNAL",
        f"the hub's answer (status {status}) was not understood",
        "`pinbox status` shows its version; the hub's log may say more",
    )


def hub_log(project: Path) -> Path:
    """Where the hub of `project` logs to, whether or not it runs."""
    try:
        return read_hub(project).state_dir / "hub.log"
    except NoHub:
        return state_path(project) / "hub.log"
