"""The real Codex, offline, in a project where only `init` ran: whole loop. Trust is given in its
configuration, as it writes it itself when a person says yes.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from delivery.adapters.codex import LINE
from pinbox.checks import codex_trust
from pinbox.checks.throwaway import ThrowAway

from . import codex, install
from .conftest import Workplace
from .model import Answer, Model, ResponsesHandler, serving, strings
from .terminal import terminal

pytestmark = [pytest.mark.agents, pytest.mark.process, pytest.mark.slow]

WORDS = "The total on the invoice is wrong"

Here = tuple[Workplace, Model]


@pytest.fixture
def here(bare_workplace_of: Callable[[Path], Workplace]) -> Iterator[Here]:
    """A project in which `init` ran for Codex, and nobody has trusted anything yet."""
    program = install.codex()
    if program is None:
        pytest.skip("Codex is not installed here: `make agents` fetches it")
    place = bare_workplace_of(program)
    (place.home / ".local" / "bin" / "codex").symlink_to(program)
    with serving([], ResponsesHandler) as (model, url):
        codex.configure(place, url)
        place = replace(place, more=codex.ENVIRONMENT)
        place.shell("pinbox", "init", "--agent", "codex", "--yes")
        yield place, model
    assert model.errors == []


@pytest.fixture
def trusted(here: Here) -> Here:
    """The same, and a person has trusted the folder and the hooks."""
    place, _ = here
    codex.trust_folder(place)
    events = codex.trust_hooks(place)
    assert sorted(events) == ["sessionEnd", "sessionStart", "stop", "userPromptSubmit"]
    return here


def say(model: Model, *answers: Answer) -> None:
    model._answers[:] = answers


def test_the_whole_loop_of_a_session_begun_ended_and_resumed(trusted: Here) -> None:
    place, model = trusted
    place = replace(place, more={**place.more, "PINBOX_RESUME": "0"})  # a person resumes it
    first_pin = place.drop_pin(WORDS)
    during: list[dict[str, str]] = []

    def meanwhile() -> None:
        during.extend(place.sessions())
        place.drop_pin("Wait: the logo is gone")

    say(model, Answer(text="Done.", meanwhile=meanwhile), Answer(text="Seen, but I leave it."))
    ended = codex.turn(place)

    assert ended.exit_code == 0, ended.stderr
    (live,) = during
    assert (live["agent"], live["key"], live["cwd"]) == ("codex", ended.key, str(place.project))
    assert "endedAt" not in live
    # The pin is in the first request; the one that came meanwhile holds the stop, once.
    assert 0 in model.saw(WORDS)
    assert model.saw("Wait: the logo is gone") == [1]
    assert len(model.requests) == 2
    assert ended.said == ["Done.", "Seen, but I leave it."]
    (row,) = place.get(f"/pins/{first_pin}/deliveries")
    assert (row["status"], row["handedOverBy"]) == ("delivered", "hooks")
    (session,) = place.sessions()
    assert "endedAt" in session

    place.shell("pinbox", "reply", first_pin, "The one for students")
    again = codex.turn(place, "Go on.", "resume", ended.key)

    assert again.exit_code == 0, again.stderr
    assert again.key == ended.key
    assert model.saw("The one for students") == [2]
    assert [one["id"] for one in place.sessions()] == [session["id"]]


def test_an_ended_session_is_resumed_by_the_hub_and_its_hooks_do_not_tell_it_again(
    trusted: Here,
) -> None:
    place, model = trusted
    ended = codex.turn(place)
    (session,) = place.sessions()
    pin_id = place.drop_pin(WORDS)
    assert model.saw(WORDS) == []

    place.pinbox("rebind", pin_id, session["id"])
    (row,) = place.pinbox("deliveries", "--wait", pin_id, "--timeout", "60")

    assert (row["status"], row["handedOverBy"]) == ("delivered", "resume")
    (number,) = model.saw(WORDS)
    assert "\n".join(strings(model.requests[number])).count(f"{pin_id}, open") == 1
    (after,) = place.sessions()
    assert (after["id"], after["key"]) == (session["id"], ended.key)


def test_the_agents_own_reply_acknowledges_the_delivery(trusted: Here) -> None:
    place, model = trusted
    # Its shell is a login shell: it finds what the user's own profile puts on the PATH.
    (place.home / ".profile").write_text('PATH="$HOME/.local/bin:$PATH"\n')
    pin_id = place.drop_pin(WORDS)
    say(
        model,
        Answer(command=f"pinbox reply {pin_id} 'It was applied twice.' --as agent"),
        Answer(text="Done."),
    )

    ended = codex.turn(place, "Go on.", "--dangerously-bypass-approvals-and-sandbox")

    assert ended.exit_code == 0, ended.stderr
    assert len(model.requests) == 2, "its own answer must not hold its own stop"
    shown = place.pinbox("show", pin_id)
    assert [(m["role"], m["text"]) for m in shown["thread"]] == [("agent", "It was applied twice.")]
    created = place.get(f"/pins/{pin_id}/deliveries")[-1]
    assert (created["status"], created["acknowledgedBy"]) == ("delivered", "reply")


def test_more_pins_than_fit_are_cut_by_us_and_never_by_codex(trusted: Here) -> None:
    place, model = trusted
    for number in range(4):
        place.drop_pin(f"Old remark {number}: " + "測試 " * 900)
    newest = place.drop_pin("The newest remark " + "é" * 700 + " ends here")
    (place.project / "src" / "views").mkdir(parents=True)

    # Its hooks are those of the repository, wherever in it Codex is started.
    codex.turn(replace(place, project=place.project / "src" / "views"))

    ours = [text for text in strings(model.requests[0]["input"]) if "[end of pinbox" in text]
    assert ours
    assert newest in ours[0]
    assert "é" * 700 + " ends here" in ours[0]
    for text in ours:
        assert len(text.encode()) <= 9_000
        assert re.search(r"\[end of pinbox [0-9a-f]+\]\s*$", text), "whole"


# --- trust ----------------------------------------------------------------------------------------


def states(place: Workplace) -> set[str] | None:
    """What Codex says of our hooks, by way of what doctor asks it."""
    home = place.home / ".codex"
    config = tomllib.loads((home / "config.toml").read_text())
    with ThrowAway() as away:
        program = str(place.home / ".local" / "bin" / "codex")
        told = codex_trust.asked(program, place.project, home, config, away)
    return None if told is None else {state.status for state in told}


def test_doctor_knows_what_a_person_has_to_trust_and_what_they_did(here: Here) -> None:
    place, model = here
    configured = place.home / ".codex" / "config.toml"
    assert states(place) == set()
    (found,) = [one for one in place.pinbox("doctor")["checks"] if one["name"] == "hooks-codex"]
    assert (found["status"], found["hint"]) == (
        "warn",
        f"start codex in {place.project}, trust the folder, and then the hooks",
    )
    codex.trust_folder(place)
    before = configured.read_bytes()
    assert states(place) == {"untrusted"}
    assert configured.read_bytes() == before, "nothing is trusted behind anybody's back"

    # Until then Codex skips them, and says nothing.
    place.drop_pin(WORDS)
    assert codex.turn(place).exit_code == 0
    assert model.saw(WORDS) == []
    assert place.sessions() == []

    codex.trust_hooks(place)
    place.shell("pinbox", "init", "--agent", "codex", "--yes")
    assert states(place) == {"trusted"}
    assert codex.turn(place).exit_code == 0
    assert model.saw(WORDS) == [1]

    hooks = place.project / ".codex" / "hooks.json"
    hooks.write_text(hooks.read_text().replace("exit 0", "exit 1"))
    assert states(place) == {"modified"}


def test_hooks_of_the_user_are_trusted_for_every_project(here: Here) -> None:
    place, _ = here
    place.shell("pinbox", "init", "--undo", "--yes")
    place.shell("pinbox", "init", "--agent", "codex", "--global", "--yes")
    assert states(place) == {"untrusted"}
    codex.trust_hooks(place)
    assert states(place) == {"trusted"}


# --- waking a session that waits ------------------------------------------------------------------


def test_an_idle_session_in_a_terminal_is_woken_and_its_hook_brings_the_pin(trusted: Here) -> None:
    place, model = trusted
    place = replace(place, more={**place.more, "PINBOX_CODEX_QUEUE": "1"})
    place.pinbox("summary")  # the hub starts with the setting
    with terminal(place, "codex", "Begin.") as window:
        window.until(lambda: model.requests, timeout=30, name="asked the model")
        window.until(lambda: b"Worked for" in window.screen, timeout=15, name="done with it")
        pin_id = place.drop_pin(WORDS)
        window.until(lambda: model.saw(WORDS), timeout=30, name="woken with the pin")

        (number,) = model.saw(WORDS)
        texts = list(strings(model.requests[number]["input"]))
        assert number == 1
        assert LINE in texts
        (row,) = place.get(f"/pins/{pin_id}/deliveries")
        assert (row["status"], row["handedOverBy"]) == ("delivered", "hooks")
        (attempt,) = place.get(f"/deliveries/{row['id']}/attempts")
        assert (attempt["adapter"], attempt["outcome"]) == ("codex", "accepted")
