"""Going on with an agent's ended session, headless: what to run, and what its answer means.

Each agent's module says the same few things of itself (`Resume`); here is what they share. Pure: it
starts nothing and reads no clock.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

#: Why there is no confirmed answer. `refused`: the agent knows no such session. `busy`: another
#: process has it open. `unclear`: it ended otherwise than well, for no reason known here.
Trouble = Literal["refused", "busy", "rate_limit", "auth", "network", "unclear"]

#: What a resumed agent may do without a person who could be asked. "": what its own settings allow.
#: `edit`: change files of the project and run `pinbox`. `edit+network`: and, for an agent that runs
#: commands in a sandbox of its own, reach the network from there, the hub on loopback included.
Permissions = Literal["", "edit", "edit+network"]

UUID: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run: the arguments behind the program, and what to write to its stdin."""

    arguments: tuple[str, ...]
    stdin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a program that ran said. `key` is the session it went on with, if it named one.

    `trouble` None: it ended well, and the model had its turn. `why` is in our words, never the
    program's, which may repeat the prompt; `said` is in the program's. `retry_after_s` and
    `retry_at` (seconds since 1970) are what it said of a limit's end.
    """

    key: str | None = None
    said: str = ""
    trouble: Trouble | None = None
    why: str = ""
    retry_after_s: float | None = None
    retry_at: float | None = None


class Resume(Protocol):
    """What an agent's module offers for its ended sessions."""

    NAME: str
    PROGRAM: str
    #: What a session key looks like. Anything else would be looked up as a title, or start a new
    #: session.
    KEY: re.Pattern[str]
    #: Environment variables of its own that it may have: names, or beginnings that end in `*`.
    ENVIRONMENT: tuple[str, ...]
    #: Arguments that make the program print a help text, for an agent whose abilities differ by
    #: version; empty where nothing depends on it.
    HELP: tuple[str, ...]

    def resume(self, key: str, text: str, *, permissions: Permissions, help_text: str) -> Command:
        """The command that says `text` to the session `key`."""
        ...

    def read(self, exit_code: int | None, stdout: str, stderr: str) -> Answer:
        """What it answered. `exit_code` None: it had to be ended. Never raises."""
        ...


# --- the environment of a resumed agent -----------------------------------------------------------

#: What every program needs to find its files, its language and the network.
_FOR_ALL: Final = (
    *("HOME", "PATH", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_*"),
    *("XDG_*", "DO_NOT_TRACK"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"),
    "CURL_CA_BUNDLE",
)
#: Names under which a user's configuration never stands: who set them speaks of another process.
_NEVER: Final = ("PINBOX_*", "GIT_*", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")


def environment(agent: Resume, environ: Mapping[str, str], more: Iterable[str]) -> dict[str, str]:
    """What of `environ` a resumed agent gets. `more` are names that the user adds."""
    allowed = (*_FOR_ALL, *agent.ENVIRONMENT, *more)
    kept = {
        name: value
        for name, value in environ.items()
        if is_named(name, allowed) and not is_named(name, _NEVER)
    }
    return kept | {"TERM": "dumb"}


def is_named(name: str, patterns: Iterable[str]) -> bool:
    return any(
        name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
        for pattern in patterns
    )


# --- reading answers ------------------------------------------------------------------------------

#: Characters of an error in which a reason is looked for: what comes later may quote the prompt.
_TELLING_CHARS: Final = 400

_TEXTS: Final[tuple[tuple[Trouble, re.Pattern[str]], ...]] = (
    (
        "rate_limit",
        re.compile(
            r"rate.?limit|too many requests|overloaded|high demand|quota|limit reached|at capacity"
            r"|hit your [\w -]{0,40}limit|usage limit|credit balance is too low|no credit",
            re.IGNORECASE,
        ),
    ),
    (
        "auth",
        re.compile(
            r"not logged in|/login\b|codex login|log out and sign in|sign in again|unauthorized"
            r"|failed to authenticate|authentication|invalid api key|incorrect api key"
            r"|no api key|api key (?:not|is not|is missing)|missing environment variable"
            r"|token (?:has )?expired|refresh token|oauth token",
            re.IGNORECASE,
        ),
    ),
    (
        "network",
        re.compile(
            r"connection (?:error|refused|reset|failed|closed|timed out)|waiting for network"
            r"|error sending request|ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH"
            r"|getaddrinfo|dns error|name resolution|stream disconnected|request timed out"
            r"|unable to connect|certificate|service unavailable|bad gateway",
            re.IGNORECASE,
        ),
    ),
)

#: In our words, for people.
WHY: Final[dict[Trouble, str]] = {
    "refused": "it knows no such session",
    "busy": "the session is open in another process",
    "rate_limit": "its model is overloaded, or a limit is reached",
    "auth": "it is not logged in, or its key is not valid",
    "network": "it cannot reach its model",
    "unclear": "it ended without an answer",
}


def trouble_of(*, status: int | None = None, text: str = "") -> Trouble:
    """The reason in an HTTP status that the model's service gave, else in an error's text."""
    text = text[:_TELLING_CHARS]
    by_status = _trouble_of_status(status) if status is not None else None
    if by_status and by_status != "network":
        return by_status
    for trouble, pattern in _TEXTS:
        if pattern.search(text):
            return trouble
    return by_status or "unclear"


def _trouble_of_status(status: int) -> Trouble | None:
    if status in (429, 529):
        return "rate_limit"
    if status in (401, 403):
        return "auth"
    return "network" if status in (408, 502, 503, 504) or status >= 520 else None


_AGAIN_IN: Final = re.compile(r"try again in ((?:about )?[\w. ,]{1,60})", re.IGNORECASE)
_PERIOD: Final = re.compile(r"(\d+(?:\.\d+)?) ?(d|h|m(?!s)|s)[a-z]*", re.IGNORECASE)
_SECONDS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
#: `…limit reached|1767225600`
_EPOCH: Final = re.compile(r"\|(\d{10})\b")


def retry_after_s(text: str) -> float | None:
    """Seconds from now, as in "try again in 2 hours 5 minutes"."""
    found = _AGAIN_IN.search(text[:_TELLING_CHARS])
    parts = _PERIOD.findall(found[1]) if found else []
    return sum(float(number) * _SECONDS[unit.lower()] for number, unit in parts) or None


def retry_at(text: str) -> float | None:
    """Seconds since 1970, where a limit names the instant of its end."""
    found = _EPOCH.search(text[:_TELLING_CHARS])
    return float(found[1]) if found else None


def failed(
    text: str,
    *,
    key: str | None = None,
    status: int | None = None,
    trouble: Trouble | None = None,
    why: str = "",
) -> Answer:
    """The answer of a program that could not. `text` is what it said of its error."""
    trouble = trouble or trouble_of(status=status, text=text)
    return Answer(
        key=key,
        said=text,
        trouble=trouble,
        why=why or WHY[trouble],
        retry_after_s=retry_after_s(text) if trouble == "rate_limit" else None,
        retry_at=retry_at(text) if trouble == "rate_limit" else None,
    )


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines of a text, in order."""
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def string(value: object) -> str:
    return value if isinstance(value, str) else ""


def number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
