"""Ended sessions of the real agent programs, offline, resumed by the adapter alone, without a hub:
what all programs have in common, and what a resumed agent may do.
"""

import os
import re
import subprocess
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from delivery.adapters import DeliveryFailed, Outcome, Parcel, Presence, Target
from delivery.adapters.resume import ResumeAdapter

from . import install
from .conftest import PLAIN_PATH
from .model import Answer, Model, ResponsesHandler, serving
from .program import offline

pytestmark = [pytest.mark.agents, pytest.mark.process, pytest.mark.slow]

ADAPTER = ResumeAdapter()
TURN_TIMEOUT_S = 90
HISTORY = "Remember the word plum."
PIN_TEXT = "> The total ignores the discount"
UNKNOWN = {
    "claude": "00000000-0000-0000-0000-000000000007",
    "codex": "00000000-0000-0000-0000-000000000007",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Real:
    """One agent's program with a home and a project of its own. Its environment is this process's,
    as a hub's would be.
    """

    name: str
    program: Path
    home: Path
    project: Path

    def model(self, *answers: Answer) -> AbstractContextManager[tuple[Model, str]]:
        if self.name == "claude":
            return serving(list(answers))
        return serving(list(answers), ResponsesHandler)

    def use(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Point the program at that model."""
        for name, value in self.environ(url).items():
            monkeypatch.setenv(name, value)
        if self.name == "codex":
            (self.home / ".codex").mkdir(exist_ok=True)
            (self.home / ".codex" / "config.toml").write_text(CODEX_CONFIG.format(url=url))

    def environ(self, url: str) -> dict[str, str]:
        always = {"HOME": str(self.home), "PATH": f"{self.home}/bin:{PLAIN_PATH}"}
        if self.name == "claude":
            return always | offline(url) | {"CLAUDE_CODE_MAX_RETRIES": "1"}
        # The name of the key stands in Codex's configuration: it can be any.
        key = {"INVENTED_MODEL_KEY": "sk-invented-0000-not-a-key"}
        return always | key | {"PINBOX_RESUME_ENV": "INVENTED_MODEL_KEY", "NO_PROXY": "127.0.0.1"}

    def begin(self) -> str:
        """A session that has ended; its key."""
        done = subprocess.run(
            [str(self.program), *COMMANDS[self.name]],
            cwd=self.project,
            input=HISTORY,
            env={**os.environ, "LANG": "C.UTF-8", "TERM": "dumb"},
            capture_output=True,
            text=True,
            timeout=TURN_TIMEOUT_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found = re.search(KEYS[self.name], done.stdout + done.stderr)
        assert found, done.stdout + done.stderr
        return found[1]

    def deliver(self, key: str, *, cwd: Path | None = None) -> Outcome:
        target = Target(
            id="ses_0123456789",
            agent=self.name,
            key=key,
            cwd=str(cwd or self.project),
            presence=Presence.GONE,
        )
        assert ADAPTER.reaches(target)
        parcel = Parcel(
            id="dlv_" + 24 * "0",
            event_seq=1,
            event_type="pin.created",
            event_at="2026-11-30T12:00:00.000Z",
            payload="{}",
            pin_id="pin_0123456789",
            target=target,
            text=PIN_TEXT,
            attempt=1,
        )
        return ADAPTER.deliver(parcel, spawned=lambda process: None, stop=threading.Event())

    def failure(self, key: str, *, cwd: Path | None = None) -> DeliveryFailed:
        with pytest.raises(DeliveryFailed) as raised:
            self.deliver(key, cwd=cwd)
        return raised.value


COMMANDS = {
    "claude": ["-p", "--output-format", "json"],
    "codex": ["exec", "--json", "-"],
}
KEYS = {
    "claude": r'"session_id":"([^"]+)"',
    "codex": r'"thread_id":"([^"]+)"',
}
CODEX_CONFIG = """
model = "fake"
model_provider = "fake"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "INVENTED_MODEL_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[analytics]
enabled = false
[features]
daemon_auto_start = false
"""


def make_real(tmp_path: Path, name: str) -> Real:
    program = {"claude": install.claude, "codex": install.codex}[name]()
    if program is None:
        pytest.skip(f"{name} is not installed here: `make agents` fetches it")
    home, project = tmp_path / "home", tmp_path / "app"
    (home / "bin").mkdir(parents=True)
    put_on_path(home / "bin", name, program)
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    return Real(name=name, program=program, home=home, project=project)


def put_on_path(folder: Path, name: str, program: Path) -> None:
    """By a word that leads to it: a program may look for others beside itself."""
    script = folder / name
    script.write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
    script.chmod(0o755)


@pytest.fixture(autouse=True)
def resume_is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PINBOX_RESUME")


@pytest.fixture(params=["claude", "codex"])
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Real:
    return make_real(tmp_path, request.param)


# --- the adapter ----------------------------------------------------------------------------------


def test_an_ended_session_goes_on_with_its_history_and_the_pin(
    real: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    with real.model(Answer(text="Noted."), Answer(text="Fixed."), Answer(text="Again.")) as (
        model,
        url,
    ):
        real.use(url, monkeypatch)
        key = real.begin()
        first = real.deliver(key)
        second = real.deliver(key)

    assert first.output.endswith("Fixed.")
    assert second.output.endswith("Again.")
    assert model.saw(HISTORY) == [0, 1, 2]
    assert model.saw(PIN_TEXT) == [1, 2]


def test_an_unknown_session_is_refused(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    with real.model() as (model, url):
        real.use(url, monkeypatch)
        error = real.failure(UNKNOWN[real.name])

    assert (error.reason, error.code, error.is_terminal) == ("refused", "E_SESSION_GONE", True)
    assert model.requests == []


@pytest.mark.parametrize(
    ("status", "reason"), [(429, "rate_limit"), (529, "rate_limit"), (401, "auth")]
)
def test_trouble_with_the_model_is_no_refusal(
    real: Real, monkeypatch: pytest.MonkeyPatch, status: int, reason: str
) -> None:
    # They ask again by themselves before they give up.
    failing = [Answer(status=status) for _ in range(12)]
    with real.model(Answer(text="Noted."), *failing) as (_, url):
        real.use(url, monkeypatch)
        error = real.failure(real.begin())

    assert (error.reason, error.code, error.is_terminal) == (reason, "E_DELIVERY", False)


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_session_of_a_removed_worktree_is_refused_and_no_other_folder_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    real = make_real(tmp_path, name)
    linked = tmp_path / "linked"

    def git(*words: str) -> None:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@pinbox.example")
        subprocess.run(["git", "-C", str(real.project), *who, *words], check=True)

    git("commit", "-q", "--allow-empty", "-m", "first")
    git("worktree", "add", "-q", str(linked))
    there = Real(name=name, program=real.program, home=real.home, project=linked)
    with real.model(Answer(text="Noted."), Answer(text="Fixed.")) as (model, url):
        real.use(url, monkeypatch)
        key = there.begin()
        assert there.deliver(key).output == "Fixed."
        git("worktree", "remove", "--force", str(linked))
        error = there.failure(key)

    assert (error.reason, error.is_terminal) == ("refused", True)
    assert str(linked) in error.message
    assert len(model.requests) == 2


@pytest.mark.parametrize("name", ["claude", "codex"])
@pytest.mark.parametrize("permissions", ["", "edit"])
def test_a_resumed_agent_may_do_more_only_by_the_users_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, permissions: str
) -> None:
    real = make_real(tmp_path, name)
    (real.home / "bin" / "pinbox").write_text("#!/bin/sh\ntouch said\n")
    (real.home / "bin" / "pinbox").chmod(0o755)
    monkeypatch.setenv("PINBOX_RESUME_PERMISSIONS", permissions)
    # Codex runs commands in a login shell, which has a PATH of its own.
    command = {"claude": "pinbox show x", "codex": "touch said"}[name]
    answers = [Answer(text="Noted."), Answer(command=command), Answer(text="Fixed.")]
    with real.model(*answers) as (_, url):
        real.use(url, monkeypatch)
        outcome = real.deliver(real.begin())

    assert outcome.output.startswith("Fixed.")
    assert (real.project / "said").exists() == bool(permissions)
    if name == "claude":
        assert ("not permitted: Bash" in outcome.output) == (not permissions)
