"""Runs the `console` blocks of a page as a person would type them, and says where they differ.

A line that begins with `$ ` is a command, what follows it is what it prints. Ids, commit hashes,
times, ports and process numbers may differ; a line `…` stands for any lines.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.terminal import on_terminal

#: Seconds a command may be silent.
DEADLINE_S = 60

#: What differs from run to run, and what stands for it. Ids are numbered in the order they appear.
_VARYING = (
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "<time>"),
    (re.compile(r"\b[0-9a-f]{40}\b|(?<= )[0-9a-f]{7}\b|(?<=\()[0-9a-f]{7}\b"), "<commit>"),
    (re.compile(r"(?<=127\.0\.0\.1:)\d+"), "<port>"),
    (re.compile(r"(?<=process )\s*\d+|(?<=pid )\s*\d+"), "<pid>"),
    (re.compile(r"\(?\b\d+[smhd] ago\b|just now"), "<age>"),
    (re.compile(r"\bin \d+[smh]\b"), "<left>"),
)
_ID = re.compile(r"\b(?:pin|msg|ses)_[a-z0-9]{10}\b")


@dataclass(frozen=True)
class Step:
    line: int
    command: str
    printed: str


def steps(page: str) -> list[Step]:
    """The commands of all `console` blocks of a page, in order."""
    found: list[Step] = []
    in_block = False
    for number, line in enumerate(page.splitlines(), 1):
        if not in_block:
            in_block = line.strip() == "```console"
        elif line.strip() == "```":
            in_block = False
        elif line.startswith("$ "):
            found.append(Step(number, line[2:], ""))
        elif found:
            last = found.pop()
            found.append(Step(last.line, last.command, f"{last.printed}{line}\n"))
    return found


class Terminal:
    """A terminal in `cwd`. It remembers which id of the page is which real one."""

    def __init__(self, cwd: Path, env: Mapping[str, str]) -> None:
        self.cwd = cwd
        self.env = dict(env)
        self._ids: dict[str, str] = {}

    def differences(self, step: Step) -> str:
        """Empty when the command printed what the page says."""
        command = _ID.sub(lambda match: self._ids.get(match[0], match[0]), step.command)
        printed = self.run(command)
        self._learn(step.printed, printed)
        theirs = _ID.sub(lambda match: self._ids.get(match[0], match[0]), step.printed)
        if re.fullmatch(_pattern(_normal(theirs)), _normal(printed)):
            return ""
        return f"line {step.line}: $ {step.command}\nthe page:\n{step.printed}\nreally:\n{printed}"

    def run(self, command: str) -> str:
        """What the command printed on both its streams, which are one terminal."""
        process, out = on_terminal(
            ["/bin/sh", "-c", command], deadline_s=DEADLINE_S, cwd=self.cwd, env=self.env
        )
        process.wait(timeout=DEADLINE_S)
        return out

    def _learn(self, page: str, real: str) -> None:
        new = [found for found in _ID.findall(page) if found not in self._ids]
        known = set(self._ids.values())
        fresh = [found for found in _ID.findall(real) if found not in known]
        self._ids.update(zip(dict.fromkeys(new), dict.fromkeys(fresh), strict=False))


def _normal(text: str) -> str:
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def _pattern(text: str) -> str:
    lines = [r".*" if line == "…" else re.escape(line) for line in text.splitlines()]
    return "(?s:" + "\n".join(lines).replace("\n.*\n", "\n(?:.*\n)?") + ")"
