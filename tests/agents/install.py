"""Where the real agent programs are, and how to fetch them: `python -m tests.agents.install`.

They go into a folder of this checkout that git ignores. Nothing is put on anybody's PATH, and
npm's own install scripts are left off: the platform package holds the program itself.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

#: The version these tests were written against. A bare name picks an old one under an old Node.
CLAUDE = "@anthropic-ai/claude-code@2.1.332"
FOLDER = Path(__file__).resolve().parents[2] / ".ci-work" / "agents"
#: A program to test instead of the one in FOLDER.
CHOSEN_CLAUDE = os.environ.get("PINBOX_TEST_CLAUDE", "")
INSTALL_TIMEOUT_S = 300


def claude() -> Path | None:
    """The native program, or None when it is not installed."""
    if CHOSEN_CLAUDE:
        return Path(CHOSEN_CLAUDE) if os.access(CHOSEN_CLAUDE, os.X_OK) else None
    pattern = "claude/node_modules/@anthropic-ai/claude-code-*/claude"
    return next(iter(sorted(FOLDER.glob(pattern))), None)


def install_claude() -> Path:
    """Fetch the pinned version with npm, once. Raises SystemExit with the reason if it cannot."""
    found = claude()
    if found:
        return found
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not installed; set PINBOX_TEST_CLAUDE to a claude program")
    folder = FOLDER / "claude"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n')
    command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", CLAUDE]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S
    )
    found = claude()
    if done.returncode or found is None:
        raise SystemExit(f"npm could not install {CLAUDE}: {done.stderr[-400:]}")
    return found


if __name__ == "__main__":
    print(install_claude())
    sys.exit(0)
