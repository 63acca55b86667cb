"""mcp: the pins of this project for any agent that speaks MCP, on stdin and stdout.

The door to `pinbox_site.mcp`, which stands on the SDK of the protocol: an extra.
"""

from __future__ import annotations

import os
import sys

from pinbox.commands.verb import Answer, Option, Verb
from pinbox.contract import PinboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from pinbox.commands.verb import Args

INSTALL: Final = "pipx inject pinbox mcp websockets, or pip install 'pinbox[mcp]'"


def mcp(args: Args) -> Answer:
    """Serve until stdin ends. Nothing else is ever written to stdout."""
    from pinbox import project
    from pinbox.hub import hub_folder

    given = args.get("project")
    if given is not None and not os.path.isdir(given):
        raise _told(
            PinboxError("E_INVALID_INPUT", "--project is not a folder", "pinbox mcp --help")
        )
    folder = project.find(given)
    sys.path.append(str(hub_folder()))
    try:
        from pinbox_site.mcp import stdio
    except ImportError as error:
        raise _told(
            PinboxError("E_INVALID_INPUT", "MCP is not installed with this pinbox", INSTALL)
        ) from error
    if sys.stdin.isatty():
        print("pinbox mcp waits for an agent's MCP on stdin; Ctrl-D ends it", file=sys.stderr)
    stdio.serve(folder, allow_mutations=args.has("allow-mutations"))
    return Answer(None, lambda: ("", ""), bare=True)


def _told(error: PinboxError) -> PinboxError:
    """Said on stderr as well: a client shows that, and reads stdout as the protocol's."""
    if not sys.stdout.isatty():
        print(f"pinbox: {error.message}\n{error.hint}", file=sys.stderr)
    return error


VERBS = (
    Verb(
        "mcp",
        "Serve the pins to an agent that speaks MCP, on stdin and stdout.",
        mcp,
        options=(
            Option("--project", "DIR", "the project, else that of the current directory"),
            Option("--allow-mutations", "", "let the agent reply, resolve and verify as well"),
        ),
        about=(
            "Not for people: an agent's configuration names this command.\n"
            "Claude Code: claude mcp add pinbox -- pinbox mcp\n"
            "Codex: codex mcp add pinbox -- pinbox mcp\n"
            "others: a server of type stdio, with the command pinbox and the argument mcp\n\n"
            f"It needs the extra mcp: {INSTALL}."
        ),
    ),
)
