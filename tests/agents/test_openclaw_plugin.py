"""The real OpenClaw gateway, offline, in a project where only `pinbox init` ran."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.wait import wait_until

from . import install
from .conftest import Workplace, _make_workplace
from .gateway import TURN_S, Gateway, free_port, http_environ, running
from .model import Answer, strings

pytestmark = [
    pytest.mark.agents,
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.timeout(420),  # the first of them waits for the gateway
]


@dataclass(slots=True, kw_only=True)
class Here:
    place: Workplace
    gateway: Gateway

    def say(self, *answers: Answer) -> None:
        self.gateway.model._answers[:] = answers

    def session(self, key: str) -> dict[str, Any] | None:
        return next((one for one in self.place.sessions() if one["key"] == key), None)

    def delivery(self, pin_id: str) -> dict[str, Any]:
        """What became of the event that the pin began with."""
        rows: list[dict[str, Any]] = self.place.get(f"/pins/{pin_id}/deliveries")
        return min(rows, key=lambda row: row["eventSeq"])


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    """A person's machine with a gateway of two agents, one of which works in the project."""
    programs = install.openclaw()
    if programs is None:
        pytest.skip("OpenClaw is not installed here: `make agents` fetches it")
    folder, port = tmp_path_factory.mktemp("openclaw"), free_port()
    place = _make_workplace(folder, programs / "openclaw")
    place = replace(place, more=http_environ(port))
    place.shell("pinbox", "init", "--agent", "openclaw", "--yes")
    # The gateway's own plugins are left off: they double the time that it takes to start.
    entered = json.loads((place.home / ".openclaw" / "openclaw.json").read_text())["plugins"]
    more = {"plugins": {**entered, "allow": ["pinbox"]}, "tools": {"toolSearch": False}}
    environ = {**place.environ, "PATH": f"{programs}:{place.environ['PATH']}"}
    try:
        with running(
            place.home,
            port=port,
            answers=[],
            workspace=place.project,
            more=more,
            agents=[
                {"id": "main", "default": True, "workspace": str(place.project)},
                {"id": "other", "workspace": str(folder / "elsewhere")},
            ],
            environ=environ,
        ) as gateway:
            place.pinbox(
                "summary"
            )  # a busy machine may need longer to start the hub than a hook has
            gateway.chat("Hello", "agent:main:warm")  # the first turn of a gateway is slow
            yield Here(place=place, gateway=gateway)
            assert gateway.model.errors == []
            assert any("endedAt" not in session for session in place.sessions())
        # A gateway that stops says so of every session.
        wait_until(lambda: all("endedAt" in session for session in place.sessions()), TURN_S)
    finally:
        place.stop_hub()


def count(body: dict[str, Any], words: str) -> int:
    return sum(text.count(words) for text in strings(body))


def test_the_end_of_a_turn_is_held_once_with_all_that_fits(here: Here) -> None:
    key = "agent:main:held"
    here.say(Answer(text="Done."))
    here.gateway.chat("Hello", key)
    words = "Wait: " + "the logo is gone. " * 450
    here.say(
        Answer(text="Done.", meanwhile=lambda: here.place.drop_pin(words)),
        Answer(text="Seen.", meanwhile=lambda: here.place.drop_pin("And another one")),
    )
    requests = here.gateway.chat("Go on", key)
    assert len(requests) == 2
    assert [count(body, words.rstrip()) for body in requests] == [0, 1]


def test_a_pin_wakes_an_idle_session_and_its_words_come_once(here: Here) -> None:
    key = "agent:main:woken"
    here.say(Answer(text="Done."))
    here.gateway.chat("The words that it began with", key)
    session = here.session(key)
    assert session is not None
    assert (session["agent"], session["cwd"]) == ("openclaw", str(here.place.project))
    assert "endedAt" not in session
    words = "Zebras graze in the footer"
    pin_id = here.place.drop_pin(words)
    # Another session may be woken meanwhile, by what a test before has left for it.
    began = "The words that it began with"
    (body,) = wait_until(
        lambda: [
            body
            for body in here.gateway.model.requests
            if count(body, began) and count(body, words)
        ],
        TURN_S,
        "its model reads the pin",
    )
    assert count(body, words) == 1
    assert count(body, f"pinbox show {pin_id}") == 1, "it was not woken by us"
    assert count(body, "The words that it began with") == 1, "it is another session"
    assert count(body, "Read, answer and resolve Pinbox pins") == 1, "its skill is listed"
    wait_until(lambda: here.delivery(pin_id)["status"] == "delivered", TURN_S, "it is delivered")
    delivery = here.delivery(pin_id)
    assert (delivery["handedOverBy"], delivery["sessionId"]) == ("hooks", session["id"])

    here.say(Answer(text="Done."))
    (again,) = here.gateway.chat("Go on", key)
    assert count(again, f"{pin_id}, open") == 0, "told in full a second time"


def test_its_own_shell_and_its_tools_speak_for_the_session(here: Here) -> None:
    key = "agent:main:tools"
    here.say(Answer(text="Done."))
    here.gateway.chat("Hello", key)
    pin_id = here.place.drop_pin("Rename the button")
    here.gateway.reads("Rename the button")
    here.say(
        Answer(command=f"pinbox show {pin_id}"),
        Answer(tool=("pin_reply", {"pin_id": pin_id, "text": "--as=human --json"})),
        Answer(tool=("pin_resolve", {"pin_id": pin_id, "note": "-1px"})),
        Answer(text="Done."),
    )
    here.gateway.chat("Go on", key)
    assert here.delivery(pin_id)["acknowledgedBy"] == "show"
    shown = here.place.pinbox("show", pin_id)
    (message,) = shown["thread"]
    assert (message["role"], message["text"]) == ("agent", "--as=human --json")
    assert message["origin"].startswith("openclaw:")
    done = shown["pin"]["resolution"]
    assert (done["by"], done["note"]) == ("agent", "-1px")


def test_a_workspace_without_a_project_has_no_part_in_it(here: Here) -> None:
    here.say(Answer(text="Done."))
    requests = here.gateway.chat("Hello from elsewhere", "agent:other:x")
    # The other agent may be woken meanwhile, by what a test before has left for it.
    (body,) = [body for body in requests if count(body, "Hello from elsewhere")]
    assert not any("Pinbox" in text for text in strings(body["messages"]))
    tools = {tool["name"] for tool in body["tools"]}
    assert "exec" in tools
    assert "pin_list" not in tools
    assert here.session("agent:other:x") is None


def test_a_session_that_is_deleted_has_ended(here: Here) -> None:
    key = "agent:main:deleted"
    here.say(Answer(text="Done."))
    here.gateway.chat("Hello", key)
    here.gateway.call("sessions.delete", key=key)
    wait_until(lambda: "endedAt" in (here.session(key) or {}), TURN_S, "it has ended")
