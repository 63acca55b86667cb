"""session trailer: the pins that a commit says it fixes are resolved with its hash.

git's post-commit hook runs it with `--hook`: then it takes a bounded time, never fails, and speaks
only when there is something to say. See docs/commands/session.md.
"""

from __future__ import annotations

from pinbox.commands import hub as hubs
from pinbox.commands.verb import Answer
from pinbox.contract import PinboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from pinbox.client import Hub
    from pinbox.commands.verb import Args

#: seconds that one call of git may take
_GIT_TIMEOUT_S: Final = 30.0
#: seconds that a commit waits for its hook at most; a cold start of the hub takes one or two
_HOOK_DEADLINE_S: Final = 10.0
#: why a pin is passed over, by the hub's answer
_SKIPPED: Final = {"E_NOT_FOUND": "unknown here", "E_CONFLICT": "resolved already"}
#: how a commit comes about again that was made earlier, in the reflog's words
_REPLAYS: Final = ("rebase", "pull", "cherry-pick", "commit (cherry-pick)", "revert", "am")


class Commit:
    __slots__ = ("authored_at", "message", "sha")

    def __init__(self, sha: str, authored_at: int, message: str) -> None:
        self.sha = sha
        #: seconds since 1970; kept by git when the commit is rebased, picked or amended
        self.authored_at = authored_at
        self.message = message


def trailer(args: Args) -> Answer:
    """Without a pin in the message no hub is contacted. Skipped is a pin that is unknown or
    resolved already, and one that was reopened after the commit was made: then this is an old
    commit come again (a rebase), not a new fix.
    """
    from pinbox.client import connect

    revision = args["commit"]
    if args.has("hook"):
        return _in_hook(revision)
    commit = _commit(revision)
    resolved: list[str] = []
    skipped: dict[str, str] = {}
    _resolve(commit, connect, resolved, skipped)
    lines = [_line(pin_id, commit) for pin_id in resolved]
    lines += [f"skipped {pin_id}: {why}" for pin_id, why in skipped.items()]
    talk = "\n".join(lines) or f"{commit.sha[:7]} says of no pin that it fixes it"
    return Answer({"resolved": resolved, "skipped": list(skipped)}, lambda: ("", talk))


def _line(pin_id: str, commit: Commit) -> str:
    return f"resolved {pin_id} ({commit.sha[:7]})"


def _resolve(
    commit: Commit, connect: Callable[[], Hub], resolved: list[str], skipped: dict[str, str]
) -> None:
    """Resolve what the commit fixes. What became of it is written down on the way, for one who is
    interrupted; of what is skipped, the reason.
    """
    from pinbox import trailers

    ids = trailers.pins_fixed_by(commit.message)
    if not ids:
        return
    hub = connect()
    is_new = _is_new(commit.sha)
    body = {"by": "agent" if hubs.agent_of_shell() else "human", "commit": commit.sha}
    for pin_id in ids:
        try:
            if not is_new and _reopened_since(hub, pin_id, commit):
                skipped[pin_id] = "reopened after that commit was made"
                continue
            hub.request("POST", hubs.pin_path(pin_id, "resolve"), body)
        except PinboxError as error:
            if error.code not in _SKIPPED:
                raise
            skipped[pin_id] = _SKIPPED[error.code]
        else:
            resolved.append(pin_id)


def _reopened_since(hub: Hub, pin_id: str, commit: Commit) -> bool:
    from datetime import datetime

    pin = hub.request("GET", hubs.pin_path(pin_id))
    verification = pin.get("verification") or {}
    if verification.get("outcome") != "reopened":
        return False
    return datetime.fromisoformat(verification["at"]).timestamp() > commit.authored_at


def _in_hook(revision: str) -> Answer:
    import signal
    from functools import partial

    from pinbox.client import connect

    def late(*_: object) -> None:
        raise PinboxError("E_HUB_UNREACHABLE", "the hub does not answer")

    resolved: list[str] = []
    skipped: dict[str, str] = {}
    lines: list[str] = []
    commit = None
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, _HOOK_DEADLINE_S)
    try:
        commit = _commit(revision)
        _resolve(commit, partial(connect, timeout_s=_HOOK_DEADLINE_S), resolved, skipped)
        unknown = [pin_id for pin_id, why in skipped.items() if why == _SKIPPED["E_NOT_FOUND"]]
        if unknown and _is_new(commit.sha):  # mistyped, most likely
            lines = [f"pinbox: not resolved: no pin {pin_id} is known here" for pin_id in unknown]
    except PinboxError as error:
        if commit is not None:
            lines = [
                f"pinbox: not resolved: {error.message}",
                f"pinbox: to try again: pinbox session trailer --commit {commit.sha[:12]}",
            ]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if commit is not None:
        lines = [f"pinbox: {_line(pin_id, commit)}" for pin_id in resolved] + lines
    # git passes a hook's stdout on as stderr; bare, so that no terminal is needed.
    return Answer(None, lambda: ("\n".join(lines), ""), bare=True)


# --- git ------------------------------------------------------------------------------------------


def _commit(revision: str) -> Commit:
    """A commit of the current directory's repository. Raises E_INVALID_INPUT."""
    out = _git_log("--format=%H%x00%at%x00%B", "--encoding=UTF-8", "--end-of-options", revision)
    sha, _, rest = out.partition("\0")
    authored_at, _, message = rest.partition("\0")
    return Commit(sha.strip(), int(authored_at or 0), message)


def _is_new(sha: str) -> bool:
    """Whether HEAD's reflog shows this commit as made by hand just now: a plain commit, or an
    amended one whose files changed.
    """
    try:
        out = _git_log("-g", "-2", "--format=%H%x00%T%x00%gs", "HEAD")
    except PinboxError:
        return False
    entries = [line.split("\0", 2) for line in out.splitlines()]
    if not entries or entries[0][0] != sha or len(entries[0]) < 3:
        return False
    how = entries[0][2]
    if how.startswith("commit (amend)"):
        return len(entries) == 2 and entries[1][1] != entries[0][1]
    return not how.startswith(_REPLAYS)


def _git_log(*arguments: str) -> str:
    import subprocess

    command = ["git", "log", "-1", "--no-show-signature", "--no-color", *arguments]
    try:
        done = subprocess.run(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _refused(f"git log failed: {type(error).__name__}") from error
    if done.returncode or not done.stdout:
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise _refused(f"git log failed: {said or f'exit code {done.returncode}'}")
    return done.stdout.decode("utf-8", "replace")


def _refused(message: str) -> PinboxError:
    return PinboxError("E_INVALID_INPUT", message, "pinbox session trailer --help")
