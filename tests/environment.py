"""A clean environment for the whole run, made before anything of Django or Pinbox is imported.

Loaded by `-p tests.environment` (pyproject.toml): pytest-django reads the settings before any
conftest.py runs, and the settings find the project from the environment.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

#: Environment of the shell that started the run: caches of pip, where a program is installed.
ORIGINAL_HOME = Path(os.environ.get("HOME", "/"))

_DROPPED_PREFIXES = ("PINBOX_", "XDG_", "GIT_", "CLAUDE", "CODEX_", "HERMES_", "OPENCLAW_", "JWT_")
_DROPPED_NAMES = (
    "DJANGO_SETTINGS_MODULE",
    "ALLOW_UNAUTHENTICATED",
    "AI_AGENT",
    "CI",
    "CURSOR_AGENT",
    "LANGUAGE",
    "NO_COLOR",
    "FORCE_COLOR",
    # A command would be compiled anew each time it is run.
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONWARNINGS",
)

#: Everything the run writes outside the project lies here, and goes with it.
SCRATCH = Path(tempfile.mkdtemp(prefix="pinbox-tests-"))
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)

#: Options of the run itself (docs/contributing.md), which no part of Pinbox reads.
_KEPT_PREFIX = "PINBOX_TEST_"

for name in list(os.environ):
    if name.startswith(_KEPT_PREFIX):
        continue
    if name.startswith(_DROPPED_PREFIXES) or name in _DROPPED_NAMES:
        del os.environ[name]

HOME = SCRATCH / "home"
HOME.mkdir(mode=0o700)
(HOME / ".gitconfig").write_text(
    "[user]\n\tname = Test Person\n\temail = test@pinbox.example\n"
    "[init]\n\tdefaultBranch = main\n[commit]\n\tgpgSign = false\n[core]\n\tautocrlf = false\n"
)
os.environ["HOME"] = str(HOME)
os.environ["GIT_CONFIG_NOSYSTEM"] = "1"
os.environ["TZ"] = "UTC"
# No hub of a test may start an agent that happens to be installed here; who tests that says so.
os.environ["PINBOX_RESUME"] = "0"

#: The project of the tests that run inside this process; processes they start find their own.
PROJECT = SCRATCH / "project"
(PROJECT / ".pinbox").mkdir(mode=0o700, parents=True)
os.environ["PINBOX_PROJECT"] = str(PROJECT)
#: A file, as in a project: a database in memory has other locks and no WAL.
os.environ["PINBOX_TEST_DB"] = str(SCRATCH / "tests.db")
