"""completions: a script for bash, zsh or fish, made from the table of verbs."""

from __future__ import annotations

from pinbox.commands.help import first_words
from pinbox.commands.verb import Answer, Argument, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinbox.commands.verb import Args, Option


def completions(args: Args) -> Answer:
    from pinbox.cli import all_verbs

    shell = args["shell"]
    script = SHELLS[shell]([verb for verb in all_verbs() if not verb.hidden])
    return Answer({"shell": shell, "script": script}, lambda: (script, ""), bare=not args.json)


def _families(verbs: Sequence[Verb]) -> dict[str, list[Verb]]:
    families: dict[str, list[Verb]] = {}
    for verb in verbs:
        first, _, second = verb.name.partition(" ")
        if second:
            families.setdefault(first, []).append(verb)
    return families


def _option_words(verb: Verb) -> list[str]:
    return [option.name for option in verb.options] + ["--json", "--help"]


def _bash(verbs: Sequence[Verb]) -> str:
    families = _families(verbs)
    lines = [
        "# bash completion for pinbox; load it with: source <(pinbox completions bash)",
        "_pinbox() {",
        '    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
        '    local verb="" word words="" i',
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        '        word="${COMP_WORDS[i]}"',
        "        [[ $word == -* ]] && continue",
        '        if [[ -z $verb ]]; then verb="$word"; ' + _bash_family_test(families) + " fi",
        "    done",
        "    COMPREPLY=()",
        '    case "$verb $previous" in',
    ]
    valued = [(verb, option) for verb in verbs for option in verb.options if option.value]
    for verb, option in valued:
        values = _bash_values(option)
        if values:
            lines.append(f"        '{verb.name} {option.name}') {values}; return ;;")
    free = [f"'{verb.name} {option.name}'" for verb, option in valued if not _bash_values(option)]
    lines += [f"        {'|'.join(free)}) return ;;", "    esac", '    case "$verb" in']
    lines.append(f"        '') words='{' '.join([*first_words(verbs), '--help', '--version'])}' ;;")
    for first, members in families.items():
        seconds = " ".join(verb.name.partition(" ")[2] for verb in members)
        lines.append(f"        '{first}') words='{seconds} --help' ;;")
    for verb in verbs:
        choices = [choice for argument in verb.arguments for choice in argument.choices]
        lines.append(f"        '{verb.name}') words='{' '.join(choices + _option_words(verb))}' ;;")
    lines.append(f"        help) words='{' '.join(first_words(verbs))}' ;;")
    lines += [
        "    esac",
        '    COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "}",
        "complete -F _pinbox pinbox",
    ]
    return "\n".join(lines) + "\n"


def _bash_family_test(families: dict[str, list[Verb]]) -> str:
    """The second word of `session list` belongs to the verb; that of `show pin_…` does not."""
    tests = " || ".join(f"$verb == {first}" for first in families) or "1 == 0"
    return f'elif [[ {tests} ]]; then verb="$verb $word";'


def _bash_values(option: Option) -> str:
    if option.choices:
        return f"COMPREPLY=($(compgen -W '{' '.join(option.choices)}' -- \"$current\"))"
    if option.value.startswith(("PATH", "DIR")):
        return 'COMPREPLY=($(compgen -f -- "$current"))'
    return ""


def _zsh(verbs: Sequence[Verb]) -> str:
    families = _families(verbs)
    lines = [
        "#compdef pinbox",
        "# zsh completion for pinbox; load it with: source <(pinbox completions zsh)",
        "_pinbox() {",
        "    local -a verbs",
        "    local verb=${words[2]}",
        "    if (( CURRENT == 2 )); then",
        "        verbs=(",
        *(f"            {_quote(f'{w}:{about}')}" for w, about in first_words(verbs).items()),
        "        )",
        "        _describe command verbs",
        "        return",
        "    fi",
    ]
    for first, members in families.items():
        lines += [
            f"    if [[ $verb == {first} ]]; then",
            "        if (( CURRENT == 3 )); then",
            "            verbs=(",
            *(
                f"                {_quote(f'{v.name.partition(chr(32))[2]}:{v.summary}')}"
                for v in members
            ),
            "            )",
            "            _describe command verbs",
            "            return",
            "        fi",
            '        verb="$verb ${words[3]}"',
            "        shift words; (( CURRENT-- ))",
            "    fi",
        ]
    lines += ["    shift words; (( CURRENT-- ))", '    case "$verb" in']
    for verb in verbs:
        lines.append(f"        {_quote(verb.name)})")
        lines.append("            _arguments -s \\")
        specs = [_zsh_option(option) for option in verb.options]
        specs += [_quote("--json[print one JSON document]"), _quote("--help[explain this command]")]
        for argument in verb.arguments:
            values = f"({' '.join(argument.choices)})" if argument.choices else " "
            optional = "" if argument.required else ":"
            specs.append(_quote(f"{optional}:{argument.name}:{values}"))
        lines += [f"                {spec} \\" for spec in specs[:-1]] + [
            f"                {specs[-1]}"
        ]
        lines.append("            ;;")
    lines += [f"        help) _values command {' '.join(first_words(verbs))} ;;", "    esac", "}"]
    lines += [
        'if [[ ${funcstack[1]} == _pinbox ]]; then _pinbox "$@"; else compdef _pinbox pinbox; fi'
    ]
    return "\n".join(lines) + "\n"


def _zsh_option(option: Option) -> str:
    about = option.help.replace("[", "(").replace("]", ")").replace(":", " -")
    if not option.value:
        return _quote(f"{option.name}[{about}]")
    label = option.value.replace("[", "").replace("]", "").replace(":", "-")
    values = f"({' '.join(option.choices)})" if option.choices else " "
    if option.value.startswith(("PATH", "DIR")):
        values = "_files"
    return _quote(f"{option.name}=[{about}]:{label}:{values}")


def _fish(verbs: Sequence[Verb]) -> str:
    families = _families(verbs)
    lines = [
        "# fish completion for pinbox; load it with: pinbox completions fish | source",
        "complete -c pinbox -f",
        "complete -c pinbox -l json -d 'print one JSON document'",
        "complete -c pinbox -s h -l help -d 'explain this command'",
    ]
    for word, about in first_words(verbs).items():
        lines.append(f"complete -c pinbox -n __fish_use_subcommand -a {word} -d {_quote(about)}")
    for first, members in families.items():
        seconds = " ".join(verb.name.partition(" ")[2] for verb in members)
        for verb in members:
            second = verb.name.partition(" ")[2]
            inside = "__fish_seen_subcommand_from"
            seen = f"{inside} {first}; and not {inside} {seconds}"
            lines.append(
                f"complete -c pinbox -n {_quote(seen)} -a {second} -d {_quote(verb.summary)}"
            )
    for verb in verbs:
        words = verb.name.split()
        when = _quote("; and ".join(f"__fish_seen_subcommand_from {word}" for word in words))
        for option in verb.options:
            takes = " -x" if option.value else ""
            if option.value.startswith(("PATH", "DIR")):
                takes = " -r -F"
            values = f" -a {_quote(' '.join(option.choices))}" if option.choices else ""
            lines.append(
                f"complete -c pinbox -n {when} -l {option.name[2:]}{takes}{values}"
                f" -d {_quote(option.help)}"
            )
        for argument in verb.arguments:
            if argument.choices:
                lines.append(
                    f"complete -c pinbox -n {when} -a {_quote(' '.join(argument.choices))}"
                )
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    """In single quotes for bash, zsh and fish alike: our own help has no backslash in it."""
    return "'" + text.replace("'", "’") + "'"


SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}

VERBS = (
    Verb(
        "completions",
        "Print a completion script for a shell.",
        completions,
        arguments=(Argument("shell", "bash, zsh or fish", choices=tuple(SHELLS)),),
        about=(
            "bash: source <(pinbox completions bash)\n"
            "zsh: source <(pinbox completions zsh), after compinit\n"
            "fish: pinbox completions fish | source"
        ),
    ),
)
