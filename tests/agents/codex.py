"""Runs the real Codex, offline: its configuration, the trust that a person gives, one headless
turn.
"""

import json
import subprocess
from dataclasses import dataclass
from typing import Any

from .conftest import Workplace

TURN_TIMEOUT_S = 60

CONFIG = """\
model = "none"
model_provider = "loopback"
check_for_update_on_startup = false
[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
env_key = "OPENAI_INVENTED_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[analytics]
enabled = false
[features]
daemon_auto_start = false
"""
ENVIRONMENT = {"OPENAI_INVENTED_KEY": "sk-invented-0000", "NO_PROXY": "127.0.0.1,localhost"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    exit_code: int
    key: str
    said: list[str]
    stderr: str


def configure(place: Workplace, url: str) -> None:
    (place.home / ".codex").mkdir(exist_ok=True)
    (place.home / ".codex" / "config.toml").write_text(CONFIG.format(url=url))


def turn(place: Workplace, prompt: str = "Go on with the task.", *options: str) -> Ended:
    """One `codex exec`. `options` come first: `resume`, and what only that takes."""
    command = ["codex", "exec", *options[:1], "--json", *options[1:], prompt]
    done = place.run(*command, timeout=TURN_TIMEOUT_S)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    keys = [line["thread_id"] for line in lines if line["type"] == "thread.started"]
    items = [line["item"] for line in lines if line["type"] == "item.completed"]
    said = [item["text"] for item in items if item["type"] == "agent_message"]
    key = keys[0] if keys else ""
    return Ended(exit_code=done.returncode, key=key, said=said, stderr=done.stderr)


# --- trust ----------------------------------------------------------------------------------------


def trust_folder(place: Workplace) -> None:
    """What `codex` in a terminal writes when a person says that the folder can be trusted."""
    with (place.home / ".codex" / "config.toml").open("a") as file:
        file.write(f'[projects."{place.project}"]\ntrust_level = "trusted"\n')


def trust_hooks(place: Workplace) -> list[str]:
    """What it writes when a person trusts the hooks that are there; returns their events."""
    hooks = _hooks_list(place)
    with (place.home / ".codex" / "config.toml").open("a") as file:
        for hook in hooks:
            file.write(f'[hooks.state."{hook["key"]}"]\n')
            file.write(f'trusted_hash = "{hook["currentHash"]}"\n')
    return [hook["eventName"] for hook in hooks]


def _hooks_list(place: Workplace) -> list[dict[str, Any]]:
    client = {"name": "test", "title": "test", "version": "0"}
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": client}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(place.project)]}},
    ]
    with subprocess.Popen(
        ["codex", "app-server"],
        cwd=place.project,
        env=place.environ,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write("".join(json.dumps(one) + "\n" for one in asked))
        process.stdin.flush()
        for line in process.stdout:
            answer = json.loads(line)
            if answer.get("id") == 2:
                process.stdin.close()
                hooks: list[dict[str, Any]] = answer["result"]["data"][0]["hooks"]
                return hooks
    raise AssertionError("codex app-server did not answer")
