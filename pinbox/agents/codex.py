"""Codex CLI: its resume. See https://developers.openai.com/codex/noninteractive."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pinbox.agents import resume as resumes
from pinbox.agents.resume import Answer, Command, Permissions

NAME: Final = "codex"

PROGRAM: Final = "codex"
#: Any other word is taken for a name, and one that is not known starts a new session, exit code 0.
KEY: Final = resumes.UUID
HELP: Final[tuple[str, ...]] = ()
ENVIRONMENT: Final[tuple[str, ...]] = (
    *("CODEX_HOME", "CODEX_API_KEY", "CODEX_CA_CERTIFICATE", "OPENAI_*", "AZURE_OPENAI_*"),
    *("AWS_*", "RUST_LOG"),
)
_SANDBOX: Final[Mapping[Permissions, tuple[str, ...]]] = {
    "": (),
    "edit": ("-c", 'sandbox_mode="workspace-write"'),
    "edit+network": (
        *("-c", 'sandbox_mode="workspace-write"'),
        *("-c", "sandbox_workspace_write.network_access=true"),
    ),
}
_STATUS: Final = re.compile(r"status:? (\d{3})\b")


def resume(key: str, text: str, *, permissions: Permissions, help_text: str) -> Command:
    """Outside a git repository it wants to be told that this is meant: the session was begun there.
    Its sandbox stays as it is.
    """
    return Command(
        arguments=(
            *("exec", "resume", "--json", "--skip-git-repo-check"),
            *_SANDBOX[permissions],
            *(key, "-"),
        ),
        stdin=text,
    )


def read(exit_code: int | None, stdout: str, stderr: str) -> Answer:
    """A line of JSON for each step; the first names the session. Nothing on stdout when it is
    refused.
    """
    lines = list(resumes.json_objects(stdout))
    keys = [one.get("thread_id") for one in lines if one.get("type") == "thread.started"]
    key = resumes.string(keys[0]) if keys else ""
    error = "\n".join([*_errors(lines)][-1:] + ([stderr] if stderr.strip() else []))
    if exit_code != 0 and "already has an active writer" in stderr:
        return resumes.failed(stderr, key=key or None, trouble="busy")
    if exit_code != 0 and "no rollout found for thread id" in stderr:
        return resumes.failed(stderr, key=key or None, trouble="refused")
    if exit_code != 0 or not any(one.get("type") == "turn.completed" for one in lines):
        status = _STATUS.search(error)
        return resumes.failed(error, key=key or None, status=int(status[1]) if status else None)
    items = [item for item in _items(lines) if item.get("type") != "error"]
    said = "\n\n".join(
        resumes.string(item.get("text")) for item in items if item.get("type") == "agent_message"
    )
    if not items:  # exit code 0, a completed turn, and no word of the model
        why = "one of its own hooks dropped the prompt"
        return resumes.failed(error, key=key or None, trouble="unclear", why=why)
    return Answer(key=key or None, said=said)


def _errors(lines: list[dict[str, Any]]) -> Iterator[str]:
    for one in lines:
        error = one.get("error") if one.get("type") == "turn.failed" else one
        if one.get("type") in ("turn.failed", "error") and isinstance(error, dict):
            yield resumes.string(error.get("message"))


def _items(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in lines:
        item = one.get("item")
        if one.get("type") == "item.completed" and isinstance(item, dict):
            yield item
