"""`init`: plan → ask → apply → undo. Keeps what it did not write, and can be taken back.

`planning` finds out what would be done, `files` writes and remembers it, `undoing` takes it out,
`command` is the verb; `settings` and `git_hook` know the two files that belong to others, and
`launchers` is what these call. See docs/commands/init.md and docs/security.md.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from pinbox.commands.verb import Answer, Args


def main(args: Args) -> Answer:
    """`pinbox init`."""
    from pinbox.install import command

    return command.main(args)


def refresh_launchers(project: Path | str) -> None:
    """For a starting hub: see `launchers.refresh`. Never raises."""
    from pinbox.install import launchers

    launchers.refresh(project)
