"""What an installation brings: one importable name, a client without dependencies, a hub that finds
its own parts wherever it is started."""

import json
import subprocess
import zipfile
from pathlib import Path

import pytest

import pinbox

ROOT = Path(__file__).resolve().parents[2]
HUB_FOLDERS = ("pinbox_site", "pins", "delivery", "sessions_app", "templates")

#: Modules no command may load to do its work: each costs more start-up time than the command.
HEAVY = ("django", "rest_framework", "channels", "daphne", "twisted", "asgiref", "jwt")

pytestmark = pytest.mark.packaging


@pytest.fixture
def hostile(tmp_path) -> Path:
    """A project whose folders have the names of what Pinbox imports, and break whoever does."""
    folder = tmp_path / "hostile"
    for name in ("django", "channels", "pinbox", "rest_framework", "pins", "delivery", "json"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise SystemExit('the wrong one')\n")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_makes_one_name_importable(wheel):
    top = {name.split("/")[0] for name in names(wheel)}
    assert top == {"pinbox", f"pinbox-{pinbox.__version__}.dist-info"}


def test_every_file_of_the_hub_is_in_the_wheel(wheel):
    listed = subprocess.run(
        ["git", "ls-files", "--", *HUB_FOLDERS, "pinbox"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    here = [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
    wanted = {name if name.startswith("pinbox/") else f"pinbox/_hub/{name}" for name in here}
    assert wanted - set(names(wheel)) == set()
    assert "pinbox/py.typed" in names(wheel)
    assert any("/migrations/0001" in name for name in names(wheel))


def test_nothing_of_the_tests_is_in_the_wheel(wheel):
    assert [name for name in names(wheel) if "test" in name or "bench" in name] == []


def test_only_pinbox_can_be_imported_where_it_is_installed(bare, tmp_path, home):
    for name in (*HUB_FOLDERS, "manage"):
        done = bare.run("python", "-c", f"import {name}", cwd=tmp_path, home=home, check=False)
        assert b"ModuleNotFoundError" in done.stderr, name


def test_the_program_says_its_version_without_any_dependency(bare, tmp_path, home):
    done = bare.run("pinbox", "--version", cwd=tmp_path, home=home)
    assert pinbox.__version__.encode() in done.stdout
    assert list(tmp_path.glob(".pinbox")) == []


def test_every_module_of_the_client_can_be_imported_without_any_dependency(bare, tmp_path, home):
    code = """if True:
        import importlib, pkgutil, sys, pinbox
        scripts = {"pinbox.__main__", "pinbox.hook"}  # they run when they are imported
        for module in pkgutil.walk_packages(pinbox.__path__, "pinbox."):
            if "._hub" not in module.name and module.name not in scripts:
                importlib.import_module(module.name)
        own = set(sys.stdlib_module_names) | {"pinbox", "__main__"}
        print(sorted({name.split(".")[0] for name in sys.modules} - own))
    """
    done = bare.run("python", "-I", "-c", code, cwd=tmp_path, home=home)
    assert done.stdout.split()[-1:] == [b"[]"], done.stdout


@pytest.fixture
def stop_hub(installed, home):
    """Stops the hub of each project it was given."""
    projects: list[Path] = []
    yield projects.append
    for project in projects:
        installed.run("pinbox", "stop", cwd=project, home=home, check=False)


@pytest.mark.process
def test_an_installed_program_starts_its_hub_in_a_hostile_folder(
    installed, hostile, home, stop_hub
):
    stop_hub(hostile)
    pinned = installed.run("pinbox", "pin", "too small", cwd=hostile, home=home)
    assert json.loads(pinned.stdout)["data"]["text"] == "too small"
    listed = json.loads(installed.run("pinbox", "list", cwd=hostile, home=home).stdout)
    assert [pin["text"] for pin in listed["data"]] == ["too small"]


@pytest.mark.process
def test_no_command_loads_the_hub_s_stack(installed, project, home, stop_hub):
    stop_hub(project)
    installed.run("pinbox", "pin", "warm up", cwd=project, home=home)
    for words in (["list"], ["summary"], ["--help"], ["status"], ["session", "list"]):
        code = f"""if True:
            import sys
            from pinbox.cli import main
            main({words!r})
            loaded = {{name.split(".")[0] for name in sys.modules}}
            print(sorted(loaded & set({HEAVY!r})), file=sys.stderr)
        """
        done = installed.run("python", "-I", "-c", code, cwd=project, home=home)
        assert done.stderr.split()[-1:] == [b"[]"], (words, done.stderr)
