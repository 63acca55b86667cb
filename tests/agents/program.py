"""Runs one headless turn of the real Claude Code, offline, and says what it did.

The program gets an environment of its own (nothing of ours or the developer's), a throw-away HOME,
an invented key and a model on loopback. It runs in its own process group, for a bounded time, and
only that group is ever ended.
"""

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .model import Answer, Model, serving

TURN_TIMEOUT_S = 60
KILL_TIMEOUT_S = 5


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
        command = [str(program), "-p", prompt, "--permission-mode", "bypassPermissions"]
        command += ["--output-format", "stream-json", "--verbose", "--include-hook-events"]
        command += ["--resume", resume] if resume else []
        done = _bounded(command, project, {**environ, **_offline(url)})
    if model.errors:
        raise model.errors[0]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    last = lines[-1] if lines else {}
    turn = Turn(
        exit_code=done.returncode,
        session_key=last.get("session_id", ""),
        result=last,
        model=model,
        stderr=done.stderr,
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


def _offline(model_url: str) -> dict[str, str]:
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


def _bounded(
    command: list[str], cwd: Path, environ: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=dict(environ),
        text=True,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        stdout, stderr = process.communicate(timeout=TURN_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.communicate(timeout=KILL_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        raise
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)
