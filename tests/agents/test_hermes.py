"""The real Hermes, offline, in a project where only `init` ran: whole loop."""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from . import install
from .conftest import Workplace
from .model import Answer, ChatHandler, Model, serving, strings

pytestmark = [
    pytest.mark.agents,
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.timeout(240),  # ten seconds of its turns are processor time
]

WORDS = "The total on the invoice is wrong"
#: As somebody has it; what init adds goes below.
CONFIG = """\
model:
  default: fake-model
  provider: custom
  base_url: {url}/v1
  api_key: sk-invented-0000-not-a-key
agent:
  verify_on_stop: false  # Hermes' own hold after edits, two of them, before ours
security:
  tirith_enabled: false  # it would be fetched, as would a language server after an edit
lsp:
  enabled: false
"""
ENVIRONMENT = {
    "NO_PROXY": "127.0.0.1,localhost",
    # Nobody answers there: it asks the network for prices and news at each start.
    "HTTPS_PROXY": "http://127.0.0.1:9",
}

Here = tuple[Workplace, Model]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    exit_code: int
    key: str
    said: str
    stderr: str


def turn(place: Workplace, prompt: str = "Go on with the task.") -> Ended:
    """One `hermes chat` that answers and ends."""
    done = place.run("hermes", "chat", "-Q", f"--query={prompt}")
    keys = re.findall(r"^session_id: (\S+)$", done.stderr, re.MULTILINE)
    return Ended(
        exit_code=done.returncode,
        key=keys[-1] if keys else "",
        said=done.stdout.strip(),
        stderr=done.stderr,
    )


@pytest.fixture
def here(bare_workplace_of: Callable[[Path], Workplace]) -> Iterator[Here]:
    program = install.hermes()
    if program is None:
        pytest.skip("Hermes is not installed here: `make agents` fetches it")
    place = bare_workplace_of(program)
    (place.home / ".local" / "bin" / "hermes").symlink_to(program)
    with serving([], ChatHandler) as (model, url):
        (place.home / ".hermes").mkdir()
        (place.home / ".hermes" / "config.yaml").write_text(CONFIG.format(url=url))
        place = replace(place, more=ENVIRONMENT)
        place.shell("pinbox", "init", "--agent", "hermes", "--yes")
        place.pinbox("summary")  # a busy machine may need longer to start it than a hook waits
        yield place, model
    assert model.errors == []


def say(model: Model, *answers: Answer) -> None:
    model._answers[:] = answers


def test_the_whole_loop_of_a_session_begun_ended_and_resumed(here: Here) -> None:
    place, model = here
    pin_id = place.drop_pin(WORDS)
    during: list[dict[str, str]] = []

    def meanwhile() -> None:
        during.extend(place.sessions())
        place.drop_pin("Wait: the logo is gone")

    edit = {"path": "app.py", "content": "print('hello, you')\n"}
    question = {"pin_id": pin_id, "text": "--which of them?"}
    say(
        model,
        Answer(tool=("write_file", edit)),
        Answer(tool=("pin_reply", question)),
        Answer(text="Done.", meanwhile=meanwhile),
        Answer(text="Seen, but I leave it."),
    )
    ended = turn(place)

    assert ended.exit_code == 0, ended.stderr
    assert ended.said.endswith("Seen, but I leave it.")
    (live,) = during
    assert (live["agent"], live["key"], live["cwd"]) == ("hermes", ended.key, str(place.project))
    assert "endedAt" not in live
    # In the first request, once; what came meanwhile holds the turn, once.
    assert "\n".join(strings(model.requests[0])).count(f"{pin_id}, open") == 1
    assert model.saw("Wait: the logo is gone") == [3]
    assert len(model.requests) == 4
    row = min(place.get(f"/pins/{pin_id}/deliveries"), key=lambda one: one["eventSeq"])
    assert (row["status"], row["handedOverBy"]) == ("delivered", "hooks")
    assert row["acknowledgedBy"] == "reply"
    (message,) = place.pinbox("show", pin_id)["thread"]
    assert (message["text"], message["origin"]) == ("--which of them?", f"hermes:{ended.key[-8:]}")
    (session,) = place.sessions()
    assert "endedAt" in session

    say(model, Answer(text="I looked at it."))
    news = place.drop_pin("The date is wrong too")
    place.pinbox("rebind", news, session["id"])
    waited = place.run("pinbox", "deliveries", "--wait", news, "--timeout", "80")
    assert waited.returncode == 0, waited.stdout
    (row,) = json.loads(waited.stdout)["data"]

    assert (row["status"], row["handedOverBy"]) == ("delivered", "resume")
    (number,) = model.saw("The date is wrong too")
    assert number in model.saw("Go on with the task.")
    # As news it comes once: the plugin does not tell it again.
    assert "\n".join(strings(model.requests[number])).count(f"{news}, open") == 1
    (after,) = place.sessions()
    assert (after["id"], after["key"]) == (session["id"], ended.key)


def test_the_skill_and_every_tool_are_there_for_who_asks(here: Here) -> None:
    place, model = here
    pin_id = place.drop_pin(WORDS)
    place.shell("pinbox", "reply", pin_id, "The one for students")
    say(
        model,
        Answer(tool=("skill_view", {"name": "pinbox:pinbox"})),
        Answer(tool=("pin_list", {"search": "invoice"})),
        Answer(tool=("pin_show", {"pin_id": pin_id})),
        Answer(tool=("pin_resolve", {"pin_id": pin_id, "note": "--rounded"})),
        Answer(text="Done."),
    )
    ended = turn(place)
    assert ended.exit_code == 0, ended.stderr
    assert model.saw("A pin is feedback: what someone saw in the running app")[:1] == [1]
    listed, shown = (
        [text for text in strings(model.requests[number]) if text.startswith("{")]
        for number in (2, 3)
    )
    assert any(pin_id in text for text in listed)
    assert any("The one for students" in text for text in shown)
    done = place.pinbox("show", pin_id)["pin"]["resolution"]
    assert (done["by"], done["note"]) == ("agent", "--rounded")


def test_a_session_that_hermes_does_not_know_is_gone_at_once(here: Here) -> None:
    place, model = here
    named = ("--agent", "hermes", "--key", "20200101_000000_abcdef", "--cwd", str(place.project))
    session = place.pinbox("session", "register", *named)
    place.pinbox("session", "end", session["id"])
    pin_id = place.drop_pin(WORDS)
    place.pinbox("rebind", pin_id, session["id"])
    waited = place.run("pinbox", "deliveries", "--wait", pin_id, "--timeout", "80")
    assert waited.returncode == 6, waited.stdout
    assert json.loads(waited.stdout)["error"]["code"] == "E_SESSION_GONE"
    assert model.requests == []


def test_in_a_folder_without_a_project_the_plugin_is_not_there(here: Here) -> None:
    place, model = here
    elsewhere = place.home / "elsewhere"
    elsewhere.mkdir()
    place.drop_pin(WORDS)
    ended = turn(replace(place, project=elsewhere))
    assert ended.exit_code == 0, ended.stderr
    assert model.saw(WORDS) == model.saw("pin_reply") == []
    assert place.sessions() == []
    # Undone, Hermes has what it had, and what it wrote itself.
    place.shell("pinbox", "init", "--undo")
    place.shell("pinbox", "init", "--undo", "--global")
    config = yaml.safe_load((place.home / ".hermes" / "config.yaml").read_text())
    assert config["model"]["default"] == "fake-model"
    assert "pinbox" not in (config.get("plugins") or {}).get("enabled", [])
    assert not os.path.lexists(place.home / ".hermes" / "plugins" / "pinbox")
