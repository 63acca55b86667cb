"""`python -m docs.generate [--check]`: the pages of docs/commands from the table of verbs.

What stands below the line MARK on a page is written by hand and kept.
"""

import sys
from pathlib import Path

from pinbox import cli
from pinbox.commands import help
from pinbox.commands.verb import Verb

COMMANDS = Path(__file__).parent / "commands"
MARK = "<!-- Above: python -m docs.generate. Below: by hand. -->"


def main() -> int:
    wanted = pages()
    stale = [path for path in wanted if not path.exists() or path.read_text() != wanted[path]]
    unknown = sorted(set(COMMANDS.glob("*.md")) - set(wanted))
    if "--check" in sys.argv[1:]:
        for path in [*stale, *unknown]:
            print(f"{path.relative_to(COMMANDS.parent.parent)} is not what the table of verbs says")
        return 1 if stale or unknown else 0
    COMMANDS.mkdir(exist_ok=True)
    for path in unknown:
        path.unlink()
    for path in stale:
        path.write_text(wanted[path])
    return 0


def pages() -> dict[Path, str]:
    """Every page there should be, with its text; the part by hand is read from the page itself."""
    families: dict[str, list[Verb]] = {}
    for verb in cli.all_verbs():
        if not verb.hidden:
            families.setdefault(verb.name.partition(" ")[0], []).append(verb)
    found = {COMMANDS / "README.md": index(families)}
    for first, verbs in families.items():
        path = COMMANDS / f"{first}.md"
        found[path] = f"{page(first, verbs)}\n{MARK}\n{by_hand(path)}"
    return found


def index(families: dict[str, list[Verb]]) -> str:
    lines = ["# Commands", "", "What holds for all of them: [the terminal](../cli.md).", ""]
    lines += ["| command | |", "| --- | --- |"]
    for first, verbs in families.items():
        lines += [f"| [`pinbox {verb.name}`]({first}.md) | {verb.summary} |" for verb in verbs]
    return "\n".join([*lines, ""])


def page(first: str, verbs: list[Verb]) -> str:
    """The page's head: the help of its verb, or of each verb of its family."""
    lines = [f"# pinbox {first}", ""]
    for verb in verbs:
        lines += [f"## pinbox {verb.name}", ""] if len(verbs) > 1 else []
        lines += ["```text", help.of_verb(verb).rstrip(), "```", ""]
    return "\n".join(lines)


def by_hand(path: Path) -> str:
    if not path.exists():
        return ""
    return path.read_text().partition(f"{MARK}\n")[2]


if __name__ == "__main__":
    sys.exit(main())
