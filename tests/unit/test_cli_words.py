"""The words typed: found verbs, refused words, help. No hub is needed for any of it."""

import json
import subprocess
import sys

import pytest

from pinbox import cli
from pinbox.commands.verb import Answer, Argument, Option, Verb, parse
from pinbox.contract import PinboxError


def say(_args):
    return Answer(None, lambda: ("", ""))


VERB = Verb(
    "say",
    "Say something.",
    say,
    arguments=(Argument("id", "whose"), Argument("text", "what", required=False)),
    options=(
        Option("--note", "TEXT", "a note"),
        Option("--as", "ROLE", "a role", choices=("human", "agent"), default="human"),
        Option("--limit", "N", "at most", span=(1, 1000)),
        Option("--hook", "", "a flag"),
    ),
)


def refusal(*words):
    with pytest.raises(PinboxError) as caught:
        parse(VERB, words)
    assert caught.value.code == "E_INVALID_INPUT"
    assert caught.value.hint == "pinbox say --help"
    return caught.value.message


def test_options_may_stand_anywhere_before_the_dashes():
    args = parse(VERB, ["--note", "n", "pin", "--hook", "words", "--as=agent"])
    assert args.values == {"id": "pin", "text": "words", "note": "n", "as": "agent"}
    assert args.has("hook")


def test_an_option_that_was_not_given_is_absent_or_has_its_default():
    args = parse(VERB, ["pin"])
    assert args.get("note") is None
    assert args.get("text") is None
    assert args["as"] == "human"


def test_after_the_dashes_everything_is_a_value():
    args = parse(VERB, ["--note=-1px", "--", "pin", "--hook"])
    assert args.values == {"id": "pin", "text": "--hook", "note": "-1px", "as": "human"}
    assert not args.has("hook")


def test_a_single_dash_and_an_empty_word_are_values():
    assert parse(VERB, ["-", ""]).values == {"id": "-", "text": "", "as": "human"}


def test_a_value_may_hold_an_equals_sign():
    assert parse(VERB, ["pin", "--note=a=b"])["note"] == "a=b"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "missing argument: <id>"),
        (["a", "b", "c"], "unexpected argument: 'c' (a text of several words goes in quotes)"),
        (["a", "--nite", "x"], "unknown option: '--nite'; did you mean --note?"),
        (["a", "--zzz"], "unknown option: '--zzz'"),
        (["a", "--jason"], "unknown option: '--jason'; did you mean --json?"),
        (["a", "-1px off"], "unknown option: '-1px off'; a text that begins with - goes after --:"),
        (["a", "--note"], "--note needs a value"),
        (["a", "--note", "--hook"], "--note needs a value"),
        (["a", "--note", "-1px"], "--note needs a value"),
        (["a", "--hook=yes"], "--hook takes no value"),
        (["a", "--as", "robot"], "--as must be one of human, agent; got 'robot'"),
    ],
)
def test_a_word_that_is_not_understood_is_refused(words, said):
    assert said in refusal(*words)


@pytest.mark.parametrize(
    ("name", "words", "place"),
    [
        ("reply", ["pin", "two", "words"], " (a text of several words goes in quotes)"),
        ("reopen", ["pin", "two", "words"], " (a text of several words goes in quotes)"),
        ("resolve", ["pin", "words"], " (what was done goes after --note)"),
        ("verify", ["pin", "words"], ""),
    ],
)
def test_a_word_too_many_is_told_its_place(name, words, place):
    verb = next(verb for verb in cli.all_verbs() if verb.name == name)
    with pytest.raises(PinboxError) as caught:
        parse(verb, words)
    assert caught.value.message == f"unexpected argument: 'words'{place}"


def test_the_dashes_alone_make_no_option_a_likely_one():
    assert "did you mean" not in refusal("a", "--open")


@pytest.mark.parametrize(
    "limit", ["0", "1001", "1000000000", "9" * 4000, "1e3", "", "١", "1.0", "+5"]
)
def test_a_number_out_of_range_is_refused_with_the_range(limit):
    assert "--limit must be a whole number from 1 to 1000" in refusal("a", f"--limit={limit}")


def test_a_negative_number_is_refused_with_the_range():
    assert "from 1 to 1000; got '-1'" in refusal("a", "--limit=-1")
    assert "from 1 to 1000; got '-1'" in refusal("a", "--limit", "-1")


def test_a_long_word_is_not_echoed_whole():
    assert len(refusal("a", "--as", "x" * 5000)) < 200


# --- the command line as a whole, in this process -------------------------------------------------


def run(capfd, *words):
    """(exit code, stdout, stderr). stdout is no terminal here."""
    code = cli.main(words)
    out, err = capfd.readouterr()
    return code, out, err


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"], ["help", "help"]])
def test_pinbox_alone_prints_its_help_and_succeeds(capfd, words):
    code, out, err = run(capfd, *words)
    assert (code, err) == (0, "")
    assert out.startswith("pinbox ")
    assert "usage: pinbox <command>" in out
    assert "Begin with pinbox init" in out
    visible = [verb for verb in cli.all_verbs() if not verb.hidden]
    assert all(f"\n  {verb.name.partition(' ')[0]} " in out for verb in visible)
    assert "serve" not in out


@pytest.mark.parametrize("verb", [verb.name for verb in cli.all_verbs()])
def test_every_verb_explains_itself(capfd, verb):
    asked = run(capfd, *verb.split(), "--help")
    assert asked == run(capfd, "help", *verb.split())
    assert asked == run(capfd, *verb.split(), "words", "--nonsense", "-h")
    code, out, err = asked
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: pinbox {verb}")


@pytest.mark.parametrize("verb", cli.all_verbs(), ids=lambda verb: verb.name)
def test_everything_in_the_table_has_help_and_fits_a_terminal(capfd, verb):
    assert verb.summary.endswith(".")
    assert all(option.help for option in verb.options)
    assert all(argument.help for argument in verb.arguments)
    _, out, _ = run(capfd, *verb.name.split(), "--help")
    assert max(map(len, out.splitlines())) <= 80


def test_a_family_alone_lists_its_verbs(capfd):
    code, out, _ = run(capfd, "session")
    assert code == 0
    assert "session trailer" in out
    assert run(capfd, "session", "--help")[1] == out
    assert run(capfd, "help", "session")[1] == out


@pytest.mark.parametrize("words", [["-V"], ["--version"]])
def test_the_version_is_plain_text_even_into_a_pipe(capfd, words):
    assert run(capfd, *words) == (0, "0.1.0\n", "")


def test_help_and_version_are_an_envelope_when_json_is_said(capfd):
    assert json.loads(run(capfd, "--version", "--json")[1])["data"] == {"version": "0.1.0"}
    assert "usage" in json.loads(run(capfd, "--json")[1])["data"]["help"]
    assert "usage" in json.loads(run(capfd, "session", "--json")[1])["data"]["help"]


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["lst"], "unknown command: 'lst'; did you mean list?", "pinbox list --help"),
        (
            ["resovle", "x"],
            "unknown command: 'resovle'; did you mean resolve?",
            "pinbox resolve --help",
        ),
        (["zzzz"], "unknown command: 'zzzz'", "pinbox --help"),
        (["serv"], "unknown command: 'serv'", "pinbox --help"),
        (["version"], "unknown command: 'version'; did you mean --version?", "pinbox --help"),
        (["help", "lst"], "unknown command: 'lst'; did you mean list?", "pinbox list --help"),
        (["help", "list", "pins"], "unexpected argument: 'pins'", "pinbox help"),
        (
            ["session", "lst"],
            "unknown command: session 'lst'; did you mean session list?",
            "pinbox session --help",
        ),
        (["session", "--hoook"], "unknown option: '--hoook'", "pinbox session --help"),
        (["--jsn", "list"], "unknown option: '--jsn'", "pinbox --help"),
        (["--", "list"], "the command goes before --", "pinbox --help"),
        (["show"], "missing argument: <id>", "pinbox show --help"),
        (
            ["list", "--limit", "0"],
            "--limit must be a whole number from 1 to 1000; got '0'",
            "pinbox list --help",
        ),
        (
            ["list", "--status", "shut"],
            "--status must be one of open, resolved; got 'shut'",
            "pinbox list --help",
        ),
        (["pin", " \n "], "the text is empty", "pinbox pin --help"),
        (
            ["pin", "x", "--selector", "a"],
            "--selector needs --url: the page it is on",
            "pinbox pin --help",
        ),
        (
            ["session", "register", "--agent", "claude"],
            "which session: --agent and --key are needed, or --hook with a payload on stdin",
            "pinbox session register --help",
        ),
        (
            ["session", "end"],
            "which session: --agent and --key are needed, or its id",
            "pinbox session end --help",
        ),
    ],
)
def test_a_command_line_that_makes_no_sense_is_invalid_input(capfd, words, message, hint):
    code, out, err = run(capfd, *words)
    assert (code, err) == (2, "")
    assert json.loads(out) == {
        "ok": False,
        "error": {"code": "E_INVALID_INPUT", "message": message, "hint": hint},
    }


def test_json_may_be_said_before_or_after_the_verb(capfd):
    assert run(capfd, "--json", "show") == run(capfd, "show", "--json")


def test_a_pin_id_that_cannot_be_one_is_unknown_and_never_a_path(capfd, monkeypatch):
    monkeypatch.setattr("pinbox.commands.hub.open_hub", object)
    for bad in ("../summary", "pin_", "pin_AAAAAAAAAA", "pin_aaaaaaaaaa?x", "pin_aaaaaaaaaaa", "7"):
        code, out, _ = run(capfd, "show", bad)
        assert code == 3
        assert json.loads(out)["error"]["hint"] == "pinbox list"


def test_a_fault_of_our_own_shows_its_kind_and_nothing_of_what_it_says(capfd, monkeypatch):
    def fault():
        raise RuntimeError("secret")

    monkeypatch.setattr("pinbox.commands.hub.open_hub", fault)
    code, out, err = run(capfd, "summary")
    assert (code, err) == (1, "")
    assert json.loads(out)["error"] == {
        "code": "E_INTERNAL",
        "message": "something failed inside pinbox (RuntimeError)",
        "hint": "PINBOX_DEBUG=1 shows where",
    }


@pytest.mark.parametrize(
    "words",
    [
        ["session", "inject", "--hook", "--nonsense"],
        ["session", "nonsense", "--hook"],
        ["hook"],
        ["hook", "--nonsense"],
    ],
)
def test_a_hook_that_was_called_wrongly_says_nothing_and_succeeds(capfd, words):
    assert run(capfd, *words) == (0, "", "")


# --- the command line as a process ----------------------------------------------------------------

PINBOX = [sys.executable, "-m", "pinbox"]


def test_manage_py_pinbox_is_the_same_command_without_django():
    script = (
        "import sys, runpy; sys.argv = ['manage.py', 'pinbox', '--version']\n"
        "try: runpy.run_path('manage.py', run_name='__main__')\n"
        "except SystemExit as end: print(end.code, {'django', 'argparse'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "0.1.0\n0 set()\n"


def test_a_reader_that_has_gone_is_no_error():
    command = " ".join(PINBOX)
    done = subprocess.run(
        ["bash", "-c", f"{command} help | true; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_full_disk_is_an_error_that_is_told():
    with open("/dev/full", "w") as full:
        done = subprocess.run([*PINBOX, "help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "pinbox: stdout cannot be written: No space left on device\n"


def test_closed_streams_are_no_trouble():
    command = " ".join(PINBOX)
    done = subprocess.run(
        ["bash", "-c", f"{command} help <&- >&- 2>&-; echo $?"], capture_output=True, text=True
    )
    assert done.stdout == "0\n"


def test_the_client_loads_nothing_but_the_standard_library():
    script = (
        "import sys; before = set(sys.modules)\n"
        "from pinbox import cli; cli.all_verbs()\n"
        "names = {m.partition('.')[0] for m in set(sys.modules) - before}\n"
        "print(sorted(names - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['pinbox']\n"
