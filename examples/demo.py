"""The main loop of Pinbox, for real, in a scratch project: pin, hand over, answer, fix, accept.

The project is `examples/django_page`. Every line that starts with `$` is a command that runs; what
follows it is what it printed. Two parts are played here: the hand on the mouse, which sends what
the toolbar in the page sends, and the agent: its hook gets the payloads that Claude Code sends, and
what it types in its own shell stands behind `agent$`. On a terminal the page stays up at the end,
to be clicked, until Ctrl-C; elsewhere the demo ends by itself. Standard library only; run it by
`make demo`.
"""

import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from pathlib import Path

PROJECT = Path(__file__).resolve().parent / "django_page"

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
        shutil.copytree(PROJECT, self.project, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        (self.project / ".gitignore").write_text("__pycache__/\n")
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


class Page:
    """The app's own page, served by its own command, and the hand on the mouse."""

    def __init__(self, shell: Shell) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"http://localhost:{port}/"
        command = f"python manage.py runserver localhost:{port}"
        print(f"{BOLD}$ {command} &{PLAIN}", flush=True)
        self._log = (shell.project.parent / "runserver.log").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, *command.split()[1:]],
            cwd=shell.project,
            env=shell.env,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,  # with the child that it starts anew when a file changes
        )

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait()
        self._log.close()

    def wait_for_toolbar(self) -> dict[str, str]:
        """Reload until the page has the toolbar; the attributes of its tag."""
        tag = self.wait_for(r"<script [^>]*/toolbar/toolbar.js[^>]*>")
        print(re.sub(r'(data-token=")[^"]*', r"\1…", tag), flush=True)
        return dict(re.findall(r'([a-z-]+)="([^"]*)"', tag))

    def wait_for(self, pattern: str) -> str:
        """Reload until the page matches; what matched."""
        deadline, html = time.monotonic() + DEADLINE_S, ""
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError):
                html = self.html()
                found = re.search(pattern, html)
                if found:
                    return found[0]
            time.sleep(0.1)
        log = Path(self._log.name).read_text()
        raise Failed(f"{pattern!r} is missing in:\n{html}\nThe server said:\n{log}")

    def html(self) -> str:
        with urllib.request.urlopen(self.address, timeout=DEADLINE_S) as answer:
            text: str = answer.read().decode()
        return text

    def click(self, selector: str, element: str, text: str, tag: dict[str, str]) -> str:
        """What the toolbar sends for a click on `element`, with its page token; the pin's id."""
        name, _, kind = element.partition(".")
        found = re.search(rf'<{name} data-pb-source=(\S+):(\d+) class="{kind}"', self.html())
        if not found:
            raise Failed(f"{element} has no source mark")
        source = {"file": found[1], "line": int(found[2]), "via": "framework"}
        target = {"url": self.address, "selector": selector, "tag": name, "source": source}
        body = {"text": text, "author": {"userId": "ada", "name": "Ada"}, "target": target}
        request = urllib.request.Request(
            tag["data-endpoint"] + "/pins",
            data=json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {tag['data-token']}",
                "Content-Type": "application/json",
                "Origin": self.address.rstrip("/"),
            },
        )
        print(f"{BOLD}> click on {selector}, then: {text}{PLAIN}", flush=True)
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
            pin: str = json.load(answer)["data"]["id"]
        return pin


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


def play(shell: Shell, running: contextlib.ExitStack) -> Page:
    template = shell.project / "templates" / "basket.html"
    say("A Django project with one page, and Pinbox set up for Claude Code and git.")
    shell.run("git init -q -b main && git add . && git commit -q -m 'A basket'")
    shell.run("pinbox init --agent claude --yes")

    say("Its server is started as ever. Nobody starts a hub: the first look at the page does.")
    page = running.enter_context(contextlib.closing(Page(shell)))
    tag = page.wait_for_toolbar()
    shell.run("pinbox summary")

    say("The agent opens a session. No pins yet: its hook says nothing at all.")
    agent = Agent(shell)
    if agent.hook("SessionStart", source="startup"):
        raise Failed("a hook without pins spoke")

    say("A person looks at the page and drops a pin there, and another one on the terminal.")
    button = page.click("button.pay", "button.pay", "The pay button is cut off", tag)
    pinned = shell.run(
        "pinbox pin 'Show two decimals in the total' --file templates/basket.html:12"
    )
    total = pin_id(pinned)
    expect(shell.run("pinbox list"), button, total)

    say("On the next prompt the hook puts them before the agent's model, with template and line.")
    expect(
        agent.hook("UserPromptSubmit", prompt="Fix what is pinned."),
        *(button, total, "The pay button is cut off", "Show two decimals in the total"),
        *("templates/basket.html:13", "templates/basket.html:12"),
    )
    expect(shell.run("pinbox deliveries"), "handed over")

    say("The agent answers on the thread, in its own shell.")
    agent.run(f"pinbox reply {button} 'The button is 56px wide; I let it grow.' --as agent")

    say("It fixes the first pin. The commit's trailer resolves it.")
    template.write_text(template.read_text().replace("width: 56px; overflow", "overflow"))
    agent.run(f"git commit -q -a -m 'Let the pay button grow' -m 'Fixes {button}'")
    expect(shell.run(f"pinbox show {button}"), "resolved", "I let it grow")

    say("It resolves the second one by hand, without having fixed it.")
    agent.run(f"pinbox resolve {total} --as agent --note 'Rounded.'")

    say("The person accepts the one and reopens the other ...")
    shell.run(f"pinbox verify {button}")
    shell.run(f"pinbox reopen {total} 'It still says 30.0.'")

    say("... which the agent, about to stop, is told once.")
    expect(agent.hook("Stop", stop_hook_active=False), total, "It still says 30.0.")
    template.write_text(template.read_text().replace("{{ total }}", "{{ total|floatformat:2 }}"))
    agent.run(f"git commit -q -a -m 'Two decimals' -m 'Fixes {total}'")
    agent.hook("Stop", stop_hook_active=True)
    agent.hook("SessionEnd", reason="other")

    say("The end: nothing open, and the log holds every step.")
    expect(shell.run("pinbox deliveries"), "acknowledged")
    if not re.search(r"open +0\nresolved +2\nsessions +0\n", shell.run("pinbox summary")):
        raise Failed("something is still open")
    print(page.wait_for(r"<b [^>]*>30\.00 EUR</b>"), flush=True)
    return page


def stay(shell: Shell, page: Page) -> None:
    say("Now it is your turn. The page stays up; Ctrl-C ends the demo. Open")
    print(f"\n  {BOLD}{page.address}{PLAIN}\n")
    print("  and press P (or Pin in the bar), click on something, write, send with Ctrl-Enter.")
    print("  `pinbox list` in the folder below shows it; an agent there would be told.", flush=True)
    say("The admin, by a link that works once:")
    shell.run("pinbox admin")
    print(f"\n{FAINT}# Commands of your own:{PLAIN}")
    print(f"cd {shell.project} && export HOME={shell.env['HOME']} PATH={BIN}:$PATH", flush=True)
    signal.pause()


def main() -> int:
    if not (BIN / "pinbox").exists():
        print(f"pinbox is not installed in {BIN}: run `make demo`", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="pinbox-demo-"))
    shell = Shell(folder)
    running = contextlib.ExitStack()
    try:
        page = play(shell, running)
        if ON_TERMINAL and sys.stdin.isatty():
            stay(shell, page)
    except KeyboardInterrupt:
        print()
    except Failed as problem:
        print(f"\nThe demo failed: {problem}", file=sys.stderr)
        return 1
    finally:
        running.close()
        stop = [str(BIN / "pinbox"), "stop"]
        subprocess.run(stop, cwd=shell.project, env=shell.env, capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
