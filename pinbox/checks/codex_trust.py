"""Whether Codex would run our hooks: asked of Codex itself, by `hooks/list` of `codex app-server`.

It is asked in a throw-away CODEX_HOME, for it writes to its home whenever it starts. Of the user's
configuration that one has only what decides about trust: no key, no address, no server. Nothing is
ever approved.
"""

import json
import os
import select
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pinbox.checks.throwaway import ThrowAway
from pinbox.install import settings

#: Seconds until it counts as silent. It takes less than one; a busy machine takes several.
TIMEOUT_S: Final = 8.0
_MAX_BYTES: Final = 1024 * 1024
#: What it does beside answering is not wanted here.
_ALWAYS: Final = """\
check_for_update_on_startup = false
[analytics]
enabled = false
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookState:
    """One hook of ours. `status` is Codex's word: trusted, untrusted, modified or managed."""

    event: str
    status: str
    is_enabled: bool
    is_of_user: bool


def asked(
    program: str, root: Path, home: Path, config: Mapping[str, Any], away: ThrowAway
) -> list[HookState] | None:
    """The hooks of ours that Codex finds when it is started in `root`; those of a project are not
    among them unless it trusts that folder. None when it does not say.

    `home` is the user's own CODEX_HOME, `config` the config.toml in there.
    """
    own = away.home / ".codex"
    own.mkdir(exist_ok=True)
    (own / "config.toml").write_text("".join(_config(config, home, own)))
    try:
        (own / "hooks.json").write_bytes((home / "hooks.json").read_bytes())
    except OSError:
        (own / "hooks.json").unlink(missing_ok=True)
    told = _hooks_list(program, root, own, away)
    return None if told is None else list(_ours(told, own))


def _config(config: Mapping[str, Any], home: Path, own: Path) -> Iterator[str]:
    """What of the user's config.toml decides about trust, with the user's own hooks in `own`."""
    yield _ALWAYS
    features = _table(config, "features")
    if features.get("hooks") is False:
        yield "[features]\nhooks = false\n"
    for folder, entry in _table(config, "projects").items():
        level = entry.get("trust_level") if isinstance(entry, dict) else None
        if isinstance(level, str):
            yield f"[projects.{_quoted(folder)}]\ntrust_level = {_quoted(level)}\n"
    for key, entry in _table(_table(config, "hooks"), "state").items():
        if not isinstance(entry, dict):
            continue
        for theirs in (str(home), os.path.realpath(home)):
            if key.startswith(f"{theirs}/hooks.json:"):
                key = str(own) + key.removeprefix(theirs)
                break
        yield f"[hooks.state.{_quoted(key)}]\n"
        if isinstance(entry.get("trusted_hash"), str):
            yield f"trusted_hash = {_quoted(entry['trusted_hash'])}\n"
        if isinstance(entry.get("enabled"), bool):
            yield f"enabled = {str(entry['enabled']).lower()}\n"


def _table(of: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = of.get(name)
    return found if isinstance(found, dict) else {}


def _quoted(text: str) -> str:
    """A basic string of TOML: all that JSON escapes, TOML reads the same, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _ours(told: list[Any], own: Path) -> Iterator[HookState]:
    for entry in told:
        hook = entry if isinstance(entry, dict) else {}
        command, path = hook.get("command"), hook.get("sourcePath")
        if settings.is_ours(command):
            yield HookState(
                event=str(hook.get("eventName")),
                status=str(hook.get("trustStatus")),
                is_enabled=hook.get("enabled") is not False,
                is_of_user=isinstance(path, str) and Path(path).parent == own,
            )


# --- asking ---------------------------------------------------------------------------------------


def _hooks_list(program: str, root: Path, own: Path, away: ThrowAway) -> list[Any] | None:
    questions: tuple[dict[str, Any], ...] = (
        {
            "id": 1,
            "method": "initialize",
            "params": {"clientInfo": {"name": "pinbox", "title": "Pinbox", "version": "1"}},
        },
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(root)]}},
    )
    env = away.environment(
        PATH=os.environ.get("PATH", os.defpath), CODEX_HOME=str(own), DO_NOT_TRACK="1"
    )
    try:
        process = away.programs.spawn(
            [program, "app-server"],
            env=env,
            cwd=away.project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    except OSError:
        return None
    assert process.stdin is not None  # noqa: S101 - for the type checker
    assert process.stdout is not None  # noqa: S101
    try:
        # It answers nothing once its input has ended, so that stays open.
        os.write(process.stdin.fileno(), b"".join(_line(question) for question in questions))
        answer = _answer(process.stdout.fileno(), 2, time.monotonic() + TIMEOUT_S)
    except BrokenPipeError:
        return None
    finally:
        process.stdin.close()
        away.programs.end(process, within_s=1.0)
        process.stdout.close()
    try:
        hooks = answer["result"]["data"][0]["hooks"]
    except (KeyError, IndexError, TypeError):
        return None
    return hooks if isinstance(hooks, list) else None


def _line(question: Mapping[str, Any]) -> bytes:
    return json.dumps(question).encode() + b"\n"


def _answer(descriptor: int, number: int, deadline: float) -> dict[str, Any]:
    """The answer to question `number`; empty when none comes."""
    read = b""
    while len(read) < _MAX_BYTES and (left := deadline - time.monotonic()) > 0:
        if not select.select([descriptor], [], [], left)[0]:
            break
        more = os.read(descriptor, 65536)
        if not more:
            break
        *lines, read = (read + more).split(b"\n")
        for line in lines:
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said, dict) and said.get("id") == number:
                return said
    return {}
