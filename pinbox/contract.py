"""What client and hub must agree on: error codes, id patterns, event types, limits, protocol
numbers.

Nothing here talks to anything. The wire itself is described in docs/architecture.md.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, which costs a warm command as much as `json`
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Final

SCHEMA_VERSION: Final = 1
WS_PROTOCOL: Final = 1

#: code -> (HTTP status, exit code of the CLI). Codes are append-only.
ERRORS: Final[dict[str, tuple[int, int]]] = {
    "E_INTERNAL": (500, 1),
    "E_INVALID_INPUT": (400, 2),
    "E_NOT_FOUND": (404, 3),
    "E_CONFLICT": (409, 4),
    "E_HUB_UNREACHABLE": (503, 5),
    "E_SESSION_GONE": (410, 6),
    "E_DELIVERY": (502, 7),
    "E_WS_PROTOCOL": (400, 8),
    "E_ATTACHMENT": (413, 9),
    "E_CONNECTOR": (502, 10),
    "E_AUTH": (401, 11),
}

EVENT_TYPES: Final = (
    "pin.created",
    "pin.resolved",
    "thread.message",
    "pin.verified",
    "pin.linked",
)

PIN_ID: Final = r"pin_[a-z0-9]{10}"
SESSION_ID: Final = r"ses_[a-z0-9]{10}"
ATTACHMENT_ID: Final = r"att_[a-z0-9]{10}"

#: Header by which a client inside an agent's own shell names that session: "<agent>/<key>".
SESSION_HEADER: Final = "Pinbox-Session"
IDEMPOTENCY_HEADER: Final = "Idempotency-Key"

#: environment variable of an agent's own shell -> agent name. Its value is the session key.
AGENT_SESSION_ENV: Final[dict[str, str]] = {
    "CLAUDE_CODE_SESSION_ID": "claude",
    "CODEX_THREAD_ID": "codex",
    "HERMES_SESSION_ID": "hermes",
    "OPENCLAW_SESSION_KEY": "openclaw",  # OpenClaw sets none; what we tell it asks for this one
}

# Limits. Bytes where the name says bytes, else counts.
MAX_BODY_BYTES: Final = 1024 * 1024
MAX_HOOK_BODY_BYTES: Final = 8 * 1024 * 1024
MAX_ATTACHMENT_BYTES: Final = 5 * 1024 * 1024
MAX_TEXT_BYTES: Final = 64 * 1024
MAX_ARRAY_ITEMS: Final = 1000
MAX_OBJECT_KEYS: Final = 1000
MAX_JSON_DEPTH: Final = 32
MAX_PAGE: Final = 1000
MAX_IDEMPOTENCY_KEY: Final = 255
#: What is looked for; in an address, each of its bytes may take three.
MAX_SEARCH_BYTES: Final = 16 * 1024
#: Agents replace a hook's context over 10,000 bytes by a preview; stay clear of it.
MAX_CONTEXT_BYTES: Final = 9_000


class PinboxError(Exception):
    """One failure with a stable code, a message about this input, and the next command to try.

    `status` overrides the code's usual HTTP status (the local hub answers a bad token with 401 and
    E_INVALID_INPUT, a refused scope with 403 and E_AUTH).
    """

    def __init__(
        self, code: str, message: str, hint: str | None = None, *, status: int | None = None
    ) -> None:
        if code not in ERRORS:
            raise ValueError(f"unknown error code {code}")
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.status = ERRORS[code][0] if status is None else status

    @property
    def exit_code(self) -> int:
        return ERRORS[self.code][1]


class Caller:
    """Who is asking. `scope` is "full" or "page"; the rest is known only from a JWT."""

    __slots__ = ("email", "name", "scope", "subject")

    def __init__(
        self,
        scope: str,
        subject: str | None = None,
        name: str | None = None,
        email: str | None = None,
    ) -> None:
        self.scope = scope
        self.subject = subject
        self.name = name
        self.email = email

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Caller) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    def __hash__(self) -> int:
        return hash((self.scope, self.subject))

    def __repr__(self) -> str:
        return f"Caller({self.scope!r}, {self.subject!r})"

    @property
    def is_authenticated(self) -> bool:
        return True


def iso(moment: datetime) -> str:
    """An aware instant as the wire has it: UTC, milliseconds, `Z`."""
    from datetime import UTC  # not at the top: a warm command does without it, and without secrets

    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now_iso() -> str:
    from datetime import UTC, datetime

    return iso(datetime.now(UTC))


_ID_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


def new_id(prefix: str) -> str:
    """`<prefix>_` and 10 random characters of a-z0-9 (52 bits)."""
    import secrets

    return f"{prefix}_" + "".join(secrets.choice(_ID_ALPHABET) for _ in range(10))
