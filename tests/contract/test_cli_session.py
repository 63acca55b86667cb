"""`pinbox session …`: what integrations, agents' hooks and git call."""

import json
import re
import subprocess

import pytest

from tests.contract.cli_project import Project

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True, scope="module")
def hub(project: Project) -> None:
    project.data("summary")  # a busy machine may need longer to start it than a hook waits


def register(project: Project, key: str, agent: str = "robot") -> str:
    session_id: str = project.data("session", "register", "--agent", agent, "--key", key)["id"]
    return session_id


def hook(project: Project, verb: str, payload: object, *options: str, **env: str):
    """A hook verb with a payload on stdin."""
    stdin = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return project.run("session", verb, "--hook", *options, stdin=stdin, **env)


def claude_says(project: Project, event: str, key: str, **more: object) -> dict[str, object]:
    return {"session_id": key, "cwd": str(project.path), "hook_event_name": event, **more}


def sessions(project: Project) -> dict[str, dict[str, object]]:
    return {session["key"]: session for session in project.data("session", "list")}


# --- register, list, end --------------------------------------------------------------------------


def test_a_session_is_registered_once_and_seen_again(project):
    session = project.data("session", "register", "--agent", "robot", "--key", "k1", "--cwd", "sub")
    assert session["cwd"] == str(project.path.resolve() / "sub")
    assert register(project, "k1") == session["id"]
    seen = project.see("session", "register", "--agent", "robot", "--key", "k1")
    assert (seen.out, seen.err) == (f"{session['id']}\n", "registered robot k1\n")


def test_the_list_tells_active_sessions_from_ended_ones(project):
    first, second = register(project, "list-a"), register(project, "list-b")
    ended = project.data("session", "end", first)
    assert ended["endedAt"]
    assert project.data("session", "end", "--agent", "robot", "--key", "list-b")["id"] == second
    register(project, "list-b")
    seen = project.see("session", "list")
    lines = [re.split(r"  +", line) for line in seen.out.splitlines()]
    assert [first, "robot", "list-a", "ended", "just now"] in lines
    assert [second, "robot", "list-b", "active", "just now"] in lines
    assert seen.err == f"{len(lines)} sessions\n"


def test_the_list_says_where_a_session_works_when_it_is_not_the_project_s_folder(project, tmp_path):
    (project.path / "web").mkdir()
    for key, cwd in (("in-web", project.path / "web"), ("far", tmp_path), ("home", project.path)):
        project.data("session", "register", "--agent", "robot", "--key", key, "--cwd", str(cwd))
    lines = [re.split(r"  +", line) for line in project.see("session", "list").out.splitlines()]
    places = {line[2]: line[5:] for line in lines}
    assert places["in-web"] == ["web"]
    assert places["far"] == [str(tmp_path)]
    assert places["home"] == []


@pytest.mark.parametrize(
    "words", [["ses_zzzzzzzzzz"], ["../pins"], ["--agent", "robot", "--key", "nobody"]]
)
def test_an_unknown_session_cannot_be_ended(project, words):
    done = project.run("session", "end", *words)
    assert (done.code, done.error["hint"]) == (3, "pinbox session list")


# --- inject, pending ------------------------------------------------------------------------------


def test_pending_only_looks_and_inject_hands_over(project):
    session_id = register(project, "puller")
    pin_id = project.pin("pull me")
    asked = ("--agent", "robot", "--key", "puller")
    for _ in range(2):
        pending = project.data("session", "pending", *asked)
        assert pin_id in [pin["id"] for pin in pending["pins"]]
        assert pending["count"] == len(pending["pins"])
    assert pin_id in project.see("session", "pending", *asked).out.split()
    data = project.data("session", "inject", *asked)
    assert list(data) == ["context", "pins", "delivered"]
    assert "pull me" in data["context"]
    assert data["delivered"] >= 1
    assert project.data("session", "pending", *asked) == {"count": 0, "pins": []}
    (row,) = project.data("deliveries", pin_id)
    assert row["sessionId"] == session_id
    assert row["handedOverAt"]
    assert "handed over" in project.see("deliveries", pin_id).out


def test_a_session_nobody_knows_has_nothing_pending(project):
    before = len(sessions(project))
    asked = ("--agent", "robot", "--key", "never-registered")
    assert project.data("session", "pending", *asked) == {"count": 0, "pins": []}
    assert len(sessions(project)) == before


def test_inject_can_print_the_bare_text(project):
    register(project, "raw")
    pin_id = project.pin("raw text")
    done = project.run("session", "inject", "--agent", "robot", "--key", "raw", "--raw")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Pinbox")
    assert pin_id in done.out


# --- hooks ----------------------------------------------------------------------------------------


def test_a_hook_registers_its_session_and_prints_nothing(project):
    done = hook(
        project, "register", claude_says(project, "SessionStart", "hook-1"), "--agent", "claude"
    )
    assert (done.code, done.out, done.err) == (0, "", "")
    assert sessions(project)["hook-1"]["agent"] == "claude"


def test_a_prompt_s_hook_gets_the_pins_in_the_agent_s_dialect(project):
    pin_id = project.pin("in the next turn")
    payload = claude_says(project, "UserPromptSubmit", "hook-2", prompt="go on")
    done = hook(project, "inject", payload, CLAUDECODE="1")
    assert (done.code, done.err) == (0, "")
    said = json.loads(done.out)["hookSpecificOutput"]
    assert said["hookEventName"] == "UserPromptSubmit"
    assert pin_id in said["additionalContext"]


def test_a_stop_s_hook_holds_for_what_is_new_and_not_twice(project):
    hook(project, "inject", claude_says(project, "UserPromptSubmit", "hook-3"), "--agent", "claude")
    pin_id = project.pin("dropped in the middle")
    stop = claude_says(project, "Stop", "hook-3", stop_hook_active=False)
    done = hook(project, "pending", stop, "--agent", "claude")
    assert (done.code, done.err) == (0, "")
    assert pin_id in done.out
    again = hook(project, "pending", {**stop, "stop_hook_active": True}, "--agent", "claude")
    assert (again.code, again.out, again.err) == (0, "", "")


@pytest.mark.parametrize("verb", ["register", "inject", "pending"])
@pytest.mark.parametrize(
    ("payload", "agent"),
    [
        (b"", "claude"),
        (b"not json", "claude"),
        (b"[]", "claude"),
        (b"\xff\xfe", "claude"),
        (b"{}", "claude"),
        (b'{"session_id": 7}', "claude"),
        (b'{"session_id": "x", "hook_event_name": "SessionStart"}', None),
        (b'{"session_id": "x", "hook_event_name": "SessionStart"}', ""),
    ],
)
def test_a_hook_in_trouble_says_nothing_and_succeeds(project, verb, payload, agent):
    options = () if agent is None else (f"--agent={agent}",)
    before = len(sessions(project))
    done = hook(project, verb, payload, *options)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert len(sessions(project)) == before


def test_a_hook_s_agent_is_never_a_path(project):
    payload = claude_says(project, "SessionStart", "path")
    for verb in ("inject", "pending"):
        done = hook(project, verb, payload, "--agent", "../summary")
        assert (done.code, done.out, done.err) == (0, "", "")
    assert "path" not in sessions(project)


@pytest.mark.parametrize(
    "words", [["hook", "claude"], ["session", "register", "--hook", "--agent", "claude"]]
)
def test_a_hook_outside_any_project_creates_nothing(tmp_path, words):
    (tmp_path / "empty").mkdir()
    project = Project(tmp_path / "empty", {"XDG_STATE_HOME": str(tmp_path / "state")})
    payload = json.dumps(claude_says(project, "SessionStart", "s")).encode()
    done = project.run(*words, stdin=payload)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]


def test_the_hidden_hook_verb_is_the_hook(project):
    pin_id = project.pin("by the slow door")
    payload = json.dumps(claude_says(project, "UserPromptSubmit", "hook-4")).encode()
    done = project.run("hook", "claude", stdin=payload)
    assert (done.code, done.err) == (0, "")
    assert pin_id in json.loads(done.out)["hookSpecificOutput"]["additionalContext"]


def test_an_agent_that_shows_a_pin_acknowledges_it(project):
    key = "5d1f0c2e-0000-4000-8000-00000000ab1e"
    shell = {"CLAUDE_CODE_SESSION_ID": key}
    hook(project, "inject", claude_says(project, "UserPromptSubmit", key), "--agent", "claude")
    pin_id = project.pin("acknowledge me")
    hook(project, "inject", claude_says(project, "UserPromptSubmit", key), "--agent", "claude")
    project.data("show", pin_id)
    (row,) = project.data("deliveries", pin_id)
    assert "acknowledgedAt" not in row
    project.data("show", pin_id, **shell)
    (row,) = project.data("deliveries", pin_id)
    assert row["acknowledgedAt"]
    assert "acknowledged" in project.see("deliveries", pin_id).out


# --- trailer --------------------------------------------------------------------------------------


def commit(project: Project, message: str) -> str:
    git = ["git", "-C", str(project.path)]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", message], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    return head.stdout.strip()


def test_a_commit_resolves_the_pins_it_says_it_fixes(project):
    pin_id, done_already = project.pin("fix me"), project.pin("fixed before")
    project.data("resolve", done_already)
    message = f"Larger button\n\nFixes: {pin_id}\nCloses: {done_already}\nResolves: pin_zzzzzzzzzz"
    sha = commit(project, message)
    data = project.data("session", "trailer")
    assert data == {"resolved": [pin_id], "skipped": [done_already, "pin_zzzzzzzzzz"]}
    resolution = project.data("show", pin_id)["pin"]["resolution"]
    assert (resolution["commit"], resolution["by"]) == (sha, "human")
    assert f"commit    {sha}\n" in project.see("show", pin_id).out
    said = project.see("session", "trailer").err
    assert said.splitlines() == [
        f"skipped {pin_id}: resolved already",
        f"skipped {done_already}: resolved already",
        "skipped pin_zzzzzzzzzz: unknown here",
    ]


def test_a_commit_made_in_an_agent_s_shell_is_the_agent_s(project):
    pin_id = project.pin("fix me too")
    sha = commit(project, f"Fixes {pin_id}")
    commit(project, "another")
    seen = project.see("session", "trailer", "--commit", sha, CLAUDECODE="1")
    assert (seen.out, seen.err) == ("", f"resolved {pin_id} ({sha[:7]})\n")
    assert project.data("show", pin_id)["pin"]["resolution"]["by"] == "agent"


def test_a_commit_without_pins_starts_no_hub(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    project = Project(tmp_path)
    commit(project, "nothing to see")
    assert project.data("session", "trailer") == {"resolved": [], "skipped": []}
    assert "says of no pin that it fixes it" in project.see("session", "trailer").err
    assert not (tmp_path / ".pinbox").exists()


@pytest.mark.parametrize("revision", ["nonsense", "--all", ""])
def test_a_commit_that_does_not_exist_is_invalid_input(project, revision):
    done = project.run("session", "trailer", f"--commit={revision}")
    assert (done.code, done.error["code"]) == (2, "E_INVALID_INPUT")
    assert done.error["message"].startswith("git log failed: ")
