"""What the verbs share when they talk to the hub: finding it, naming pins, saying who acts."""

from __future__ import annotations

import os

from pinbox.contract import MAX_TEXT_BYTES, PinboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from pinbox.client import Hub

#: prefix and ten of a-z0-9 (contract.PIN_ID, SESSION_ID; `re` would cost a verb 4 ms)
_ID_LENGTH: Final = 14
_ID_ALPHABET: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")

#: variables that an agent sets for the commands it runs, beside those that name its session
_AGENT_MARKS: Final = {"CLAUDECODE": "claude", "CODEX_SANDBOX": "codex"}

#: characters of a session's key that name it in a thread
_LABEL_LENGTH: Final = 8


#: sentences for a person, about the hub that was used
notices: list[str] = []


def open_hub() -> Hub:
    """The hub of the project that the current directory is in, started when it is absent."""
    from pinbox import client

    hub = client.connect()
    if hub.notice:
        notices.append(hub.notice)
    return hub


def is_id(text: str, prefix: str) -> bool:
    return (
        len(text) == _ID_LENGTH
        and text.startswith(f"{prefix}_")
        and _ID_ALPHABET.issuperset(text[len(prefix) + 1 :])
    )


def pin_path(pin_id: str, *rest: str) -> str:
    """`/pins/<id>/…`. Ids are exact; what is not one is unknown, and never becomes another path."""
    if not is_id(pin_id, "pin"):
        raise unknown_pin(pin_id)
    return "/".join(["/pins", pin_id, *rest])


def unknown_pin(pin_id: str) -> PinboxError:
    from pinbox.commands.verb import shown

    return PinboxError("E_NOT_FOUND", f"no pin {shown(pin_id)} (full ids only)", "pinbox list")


def unknown_session(name: str) -> PinboxError:
    from pinbox.commands.verb import shown

    return PinboxError("E_NOT_FOUND", f"no session {shown(name)}", "pinbox session list")


def ask_about_pin(
    hub: Hub, method: str, pin_id: str, *rest: str, body: dict[str, Any] | None = None
) -> Any:
    """One request about one pin, with the errors a person can act on.

    An unknown id hints at the list, a conflict at the pin itself.
    """
    path = pin_path(pin_id, *rest)
    try:
        return hub.request(method, path, body)
    except PinboxError as error:
        if error.code == "E_NOT_FOUND":
            raise unknown_pin(pin_id) from error
        if error.code == "E_CONFLICT":
            raise PinboxError(error.code, error.message, f"pinbox show {pin_id}") from error
        raise


def acting_agent() -> tuple[str, str] | None:
    """(agent, session key) when this shell is an agent's own."""
    from pinbox.client import session_header

    agent, slash, key = (session_header(os.environ) or "").partition("/")
    return (agent, key) if slash else None


def agent_of_shell() -> str | None:
    """The agent whose marks this shell's environment carries; user settings are no marks."""
    acting = acting_agent()
    if acting:
        return acting[0]
    return next((agent for mark, agent in _AGENT_MARKS.items() if os.environ.get(mark)), None)


def origin_of(agent: str, key: str) -> str:
    """How a session is named on a thread: `claude:` and the last characters of its key.

    The last ones, because the ids that some agents give their sessions begin with the time of day.
    """
    safe = [char for char in key if char.isascii() and (char.isalnum() or char in "-_.")]
    return f"{agent}:{''.join(safe)[-_LABEL_LENGTH:]}" if safe else agent


def required_text(text: str, what: str, verb: str) -> str:
    """The text as given. Raises E_INVALID_INPUT when there is nothing in it to read, or more than
    the hub would take.
    """
    read = text.strip()
    if not read:
        raise PinboxError("E_INVALID_INPUT", f"the {what} is empty", f"pinbox {verb} --help")
    if len(read.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES:
        raise PinboxError(
            "E_INVALID_INPUT",
            f"the {what} is longer than {MAX_TEXT_BYTES:,} bytes",
            "shorten it, or send the rest with pinbox reply",
        )
    return text
