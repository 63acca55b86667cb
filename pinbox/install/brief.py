"""The second half of setting up: putting the toolbar into the app, as a task for an agent.

Found out by reading the project, the same for the same files. Only names of files stand in it, and
what the package managers and frameworks call things; nothing that a file says.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: folders that hold no code of the project's own
_SKIPPED: Final = frozenset(
    (".git", ".pinbox", ".venv", "venv", "env", "node_modules", "build", "dist", "__pycache__")
)
_MAX_FILES: Final = 2_000
_MAX_BYTES: Final = 256 * 1024
_BRANCH: Final = "pinbox/integration"

#: by the file that a package manager leaves: how a development dependency is added
_MANAGERS: Final = (
    ("uv.lock", "uv add --dev pinbox"),
    ("poetry.lock", "poetry add --group dev pinbox"),
    ("pdm.lock", "pdm add -dG dev pinbox"),
    ("Pipfile", "pipenv install --dev pinbox"),
    ("requirements-dev.txt", "add a line `pinbox` to requirements-dev.txt"),
    ("requirements/dev.txt", "add a line `pinbox` to requirements/dev.txt"),
)
_BY_HAND: Final = "pip install --no-deps pinbox, and say so where the project lists what it needs"

_WIRES: Final = {
    "django": (
        'add "pinbox.inject.DjangoMiddleware" at the end of MIDDLEWARE in {where}; nothing goes '
        "into INSTALLED_APPS. It leaves itself out where DEBUG is off"
    ),
    "flask": "call pinbox.inject.add_to_flask(app) where the app is made ({where})",
    "fastapi": (
        "call app.add_middleware(pinbox.inject.AsgiMiddleware, templates=templates) where the app "
        "is made ({where}); leave templates out where there are none"
    ),
    "starlette": (
        "call app.add_middleware(pinbox.inject.AsgiMiddleware, templates=templates) where the app "
        "is made ({where}); leave templates out where there are none"
    ),
    "page": (
        "let the development server ({where}), and no build, write as the last thing of <body> "
        '<script type="module" crossorigin src="http://127.0.0.1:PORT/toolbar/toolbar.js" '
        'data-token="TOKEN"></script>. At each request it reads port and pageToken for it from '
        "hub.json, in the folder that `pinbox status --json` calls stateDir (`pinbox list` starts "
        "a hub); they change, and the token belongs into no commit. Where nothing but files is "
        "served, serve them by a small WSGI app in pinbox.inject.WsgiMiddleware(app, enabled=True)"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The app under development: its framework, the file to change, how dependencies are added."""

    framework: str
    where: str
    dependency: str


def text(root: Path) -> str | None:
    """The task; None when there is no app, or the toolbar is in it already."""
    found = app(root)
    if found is None:
        return None
    wire = _WIRES[found.framework].format(where=found.where)
    if found.framework == "page":
        dependency = (
            "Pinbox is on this machine already; the app needs no dependency for a script tag."
        )
        production = "what is built or published has no such tag"
    else:
        dependency = (
            f"The dependency: {found.dependency}.\n"
            "   The app needs the package alone, none of its dependencies."
        )
        production = "with the app's debug setting off the\n   page has no such tag"
    return f"""\
Put the Pinbox toolbar into this app, for development only.

1. Start from a clean checkout, on a new branch {_BRANCH}.
2. {dependency}
3. The wire: {wire}.
4. See that it works: start the app as its README says, load a page from localhost, and find one
   script tag with /toolbar/ in its source, last in the body. The first page may come before the hub
   is up; the second has it. In production nothing may change: {production}.
5. Run the project's own tests. Commit, push the branch and open a pull request; end with its
   address on a line of its own. Where no pull request can be opened, end with the branch's name.

Change nothing else. Do not edit .claude, .codex, .cursor, .github or .pinbox: pinbox init did that.
"""


def app(root: Path) -> App | None:
    """What stands at `root`; None for no app that we know, or one that names `pinbox.inject`."""
    sources = _sources(root)
    if any(b"pinbox.inject" in _read(path) for path in sources):
        return None
    found = _django(root, sources) or _python(root, sources) or _page(root)
    if found is None:
        return None
    return App(framework=found[0], where=found[1], dependency=_dependency(root))


def _dependency(root: Path) -> str:
    for name, said in _MANAGERS:
        if os.path.isfile(root / name):
            return said
    return _BY_HAND


def _django(root: Path, sources: list[Path]) -> tuple[str, str] | None:
    """By manage.py and the settings module that it names."""
    for manage in sources:
        if manage.name != "manage.py":
            continue
        match = re.search(rb"DJANGO_SETTINGS_MODULE['\"]\s*,\s*['\"]([\w.]+)['\"]", _read(manage))
        if match is None:
            continue
        path = manage.parent.joinpath(*match[1].decode().split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if os.path.isfile(file):
                return "django", str(file.relative_to(root))
        return "django", "the settings for development"
    return None


def _python(root: Path, sources: list[Path]) -> tuple[str, str] | None:
    """By the call that makes the app, in code that is no test."""
    for framework, call in (
        ("flask", rb"\bFlask\("),
        ("fastapi", rb"\bFastAPI\("),
        ("starlette", rb"\bStarlette\("),
    ):
        for path in sources:
            name = path.relative_to(root)
            if "test" not in str(name) and re.search(call, _read(path)):
                return framework, str(name)
    names = _dependencies(root)
    for framework in ("flask", "fastapi", "starlette"):
        if framework in names:
            return framework, "look for it"
    return None


def _dependencies(root: Path) -> set[str]:
    """Names of what pyproject.toml and the requirements files ask for."""
    lines: list[str] = []
    for path in [*root.glob("requirements*.txt"), *root.glob("requirements/*.txt")]:
        lines += _read(path).decode("utf-8", "replace").splitlines()
    try:
        project = tomllib.loads(_read(root / "pyproject.toml").decode()).get("project", {})
        lines += [str(line) for line in project.get("dependencies", [])]
    except (ValueError, AttributeError, TypeError):
        pass
    return {re.split(r"[^\w.-]", line.strip().lower(), maxsplit=1)[0] for line in lines}


def _page(root: Path) -> tuple[str, str] | None:
    """For an app whose pages no Python makes."""
    try:
        package = json.loads(_read(root / "package.json") or b"{}")
        names = {*package.get("dependencies", {}), *package.get("devDependencies", {})}
    except (ValueError, AttributeError, TypeError):
        names = set()
    for name, said in (("next", "Next.js"), ("vite", "Vite"), ("react-scripts", "React")):
        if name in names:
            return "page", said
    return ("page", "index.html") if os.path.isfile(root / "index.html") else None


def _sources(root: Path) -> list[Path]:
    """The project's Python files, the outermost first, no more than a few thousand."""
    found: list[Path] = []
    folders = [root]
    while folders and len(found) < _MAX_FILES:
        folder = folders.pop(0)
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue
        for path in entries:
            if os.path.islink(path):
                continue
            if os.path.isdir(path):
                if path.name not in _SKIPPED and not path.name.startswith("."):
                    folders.append(path)
            elif path.suffix == ".py":
                found.append(path)
    return found[:_MAX_FILES]


def _read(path: Path) -> bytes:
    if not os.path.isfile(path):  # a pipe would wait for a writer
        return b""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return b""
