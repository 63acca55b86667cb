"""The main loop of Pinbox, for real, in a scratch project: pin, hand over, answer, fix, accept.

Every line that starts with `$` is a command that runs; what follows it is what it printed. The only
part played here is the agent: its hook gets the payloads that Claude Code sends, and what it types
in its own shell stands behind `agent$`. On a terminal the hub stays up at the end, with a link into
the admin, until Ctrl-C. Standard library only; run it by `make demo`.
"""

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

PAGE = """\
<!doctype html>
<title>Shop</title>
<style>
  .pay { width: 40px; overflow: hidden }
</style>
<h1>Checkout</h1>
<button class="pay">Pay now</button>
<p>Your total is 30.0 EUR</p>
"""

BIN = Path(sys.executable).parent
ON_TERMINAL = sys.stdout.isatty()
BOLD, FAINT, PLAIN = ("\x1b[1m", "\x1b[2m", "\x1b[0m") if ON_TERMINAL else ("", "", "")


#: Seconds a command may be silent. A guard against a hang, nothing here takes long.
DEADLINE_S = 60


class Failed(Exception):
    """A step did not do what it is there to show."""


def say(text: str) -> None:
    print(f"\n{FAINT}# {text}{PLAIN}", flush=True)


class Shell:
    """Runs commands in the scratch project and shows them, as a person at a terminal sees them."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "shop"
        self.project.mkdir()
        home = folder / "home"
        home.mkdir(mode=0o700)
        self.env = {
            "HOME": str(home),
            "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "TERM": os.environ.get("TERM", "dumb"),
            "COLUMNS": "100",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@shop.example\n")

    def run(self, command: str, *, prompt: str = "$", show: bool = True, **env: str) -> str:
        """What `command` printed on its terminal, with `env` set besides."""
        print(f"{BOLD}{prompt} {command}{PLAIN}", flush=True)
        # A terminal of its own: commands print JSON when their output is not one.
        ours, theirs = pty.openpty()
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                cwd=self.project,
                env=self.env | env,
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
            )
        finally:
            os.close(theirs)
        printed = self._read(ours)
        os.close(ours)
        if process.wait():
            raise Failed(f"exit code {process.returncode}\n{printed}")
        if show and printed:
            print(printed, end="" if printed.endswith("\n") else "\n", flush=True)
        return printed

    @staticmethod
    def _read(terminal: int) -> str:
        chunks = []
        while True:
            if not select.select([terminal], [], [], DEADLINE_S)[0]:
                raise Failed(f"no answer within {DEADLINE_S} s")
            try:
                chunk = os.read(terminal, 65536)
            except OSError:  # Linux: the last process on the other side is gone
                break
            if not chunk:
                break
            chunks.append(chunk)
        return b"".join(chunks).decode().replace("\r\n", "\n")


class Agent:
    """The coding agent's side: its hooks, and the commands it types in its own shell."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.key = str(uuid.uuid4())

    def hook(self, event: str, **fields: object) -> str:
        """The context the agent's program would put before the model after `event`."""
        payload = {
            "session_id": self.key,
            "transcript_path": str(self.shell.project / "transcript.jsonl"),
            "cwd": str(self.shell.project),
            "hook_event_name": event,
            **fields,
        }
        (self.shell.project.parent / f"{event}.json").write_text(json.dumps(payload))
        printed = self.shell.run(f".pinbox/hook claude < ../{event}.json", show=False)
        if not printed:
            return ""
        context: str = json.loads(printed)["hookSpecificOutput"]["additionalContext"]
        print(*(f"  {line}" for line in context.splitlines()), sep="\n", flush=True)
        return context

    def run(self, command: str) -> str:
        return self.shell.run(command, prompt="agent$", CLAUDE_CODE_SESSION_ID=self.key)


def expect(text: str, *parts: str) -> None:
    for part in parts:
        if part not in text:
            raise Failed(f"{part!r} is missing in:\n{text}")


def pin_id(printed: str) -> str:
    found = re.search(r"pin_[a-z0-9]{10}", printed)
    if not found:
        raise Failed(f"no pin id in:\n{printed}")
    return found[0]


def play(shell: Shell) -> None:
    page = shell.project / "index.html"
    page.write_text(PAGE)
    say("A project with one page, and Pinbox set up for Claude Code and git.")
    shell.run("git init -q -b main && git add . && git commit -q -m 'A checkout page'")
    shell.run("pinbox init --agent claude --yes")

    say("Nobody started a server: the first command does.")
    shell.run("pinbox summary")

    say("The agent opens a session. No pins yet: its hook says nothing at all.")
    agent = Agent(shell)
    if agent.hook("SessionStart", source="startup"):
        raise Failed("a hook without pins spoke")

    say("A person looks at the page and drops two pins.")
    button = pin_id(shell.run("pinbox pin 'The pay button is cut off' --file index.html:4"))
    total = pin_id(shell.run("pinbox pin 'Show two decimals in the total' --file index.html:8"))
    expect(shell.run("pinbox list"), button, total)

    say("On the next prompt the hook puts them before the agent's model.")
    expect(
        agent.hook("UserPromptSubmit", prompt="Fix what is pinned."),
        *(button, total, "The pay button is cut off", "Show two decimals in the total"),
    )
    expect(shell.run("pinbox deliveries"), "handed over")

    say("The agent answers on the thread, in its own shell.")
    agent.run(f"pinbox reply {button} 'The button is 40px wide; I let it grow.' --as agent")

    say("It fixes the first pin. The commit's trailer resolves it.")
    page.write_text(page.read_text().replace("width: 40px; overflow: hidden", "min-width: 40px"))
    agent.run(f"git commit -q -a -m 'Let the pay button grow' -m 'Fixes {button}'")
    expect(shell.run(f"pinbox show {button}"), "resolved", "I let it grow")

    say("It resolves the second one by hand, without having fixed it.")
    agent.run(f"pinbox resolve {total} --as agent --note 'Rounded.'")

    say("The person accepts the one and reopens the other ...")
    shell.run(f"pinbox verify {button}")
    shell.run(f"pinbox reopen {total} 'It still says 30.0.'")

    say("... which the agent, about to stop, is told once.")
    expect(agent.hook("Stop", stop_hook_active=False), total, "It still says 30.0.")
    page.write_text(page.read_text().replace("30.0 EUR", "30.00 EUR"))
    agent.run(f"git commit -q -a -m 'Two decimals' -m 'Fixes {total}'")
    agent.hook("Stop", stop_hook_active=True)
    agent.hook("SessionEnd", reason="other")

    say("The end: nothing open, and the log holds every step.")
    expect(shell.run("pinbox deliveries"), "acknowledged")
    if not re.search(r"open +0\nresolved +2\nsessions +0\n", shell.run("pinbox summary")):
        raise Failed("something is still open")


def stay(shell: Shell) -> None:
    say("The hub stays up. Log in to its admin with this link, once; Ctrl-C ends the demo.")
    shell.run("pinbox admin")
    print(f"\n{FAINT}# or try commands of your own:{PLAIN}")
    print(f"cd {shell.project} && export HOME={shell.env['HOME']} PATH={BIN}:$PATH", flush=True)
    signal.pause()


def main() -> int:
    if not (BIN / "pinbox").exists():
        print(f"pinbox is not installed in {BIN}: run `make demo`", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="pinbox-demo-"))
    shell = Shell(folder)
    try:
        play(shell)
        if ON_TERMINAL and sys.stdin.isatty():
            stay(shell)
    except KeyboardInterrupt:
        print()
    except Failed as problem:
        print(f"\nThe demo failed: {problem}", file=sys.stderr)
        return 1
    finally:
        stop = [str(BIN / "pinbox"), "stop"]
        subprocess.run(stop, cwd=shell.project, env=shell.env, capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
