"""What each agent program says to its hooks and what it lets a hook answer, one module per agent.

A module of an agent whose hooks we know has a NAME and two functions: `parse(body) -> HookCall |
None` and `render(call, text) -> bytes`. One whose ended sessions can be resumed offers what
`resume.Resume` asks for. All of it is pure: no clock, no files, no network.
"""

from typing import Final, Protocol

from pinbox.agents import claude, codex, hermes
from pinbox.agents.payload import HookCall
from pinbox.agents.resume import Resume

__all__ = ["AGENTS", "RESUMES", "HookCall", "parse", "render"]


class Dialect(Protocol):
    """What an agent's module offers."""

    NAME: str

    def parse(self, body: bytes) -> HookCall | None: ...

    def render(self, call: HookCall, text: str) -> bytes: ...


AGENTS: Final[dict[str, Dialect]] = {claude.NAME: claude}
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
