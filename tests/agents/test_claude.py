"""The real Claude Code, offline, in a project where only `pinbox init` ran."""

import contextlib
import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from .conftest import PLAIN_PATH, Workplace
from .model import Answer, serving, strings
from .program import Turn, offline
from .terminal import terminal

pytestmark = [pytest.mark.agents, pytest.mark.process, pytest.mark.slow]

#: How the program introduces what a hook adds to the conversation.
HOOK_TEXT = "hook additional context"
#: More than four hooks that all run into their deadline, and the turn itself.
UNHARMED_TURN_S = 20


def assert_undisturbed(turn: Turn) -> None:
    """The turn went as if we were not there: one request, its answer, no word of ours, no error."""
    assert turn.exit_code == 0, turn.stderr
    assert turn.result["is_error"] is False
    assert turn.result["result"] == "Done."
    assert len(turn.model.requests) == 1
    assert turn.model.saw(HOOK_TEXT) == []
    assert [(run.exit_code, run.stdout, run.stderr) for run in turn.hooks] == [
        (0, "", "") for _ in turn.hooks
    ]


def test_this_harness_sees_what_a_hook_says(bare_workplace: Workplace) -> None:
    """Without this, "the model saw nothing" would prove nothing."""
    (bare_workplace.project / ".claude").mkdir()
    hook = "echo '{}'".format(
        json.dumps(
            {
                "hookSpecificOutput": {
                    "hookEventName": "UserPromptSubmit",
                    "additionalContext": "a word from the hook",
                }
            }
        )
    )
    (bare_workplace.project / ".claude" / "settings.json").write_text(
        json.dumps(
            {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": hook}]}]}}
        )
    )

    turn = bare_workplace.turn()

    assert turn.model.saw("a word from the hook") == [0]
    assert turn.model.saw(HOOK_TEXT) == [0]
    assert "a word from the hook" in turn.hook("UserPromptSubmit").stdout


def test_a_session_is_registered_when_it_starts(workplace: Workplace) -> None:
    workplace.pinbox("summary")  # a busy machine may need longer to start the hub than a hook waits
    during = []
    turn = workplace.turn(
        answers=[Answer(text="Done.", meanwhile=lambda: during.extend(workplace.sessions()))]
    )

    (session,) = during
    assert session["agent"] == "claude"
    assert session["key"] == turn.session_key
    assert session["cwd"] == str(workplace.project)
    assert "endedAt" not in session
    # Registered by SessionStart, seen again at the prompt.
    assert session["registeredAt"] < session["lastSeenAt"]


def test_a_session_is_ended_when_it_ends(workplace: Workplace) -> None:
    workplace.turn()

    (session,) = workplace.sessions()
    assert session["endedAt"] >= session["registeredAt"]


def test_a_pin_is_in_the_request_of_the_next_prompt(workplace: Workplace) -> None:
    pin_id = workplace.drop_pin("The total ignores the discount")

    turn = workplace.turn(prompt="What is new?")

    assert turn.exit_code == 0, turn.stderr
    assert turn.model.saw("The total ignores the discount") == [0]
    assert turn.model.saw(pin_id) == [0]
    assert len(turn.model.requests) == 1, "a pin shown at the prompt must not hold the stop"
    (delivery,) = workplace.get(f"/pins/{pin_id}/deliveries")
    (session,) = workplace.sessions()
    assert delivery["sessionId"] == session["id"]
    assert delivery["status"] == "delivered"
    assert "handedOverAt" in delivery
    assert "acknowledgedAt" not in delivery


def test_the_persons_own_prompt_stands_before_our_text(workplace: Workplace) -> None:
    workplace.drop_pin("The total ignores the discount")

    turn = workplace.turn(prompt="Rename the module please.")

    (body,) = turn.model.requests
    texts = list(strings(body["messages"]))
    prompt = next(n for n, text in enumerate(texts) if "Rename the module please." in text)
    ours = next(n for n, text in enumerate(texts) if "The total ignores the discount" in text)
    assert prompt <= ours


def test_more_pins_than_fit_are_cut_by_us_and_never_by_the_program(workplace: Workplace) -> None:
    for number in range(20):
        workplace.drop_pin(f"Old remark {number}: " + "long story " * 150)
    newest = workplace.drop_pin("The newest remark " + "x" * 1500 + " ends here")

    turn = workplace.turn()

    contexts = [
        json.loads(run.stdout)["hookSpecificOutput"]["additionalContext"]
        for run in turn.hooks
        if run.event in ("SessionStart", "UserPromptSubmit") and run.stdout
    ]
    assert contexts
    assert max(len(context.encode()) for context in contexts) <= 9_000
    for context in contexts:
        assert any(context.strip() in text for text in strings(turn.model.requests[0])), "whole"
    # The newest comes first, whoever of the two hooks of a first turn speaks first.
    assert newest in contexts[0]
    assert "x" * 1500 + " ends here" in contexts[0]
    assert "pinbox list" in contexts[0]


def test_a_pin_dropped_mid_turn_holds_the_stop_once_and_reaches_the_model(
    workplace: Workplace,
) -> None:
    turn = workplace.turn(
        answers=[
            Answer(text="Done.", meanwhile=lambda: workplace.drop_pin("Wait: the logo is gone")),
            Answer(text="Seen, but I leave it."),
        ]
    )

    assert turn.exit_code == 0, turn.stderr
    assert turn.model.saw("Wait: the logo is gone") == [1]
    assert len(turn.model.requests) == 2
    stops = [run for run in turn.hooks if run.event == "Stop"]
    assert [bool(run.stdout) for run in stops] == [True, False]
    assert [run.exit_code for run in stops] == [0, 0]
    assert turn.result["result"] == "Seen, but I leave it."


def test_a_pin_that_once_held_a_stop_does_not_hold_the_next_turn(workplace: Workplace) -> None:
    first = workplace.turn(
        answers=[
            Answer(text="Done.", meanwhile=lambda: workplace.drop_pin("Wait: the logo is gone")),
            Answer(text="Seen, but I leave it."),
        ]
    )

    second = workplace.turn(resume=first.session_key)

    assert len(second.model.requests) == 1
    assert second.hook("Stop").stdout == ""


def test_a_pin_dropped_by_a_command_of_the_turn_is_kept(workplace: Workplace) -> None:
    """Whatever the stop gate makes of it, the turn ends by itself and the pin is there."""
    turn = workplace.turn(
        answers=[
            Answer(command="pinbox pin 'Found on the way: the footer overlaps'"),
            Answer(text="Done."),
        ]
    )

    assert turn.exit_code == 0, turn.stderr
    assert len(turn.model.requests) <= 3
    (pin,) = workplace.pinbox("list")
    assert pin["text"] == "Found on the way: the footer overlaps"


def test_the_agents_own_reply_and_resolve_acknowledge_the_delivery(workplace: Workplace) -> None:
    pin_id = workplace.drop_pin("The total ignores the discount")

    turn = workplace.turn(
        answers=[
            Answer(command=f"pinbox reply {pin_id} 'It was applied twice.' --as agent"),
            Answer(command=f"pinbox resolve {pin_id} --note 'Applied once now.' --as agent"),
            Answer(text="Done."),
        ]
    )

    assert turn.exit_code == 0, turn.stderr
    assert len(turn.outputs) == 2
    assert len(turn.model.requests) == 3, "its own answer must not hold its own stop"
    shown = workplace.pinbox("show", pin_id)
    assert shown["pin"]["status"] == "resolved"
    assert shown["pin"]["resolution"]["by"] == "agent"
    assert shown["pin"]["resolution"]["note"] == "Applied once now."
    assert [(m["role"], m["text"]) for m in shown["thread"]] == [("agent", "It was applied twice.")]
    deliveries = workplace.get(f"/pins/{pin_id}/deliveries")
    created = deliveries[-1]
    assert created["status"] == "delivered"
    assert created["handedOverAt"] <= created["acknowledgedAt"]
    assert created["acknowledgedBy"] == "reply"
    assert {d["status"] for d in deliveries[:-1]} == {"skipped"}


def test_showing_a_pin_acknowledges_its_delivery(workplace: Workplace) -> None:
    pin_id = workplace.drop_pin("The total ignores the discount")

    workplace.turn(answers=[Answer(command=f"pinbox show {pin_id}"), Answer(text="Done.")])

    (delivery,) = workplace.get(f"/pins/{pin_id}/deliveries")
    assert delivery["acknowledgedBy"] == "show"


def test_a_commit_of_the_agent_resolves_the_pin_it_names(workplace: Workplace) -> None:
    pin_id = workplace.drop_pin("The greeting is rude")

    turn = workplace.turn(
        answers=[
            Answer(command=f"echo '# kinder' >> app.py && git commit -qam 'Fixes {pin_id}'"),
            Answer(text="Done."),
        ]
    )

    assert turn.exit_code == 0, turn.stderr
    pin = workplace.pinbox("show", pin_id)["pin"]
    assert pin["status"] == "resolved"
    assert pin["resolution"]["commit"] == workplace.shell("git", "rev-parse", "HEAD").strip()


def test_an_answer_to_the_agent_comes_back_into_the_resumed_session(workplace: Workplace) -> None:
    pin_id = workplace.drop_pin("The total ignores the discount")
    first = workplace.turn(
        answers=[
            Answer(command=f"pinbox reply {pin_id} 'Which discount?' --as agent"),
            Answer(text="Done."),
        ]
    )
    workplace.shell("pinbox", "reply", pin_id, "The one for students")

    second = workplace.turn(resume=first.session_key)

    assert second.session_key == first.session_key
    assert second.model.saw("The one for students") == [0]
    (session,) = workplace.sessions()
    assert session["key"] == first.session_key


def test_a_pin_dropped_while_the_session_waits_is_in_the_next_request(
    workplace: Workplace,
) -> None:
    turn = workplace.conversation(
        "Begin.",
        lambda: workplace.drop_pin("The logo is gone"),
        "Go on.",
        answers=[Answer(text="One."), Answer(text="Two.")],
    )

    assert turn.exit_code == 0, turn.stderr
    assert turn.model.saw("The logo is gone") == [1]
    assert len(turn.model.requests) == 2


def test_a_cleared_conversation_takes_its_pins_along(workplace: Workplace) -> None:
    workplace.pinbox("summary")
    pin_id = workplace.drop_pin("The total ignores the discount")

    turn = workplace.conversation(
        "Begin.",
        "/clear",
        lambda: workplace.shell("pinbox", "reply", pin_id, "The one for students"),
        "Go on.",
        answers=[Answer(text="One."), Answer(text="Two.")],
    )

    assert turn.exit_code == 0, turn.stderr
    new, old = workplace.sessions()
    assert new["key"] == turn.session_key != old["key"]
    assert old["supersededBy"] == new["id"]
    assert "endedAt" in old
    assert turn.model.saw("The one for students") == [1]
    reply, created = workplace.get(f"/pins/{pin_id}/deliveries")
    assert (reply["sessionId"], created["sessionId"]) == (new["id"], old["id"])


def test_a_subagent_is_no_session_and_takes_no_pin(workplace: Workplace) -> None:
    workplace.pinbox("summary")
    wait = "Look at the footer alone."
    turn = workplace.turn(
        prompt="Use a helper.",
        answers=[
            Answer(subagent=wait, asked="Use a helper."),
            Answer(
                text="The footer is fine.",
                asked=wait,
                meanwhile=lambda: workplace.drop_pin("The logo is gone"),
            ),
            Answer(text="It looks.", asked="Use a helper."),
        ],
    )

    assert turn.exit_code == 0, turn.stderr
    (helpers,) = [n for n in turn.model.saw(wait) if turn.model.opening(n).count(wait)]
    assert helpers not in turn.model.saw("The logo is gone")
    assert turn.model.saw("The logo is gone"), "the session itself has it"
    assert len(workplace.sessions()) == 1
    assert {run.stdout for run in turn.hooks if run.event.startswith("Subagent")} <= {""}


def test_without_pins_the_model_sees_nothing_of_ours(workplace: Workplace) -> None:
    turn = workplace.turn()

    assert_undisturbed(turn)
    assert [run.event for run in turn.hooks] == ["SessionStart", "UserPromptSubmit", "Stop"]
    assert len(workplace.sessions()) == 1, "the hooks did run"


def test_a_hub_that_cannot_start_leaves_the_turn_alone(workplace: Workplace) -> None:
    workplace.stop_hub()
    for leftover in (workplace.project / ".pinbox").glob("pinbox.db*"):
        leftover.unlink()
    (workplace.project / ".pinbox" / "pinbox.db").mkdir()

    began = time.monotonic()
    turn = workplace.turn()

    assert_undisturbed(turn)
    assert time.monotonic() - began < UNHARMED_TURN_S


def test_a_hub_that_does_not_answer_leaves_the_turn_alone(workplace: Workplace) -> None:
    workplace.pinbox("list")
    state = workplace.hub_state()
    assert state is not None
    os.kill(state["pid"], signal.SIGSTOP)

    began = time.monotonic()
    try:
        turn = workplace.turn()
    finally:
        with contextlib.suppress(ProcessLookupError):  # a hook may have replaced it
            os.kill(state["pid"], signal.SIGCONT)

    assert_undisturbed(turn)
    assert time.monotonic() - began < UNHARMED_TURN_S


def test_a_hub_killed_mid_turn_leaves_the_turn_alone(workplace: Workplace) -> None:
    workplace.pinbox("list")
    state = workplace.hub_state()
    assert state is not None

    turn = workplace.turn(
        answers=[Answer(text="Done.", meanwhile=lambda: os.kill(state["pid"], signal.SIGKILL))]
    )

    assert_undisturbed(turn)


def test_a_removed_program_leaves_the_turn_alone(workplace: Workplace) -> None:
    for launcher in (
        workplace.project / ".pinbox" / "hook",
        workplace.home / ".local" / "state" / "pinbox" / "hook",
    ):
        launcher.unlink(missing_ok=True)

    assert_undisturbed(workplace.turn())


def test_a_fresh_clone_by_someone_without_pinbox_is_left_alone(
    workplace: Workplace, tmp_path: Path
) -> None:
    """The hooks are committed with the project; a colleague may never have heard of us."""
    clone = tmp_path / "clone"
    workplace.shell("git", "add", ".claude")
    workplace.shell("git", "commit", "-q", "-m", "Hooks")
    workplace.shell("git", "clone", "-q", str(workplace.project), str(clone))
    (tmp_path / "other-home").mkdir()
    colleague = Workplace(home=tmp_path / "other-home", project=clone, program=workplace.program)

    turn = colleague.turn()

    assert_undisturbed(turn)
    assert [run.event for run in turn.hooks] == ["SessionStart", "UserPromptSubmit", "Stop"]
    assert not (clone / ".pinbox").exists()


def test_a_resumed_session_keeps_its_row(workplace: Workplace) -> None:
    first = workplace.turn()
    (before,) = workplace.sessions()
    during = []

    second = workplace.turn(
        resume=first.session_key,
        answers=[Answer(text="Done.", meanwhile=lambda: during.extend(workplace.sessions()))],
    )

    assert second.session_key == first.session_key
    (live,) = during
    assert live["id"] == before["id"]
    assert "endedAt" not in live
    (after,) = workplace.sessions()
    assert after["id"] == before["id"]
    assert "endedAt" in after


def test_the_hooks_work_where_only_the_systems_programs_are_found(workplace: Workplace) -> None:
    """As when the agent is started from a desktop: no shell profile, no `pinbox` on the PATH."""
    workplace.drop_pin("The total ignores the discount")

    turn = workplace.turn(environ={"HOME": str(workplace.home), "PATH": PLAIN_PATH})

    assert turn.model.saw("The total ignores the discount") == [0]


def test_a_hub_started_by_a_hook_keeps_nothing_of_the_agent(workplace: Workplace) -> None:
    workplace.stop_hub()

    workplace.turn()

    state = workplace.hub_state()
    assert state is not None
    environ = Path(f"/proc/{state['pid']}/environ")
    if not environ.exists():
        pytest.skip("this system does not show a process's environment")
    names = {entry.split(b"=")[0] for entry in environ.read_bytes().split(b"\0")}
    # A setting of the user's own, which a resumed session needs as well.
    names.remove(b"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
    assert not {name for name in names if name.startswith((b"CLAUDE", b"AI_AGENT", b"GIT_"))}


# --- in a terminal, as a person has it open -------------------------------------------------------


def trusted_by_a_person(place: Workplace, key: str) -> None:
    """What the program writes when a person has answered its first questions."""
    known = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    document = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
        "projects": {str(place.project): known},
    }
    (place.home / ".claude.json").write_text(json.dumps(document))


def test_an_open_session_in_a_terminal_gets_its_pins_holds_once_and_ends(
    workplace: Workplace,
) -> None:
    answers = [
        Answer(text="One.", meanwhile=lambda: workplace.drop_pin("The logo is gone")),
        Answer(text="Two."),
        Answer(text="Three."),
    ]
    workplace.pinbox("summary")
    with serving(answers) as (model, url):
        environ = offline(url)
        trusted_by_a_person(workplace, environ["ANTHROPIC_API_KEY"])
        place = replace(workplace, more={**workplace.more, **environ})
        with terminal(place, str(place.program)) as window:

            def enter(text: str) -> None:
                window.type(text)
                window.until(lambda: text.encode() in window.screen, timeout=20, name="typed")
                window.type("\r")

            # It registers before anything is asked.
            window.until(place.sessions, timeout=30, name="registered")
            pin_id = place.drop_pin("The price is cut off")
            enter("begin")
            window.until(lambda: len(model.requests) == 2, timeout=40, name="held once")
            enter("further")
            window.until(lambda: len(model.requests) == 3, timeout=40, name="asked again")
            window.until(lambda: b"Three." in window.screen, timeout=20, name="answered")
            enter("/exit")
            window.until(lambda: "endedAt" in place.sessions()[0], timeout=30, name="ended")

        assert model.errors == []
        assert model.saw("The price is cut off")[0] == 0
        assert model.saw("The logo is gone")[0] == 1
        (row,) = place.get(f"/pins/{pin_id}/deliveries")
        assert (row["status"], row["handedOverBy"]) == ("delivered", "hooks")
        (session,) = place.sessions()
        assert session["agent"] == "claude"
