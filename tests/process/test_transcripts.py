"""Every `console` block of the documentation is what a person would see who typed it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .transcripts import Step, Terminal, steps

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if "```console" in path.read_text()
)

#: Files that the pages speak of.
FILES = {"src/total.py": "print('30.0')\n" * 20, "src/checkout.css": ".pay { width: 40px }\n" * 50}


@pytest.fixture
def terminal(tmp_path):
    """A terminal in a project of its own, whose hub is stopped at the end."""
    project = tmp_path / "your-project"
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    env = {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "COLUMNS": "100",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(Path(os.environ["HOME"]) / ".gitconfig"),
    }
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "A start"]):
        subprocess.run(["git", *command], cwd=project, env=env, check=True)
    yield Terminal(project, env)
    subprocess.run(["pinbox", "stop"], cwd=project, env=env, capture_output=True, check=False)


@pytest.mark.process
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_s_transcript_is_what_happens(page, terminal):
    found = steps(page.read_text())
    assert found
    differences = [text for step in found if (text := terminal.differences(step))]
    assert differences == [], "\n\n".join(differences)


def test_a_transcript_that_differs_is_found(tmp_path):
    terminal = Terminal(tmp_path, {"PATH": os.environ["PATH"]})
    assert terminal.differences(Step(1, "echo two", "one\n"))
    assert not terminal.differences(Step(1, "echo two", "two\n"))


def test_ids_and_times_may_differ_but_the_same_id_stays_the_same(tmp_path):
    terminal = Terminal(tmp_path, {"PATH": os.environ["PATH"]})
    there, here, other = "pin_aaaaaaaaaa", "pin_bbbbbbbbbb", "pin_cccccccccc"
    assert not terminal.differences(Step(1, f"echo {here} 3m ago", f"{there} 9m ago\n"))
    assert not terminal.differences(Step(2, f"echo {there}", f"{there}\n"))
    assert terminal.differences(Step(3, f"echo {other}", f"{there}\n"))


def test_an_ellipsis_stands_for_any_lines(tmp_path):
    terminal = Terminal(tmp_path, {"PATH": os.environ["PATH"]})
    assert not terminal.differences(Step(1, "printf 'a\\nb\\nc\\nd\\n'", "a\n…\nd\n"))
    assert terminal.differences(Step(1, "printf 'a\\nb\\nc\\nd\\n'", "a\n…\ne\n"))
