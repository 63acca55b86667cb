"""Where the real agent programs are, and how to fetch them: `python -m tests.agents.install`.

They go into a folder of this checkout that git ignores. Nothing is put on anybody's PATH, and
npm's own install scripts are left off: the platform package holds the program itself.
"""

import os
import platform
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

#: The version these tests were written against. A bare name picks an old one under an old Node.
CLAUDE = "@anthropic-ai/claude-code@2.1.332"
CODEX = "@openai/codex@0.171.0"
#: It wants a Python from 3.11 to 3.13, as ours is.
HERMES = "hermes-agent==0.19.0"
FOLDER = Path(__file__).resolve().parents[2] / ".ci-work" / "agents"
#: A program to test instead of the one in FOLDER.
CHOSEN_CLAUDE = os.environ.get("PINBOX_TEST_CLAUDE", "")
INSTALL_TIMEOUT_S = 300

#: OpenClaw, and the Node that it needs as the package holds it that fits this machine.
OPENCLAW = "openclaw@2026.9.6"
NODE_VERSION = "24.21.0"
_MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
NODE = f"node-{platform.system().lower()}-{_MACHINE}"


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
    if shutil.which("npm") is None:
        raise SystemExit("npm is not installed; set PINBOX_TEST_CLAUDE to a claude program")
    return _npm_install("claude", [CLAUDE], claude)


def codex() -> Path | None:
    """The native program, or None when it is not installed."""
    pattern = "codex/node_modules/@openai/codex-*/vendor/*/bin/codex"
    return next(iter(sorted(FOLDER.glob(pattern))), None)


def install_codex() -> Path:
    """Fetch the pinned version with npm, once. Raises SystemExit with the reason if it cannot."""
    return codex() or _npm_install("codex", [CODEX], codex)


def openclaw() -> Path | None:
    """A folder with `openclaw` and its `node`, to be put first on a PATH; None when it is not
    installed.
    """
    modules = FOLDER / "openclaw" / "node_modules"
    program, node = modules / "openclaw" / "openclaw.mjs", modules / NODE / "bin" / "node"
    if not (program.exists() and node.exists()):
        return None
    folder = FOLDER / "openclaw" / "bin"
    folder.mkdir(exist_ok=True)
    for name, path in (("openclaw", program), ("node", node)):
        if not (folder / name).exists():
            (folder / name).symlink_to(path)
    return folder


def install_openclaw() -> Path:
    """Fetch the pinned versions with npm, once. Raises SystemExit with the reason if it cannot."""
    return openclaw() or _npm_install("openclaw", [f"{NODE}@{NODE_VERSION}", OPENCLAW], openclaw)


def hermes() -> Path | None:
    """The program in an environment of its own, or None when it is not installed."""
    program = FOLDER / "hermes" / "bin" / "hermes"
    return program if program.exists() else None


def install_hermes() -> Path:
    """Fetch the pinned version with pip, once. Raises SystemExit with the reason if it cannot."""
    found = hermes()
    if found:
        return found
    folder = FOLDER / "hermes"
    venv.create(folder, symlinks=True, clear=True)  # not every Python can put pip in there
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    done = subprocess.run(
        [*pip, "install", "--quiet", HERMES],
        capture_output=True,
        text=True,
        timeout=INSTALL_TIMEOUT_S,
    )
    found = hermes()
    if done.returncode or found is None:
        raise SystemExit(f"pip could not install {HERMES}: {done.stderr[-400:]}")
    return found


def _npm_install(name: str, packages: Sequence[str], found: Callable[[], Path | None]) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not installed")
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n')
    done = subprocess.run(
        [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", *packages],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=INSTALL_TIMEOUT_S,
    )
    path = found()
    if done.returncode or path is None:
        raise SystemExit(f"npm could not install {' and '.join(packages)}: {done.stderr[-400:]}")
    return path


if __name__ == "__main__":
    failed = []
    for install in (install_claude, install_codex, install_openclaw, install_hermes):
        try:
            print(install())
        except SystemExit as error:
            failed.append(str(error))
    sys.exit("\n".join(failed) or 0)
