"""A real git repository and home folder for the tests of init and of the git hook."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinbox.install.settings import COMMAND

PINBOX = Path(sys.executable).with_name("pinbox")
TIMEOUT_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    root: Path
    home: Path
    path: str = "/usr/bin:/bin"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": self.path,
            "LANG": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_EDITOR": "true",
            "PINBOX_IDLE_MS": "60000",
        }

    def run(
        self,
        *command: str | Path,
        cwd: Path | None = None,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command,
            cwd=cwd or self.root,
            env=self.environ | (env or {}),
            input=stdin,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def git(self, *arguments: str | Path, cwd: Path | None = None) -> str:
        done = self.run("git", *arguments, cwd=cwd)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def commit(self, message: str, *options: str, cwd: Path | None = None) -> str:
        """Commit something; what git and its hooks said on stderr. Fails when git does."""
        where = cwd or self.root
        with (where / "work.txt").open("a") as file:
            file.write("more\n")
        self.git("add", "work.txt", cwd=where)
        done = self.run("git", "commit", "-q", "-m", message, *options, cwd=where)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout == b""
        return done.stderr.decode()

    def pinbox(self, *arguments: str, cwd: Path | None = None) -> Any:
        """`data` of one command. Fails when it does."""
        done = self.run(PINBOX, *arguments, cwd=cwd)
        assert done.returncode == 0, (arguments, done.stdout.decode(), done.stderr.decode())
        return json.loads(done.stdout)["data"]

    def snapshot(self) -> dict[str, tuple[int, bytes | str | None]]:
        """Mode and content of everything in the repository's folder and its home, but git's own
        objects and logs.
        """
        found: dict[str, tuple[int, bytes | str | None]] = {}
        for top in (self.root, self.home):
            for path in sorted(top.rglob("*")):
                name = str(path.relative_to(top.parent))
                if "/.git/" in name and "/.git/hooks" not in name:
                    continue
                mode = path.lstat().st_mode
                if path.is_symlink():
                    found[name] = (mode, os.readlink(path))
                else:
                    found[name] = (mode, path.read_bytes() if path.is_file() else None)
        return found

    @property
    def hook(self) -> Path:
        return self.root / ".git" / "hooks" / "post-commit"

    @property
    def settings(self) -> Path:
        return self.root / ".claude" / "settings.json"

    def commands(self) -> dict[str, list[str]]:
        """The commands in settings.json, by event."""
        hooks = json.loads(self.settings.read_text("utf-8-sig"))["hooks"]
        return {
            event: [entry["command"] for group in groups for entry in group["hooks"]]
            for event, groups in hooks.items()
        }


EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
REGISTERED = {event: [COMMAND] for event in EVENTS}


def make_repository(folder: Path, name: str = "app") -> Repository:
    home = folder / "home"
    home.mkdir(parents=True)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ada\n\temail = ada@pinbox.example\n[init]\n\tdefaultBranch = main\n"
        "[commit]\n\tgpgSign = false\n[advice]\n\tignoredHook = false\n"
        '[protocol "file"]\n\tallow = always\n'
    )
    found = Repository(root=folder / name, home=home)
    found.root.mkdir()
    found.git("init", "-q")
    shutil.rmtree(found.root / ".git" / "hooks", ignore_errors=True)
    return found
