"""Hermes: its resume. See https://hermes-agent.nousresearch.com/docs."""

import re
from typing import Final

from pinbox.agents import resume as resumes
from pinbox.agents.resume import Answer, Command, Permissions

NAME: Final = "hermes"

PROGRAM: Final = "hermes"
#: As in 20261130_163022_6bc6d8. `latest` and titles are not ids.
KEY: Final = re.compile(r"\d{8}_\d{6}_[0-9a-f]{4,32}", re.ASCII)
#: Whether this version reads a prompt from its stdin.
HELP: Final[tuple[str, ...]] = ("chat", "--help")
ENVIRONMENT: Final[tuple[str, ...]] = (
    *("HERMES_HOME", "HERMES_INFERENCE_PROVIDER", "HERMES_MODEL", "OPENROUTER_*", "OPENAI_*"),
    *("ANTHROPIC_*", "NOUS_*", "GEMINI_*", "GOOGLE_API_KEY", "DEEPSEEK_*", "MISTRAL_*", "GROQ_*"),
    *("AWS_*",),
)
_SESSION: Final = re.compile(r"^session_id: *(\S+) *$", re.MULTILINE)
_STATUS: Final = re.compile(r"\bHTTP (\d{3})\b")


def resume(key: str, text: str, *, permissions: Permissions, help_text: str) -> Command:
    """Older versions take the prompt as an argument only, where every user of the machine sees it.

    Never `-z`, which ignores the resume, and never `--yolo`. It edits files without asking, and has
    no flag that says so.
    """
    if "--query-file" in help_text:
        arguments: tuple[str, ...] = ("chat", "-Q", "--query-file", "-", "--resume", key)
        return Command(arguments=arguments, stdin=text)
    return Command(arguments=("chat", "-Q", f"--query={text}", "--resume", key))


def read(exit_code: int | None, stdout: str, stderr: str) -> Answer:
    """The answer on stdout, the session's id on stderr."""
    keys = _SESSION.findall(stderr)
    key = keys[-1] if keys else None
    said = stdout.strip()
    if exit_code == 0:
        return Answer(key=key, said=said)
    if "Session not found:" in stderr:
        return resumes.failed(stderr, key=key, trouble="refused")
    last = said.rpartition("\n")[2]
    error = last if _STATUS.search(last) or not stderr.strip() else f"{last}\n{stderr}"
    status = _STATUS.search(last)
    return resumes.failed(error, key=key, status=int(status[1]) if status else None)
