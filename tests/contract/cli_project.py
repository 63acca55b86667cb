"""A scratch project and the real `pinbox` in it: as a program sees it, and as a person does."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.terminal import on_terminal

#: Seconds a command may take, a cold start on a busy machine included.
DEADLINE_S = 60
PINBOX = (sys.executable, "-m", "pinbox")
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def envelope(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        envelope = self.envelope
        assert envelope["ok"] is False
        return envelope["error"]


@dataclass
class Project:
    path: Path
    env: dict[str, str] = field(default_factory=dict)

    def run(self, *words: str, stdin: bytes = b"", cwd: Path | None = None, **env: str) -> Done:
        """Run `pinbox …` with pipes, as a program does."""
        done = subprocess.run(
            [*PINBOX, *words],
            input=stdin,
            capture_output=True,
            cwd=cwd or self.path,
            env=self.environment(env),
            timeout=DEADLINE_S,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def data(self, *words: str, **more: Any) -> Any:
        """The `data` of a command that succeeds."""
        done = self.run(*words, **more)
        assert (done.code, done.err) == (0, ""), done
        assert done.envelope["ok"] is True
        return done.envelope["data"]

    def see(self, *words: str, columns: int = 200, **env: str) -> Done:
        """Run `pinbox …` on a terminal, as a person does; stderr is kept apart to be told apart."""
        process, out = on_terminal(
            [*PINBOX, *words],
            deadline_s=DEADLINE_S,
            stderr=subprocess.PIPE,
            cwd=self.path,
            env=self.environment({"COLUMNS": str(columns), **env}),
        )
        assert process.stderr is not None
        err = process.stderr.read().decode()
        process.stderr.close()
        code = process.wait(timeout=DEADLINE_S)
        return Done(code, out, err)

    def pin(self, text: str, *options: str) -> str:
        """Drop a pin; its id."""
        pin_id: str = self.data("pin", text, *options)["id"]
        return pin_id

    def environment(self, more: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        env = {**os.environ, "PYTHONPATH": path, **self.env, **more}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of runs would compile us anew
        return env
