"""The hidden `pinbox hook <agent>`: the same as hook.py, for launchers that only find `pinbox`."""

from __future__ import annotations

from pinbox.commands.verb import Answer, Argument, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pinbox.commands.verb import Args


def hook(args: Args) -> Answer:
    from pinbox import hotpath

    hotpath.main(args["agent"])
    return Answer(None, lambda: ("", ""), bare=True)


def log_failure(reason: str) -> None:
    """One line in the project's hook.log. Never raises: a hook that fails has nobody to tell."""
    import contextlib
    import os

    with contextlib.suppress(Exception):
        from pinbox import contract, project, render

        path = project.state_path(project.find()) / "hook.log"
        if path.parent.is_dir():
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            with open(os.open(path, flags, 0o600), "a") as log:
                log.write(f"{contract.now_iso()} {render.one_line(reason)}\n")


VERBS = (
    Verb(
        "hook",
        "Answer an agent's hook: its payload on stdin, what it takes on stdout.",
        hook,
        arguments=(Argument("agent", "claude, codex, hermes or openclaw"),),
        hidden=True,
    ),
)
