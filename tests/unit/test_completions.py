"""The completion scripts, tried in the shells they are for."""

import re
import shutil
import subprocess

import pytest

from pinbox import cli
from pinbox.commands.completions import SHELLS

VISIBLE = [verb for verb in cli.all_verbs() if not verb.hidden]


def script_for(shell):
    return SHELLS[shell](VISIBLE)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_valid_in_its_shell(shell, tmp_path):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "script"
    path.write_text(script_for(shell))
    done = subprocess.run([program, "-n", path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_knows_every_visible_verb_and_option(shell):
    script = script_for(shell)
    for verb in VISIBLE:
        assert all(word in script for word in verb.name.split())
        assert all(option.name.lstrip("-") in script for option in verb.options)
    assert not re.search(r"\bserve\b", script)


def bash_offers(*words):
    """What bash would offer for the last of the words."""
    quoted = " ".join(f"'{word}'" for word in words)
    script = (
        f"{script_for('bash')}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _pinbox\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (["pinbox", "re"], ["retry", "rebind", "reply", "resolve", "reopen", "rebuild"]),
        (["pinbox", "deliveries", "--w"], ["--wait"]),
        (["pinbox", "deliveries", "--status", "f"], ["failed"]),
        (["pinbox", "list", "--s"], ["--status", "--search"]),
        (["pinbox", "list", "--status", ""], ["open", "resolved"]),
        (["pinbox", "session", "re"], ["register"]),
        (["pinbox", "session", "inject", "--r"], ["--raw"]),
        (["pinbox", "reply", "pin_aaaaaaaaaa", "--as", "a"], ["agent"]),
        (["pinbox", "completions", "z"], ["zsh"]),
        (["pinbox", "--json", "sum"], ["summary"]),
        (["pinbox", "help", "exp"], ["export"]),
        (["pinbox", "pin", "--url", ""], []),
    ],
)
def test_bash_offers_what_can_follow(words, offers):
    assert bash_offers(*words) == offers


def test_fish_offers_what_can_follow():
    program = shutil.which("fish")
    if program is None:
        pytest.skip("fish is not installed")

    def offers(line):
        script = f"{script_for('fish')}\ncomplete -C '{line}'"
        done = subprocess.run(
            [program, "--no-config", "-c", script], capture_output=True, text=True
        )
        assert done.stderr == ""
        return [line.partition("\t")[0] for line in done.stdout.splitlines()]

    assert {"reply", "resolve", "reopen", "rebuild", "retry", "rebind"} == set(offers("pinbox re"))
    assert offers("pinbox list --status ") == ["open", "resolved"]
    assert offers("pinbox session tra") == ["trailer"]


def test_zsh_takes_the_script_as_a_completion():
    program = shutil.which("zsh")
    if program is None:
        pytest.skip("zsh is not installed")
    check = (
        "autoload -Uz compinit; compinit -u -D\n"
        f"{script_for('zsh')}\n"
        "print -- $_comps[pinbox]; whence -w _pinbox"
    )
    done = subprocess.run([program, "-f", "-c", check], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("_pinbox\n_pinbox: function\n", "")
