"""OpenClaw's plugin without OpenClaw: called as a gateway does, with a launcher that notes."""

import json
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import pinbox

from . import install

pytestmark = [pytest.mark.process]

PLUGIN = Path(pinbox.__file__).parent / "assets" / "openclaw" / "index.js"
KEY = "agent:main:main"
RUN_S = 30

#: Registers the plugin twice, as a gateway does, and calls now one copy, now the other.
CALLER = """
const { default: plugin } = await import(process.argv[1]);
const copies = [0, 1].map(() => {
  const hooks = {}, tools = {};
  const registerTool = (make, { name }) => (tools[name] = make);
  plugin.register({ on: (name, run) => (hooks[name] = run), registerTool });
  return { hooks, tools };
});
const said = [];
for (const [n, [kind, name, first, second]] of JSON.parse(process.argv[2]).entries()) {
  const { hooks, tools } = copies[n % 2];
  if (kind === "hook") said.push((await hooks[name](first, second)) ?? null);
  else said.push((await tools[name](second)?.execute("id", first))?.content[0].text ?? null);
}
console.log(JSON.stringify(said));
"""
#: Notes its arguments, its folder and stdin; answers with what lies beside it.
NOTING = '#!/bin/sh\n{ echo "$@"; pwd; cat; echo; } >> "${0%/*}/noted"\ncat "${0%/*}/answer"\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    home: Path
    project: Path
    node: str

    @property
    def launcher(self) -> Path:
        return self.home / ".local" / "state" / "pinbox" / "hook"

    def answers(self, answer: object) -> None:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        (self.launcher.parent / "answer").write_text(text)

    def noted(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Arguments, folder and payload of each call."""
        path = self.launcher.parent / "noted"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(lines[n], lines[n + 1], json.loads(lines[n + 2])) for n in range(0, len(lines), 3)]

    def call(self, steps: Iterable[object]) -> list[Any]:
        done = subprocess.run(
            [self.node, "--input-type=module", "-e", CALLER, str(PLUGIN), json.dumps(list(steps))],
            env={"HOME": str(self.home), "PATH": "/usr/bin:/bin", "CLAUDE_PROJECT_DIR": "/"},
            capture_output=True,
            text=True,
            timeout=RUN_S,
        )
        assert (done.returncode, done.stderr) == (0, "")
        said: list[Any] = json.loads(done.stdout)
        return said

    def prompt(self, run: str = "r1", session: str = "s1", **more: object) -> list[object]:
        context = {"sessionKey": KEY, "sessionId": session, "runId": run}
        context |= {"workspaceDir": str(self.project), "trigger": "user"} | more
        return ["hook", "before_prompt_build", {"prompt": "hush", "messages": ["hush"]}, context]


def stop() -> list[object]:
    event = {"sessionKey": KEY, "stopHookActive": False, "lastAssistantMessage": "hush"}
    return ["hook", "before_agent_finalize", event, {"sessionKey": KEY}]


def end(reason: str, session: str = "s1") -> list[object]:
    event = {"sessionKey": KEY, "sessionId": session, "reason": reason}
    return ["hook", "session_end", event, {}]


@pytest.fixture
def here(tmp_path: Path) -> Here:
    programs = install.openclaw()
    node = str(programs / "node") if programs else shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed here")
    made = Here(home=tmp_path / "home", project=tmp_path / "app", node=node)
    (made.project / ".pinbox").mkdir(parents=True)
    made.launcher.parent.mkdir(parents=True)
    made.launcher.write_text(NOTING)
    made.launcher.chmod(0o755)
    made.answers("")
    return made


def test_a_turn_is_told_with_its_session_and_not_a_word_of_it(here: Here) -> None:
    here.answers({"appendContext": "two pins"})
    assert here.call([here.prompt()]) == [{"appendContext": "two pins"}]
    ((arguments, folder, told),) = here.noted()
    assert (arguments, folder) == ("openclaw", str(here.project))
    assert told["event"] == "session_start", "its first prompt is where it begins"
    assert told["ctx"]["sessionKey"] == KEY
    assert "hush" not in json.dumps(told)


def test_a_turn_that_is_tried_anew_gets_the_same_and_asks_nobody(here: Here) -> None:
    here.answers({"appendContext": "two pins"})
    said = here.call([here.prompt("r1"), here.prompt("r1"), here.prompt("r2")])
    assert said == [{"appendContext": "two pins"}] * 3
    assert [told["event"] for _, _, told in here.noted()] == [
        "session_start",
        "before_prompt_build",
    ]


def test_a_workspace_that_is_no_folder_throws_nothing_and_has_no_tool(here: Here) -> None:
    workspace = f"{here.project.parent}/no-project-file"
    Path(workspace).write_text("")
    steps = [["tool", "pin_list", {}, {"workspaceDir": f"{workspace}/in/it"}]]
    assert here.call([*steps, here.prompt(workspaceDir=f"{workspace}/in/it")]) == [None, None]


def test_the_end_of_a_turn_is_held_once(here: Here) -> None:
    held = {"action": "revise", "reason": "two pins"}
    here.answers(held)
    assert here.call([here.prompt("r1"), stop(), stop(), here.prompt("r1"), stop()]) == [
        *(None, held, None),
        *(None, None),
    ]
    assert here.call([here.prompt("r1"), stop(), here.prompt("r2"), stop()])[3] == held


def test_a_conversation_that_goes_on_under_its_key_has_not_ended(here: Here) -> None:
    here.call([here.prompt(), end("new"), here.prompt(session="s2"), end("shutdown", "s1")])
    assert [told["event"] for _, _, told in here.noted()] == ["session_start", "session_start"]
    here.call([here.prompt(), end("deleted")])
    *_, (_, _, told) = here.noted()
    assert (told["event"], told["payload"]["reason"]) == ("session_end", "deleted")


def test_a_gateway_that_stops_ends_the_sessions_that_were_not_named(here: Here) -> None:
    stopped = ["hook", "gateway_stop", {"reason": "stop"}, {}]
    other = here.prompt(session="s2", sessionKey="agent:main:other")
    here.call([here.prompt(), other, end("shutdown"), stopped, stopped])
    ends = [told for _, _, told in here.noted() if told["event"] == "session_end"]
    assert {told["payload"]["sessionId"] for told in ends} == {"s1", "s2"}
    assert len(ends) == 2


def test_where_no_project_is_nothing_is_run_and_there_are_no_tools(here: Here) -> None:
    (here.project / ".pinbox").rmdir()
    place = {"workspaceDir": str(here.project), "sessionKey": KEY}
    said = here.call([here.prompt(), stop(), end("shutdown"), ["tool", "pin_list", {}, place]])
    assert said == [None] * 4
    assert here.noted() == []


@pytest.mark.parametrize(
    "more",
    [
        {"sessionKey": "agent:main:subagent:1"},
        {"sessionKey": "agent:main:cron:daily:run:7"},
        {"trigger": "memory"},
        {"sessionKey": None},
        {"workspaceDir": None},
    ],
)
def test_what_is_no_conversation_has_no_part_in_it(here: Here, more: dict[str, object]) -> None:
    assert here.call([here.prompt(**more)]) == [None]
    assert here.noted() == []


@pytest.mark.parametrize("answer", ["", "no JSON", "[]", "null", '{"appendContext": 7}', "{"])
def test_an_answer_that_is_none_of_ours_says_nothing(here: Here, answer: str) -> None:
    here.answers(answer)
    assert here.call([here.prompt(), stop()]) == [None, None]


def test_a_launcher_that_is_not_there_or_never_ends_costs_three_seconds_at_most(here: Here) -> None:
    here.launcher.write_text("#!/bin/sh\nsleep 60 & sleep 60\n")
    assert here.call([here.prompt()]) == [None]
    here.launcher.unlink()
    assert here.call([here.prompt(), stop(), end("shutdown")]) == [None, None, None]


def test_what_a_model_wrote_is_never_an_option(here: Here) -> None:
    program = here.launcher.parent / "pinbox"
    program.write_text("#!/bin/sh\nprintf '{\"said\":\"'; printf '<%s>' \"$@\"; printf '\"}'\n")
    program.chmod(0o755)
    here.launcher.write_text(f"#!/bin/sh\npy={here.launcher.parent}/python3\n")
    place = {"workspaceDir": str(here.project), "sessionKey": KEY}
    said = here.call(
        [
            ["tool", "pin_list", {"search": "--json"}, place],
            ["tool", "pin_reply", {"pin_id": "--as", "text": "--human"}, place],
            ["tool", "pin_resolve", {"pin_id": "-x", "note": "--as=human"}, place],
            ["tool", "pin_show", {"pin_id": ["--help"]}, place],
            ["tool", "pin_reply", {"pin_id": "pin_0123456789"}, place],
        ]
    )
    assert [json.loads(one).get("said") for one in said] == [
        "<list><--limit=20><--json><--status=open><--search=--json>",
        "<reply><--as=agent><--json><--><--as><--human>",
        "<resolve><--as=agent><--json><--note=--as=human><--><-x>",
        None,
        None,
    ]
