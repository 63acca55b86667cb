"""Runs one headless turn of the real Claude Code, offline, and says what it did.

The program gets an environment of its own (nothing of ours or the developer's), a throw-away HOME,
an invented key and a model on loopback. It runs in its own process group, for a bounded time, and
only that group is ever ended.
"""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .model import Answer, Model, serving

TURN_TIMEOUT_S = 60
_ALWAYS = (
    *("--permission-mode", "bypassPermissions"),
    *("--output-format", "stream-json", "--verbose", "--include-hook-events"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRun:
    event: str
    stdout: str
    stderr: str
    exit_code: int


@dataclass(slots=True, kw_only=True)
class Turn:
    """What one run of the program showed: hooks and shell output in order, and the model's side."""

    exit_code: int
    session_key: str
    result: Mapping[str, Any]
    model: Model
    stderr: str
    hooks: list[HookRun] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def hook(self, event: str) -> HookRun:
        (run,) = [run for run in self.hooks if run.event == event]
        return run


def run_turn(
    program: Path,
    *,
    project: Path,
    environ: Mapping[str, str],
    prompt: str = "Go on with the task.",
    answers: list[Answer] | None = None,
    resume: str = "",
) -> Turn:
    """One `claude -p` in `project`. `environ` is the whole environment but for the model's part."""
    with serving(answers or [Answer(text="Done.")]) as (model, url):
        command = [str(program), "-p", prompt, *_ALWAYS]
        command += ["--resume", resume] if resume else []
        with _running(command, project, {**environ, **offline(url)}) as process:
            stdout, stderr = process.communicate()
    return _turn(process, stdout.splitlines(), stderr, model)


def run_conversation(
    program: Path,
    *steps: str | Callable[[], object],
    project: Path,
    environ: Mapping[str, str],
    answers: list[Answer],
) -> Turn:
    """Several prompts to one running program, which waits between them. A step that is no prompt is
    called while it waits.
    """
    lines: list[str] = []
    with serving(answers) as (model, url):
        command = [str(program), "-p", "--input-format", "stream-json", *_ALWAYS]
        with _running(command, project, {**environ, **offline(url)}) as process:
            assert process.stdin
            assert process.stdout
            for step in steps:
                if callable(step):
                    step()
                    continue
                message = {"role": "user", "content": step}
                process.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
                process.stdin.flush()
                for line in process.stdout:
                    lines.append(line)
                    if json.loads(line)["type"] == "result":
                        break
            stdout, stderr = process.communicate()
    return _turn(process, [*lines, *stdout.splitlines()], stderr, model)


def _turn(process: subprocess.Popen[str], written: list[str], stderr: str, model: Model) -> Turn:
    if model.errors:
        raise model.errors[0]
    lines = [json.loads(line) for line in written if line.startswith("{")]
    last = next((line for line in reversed(lines) if line.get("type") == "result"), {})
    turn = Turn(
        exit_code=process.returncode,
        session_key=last.get("session_id", ""),
        result=last,
        model=model,
        stderr=stderr,
    )
    for line in lines:
        if line.get("subtype") == "hook_response":
            turn.hooks.append(
                HookRun(
                    event=line["hook_event"],
                    stdout=line["stdout"],
                    stderr=line["stderr"],
                    exit_code=line["exit_code"],
                )
            )
        elif isinstance(line.get("tool_use_result"), dict):
            result = line["tool_use_result"]
            turn.outputs.append(result.get("stdout", "") + result.get("stderr", ""))
        elif line.get("tool_use_result"):  # a command that failed is one string
            turn.outputs.append(str(line["tool_use_result"]))
    return turn


def offline(model_url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_API_KEY": "sk-invented-0000-not-a-key",
        "ANTHROPIC_BASE_URL": model_url,
        "NO_PROXY": "127.0.0.1,localhost",
        "DO_NOT_TRACK": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",  # it may skip permission questions even as root, as in a container
    }


@contextmanager
def _running(
    command: list[str], cwd: Path, environ: Mapping[str, str]
) -> Iterator[subprocess.Popen[str]]:
    """The program, ended with its process group when it runs for too long or is left behind."""
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=dict(environ),
        text=True,
        start_new_session=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    killed = threading.Event()

    def kill() -> None:
        killed.set()
        os.killpg(process.pid, signal.SIGKILL)

    limit = threading.Timer(TURN_TIMEOUT_S, kill)
    limit.start()
    try:
        yield process
    finally:
        limit.cancel()
        if process.poll() is None:
            kill()
            process.communicate()
    assert not killed.is_set(), f"{command[0]} did not end within {TURN_TIMEOUT_S} s"
