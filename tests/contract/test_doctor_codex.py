"""Doctor and Codex: whether Codex trusts our hooks, asked of a program that stands in for it. The
real one is asked in tests/agents/test_codex.py.
"""

import json
import sys
import time
from pathlib import Path

import pytest

from pinbox.agents import codex
from pinbox.checks import codex_trust, hooks
from pinbox.checks.throwaway import ThrowAway
from pinbox.install import command
from pinbox.install.planning import Options
from tests.contract.test_doctor import ago, make_database, program, unchanged

pytestmark = pytest.mark.process

RECORDED = Path(__file__).parent.parent / "fixtures" / "agents" / "codex-0.171.0"

#: Answers as `codex app-server` does: only while its input is open, and with other lines between.
APP_SERVER = """\
import json, os, sys, time
assert sys.argv[1:] == ["app-server"]
home = os.environ["CODEX_HOME"]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({{"method": "configWarning", "params": {{"summary": "x"}}}}))
        result = {{}}
        if asked["method"] == "hooks/list":
            (cwd,) = asked["params"]["cwds"]
            hooks = json.loads({hooks!r}.replace("<home>", home).replace("<cwd>", cwd))
            result = {{"data": [{{"cwd": cwd, "hooks": hooks}}]}}
            open({kept!r}, "w").write(open(home + "/config.toml").read())
        print(json.dumps({{"id": asked["id"], "result": result}}), flush=True)
"""


@pytest.fixture(scope="module")
def away():
    """The throw-away project, its hub running."""
    with ThrowAway() as made:
        made.start_hub()
        yield made


class Codex:
    """A project with our hooks for Codex, and a program of that name on PATH."""

    def __init__(self, repository, away, monkeypatch):
        self.repository, self.away = repository, away
        self.folder = repository.home.parent / "bin"
        self.kept = repository.home.parent / "kept.toml"
        monkeypatch.setenv("PATH", f"{self.folder}:/usr/bin:/bin")
        command.run(Options(yes=True, agents=("codex",)))
        make_database(repository.root, seen={"codex": ago(minutes=5)})

    def says(self, *hooks):
        script = APP_SERVER.format(hooks=json.dumps(hooks), kept=str(self.kept))
        path = self.folder / "app_server.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(script)
        self.is_program(f'exec {sys.executable} {path} "$@"')

    def is_program(self, script):
        program(self.folder / "codex", script)

    def checked(self):
        with unchanged(self.repository.root, self.repository.home):
            return hooks.hooks("codex", self.repository.root, self.away)


@pytest.fixture
def here(repository, away, monkeypatch):
    return Codex(repository, away, monkeypatch)


def ours(status, event="stop", path="<cwd>/.codex/hooks.json", **more):
    entry = json.loads((RECORDED / "hooks-list-entry.json").read_text())
    return entry | {
        "eventName": event,
        "command": codex.COMMAND,
        "sourcePath": path,
        "trustStatus": status,
        **more,
    }


def test_hooks_that_codex_trusts_and_that_were_seen_are_ok(here):
    here.says(ours("trusted"), ours("managed", "sessionStart"))
    found = here.checked()
    assert (found.status, found.detail) == (
        "ok",
        ".codex/hooks.json: 4 events, answered here, last ran 5m ago",
    )


def test_hooks_that_codex_does_not_trust_are_named_with_the_step_that_is_missing(here):
    here.says(ours("trusted"), ours("untrusted", "sessionStart"))
    found = here.checked()
    assert found.status == "warn"
    assert "1 of 2 are not trusted yet, and skipped without a word" in found.detail
    assert found.hint == (
        f"start codex in {here.repository.root}: it asks to review them, and /hooks does later"
    )


def test_hooks_that_changed_since_they_were_trusted_are_told_apart(here):
    here.says(ours("modified"))
    assert "1 of 1 are changed since Codex was told to trust them" in here.checked().detail


def test_trusted_hooks_that_never_ran_wait_for_a_first_prompt(here):
    (here.repository.root / ".pinbox/pinbox.db").unlink()
    here.says(ours("trusted"))
    found = here.checked()
    assert (found.status, found.detail) == ("warn", ".codex/hooks.json: trusted, never ran")
    assert "nothing runs before the first prompt" in found.hint


def test_hooks_that_were_switched_off_in_codex_are_told(here):
    here.says(ours("trusted", enabled=False))
    found = here.checked()
    assert found.status == "warn"
    assert "switched off" in found.detail


def test_a_folder_that_codex_does_not_trust_is_told_before_its_hooks(here):
    others = json.loads((RECORDED / "hooks-list-entry.json").read_text())
    here.says(others, ours("trusted", path="<home>/hooks.json"))
    found = here.checked()
    assert found.status == "warn"
    assert "Codex does not trust this folder" in found.detail
    assert found.hint == (
        f"start codex in {here.repository.root}, trust the folder, and then the hooks"
    )


@pytest.mark.parametrize(
    "script",
    [
        "exit 1",
        "echo no; cat >/dev/null",
        'printf \'{"id":2,"result":[]}\\n\'; cat >/dev/null',
        'printf \'[]\\n{"id":2,"result":{"data":[{"hooks":3}]}}\\n\'; cat >/dev/null',
        "cat /dev/zero",
    ],
)
def test_a_program_that_does_not_say_costs_nothing(here, script, monkeypatch):
    monkeypatch.setattr(codex_trust, "TIMEOUT_S", 1.0)
    here.is_program(script)
    assert here.checked().status == "ok"


def test_a_program_that_hangs_is_waited_for_only_so_long(here, monkeypatch):
    monkeypatch.setattr(codex_trust, "TIMEOUT_S", 0.3)
    here.is_program("sleep 60")
    began = time.monotonic()
    assert here.checked().status == "ok"
    assert time.monotonic() - began < 20


def test_codex_is_told_of_the_users_configuration_what_decides_about_trust_and_nothing_else(here):
    home = here.repository.home / ".codex"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        'model = "secret-model"\napi_key = "sk-secret"\n'
        '[mcp_servers.mine]\ncommand = "secret-command"\n'
        '[projects."/p/a\\"b"]\ntrust_level = "trusted"\nnote = "secret"\n'
        f'[hooks.state."{home}/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:1"\nenabled = false\n'
        '[hooks.state."/p/.codex/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:2"\n'
    )
    here.says(ours("trusted"))
    here.checked()
    told = here.kept.read_text()
    assert "secret" not in told
    assert '[projects."/p/a\\"b"]\ntrust_level = "trusted"\n' in told
    own = here.away.home / ".codex"
    assert f'[hooks.state."{own}/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:1"' in told
    assert '[hooks.state."/p/.codex/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:2"' in told


def test_without_the_program_nobody_is_asked(here):
    found = here.checked()
    assert (found.status, found.detail) == (
        "ok",
        ".codex/hooks.json: 4 events, answered here, last ran 5m ago",
    )
