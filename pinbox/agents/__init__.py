"""What each agent program needs of us and says to us, one module per agent.

A module that `init` installs for has what `Installable` asks for. One whose hooks or plugin call
us has two functions more: `parse(body) -> HookCall | None` and `render(call, text) -> bytes`. One
whose ended sessions can be resumed offers what `resume.Resume` asks for. All of it is pure: no
files, no clock, no network. docs/adding-an-agent.md goes through it.
"""

from typing import Final, Protocol

from pinbox.agents import claude, codex, copilot, cursor, hermes, openclaw
from pinbox.agents.payload import HookCall
from pinbox.agents.pieces import Home, Piece, Place
from pinbox.agents.resume import Resume

__all__ = ["AGENTS", "INSTALLS", "RESUMES", "HookCall", "Installable", "parse", "render"]


class Dialect(Protocol):
    """What the module of an agent that calls us offers."""

    NAME: str

    def parse(self, body: bytes) -> HookCall | None: ...

    def render(self, call: HookCall, text: str) -> bytes: ...


class Installable(Protocol):
    """What the module of an agent that `init` installs for offers.

    It is here when `PROGRAM` (if it has one) is on the PATH, when its `HOME` exists, or when the
    project has its `FOLDER`. `METHOD` is what contract.md 8.4 calls the way it is installed.
    `after` says what a person still has to do, such as to trust a hook.
    """

    NAME: str
    LABEL: str
    PROGRAM: str
    FOLDER: str
    METHOD: str

    @property
    def HOME(self) -> Home | None: ...

    def pieces(self, place: Place) -> tuple[Piece, ...]: ...

    def after(self, place: Place) -> str: ...


AGENTS: Final[dict[str, Dialect]] = {
    claude.NAME: claude,
    codex.NAME: codex,
    hermes.NAME: hermes,
    openclaw.NAME: openclaw,
}
INSTALLS: Final[dict[str, Installable]] = {
    claude.NAME: claude,
    codex.NAME: codex,
    hermes.NAME: hermes,
    openclaw.NAME: openclaw,
    cursor.NAME: cursor,
    copilot.NAME: copilot,
}
RESUMES: Final[dict[str, Resume]] = {
    claude.NAME: claude,
    codex.NAME: codex,
    hermes.NAME: hermes,
}


def parse(agent: str, body: bytes) -> HookCall | None:
    """The hook call in `body`, or None when nothing can be done with it. Never raises."""
    dialect = AGENTS.get(agent)
    return None if dialect is None else dialect.parse(body)


def render(call: HookCall, text: str) -> bytes:
    """`text` as the agent of `call` wants a hook to say it; nothing at all when there is no text.

    The event decides what it means there: context for the turn, or a reason to go on at a stop.
    """
    dialect = AGENTS.get(call.agent)
    return b"" if dialect is None or not text else dialect.render(call, text)
