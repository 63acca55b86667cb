"""init: put the hooks where the agents and git look for them, or take them out again."""

from __future__ import annotations

from pinbox.commands.verb import Answer, Option, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pinbox.commands.verb import Args


def init(args: Args) -> Answer:
    from pinbox import install

    return install.main(args)


VERBS = (
    Verb(
        "init",
        "Install pinbox into this project: agent hooks, git hook.",
        init,
        options=(
            Option(
                "--agent",
                "LIST",
                "agents separated by commas, or none; without it, those found here",
            ),
            Option("--global", "", "the agents' part for all projects, in your own folders"),
            Option("--dry-run", "", "show what would be done, and do nothing"),
            Option("--yes", "", "do it without asking"),
            Option("--no-input", "", "never ask: without --yes only the plan is shown"),
            Option(
                "--hand-off",
                "AGENT",
                "then let claude, codex or hermes put the toolbar into the app",
            ),
            Option("--undo", "", "take out what init put in, byte for byte"),
        ),
        about=(
            "Asks before it writes; --undo does not ask. Run twice it changes nothing.\n\n"
            "An agent is found by its program on the PATH, by its own folder in your home, or by "
            "its folder in the project. Where there is no sign of any, or only a .github for "
            "Copilot, Claude Code is set up too. With --agent only those you name.\n\n"
            "--dry-run ends with the task that --hand-off gives to an agent: one line in the app, "
            "on a branch of its own, for development only. The agent works here, with its own "
            "permissions, for fifteen minutes at most; what it says goes to stderr."
        ),
    ),
)
