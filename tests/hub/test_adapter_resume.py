"""An ended session is resumed by a program on the PATH, and believed only for what it confirms."""

import json
import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from delivery.adapters import MAX_OUTPUT_BYTES, DeliveryFailed, Parcel, Presence, Target
from delivery.adapters.resume import ResumeAdapter
from pinbox import project
from tests.wait import wait_until

RECORDED = Path(__file__).parent.parent / "fixtures" / "agents"
KEYS = {
    "claude": "138bc46f-1fb8-4764-a7a0-1b762b25ed45",
    "codex": "01a22e9c-cf2a-7180-a0d9-2e6841333695",
    "hermes": "20261130_163022_6bc6d8",
}
resume = ResumeAdapter()
UNKNOWN = "00000000-0000-0000-0000-000000000007"
WORDS = "The total ignores the discount"
PIN_TEXT = f"> a pin says: {WORDS}\n> and `$(more)`"
SYSTEM_PATH = "/usr/bin:/bin"
PATIENT_S = 30


def recorded(agent):
    """What the program said of each resume, by what it was about."""
    return json.loads((max(RECORDED.glob(f"{agent}-*")) / "resume.json").read_text())


#: What it was started with goes into files beside its answer.
FAKE = """#!/bin/sh
here={here}
case "$*" in "chat --help") cat $here/help; exit 0;; esac
printf '%s\\n' "$@" > $here/arguments
env > $here/environment
pwd > $here/folder
cat > $here/input
cat $here/stdout
cat $here/stderr >&2
{then}
exit $(cat $here/code)
"""


@dataclass(frozen=True, slots=True)
class Fake:
    """A program of that name on the PATH, which gives a prepared answer."""

    name: str
    folder: Path

    def answers(self, stdout="", *, stderr="", code=0, then=""):
        for file, text in (("stdout", stdout), ("stderr", stderr), ("code", str(code))):
            (self.folder / file).write_text(text)
        program = self.folder.parent / "bin" / self.name
        program.write_text(FAKE.format(here=self.folder, then=then))
        program.chmod(0o755)
        return self

    def answers_as_recorded(self, name):
        one = recorded(self.name)[name]
        return self.answers(one["stdout"], stderr=one["stderr"], code=one["exitCode"])

    def confirms(self, key=None, said="Done."):
        key = key or KEYS[self.name]
        if self.name == "claude":
            return self.answers(claude_result(key, said))
        if self.name == "codex":
            return self.answers(codex_lines(key, said))
        return self.answers(said + "\n", stderr=f"\nsession_id: {key}\n")

    def was_started(self):
        return (self.folder / "arguments").exists()

    def got(self, file):
        return (self.folder / file).read_text()


def claude_result(key, said="Done.", **more):
    result = {"type": "result", "is_error": False, "num_turns": 1, "session_id": key}
    return json.dumps(result | {"result": said} | more) + "\n"


def codex_lines(key, said="Done."):
    lines = [
        {"type": "thread.started", "thread_id": key},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"type": "agent_message", "text": said}},
        {"type": "turn.completed", "usage": {}},
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    """A hub's environment, with nothing but the system's programs and this test's own."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{SYSTEM_PATH}")
    monkeypatch.delenv("PINBOX_RESUME")


@pytest.fixture(params=["claude", "codex", "hermes"])
def fake(request, tmp_path):
    return make_fake(tmp_path, request.param)


@pytest.fixture
def claude(tmp_path):
    return make_fake(tmp_path, "claude")


@pytest.fixture
def codex(tmp_path):
    return make_fake(tmp_path, "codex")


def make_fake(tmp_path, name):
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake" / "help").write_text("usage: hermes chat [-q QUERY]\n")
    return Fake(name, tmp_path / "fake").answers()


@pytest.fixture
def folder(tmp_path):
    """Where the session was."""
    folder = tmp_path / "app"
    folder.mkdir()
    return folder


def target(agent, folder, **more):
    facts = {
        "id": "ses_0123456789",
        "agent": agent,
        "key": KEYS.get(agent, "k"),
        "cwd": str(folder),
    }
    return Target(**{**facts, "presence": Presence.GONE, **more})


def parcel(target):
    return Parcel(
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


def deliver(target, *, spawned=None, stop=None):
    return resume.deliver(
        parcel(target),
        spawned=spawned or (lambda process: None),
        stop=stop or threading.Event(),
    )


def failure(target, **more):
    with pytest.raises(DeliveryFailed) as raised:
        deliver(target, **more)
    error = raised.value
    assert WORDS not in error.message
    return error


def is_alive(pid):
    fields = project.process_fields(pid)
    return fields is not None and fields[0] not in (b"Z", b"X")


# --- who can be reached ---------------------------------------------------------------------------


def test_a_session_that_is_over_is_reached_by_its_agents_program(fake, folder):
    assert resume.reaches(target(fake.name, folder))
    assert resume.reaches(target(fake.name, folder, presence=Presence.LEAVING))


@pytest.mark.parametrize("presence", [Presence.LIVE, Presence.QUIET])
def test_a_session_that_may_be_alive_is_not_reached(fake, folder, presence):
    assert not resume.reaches(target(fake.name, folder, presence=presence))


def test_nobody_is_not_reached():
    assert not resume.reaches(None)


def test_a_session_without_a_folder_is_not_reached(fake):
    assert not resume.reaches(target(fake.name, "", cwd=None))


@pytest.mark.parametrize("agent", ["openclaw", "cursor", "Claude", "x"])
def test_an_agent_without_a_resume_is_not_reached(claude, folder, agent):
    assert not resume.reaches(target(agent, folder))


def test_an_agent_whose_program_is_not_on_the_path_is_not_reached(fake, folder, tmp_path):
    program = tmp_path / "bin" / fake.name
    program.chmod(0o644)
    assert not resume.reaches(target(fake.name, folder))
    program.unlink()
    assert not resume.reaches(target(fake.name, folder))


def test_a_program_in_a_relative_folder_of_the_path_is_not_meant(
    claude, folder, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"bin:{SYSTEM_PATH}")
    assert not resume.reaches(target("claude", folder))


@pytest.mark.parametrize("off", ["0", "off", "no", "False"])
def test_resume_can_be_turned_off(claude, folder, monkeypatch, off):
    monkeypatch.setenv("PINBOX_RESUME", off)
    assert not resume.reaches(target("claude", folder))


def test_a_teams_hub_resumes_nothing_unless_told_to(claude, folder, monkeypatch):
    """The sessions that register there are on other machines."""
    monkeypatch.setenv("PINBOX_ALLOWED_HOSTS", "pins.example.com")
    assert not resume.reaches(target("claude", folder))
    monkeypatch.setenv("PINBOX_RESUME", "1")
    assert resume.reaches(target("claude", folder))


@pytest.mark.parametrize("presence", [Presence.LIVE, Presence.LEAVING, Presence.QUIET])
def test_whatever_was_decided_before_a_session_that_may_be_alive_is_not_resumed(
    fake, folder, presence
):
    error = failure(target(fake.name, folder, presence=presence))
    assert (error.reason, error.is_terminal) == ("busy", False)
    assert error.retry_after_s
    assert not fake.was_started()


# --- what is run ----------------------------------------------------------------------------------


def test_a_session_is_resumed_in_its_folder_with_the_text_and_confirmed(fake, folder):
    outcome = deliver(target(fake.confirms().name, folder))
    assert outcome.is_accepted_only is False
    assert outcome.output == "Done."
    assert fake.got("folder").strip() == str(folder)
    assert KEYS[fake.name] in fake.got("arguments").splitlines()
    if fake.name == "hermes":
        assert f"--query={PIN_TEXT}" in fake.got("arguments")
    else:
        assert fake.got("input") == PIN_TEXT
        assert WORDS not in fake.got("arguments")


def test_a_hermes_that_reads_its_prompt_from_stdin_gets_it_there(tmp_path, folder):
    fake = make_fake(tmp_path, "hermes").confirms()
    (fake.folder / "help").write_text(
        "  --query-file FILE  read the prompt from FILE, - is stdin\n"
    )
    deliver(target("hermes", folder))
    assert fake.got("input") == PIN_TEXT
    assert WORDS not in fake.got("arguments")


def test_the_list_of_processes_never_shows_the_text(tmp_path, folder, claude):
    seen = []

    def look(process):
        seen.append(subprocess.check_output(["ps", "-ww", "-eo", "args="], text=True))

    look_then = f"ps -ww -eo args= > {claude.folder}/processes"
    claude.answers(claude_result(KEYS["claude"]), then=look_then)
    deliver(target("claude", folder), spawned=look)
    assert "--output-format" in seen[0]
    assert "--output-format" in claude.got("processes")
    assert WORDS not in seen[0] + claude.got("processes")


def test_an_agent_sees_neither_the_hubs_secrets_nor_the_marks_of_another_agent(
    fake, folder, monkeypatch
):
    for name in ("PINBOX_TOKEN", "PINBOX_WEBHOOK_SECRET", "CLAUDECODE", "CODEX_THREAD_ID"):
        monkeypatch.setenv(name, "a-hidden-value")
    monkeypatch.setenv("GIT_DIR", "a-hidden-value")
    monkeypatch.setenv("SSH_AUTH_SOCK", "a-hidden-value")
    deliver(target(fake.confirms().name, folder))
    assert "a-hidden-value" not in fake.got("environment")
    assert f"HOME={os.environ['HOME']}\n" in fake.got("environment")


def test_an_agent_sees_the_variables_that_the_user_names(claude, folder, monkeypatch):
    monkeypatch.setenv("MY_MODEL_KEY", "named")
    monkeypatch.setenv("PINBOX_RESUME_ENV", "MY_MODEL_KEY, NOT_SET")
    deliver(target(claude.confirms().name, folder))
    assert "MY_MODEL_KEY=named\n" in claude.got("environment")


def test_permissions_are_given_only_by_the_users_word(claude, folder, monkeypatch):
    deliver(target(claude.confirms().name, folder))
    assert "acceptEdits" not in claude.got("arguments")
    monkeypatch.setenv("PINBOX_RESUME_PERMISSIONS", "edit")
    deliver(target("claude", folder))
    assert "acceptEdits" in claude.got("arguments")


def test_the_process_is_on_record_before_the_agent_begins(fake, folder):
    seen = []

    def record(process):
        seen.append((project.process_start(process.pid), fake.was_started()))
        assert seen[0][0] == process.started

    deliver(target(fake.confirms().name, folder), spawned=record)
    assert [started for _, started in seen] == [False]
    assert fake.was_started()


def test_an_agent_that_cannot_be_put_on_record_is_not_started(claude, folder):
    def fail(process):
        raise RuntimeError("no database")

    with pytest.raises(RuntimeError):
        deliver(target(claude.confirms().name, folder), spawned=fail)
    assert not claude.was_started()


# --- what cannot be resumed -----------------------------------------------------------------------


def test_a_folder_that_is_gone_is_named_and_no_other_one_is_taken(fake, folder):
    folder.rmdir()
    error = failure(target(fake.confirms().name, folder))
    assert (error.reason, error.code, error.is_terminal) == ("refused", "E_SESSION_GONE", True)
    assert str(folder) in error.message
    assert not fake.was_started()


def test_a_removed_worktree_is_not_replaced_by_the_main_checkout(claude, folder, tmp_path):
    def git(*words):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("worktree", "add", "-q", str(tmp_path / "linked"))
    there = target(claude.confirms().name, tmp_path / "linked")
    deliver(there)
    assert claude.got("folder").strip() == str(tmp_path / "linked")
    (claude.folder / "arguments").unlink()

    git("worktree", "remove", str(tmp_path / "linked"))
    error = failure(there)
    assert error.code == "E_SESSION_GONE"
    assert str(tmp_path / "linked") in error.message
    assert not claude.was_started()


@pytest.mark.parametrize("kind", ["file", "relative", "empty", "nul"])
def test_what_is_no_folder_is_no_folder(claude, folder, kind, monkeypatch):
    (folder / "file").touch()
    monkeypatch.chdir(folder.parent)
    cwd = {"file": f"{folder}/file", "relative": "app", "empty": "", "nul": f"{folder}\0"}[kind]
    assert failure(target("claude", folder, cwd=cwd)).reason == "refused"
    assert not claude.was_started()


def test_a_folders_name_cannot_break_out_of_the_message(claude, tmp_path):
    name = "x\n\x1b[2Jall is well\u202e" + "y" * 5_000
    error = failure(target("claude", tmp_path, cwd=f"/nowhere/{name}"))
    assert error.message.isprintable()
    assert len(error.message) < 500


@pytest.mark.parametrize(
    "key", ["", "fix the header", "--last", "-p", "latest", f"-{UNKNOWN}", f"{UNKNOWN}\n", "../x"]
)
def test_a_key_that_is_no_id_is_refused_without_asking(fake, folder, key):
    error = failure(target(fake.confirms().name, folder, key=key))
    assert (error.reason, error.is_terminal) == ("refused", True)
    assert not fake.was_started()


def test_an_agent_without_a_resume_is_no_crash(folder):
    assert failure(target("cursor", folder)).reason == "missing"
    assert failure(None).reason == "missing"


def test_a_program_that_went_since_is_missing_and_may_come_back(claude, folder, tmp_path):
    (tmp_path / "bin" / "claude").unlink()
    error = failure(target("claude", folder))
    assert (error.reason, error.code, error.is_terminal) == ("missing", "E_DELIVERY", False)


def test_a_program_whose_interpreter_is_missing_is_missing(claude, folder, tmp_path):
    (tmp_path / "bin" / "claude").write_text("#!/nowhere/node\n")
    error = failure(target("claude", folder))
    assert (error.reason, error.is_terminal) == ("missing", False)


# --- what the answer means ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "answer", "reason"),
    [
        ("claude", "unknown", "refused"),
        ("claude", "malformed", "refused"),
        ("claude", "status 401", "auth"),
        ("claude", "no key", "auth"),
        ("claude", "status 429", "rate_limit"),
        ("claude", "status 529", "rate_limit"),
        ("claude", "network", "network"),
        ("claude", "status 500", "answer"),
        ("claude", "blocked", "answer"),
        ("codex", "unknown", "refused"),
        ("codex", "malformed", "refused"),
        ("codex", "busy", "busy"),
        ("codex", "status 401", "auth"),
        ("codex", "no key", "auth"),
        ("codex", "status 429", "rate_limit"),
        ("codex", "status 529", "rate_limit"),
        ("codex", "status 503", "network"),
        ("codex", "blocked", "answer"),
        ("codex", "bad config", "answer"),
        ("hermes", "unknown", "refused"),
        ("hermes", "status 401", "auth"),
        ("hermes", "status 429", "rate_limit"),
        ("hermes", "network", "network"),
        ("hermes", "status 400", "answer"),
    ],
)
def test_a_refusal_is_told_apart_from_trouble_that_passes(tmp_path, folder, agent, answer, reason):
    make_fake(tmp_path, agent).answers_as_recorded(answer)
    error = failure(target(agent, folder))
    assert error.reason == reason
    is_final = reason == "refused"
    assert error.is_terminal == is_final
    assert error.code == ("E_SESSION_GONE" if is_final else "E_DELIVERY")
    assert error.message.isprintable()
    assert "scripted failure" not in error.message


def test_an_answer_as_another_session_is_no_delivery(fake, folder):
    other = "20200101_000000_abcdef" if fake.name == "hermes" else UNKNOWN
    error = failure(target(fake.confirms(other).name, folder))
    assert (error.reason, error.is_terminal) == ("refused", True)
    assert "another session" in error.message
    assert error.output == "Done."


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_a_uuid_is_the_same_in_either_case(tmp_path, folder, agent):
    make_fake(tmp_path, agent).confirms(KEYS[agent])
    deliver(target(agent, folder, key=KEYS[agent].upper()))


@pytest.mark.parametrize("stdout", ["", "Done.\n", "{}\n", '{"type":"result"}\n', "\0\n"])
def test_exit_code_0_alone_confirms_nothing(fake, folder, stdout):
    error = failure(target(fake.answers(stdout).name, folder))
    assert (error.reason, error.is_terminal) == ("answer", False)
    assert error.may_have_arrived


def test_a_result_that_calls_itself_an_error_is_none(claude, folder):
    claude.answers(claude_result(KEYS["claude"], "Overloaded", is_error=True))
    assert failure(target("claude", folder)).reason == "rate_limit"


@pytest.mark.parametrize("code", [1, 2, 70, 255])
def test_an_unknown_exit_code_is_tried_again(fake, folder, code):
    error = failure(target(fake.answers("", stderr=f"{WORDS}\n", code=code).name, folder))
    assert (error.reason, error.is_terminal) == ("answer", False)
    assert f"exit code {code}" in error.message
    assert WORDS in error.output


def test_an_agent_that_dies_by_a_signal_is_tried_again(fake, folder):
    error = failure(target(fake.answers(then="kill -9 $$").name, folder))
    assert (error.reason, error.is_terminal) == ("answer", False)


def test_a_limit_that_says_when_it_ends_is_waited_for(claude, folder):
    ends = int(time.time()) + 3_600
    limit = f"Claude AI usage limit reached|{ends}"
    claude.answers(claude_result(KEYS["claude"], limit, is_error=True))
    error = failure(target("claude", folder))
    assert error.reason == "rate_limit"
    assert error.retry_after_s == pytest.approx(3_600, abs=PATIENT_S)


# --- what is kept of what it says -----------------------------------------------------------------


def test_a_long_answer_is_kept_in_its_end(claude, folder):
    said = "€" * 100_000 + " the end"
    outcome = deliver(target(claude.confirms(said=said).name, folder))
    assert outcome.output.endswith("€ the end")
    assert len(outcome.output.encode()) <= MAX_OUTPUT_BYTES


def test_an_answer_is_kept_without_what_a_terminal_obeys(claude, folder):
    outcome = deliver(target(claude.confirms(said="a\x1b[2Jb\0c\ud83d\nd\u202e").name, folder))
    assert outcome.output.isprintable() or "\n" in outcome.output
    assert "\x1b" not in outcome.output
    assert "\0" not in outcome.output
    outcome.output.encode()


def test_a_secret_that_the_agent_repeats_is_not_kept(claude, folder, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-invented-0000")
    claude.answers("", stderr="wrong key sk-invented-0000\n", code=1)
    error = failure(target("claude", folder))
    assert error.output == "wrong key [ANTHROPIC_API_KEY]"


# --- time -----------------------------------------------------------------------------------------


def test_a_hanging_agent_is_ended_in_time_with_all_that_it_started(fake, folder, monkeypatch):
    monkeypatch.setenv("PINBOX_RESUME_TIMEOUT_MS", "500")
    told = []
    then = f"sleep 300 & echo $! > {fake.folder}/grandchild; echo said so far; wait"
    fake.answers("", then=then)
    error = failure(target(fake.name, folder), spawned=told.append)
    assert (error.reason, error.is_terminal, error.may_have_arrived) == ("timeout", False, True)
    assert not is_alive(int(fake.got("grandchild")))
    assert project.process_fields(told[0].pid) is None


def test_an_agent_that_cannot_reach_its_network_is_not_called_slow(codex, folder, monkeypatch):
    """Codex waits for ever, saying so."""
    monkeypatch.setenv("PINBOX_RESUME_TIMEOUT_MS", "500")
    codex.answers(recorded("codex")["no network"]["stdout"], then="sleep 300")
    error = failure(target("codex", folder))
    assert error.reason == "network"
    assert not error.may_have_arrived


def test_a_hub_that_leaves_ends_the_agent_soon(claude, folder):
    stop = threading.Event()
    claude.answers("", then="sleep 300")
    told = []

    def leave(process):
        told.append(process)
        stop.set()

    began = time.monotonic()
    error = failure(target("claude", folder), spawned=leave, stop=stop)
    assert (error.reason, error.may_have_arrived) == ("stopped", True)
    assert time.monotonic() - began < PATIENT_S
    assert not is_alive(told[0].pid)


def test_the_time_within_which_an_answer_comes_is_more_than_the_agent_has(monkeypatch):
    assert resume.timeout_s() > 900
    monkeypatch.setenv("PINBOX_RESUME_TIMEOUT_MS", "1000")
    assert 1 < resume.timeout_s() < 60


def test_one_agent_at_work_holds_up_no_other(claude, folder):
    """A thread each: the first waits until the second is through."""
    second = folder.parent / "second"
    second.mkdir()
    then = f"if [ $PWD = {folder} ]; then while [ ! -e {folder}/go ]; do sleep 0.02; done; fi"
    claude.answers(claude_result(KEYS["claude"]), then=then)
    done = []
    thread = threading.Thread(target=lambda: done.append(deliver(target("claude", folder))))
    thread.start()
    try:
        wait_until(claude.was_started)
        deliver(target("claude", second))
        assert done == []
    finally:
        (folder / "go").touch()
        thread.join()
    assert len(done) == 1


def test_the_signal_that_ends_an_agent_is_a_request_first(claude, folder, monkeypatch):
    monkeypatch.setenv("PINBOX_RESUME_TIMEOUT_MS", "500")
    note = f"trap 'echo asked > {claude.folder}/asked; exit 0' TERM; sleep 300 & wait"
    claude.answers("", then=note)
    failure(target("claude", folder))
    assert claude.got("asked") == "asked\n"
