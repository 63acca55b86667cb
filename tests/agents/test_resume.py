"""Real agents, offline: an ended session goes on with its history and the pin, whole loop. Only a
pin bound to an ended session makes the hub start anything.
"""

import json
import shutil
import threading
import uuid
from dataclasses import replace

import pytest

from delivery.adapters import DeliveryFailed, Presence
from delivery.adapters.resume import ResumeAdapter
from tests.hub.parcels import parcel, target
from tests.wait import wait_until

from . import install
from .codex import ENVIRONMENT, configure
from .model import Answer, ResponsesHandler, serving, strings
from .program import offline

pytestmark = [pytest.mark.agents, pytest.mark.process, pytest.mark.slow]

WORDS = "The total on the invoice is wrong"
HISTORY = "Remember the word heliotrope."
#: Seconds for a resume, with the agent's start, on a busy machine.
WAIT_S = "90"


def run(place, *command, code=0):
    done = place.run(*command, timeout=120)
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def pin_for(place, session_id, text=WORDS):
    pin_id = place.drop_pin(text)
    place.pinbox("rebind", pin_id, session_id)
    return pin_id


def waited(place, pin_id, code=0):
    answer = json.loads(
        run(place, "pinbox", "deliveries", "--wait", pin_id, "--timeout", WAIT_S, code=code)
    )
    return answer["data"] if code == 0 else answer["error"]


def attempts(place, row):
    return place.get(f"/deliveries/{row['id']}/attempts")


def registered_by_hand(place, agent, key, cwd=None):
    """The id of a session that was begun and ended some time ago, by evidence."""
    # Its process is one that is gone.
    session = place.pinbox(
        "session", "register", "--agent", agent, "--key", key, "--cwd", str(cwd or place.project)
    )
    place.pinbox("session", "end", session["id"])
    return session["id"]


# --- Claude Code ----------------------------------------------------------------------------------


@pytest.fixture
def claude(workplace):
    """(place, model): the hub of the place, and what it starts, reach the model."""
    (workplace.home / ".local" / "bin" / "claude").symlink_to(workplace.program)
    with serving([]) as (model, url):
        more = {**offline(url), "CLAUDE_CODE_MAX_RETRIES": "1"}
        yield replace(workplace, more=more), model


def say(model, *answers):
    model._answers[:] = answers


def first_turn(place):
    """A whole session of the real program, ended; its key."""
    said = run(place, "claude", "-p", HISTORY, "--output-format", "json")
    (session,) = place.sessions()
    assert session["key"] == json.loads(said)["session_id"]
    assert session["endedAt"]
    return session


def test_an_ended_claude_session_goes_on_with_its_history_and_the_pin(claude):
    place, model = claude
    session = first_turn(place)
    before = len(model.requests)
    pin_id = pin_for(place, session["id"])
    say(model, Answer(text="I looked at it."))
    (row,) = waited(place, pin_id)
    assert (row["status"], row["adapter"], row["handedOverBy"]) == ("delivered", "resume", "resume")
    assert row["sessionId"] == session["id"]
    # What it said is kept, and acknowledges nothing.
    assert "acknowledgedAt" not in row
    (attempt,) = attempts(place, row)
    assert (attempt["outcome"], attempt["output"]) == ("handed_over", "I looked at it.")
    (number,) = {*model.saw(HISTORY)} & {*model.saw(WORDS)} & {*model.saw(pin_id)}
    assert number >= before
    # As news it comes once: its own hooks list the pin, but do not tell it again.
    assert "\n".join(strings(model.requests[number])).count(f"{pin_id}, open") == 1
    assert [one["key"] for one in place.sessions()] == [session["key"]]


def test_what_the_resumed_agent_does_about_the_pin_acknowledges_it(claude):
    place, model = claude
    place = replace(place, more={**place.more, "PINBOX_RESUME_PERMISSIONS": "edit"})
    session = first_turn(place)
    pin_id = place.drop_pin(WORDS)
    say(
        model,
        Answer(command=f"pinbox resolve {pin_id} --as agent --note 'rounded'"),
        Answer(text="Done."),
    )
    place.pinbox("rebind", pin_id, session["id"])
    (row, *_) = [one for one in waited(place, pin_id) if one["status"] != "skipped"]
    assert (row["status"], row["acknowledgedBy"]) == ("delivered", "resolve")
    assert place.pinbox("show", pin_id)["pin"]["resolution"]["note"] == "rounded"


def test_a_claude_session_that_nobody_knows_is_gone_at_once(claude):
    place, _ = claude
    pin_id = pin_for(place, registered_by_hand(place, "claude", str(uuid.uuid4())))
    error = waited(place, pin_id, code=6)
    assert error["code"] == "E_SESSION_GONE"
    (row,) = place.get(f"/pins/{pin_id}/deliveries")
    assert row["lastError"].startswith("E_SESSION_GONE: ")
    assert [one["outcome"] for one in attempts(place, row)] == ["refused"]
    assert [one["key"] for one in place.sessions() if not one.get("endedAt")] == []
    assert place.pinbox("show", pin_id)["pin"]["status"] == "open"


def test_a_worktree_that_was_removed_is_named_and_no_other_checkout_takes_its_place(claude):
    place, model = claude
    worktree = place.project.parent / "the other worktree"
    run(place, "git", "worktree", "add", "-q", "-b", "other", str(worktree))
    shutil.copytree(place.project / ".claude", worktree / ".claude")
    said = json.loads(
        run(replace(place, project=worktree), "claude", "-p", HISTORY, "--output-format", "json")
    )
    (session,) = place.sessions()
    assert (session["key"], session["cwd"]) == (said["session_id"], str(worktree))
    run(place, "git", "worktree", "remove", "--force", str(worktree))
    asked = len(model.requests)
    error = waited(place, pin_for(place, session["id"]), code=6)
    assert str(worktree) in error["message"]
    assert len(model.requests) == asked


@pytest.mark.parametrize("status", [429, 529])
def test_a_model_that_is_overloaded_is_asked_again_later(claude, status):
    place, model = claude
    session = first_turn(place)
    say(model, *[Answer(status=status)] * 20)
    pin_id = pin_for(place, session["id"])
    (row,) = wait_until(
        lambda: [one for one in place.get(f"/pins/{pin_id}/deliveries") if one["attempts"]],
        timeout=float(WAIT_S),
        what="the first attempt has ended",
    )
    assert (row["status"], row["adapter"]) == ("pending", "resume")
    assert row["attempts"] == 1
    assert [one["outcome"] for one in attempts(place, row)] == ["failed"]


def test_a_claude_session_that_is_open_is_never_resumed(claude):
    place, model = claude
    seen = []

    def while_it_waits():
        (session,) = place.sessions()
        pin_id = pin_for(place, session["id"])
        (row,) = place.get(f"/pins/{pin_id}/deliveries")
        # Ended by name, while its process runs on: still not resumed.
        place.pinbox("session", "end", session["id"])
        place.pinbox("retry", str(row["id"]))
        seen.append((pin_id, len(model.requests)))

    turn = place.conversation("First.", while_it_waits, "Second.", answers=[])
    ((pin_id, _),) = seen
    assert turn.exit_code == 0
    assert turn.model.saw(WORDS)
    assert model.saw(WORDS) == []
    (row,) = place.get(f"/pins/{pin_id}/deliveries")
    assert (row["status"], row["handedOverBy"]) == ("delivered", "hooks")


# --- Codex ----------------------------------------------------------------------------------------


@pytest.fixture
def codex(bare_workplace_of):
    program = install.codex()
    if program is None:
        pytest.skip("Codex is not installed here: `make agents` fetches it")
    place = bare_workplace_of(program)
    (place.home / ".local" / "bin" / "codex").symlink_to(program)
    with serving([], ResponsesHandler) as (model, url):
        configure(place, url)
        yield replace(place, more=ENVIRONMENT), model


def codex_turn(place):
    """A whole session of the real program; its key."""
    said = run(place, "codex", "exec", "--json", "--skip-git-repo-check", HISTORY)
    started = next(line for line in said.splitlines() if "thread.started" in line)
    return json.loads(started)["thread_id"]


def test_an_ended_codex_session_goes_on_with_its_history_and_the_pin(codex):
    place, model = codex
    key = codex_turn(place)
    say(model, Answer(text="I looked at it."))
    pin_id = pin_for(place, registered_by_hand(place, "codex", key))
    (row,) = waited(place, pin_id)
    assert (row["status"], row["handedOverBy"]) == ("delivered", "resume")
    (attempt,) = attempts(place, row)
    assert attempt["output"] == "I looked at it."
    assert {*model.saw(HISTORY)} & {*model.saw(WORDS)} & {*model.saw(pin_id)}


def test_a_codex_session_that_nobody_knows_is_gone_at_once(codex):
    place, model = codex
    pin_id = pin_for(place, registered_by_hand(place, "codex", str(uuid.uuid4())))
    assert waited(place, pin_id, code=6)["code"] == "E_SESSION_GONE"
    assert model.requests == []


def test_a_codex_session_that_is_open_elsewhere_is_busy_and_not_gone(codex, monkeypatch):
    place, model = codex
    came: list[DeliveryFailed] = []
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)

    def push(key):
        aim = target("codex", key, cwd=str(place.project), presence=Presence.GONE)
        try:
            ResumeAdapter().deliver(
                parcel(target=aim), spawned=lambda _: None, stop=threading.Event()
            )
        except DeliveryFailed as failure:
            came.append(failure)

    key = codex_turn(place)
    say(model, Answer(text="late", meanwhile=lambda: push(key)))
    run(place, "codex", "exec", "resume", "--json", "--skip-git-repo-check", key, "Go on.")
    assert model.errors == []
    ((reason, is_terminal),) = [(one.reason, one.is_terminal) for one in came]
    assert (reason, is_terminal) == ("busy", False)
