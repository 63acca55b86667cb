"""The words a verb is described with: its row in the table, what was asked of it, what it answers.

The table is the one source of the parser, `--help`, the shell completions and docs/commands.
argparse is not used: thirteen of its sub-parsers cost more than the whole of `pinbox summary`.
"""

from __future__ import annotations

from pinbox.contract import PinboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any


class Option:
    """A flag (`value` empty) or an option with one value (`value` names it in help)."""

    __slots__ = ("choices", "default", "help", "name", "span", "value")

    def __init__(
        self,
        name: str,
        value: str,
        help: str,
        *,
        choices: Sequence[str] = (),
        span: tuple[int, int] | None = None,
        default: str | None = None,
    ) -> None:
        self.name = name
        self.value = value
        self.help = help
        self.choices = tuple(choices)
        #: lowest and highest whole number allowed, both included
        self.span = span
        self.default = default


class Argument:
    """A positional value."""

    __slots__ = ("choices", "help", "name", "required")

    def __init__(
        self, name: str, help: str, *, required: bool = True, choices: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.help = help
        self.required = required
        self.choices = tuple(choices)


class Verb:
    """One row of the table. `name` is what is typed: "pin", or "session register"."""

    __slots__ = ("about", "arguments", "hidden", "name", "options", "run", "summary")

    def __init__(
        self,
        name: str,
        summary: str,
        run: Callable[[Args], Answer],
        *,
        arguments: Sequence[Argument] = (),
        options: Sequence[Option] = (),
        about: str = "",
        hidden: bool = False,
    ) -> None:
        self.name = name
        self.summary = summary
        self.run = run
        self.arguments = tuple(arguments)
        self.options = tuple(options)
        #: further paragraphs of its help, plain text
        self.about = about
        self.hidden = hidden


class Args:
    """What was asked of one verb: values by option name (without dashes) or argument name."""

    __slots__ = ("flags", "json", "tell", "values")

    def __init__(
        self, values: dict[str, str], flags: Iterable[str] = (), *, json: bool = False
    ) -> None:
        self.values = values
        self.flags = frozenset(flags)
        #: whether --json was said (not whether a program reads)
        self.json = json
        #: says something to a person before the answer is there; None when a program reads
        self.tell: Callable[[str], None] | None = None

    def __getitem__(self, name: str) -> str:
        return self.values[name]

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def has(self, flag: str) -> bool:
        return flag in self.flags


class Answer:
    """What a verb found or did.

    `data` goes into the envelope. `human` gives (facts for stdout, talk for stderr) and is called
    only when a person reads. `bare` prints the human facts for programs too (markdown, a script).
    """

    __slots__ = ("bare", "data", "exit_code", "human")

    def __init__(
        self,
        data: Any,
        human: Callable[[], tuple[str, str]],
        *,
        bare: bool = False,
        exit_code: int = 0,
    ) -> None:
        self.data = data
        self.human = human
        self.bare = bare
        self.exit_code = exit_code


def parse(verb: Verb, words: Sequence[str], *, json: bool = False) -> Args:
    """The words after the verb → Args. Everything after `--` is a value, whatever it looks like.

    Raises E_INVALID_INPUT, with the verb's own help as the hint.
    """

    def refuse(message: str) -> PinboxError:
        return PinboxError("E_INVALID_INPUT", message, f"pinbox {verb.name} --help")

    known = {option.name: option for option in verb.options}
    values = {o.name[2:]: o.default for o in verb.options if o.default is not None}
    flags: set[str] = set()
    positional: list[str] = []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word == "--":
            positional += reversed(rest)
            break
        if not word.startswith("-") or word == "-":
            positional.append(word)
            continue
        name, equals, value = word.partition("=")
        option = known.get(name)
        if option is None:
            raise refuse(f"unknown option: {shown(name)}{_instead_of(word, known)}")
        if not option.value:
            if equals:
                raise refuse(f"{name} takes no value")
            flags.add(name[2:])
            continue
        if not equals:
            is_negative = option.span is not None and bool(rest) and _is_whole_number(rest[-1])
            if not rest or (rest[-1].startswith("-") and not is_negative):
                raise refuse(
                    f"{name} needs a value (one that begins with - is written {name}=VALUE)"
                )
            value = rest.pop()
        if option.choices and value not in option.choices:
            raise refuse(f"{name} must be one of {', '.join(option.choices)}; got {shown(value)}")
        if option.span is not None:
            low, high = option.span
            if not _is_whole_number(value) or not low <= int(value) <= high:
                raise refuse(
                    f"{name} must be a whole number from {low} to {high}; got {shown(value)}"
                )
        values[name[2:]] = value

    for number, argument in enumerate(verb.arguments):
        if number < len(positional):
            value = positional[number]
            if argument.choices and value not in argument.choices:
                raise refuse(
                    f"<{argument.name}> must be one of {', '.join(argument.choices)}; "
                    f"got {shown(value)}"
                )
            values[argument.name] = value
        elif argument.required:
            raise refuse(f"missing argument: <{argument.name}>")
    extra = positional[len(verb.arguments) :]
    if extra:
        raise refuse(f"unexpected argument: {shown(extra[0])}{_place_of(verb)}")
    return Args(values, flags, json=json)


def _place_of(verb: Verb) -> str:
    """Where the word that was one too many belongs, as far as the verb has a place for a text."""
    if any(argument.name in ("text", "reason") for argument in verb.arguments):
        return " (a text of several words goes in quotes)"
    has_note = any(option.name == "--note" for option in verb.options)
    return " (what was done goes after --note)" if has_note else ""


def _is_whole_number(text: str) -> bool:
    """ASCII digits only, few enough that int() stays cheap; a minus sign may stand before them."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= 18


def shown(value: str) -> str:
    """A user's own value inside a message: quoted, short, on one line."""
    value = " ".join(value.split())
    return repr(value if len(value) <= 60 else value[:59] + "…")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` most looks like, if any does."""
    import difflib  # an error path: a verb typed right does not pay its 3 ms

    # Without the dashes, which all options have in common.
    names = {name.lstrip("-"): name for name in known}
    found = difflib.get_close_matches(word[:60].lstrip("-"), names, n=1, cutoff=0.6)
    return names[found[0]] if found else None


def _instead_of(word: str, known: Iterable[str]) -> str:
    """What was probably meant: another option, or a text such as `-1px off`."""
    if not word.startswith("--") and len(word) > 2:
        return f"; a text that begins with - goes after --: -- {shown(word)}"
    close = nearest(word.partition("=")[0], [*known, "--help", "--json"])
    return f"; did you mean {close}?" if close else ""
