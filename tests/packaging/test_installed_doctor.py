"""`pinbox doctor` of an installation: with everything, and without what the hub needs."""

import json

import pytest

from .conftest import Installed

pytestmark = pytest.mark.packaging


def examined(installed: Installed, project, home) -> tuple[int, dict[str, dict[str, str]]]:
    done = installed.run("pinbox", "doctor", cwd=project, home=home, check=False)
    assert done.stderr == b""
    return done.returncode, {one["name"]: one for one in json.loads(done.stdout)["data"]["checks"]}


def test_all_of_an_installed_wheel_works(installed: Installed, project, home):
    installed.run("pinbox", "init", "--yes", cwd=project, home=home)
    code, found = examined(installed, project, home)
    assert [one for one in found.values() if one["status"] == "fail"] == []
    assert code == 0
    assert str(installed.bin) in found["python"]["detail"]
    assert found["delivery"]["status"] == "ok"
    assert found["hooks-claude"]["detail"] == ".claude/settings.json: written, never ran"


def test_an_installation_without_its_dependencies_says_what_is_missing(
    bare: Installed, project, home
):
    code, found = examined(bare, project, home)
    assert code == 1
    assert found["hub"]["status"] == "fail"
    assert "did not start: ModuleNotFoundError: No module named" in found["hub"]["detail"]
    assert (found["sqlite"]["status"], found["delivery"]["status"]) == ("ok", "fail")
