"""The text of `--help`, made from the table of verbs."""

from __future__ import annotations

from pinbox import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from pinbox.commands.verb import Argument, Option, Verb

#: columns a help line may have; what is printed does not depend on the terminal
_COLUMNS: Final = 80
_COMMON: Final = (
    ("--json", "print one JSON document, also on a terminal"),
    ("-h, --help", "explain this command"),
)
_BEGIN: Final = (
    "Begin with pinbox init in a project, once; then pinbox pin 'what is wrong'. "
    "When something is odd: pinbox doctor."
)
_ABOUT: Final = (
    "pinbox <command> --help explains a command. Where stdout is not a terminal, every command "
    'prints one JSON document: {"ok": true, "data": …}, or {"ok": false, "error": …}.'
)


def first_words(verbs: Sequence[Verb]) -> dict[str, str]:
    """What can follow `pinbox`, with what it does; a family such as `session` stands once."""
    words: dict[str, list[str]] = {}
    about: dict[str, str] = {}
    for verb in verbs:
        first, _, second = verb.name.partition(" ")
        if verb.hidden:
            continue
        about[first] = verb.summary
        if second:
            words.setdefault(first, []).append(second)
    families = {w: f"What agents' hooks and git call: {', '.join(words[w])}." for w in words}
    return about | families | {"help": "Explain a command."}


def overview(verbs: Sequence[Verb]) -> str:
    """What bare `pinbox` says."""
    return "\n".join(
        [
            f"pinbox {__version__}: pins from a running app to the coding agent working on it",
            "",
            "usage: pinbox <command> [arguments]",
            "",
            *_wrapped(_BEGIN, 0),
            "",
            "commands:",
            *_table(list(first_words(verbs).items())),
            "",
            "options:",
            *_table([*_COMMON, ("-V, --version", "print the version")]),
            "",
            *_wrapped(_ABOUT, 0),
            "",
        ]
    )


def family(name: str, verbs: Sequence[Verb]) -> str:
    """What bare `pinbox session` says."""
    return "\n".join(
        [
            f"usage: pinbox {name} <command> [arguments]",
            "",
            "commands:",
            *_table([(verb.name, verb.summary) for verb in verbs]),
            "",
        ]
    )


def of_verb(verb: Verb) -> str:
    lines = [usage(verb), "", *_wrapped(verb.summary, 0)]
    if verb.arguments:
        lines += ["", "arguments:", *_table([(_placeholder(a), a.help) for a in verb.arguments])]
    options = [(_option(option), option.help) for option in verb.options]
    lines += ["", "options:", *_table([*options, *_COMMON])]
    for paragraph in verb.about.split("\n\n") if verb.about else ():
        lines += ["", *(line for part in paragraph.split("\n") for line in _wrapped(part, 0))]
    return "\n".join([*lines, ""])


def usage(verb: Verb) -> str:
    """`usage: pinbox reply [options] <id> <text>`."""
    words = ["usage: pinbox", verb.name]
    words += ["[options]"] if verb.options else []
    words += [_placeholder(a) if a.required else f"[{_placeholder(a)}]" for a in verb.arguments]
    return " ".join(words)


def synopsis(verb: Verb) -> str:
    """`pinbox reply [--as ROLE] <id> <text>`: on one line, with every option."""
    words = ["pinbox", verb.name, *(f"[{_option(option)}]" for option in verb.options)]
    words += [_placeholder(a) if a.required else f"[{_placeholder(a)}]" for a in verb.arguments]
    return " ".join(words)


def _placeholder(argument: Argument) -> str:
    return f"<{argument.name}>"


def _option(option: Option) -> str:
    return f"{option.name} {option.value}" if option.value else option.name


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Two columns, the second wrapped under itself."""
    width = min(max(len(left) for left, _ in rows), 26)
    lines = []
    for left, right in rows:
        wrapped = _wrapped(right, width + 4)
        if len(left) > width:
            lines += [f"  {left}", *(" " * (width + 4) + line for line in wrapped)]
            continue
        first, *others = wrapped or [""]
        lines.append(f"  {left:<{width}}  {first}".rstrip())
        lines += [" " * (width + 4) + line for line in others]
    return lines


def _wrapped(text: str, used: int) -> list[str]:
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= _COLUMNS - used:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
