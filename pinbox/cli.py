"""`pinbox`: the words typed → one verb → its answer on stdout, its talk on stderr, an exit code.

Only the family of the verb that was called is imported. What a program may rely on is in
docs/cli.md.
"""

from __future__ import annotations

import os
import sys

from pinbox.commands.verb import Answer, nearest, parse, shown
from pinbox.contract import PinboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from pinbox.commands.verb import Verb

#: First word of a verb → its module in pinbox.commands. Help shows the verbs in this order.
FAMILIES: Final = {
    "pin": "pins",
    "list": "pins",
    "show": "pins",
    "summary": "pins",
    "deliveries": "deliveries",
    "retry": "deliveries",
    "rebind": "deliveries",
    "reply": "replies",
    "resolve": "replies",
    "verify": "replies",
    "reopen": "replies",
    "export": "export",
    "init": "init",
    "doctor": "doctor",
    "status": "daemon",
    "stop": "daemon",
    "admin": "daemon",
    "rebuild": "daemon",
    "serve": "daemon",
    "session": "sessions",
    "mcp": "mcp",
    "hook": "hook",
    "completions": "completions",
}

#: exit code of a process ended by Ctrl-C, as shells count it
_INTERRUPTED: Final = 130
_STDOUT: Final = 1
_STDERR: Final = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (without the program's name); the exit code. Never raises."""
    words = list(sys.argv[1:] if argv is None else argv)
    _hold_standard_streams()
    in_json = "--json" in _before_dashes(words) or not os.isatty(_STDOUT)
    in_hook = _is_hook(words)
    try:
        return _run(words, in_json)
    except _StdoutLost as lost:
        if not in_hook:
            _write(_STDERR, f"pinbox: stdout cannot be written: {lost}\n".encode())
        return 0 if in_hook else 1
    except KeyboardInterrupt:
        return 0 if in_hook else _INTERRUPTED


def _run(words: Sequence[str], in_json: bool) -> int:
    try:
        return _print_answer(_answer(words, in_json), in_json)
    except PinboxError as error:
        return _hook_failed(error.message) if _is_hook(words) else _print_error(error, in_json)
    except _StdoutLost:
        raise
    except Exception as error:
        if _is_hook(words):
            return _hook_failed(type(error).__name__)
        return _print_error(_unexpected(error), in_json)


def _is_hook(words: Sequence[str]) -> bool:
    """Whether an agent reads: it takes stdout for its own and some exit codes for orders."""
    return words[:1] == ["hook"] or "--hook" in _before_dashes(words)


def all_verbs() -> list[Verb]:
    """The whole table, in the order of FAMILIES."""
    return [verb for first in FAMILIES for verb in _verbs_of(first)]


def _verbs_of(first: str) -> list[Verb]:
    """The verbs whose first word is `first`."""
    module = __import__(f"pinbox.commands.{FAMILIES[first]}", fromlist=["VERBS"])
    return [verb for verb in module.VERBS if verb.name.partition(" ")[0] == first]


# --- words → answer ------------------------------------------------------------------------------


def _answer(words: Sequence[str], in_json: bool) -> Answer:
    """Find the verb and run it. Raises PinboxError."""
    before = _before_dashes(words)
    after = list(words[len(before) :])
    as_json = "--json" in before
    rest = [word for word in before if word != "--json"]
    first = rest[0] if rest else None
    if first is None and after[1:]:
        raise PinboxError("E_INVALID_INPUT", "the command goes before --", "pinbox --help")
    if first in ("-V", "--version"):
        return _version(as_json)
    if first in (None, "-h", "--help"):
        return _help([], as_json)
    if first == "help":
        return _help([word for word in rest[1:] if word not in ("-h", "--help", "help")], as_json)
    if first.startswith("-"):
        raise PinboxError("E_INVALID_INPUT", f"unknown option: {shown(first)}", "pinbox --help")
    verb, rest = _verb(rest)
    if verb is None or "-h" in rest or "--help" in rest:
        return _help(verb.name.split() if verb else [first], as_json)
    args = parse(verb, [*rest, *after], json=as_json)
    if not in_json:
        args.tell = _tell
    return verb.run(args)


def _verb(words: list[str]) -> tuple[Verb | None, list[str]]:
    """The verb that the first words name, and the words after it; no verb for a bare family."""
    first, *rest = words
    if first not in FAMILIES:
        raise _unknown_verb(first)
    verbs = _verbs_of(first)
    if len(verbs) == 1 and verbs[0].name == first:
        return verbs[0], rest
    second = next((word for word in rest if not word.startswith("-")), None)
    if second is None:
        if rest and rest[0] not in ("-h", "--help"):
            raise PinboxError(
                "E_INVALID_INPUT", f"unknown option: {shown(rest[0])}", f"pinbox {first} --help"
            )
        return None, []
    for verb in verbs:
        if verb.name == f"{first} {second}":
            rest.remove(second)
            return verb, rest
    close = nearest(second, [verb.name.partition(" ")[2] for verb in verbs])
    meant = f"; did you mean {first} {close}?" if close else ""
    raise PinboxError(
        "E_INVALID_INPUT",
        f"unknown command: {first} {shown(second)}{meant}",
        f"pinbox {first} --help",
    )


def _unknown_verb(word: str) -> PinboxError:
    visible = [verb.name.partition(" ")[0] for verb in all_verbs() if not verb.hidden]
    close = nearest(word, [*visible, "help", "--version"])
    return PinboxError(
        "E_INVALID_INPUT",
        f"unknown command: {shown(word)}{f'; did you mean {close}?' if close else ''}",
        f"pinbox {close} --help" if close in visible else "pinbox --help",
    )


def _before_dashes(words: Sequence[str]) -> list[str]:
    """The words in front of `--`: after it everything is a value."""
    return list(words[: words.index("--")] if "--" in words else words)


def _version(as_json: bool) -> Answer:
    from pinbox import __version__

    return Answer({"version": __version__}, lambda: (__version__, ""), bare=not as_json)


def _help(topic: list[str], as_json: bool) -> Answer:
    """Help for pinbox, a verb or a family. Text, also into a pipe, unless --json was said."""
    from pinbox.commands import help

    if not topic:
        text = help.overview(all_verbs())
    else:
        verb, rest = _verb(topic)
        if rest:
            raise PinboxError(
                "E_INVALID_INPUT", f"unexpected argument: {shown(rest[0])}", "pinbox help"
            )
        text = help.of_verb(verb) if verb else help.family(topic[0], _verbs_of(topic[0]))
    return Answer({"help": text}, lambda: (text, ""), bare=not as_json)


# --- answer → streams ----------------------------------------------------------------------------


def _print_answer(answer: Answer, in_json: bool) -> int:
    from pinbox import render

    if in_json and not answer.bare:
        _write(_STDOUT, render.envelope(answer.data))
        return answer.exit_code
    facts, talk = answer.human()
    _write(_STDOUT, render.for_people(facts))
    if not in_json:
        from pinbox.commands import hub

        _write(_STDERR, render.for_people("\n".join(filter(None, [talk, *hub.notices]))))
    return answer.exit_code


def _print_error(error: PinboxError, in_json: bool) -> int:
    from pinbox import render

    if in_json:
        _write(_STDOUT, render.error_envelope(error.code, error.message, error.hint))
    else:
        lines = [f"pinbox: {error.message}", *([error.hint] if error.hint else [])]
        _write(_STDERR, render.for_people("\n".join(render.one_line(line) for line in lines)))
    return error.exit_code


def _tell(text: str) -> None:
    from pinbox import render

    _write(_STDERR, render.for_people(text))


def _unexpected(error: Exception) -> PinboxError:
    """A fault of ours. What it says may be anything, so only its kind is shown."""
    if os.environ.get("PINBOX_DEBUG"):
        import traceback

        _write(_STDERR, "".join(traceback.format_exception(error)).encode("utf-8", "replace"))
    kind = type(error).__name__
    return PinboxError(
        "E_INTERNAL", f"something failed inside pinbox ({kind})", "PINBOX_DEBUG=1 shows where"
    )


def _hook_failed(reason: str) -> int:
    """Nothing on any stream and exit 0: an agent is never harmed. The reason goes to hook.log."""
    from pinbox.commands.hook import log_failure

    log_failure(reason)
    return 0


def _write(fd: int, data: bytes) -> None:
    """All of it, past any buffer. A reader that has gone is nobody's fault and says nothing."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BrokenPipeError:
            return
        except BlockingIOError:
            _wait_until_writable(fd)
        except OSError as error:
            # The output is lost (a full disk): say so where it can still be read.
            if fd == _STDERR:
                return
            raise _StdoutLost(error.strerror) from error


class _StdoutLost(Exception):
    """stdout takes no more bytes though somebody reads it."""


def _wait_until_writable(fd: int) -> None:
    import select

    select.select([], [fd], [])


def _hold_standard_streams() -> None:
    """A closed stream gets /dev/null, else the next socket would take its number and our output."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
