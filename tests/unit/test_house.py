"""Rules of the repository itself, which no linter knows."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: A path of a machine the project was written on. Invented people's homes (/home/ada) are examples.
MACHINE_PATH = re.compile(r"(?<![\w.~$}/-])/(?:root|work)/\w")


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    paths = (ROOT / name for name in listed.stdout.decode().split("\0") if name)
    return [path for path in paths if path.is_file()]


def texts() -> list[tuple[Path, str]]:
    found = []
    for path in tracked_files():
        try:
            found.append((path, path.read_text()))
        except UnicodeDecodeError:
            continue
    return found


def test_no_test_sleeps_but_in_the_one_place_that_waits():
    sleeping = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if path == ROOT / "tests" / "wait.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if is_call and node.func.attr == "sleep":
                sleeping.append(f"{path.relative_to(ROOT)}:{node.lineno}")
            if isinstance(node, ast.ImportFrom) and any(n.name == "sleep" for n in node.names):
                sleeping.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert sleeping == []


def test_no_file_names_a_path_of_somebodys_machine():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path, text in texts()
        if path != Path(__file__)
        for number, line in enumerate(text.splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert found == []


def test_every_test_file_says_what_it_is_about():
    silent = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


def test_every_suppression_names_its_code():
    bare = re.compile(r"#\s*(?:noqa(?!:\s*[A-Z]+\d)|type:\s*ignore(?!\[))", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path, text in texts()
        if path.suffix == ".py" and path != Path(__file__)
        for number, line in enumerate(text.splitlines(), 1)
        if bare.search(line)
    ]
    assert found == []
