"""What each verb does, prints and refuses: the real `pinbox` against the hub it started."""

import json
import os
import re
import subprocess
import sys

import pytest

from pinbox import contract
from tests.contract.cli_project import Project
from tests.unit.test_render import HOSTILE, is_obeyed_by_a_terminal

pytestmark = pytest.mark.process

UNKNOWN = "pin_zzzzzzzzzz"


def log_length(project: Project) -> int:
    """The newest seq: it moves with every event."""
    return project.data("summary")["lastEventSeq"]


# --- pin, list, show, summary ---------------------------------------------------------------------


def test_a_pin_is_dropped_with_its_place_and_its_author(project):
    (project.path / "src").mkdir(exist_ok=True)
    (project.path / "src" / "a#b 100%.ts").write_text("x")
    pin = project.data(
        "pin", "  Save button too small ", "--url", "http://localhost:3000/s?x=1#y",
        "--selector", "button.save", "--file", "a#b 100%.ts:12:5", cwd=project.path / "src",
    )  # fmt: skip
    assert pin["text"] == "Save button too small"
    assert pin["target"] == {
        "url": "http://localhost:3000/s?x=1#y",
        "selector": "button.save",
        "source": {"file": "src/a#b 100%.ts", "line": 12, "via": "none"},
    }
    assert pin["author"] == {
        "userId": "test@pinbox.example",
        "name": "Test Person",
        "email": "test@pinbox.example",
    }
    assert pin["status"] == "open"
    assert project.data("show", pin["id"])["pin"]["id"] == pin["id"]


def test_a_person_sees_the_new_id_and_where_it_was_pinned(project):
    seen = project.see("pin", "hello", "--url", "http://localhost:3000/")
    assert seen.code == 0
    assert re.fullmatch(r"pin_[a-z0-9]{10}\n", seen.out)
    assert seen.err == "pinned to http://localhost:3000/\n"
    (project.path / "a.py").write_text("x")
    assert project.see("pin", "hello", "--file", "a.py:3").err == "pinned to a.py:3\n"
    assert project.see("pin", "hello").err == "pinned\n"


@pytest.mark.parametrize(
    "text", ["-1px off", "--json", "日本語 🙂", "two\nlines", 'it\'s "quoted" $HOME `x`']
)
def test_any_text_arrives_as_it_was_typed(project, text):
    pin = project.data("pin", "--", text)
    assert pin["text"] == text
    reply = project.data("reply", pin["id"], "--", text)
    assert reply["text"] == text
    assert project.data("resolve", pin["id"], f"--note={text}")["resolution"]["note"] == text


def test_the_list_is_newest_first_and_can_be_narrowed(project):
    first, second = project.pin("zebra crossing"), project.pin("zebra stripes")
    project.data("resolve", first)
    newest = [pin["id"] for pin in project.data("list")][:2]
    assert newest == [second, first]
    found = project.data("list", "--search", "zebra")
    assert [pin["id"] for pin in found] == [second, first]
    found = project.data("list", "--search", "zebra", "--status", "resolved")
    assert [pin["id"] for pin in found] == [first]
    assert [pin["id"] for pin in project.data("list", "--limit", "1")] == [second]
    assert project.data("list", "--search", "no such words anywhere") == []


def test_a_person_sees_one_line_a_pin_and_a_count(project):
    pin_id = project.pin("okapi one\nsecond line", "--url", "http://localhost:3000/okapi")
    seen = project.see("list", "--search", "okapi")
    assert seen.out == (
        f"{pin_id}  open  just now  http://localhost:3000/okapi  okapi one second line\n"
    )
    assert seen.err == "1 pin (1 open)\n"
    project.data("resolve", pin_id)
    project.pin("okapi two")
    assert project.see("list", "--search", "okapi").err == "2 pins (1 open, 1 resolved)\n"
    assert project.see("list", "--search", "no such words").err == "0 pins\n"


def test_a_list_fits_the_terminal(project):
    project.pin("quagga " * 60, "--url", "http://localhost:3000/" + "x" * 200)
    for columns in (80, 120):
        seen = project.see("list", "--search", "quagga", columns=columns)
        assert max(map(len, seen.out.splitlines())) <= columns
        assert "quagga" in seen.out


def test_show_gives_the_pin_its_thread_and_its_deliveries(project):
    pin_id = project.pin("show me")
    project.data("reply", pin_id, "first answer")
    data = project.data("show", pin_id)
    assert list(data) == ["pin", "thread", "deliveries"]
    assert [message["text"] for message in data["thread"]] == ["first answer"]
    assert [row["status"] for row in data["deliveries"]] == ["pending", "pending"]
    seen = project.see("show", pin_id)
    assert seen.err == ""
    assert seen.out.startswith(f"{pin_id}  open  note\ntext      show me\n")
    assert "\nhuman  just now  first answer\n" in seen.out


def test_the_summary_counts(project):
    project.pin("count me")
    data = project.data("summary")
    assert data["open"] >= 1
    assert data["lastEventSeq"] >= 1
    seen = project.see("summary")
    assert re.fullmatch(
        r"open        \d+\nresolved    \d+\nsessions    \d+\nlast event  #\d+\n", seen.out
    )
    assert seen.err == ""


def test_looking_changes_nothing(project):
    pin_id = project.pin("look at me")
    before = project.data("show", pin_id), log_length(project)
    for words in (
        ["list"],
        ["show", pin_id],
        ["summary"],
        ["export"],
        ["deliveries", pin_id],
        ["status"],
    ):
        assert project.run(*words).code == 0
    assert (project.data("show", pin_id), log_length(project)) == before


def test_a_warm_command_imports_next_to_nothing(project):
    """What `pinbox summary` costs is mostly imports; these are the ones that crept in before."""
    project.data("summary")
    script = (
        "import sys; from pinbox.cli import main; main(['summary']); "
        "unwanted = 'argparse dataclasses datetime enum http json pathlib re secrets socket "
        "subprocess typing urllib'; "
        "print({*unwanted.split()} & {*sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        capture_output=True,
        text=True,
        cwd=project.path,
        env=project.environment(),
    )
    assert json.loads(done.stdout)["ok"] is True
    assert done.stderr == "set()\n"


# --- reply, resolve, verify, reopen ---------------------------------------------------------------


def test_a_reply_is_by_a_person_unless_said_otherwise(project):
    pin_id = project.pin("who speaks")
    assert project.data("reply", pin_id, "me")["role"] == "human"
    message = project.data("reply", pin_id, "it", "--as", "agent")
    assert message["role"] == "agent"
    assert "origin" not in message
    seen = project.see("reply", pin_id, "it again", "--as=agent")
    assert re.fullmatch(r"msg_[a-z0-9]{10}\n", seen.out)
    assert seen.err == f"replied to {pin_id} as agent\n"


def test_an_agent_in_its_own_shell_is_named_on_the_thread(project):
    pin_id = project.pin("who are you")
    shell = {"CLAUDE_CODE_SESSION_ID": "0b4e6a1c-1f1e-4c8e-9d5a-7e57ab1e5d1f"}
    assert (
        project.data("reply", pin_id, "me", "--as", "agent", **shell)["origin"] == "claude:ab1e5d1f"
    )
    assert "origin" not in project.data("reply", pin_id, "a person in that shell", **shell)
    named = project.data("reply", pin_id, "x", "--as", "agent", "--origin", "codex:box", **shell)
    assert named["origin"] == "codex:box"


def test_a_pin_is_resolved_once(project):
    pin_id = project.pin("resolve me")
    pin = project.data("resolve", pin_id, "--as", "agent", "--note", "44px")
    assert pin["status"] == "resolved"
    assert (pin["resolution"]["by"], pin["resolution"]["note"]) == ("agent", "44px")
    before = log_length(project)
    again = project.run("resolve", pin_id)
    assert again.code == 4
    assert again.error["code"] == "E_CONFLICT"
    assert again.error["hint"] == f"pinbox show {pin_id}"
    assert log_length(project) == before


def test_a_person_sees_that_it_is_resolved(project):
    pin_id = project.pin("resolve me too")
    seen = project.see("resolve", pin_id, "--note", "done")
    assert (seen.out, seen.err) == (f"{pin_id} resolved\n", "by human — done\n")


def test_a_fix_is_accepted_or_the_pin_is_opened_again(project):
    pin_id = project.pin("verify me")
    for verb in ("verify", "reopen"):
        refused = project.run(verb, pin_id)
        assert (refused.code, refused.error["code"]) == (4, "E_CONFLICT")
        assert (
            refused.error["message"] == f"{pin_id} is not resolved, so there is nothing to {verb}"
        )
    project.data("resolve", pin_id)
    assert project.data("verify", pin_id)["verification"]["outcome"] == "accepted"
    assert project.see("verify", pin_id).out == f"{pin_id} accepted\n"
    pin = project.data("reopen", pin_id)
    assert (pin["status"], pin["verification"]["outcome"]) == ("open", "reopened")
    assert project.data("show", pin_id)["thread"] == []


def test_a_reason_to_reopen_is_a_human_message_that_comes_first(project):
    pin_id = project.pin("reopen me")
    project.data("resolve", pin_id, "--as", "agent")
    seen = project.see("reopen", pin_id, "still 20px")
    assert (seen.out, seen.err) == (f"{pin_id} reopened\n", "still 20px\n")
    data = project.data("show", pin_id)
    assert data["pin"]["status"] == "open"
    assert [(m["role"], m["text"]) for m in data["thread"]] == [("human", "still 20px")]


def test_a_refused_reopen_writes_no_reason(project):
    pin_id = project.pin("stay open")
    before = log_length(project)
    refused = project.run("reopen", pin_id, "why")
    assert (refused.code, refused.error["hint"]) == (4, f"pinbox show {pin_id}")
    assert log_length(project) == before


def test_a_reason_that_was_written_before_the_reopen_failed_is_not_written_twice(
    project, monkeypatch
):
    """The first try is cut off between its two writes, in this process; the second is the CLI."""
    from pinbox import cli, client

    pin_id = project.pin("cut off")
    project.data("resolve", pin_id)
    request = client.Hub.request

    def cut_off(self, method, path, *args, **kwargs):
        if path.endswith("/verify"):
            raise KeyboardInterrupt
        return request(self, method, path, *args, **kwargs)

    monkeypatch.chdir(project.path)
    with monkeypatch.context() as patch:
        patch.setattr(client.Hub, "request", cut_off)
        assert cli.main(["reopen", pin_id, "why"]) == 130
    assert [m["text"] for m in project.data("show", pin_id)["thread"]] == ["why"]
    project.data("reopen", pin_id, "why")
    data = project.data("show", pin_id)
    assert [m["text"] for m in data["thread"]] == ["why"]
    assert data["pin"]["status"] == "open"
    project.data("resolve", pin_id)
    project.data("reopen", pin_id, "why")
    assert [m["text"] for m in project.data("show", pin_id)["thread"]] == ["why", "why"]


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["show"],
        ["reply", "x"],
        ["resolve"],
        ["verify"],
        ["reopen"],
        ["reopen", "x"],
        ["deliveries"],
    ],
    ids=" ".join,
)
def test_an_unknown_pin_is_not_found_and_the_list_is_named(project, words):
    verb, *rest = words
    done = project.run(verb, UNKNOWN, *rest)
    assert done.code == 3
    assert done.error == {
        "code": "E_NOT_FOUND",
        "message": f"no pin '{UNKNOWN}' (full ids only)",
        "hint": "pinbox list",
    }
    seen = project.see(verb, UNKNOWN, *rest)
    assert (seen.code, seen.out) == (3, "")
    assert seen.err == f"pinbox: no pin '{UNKNOWN}' (full ids only)\npinbox list\n"


@pytest.mark.parametrize(
    "words",
    [
        ["pin", ""],
        ["pin", " \t\n"],
        ["reply", UNKNOWN, ""],
        ["resolve", UNKNOWN, "--note", ""],
        ["reopen", UNKNOWN, " "],
        ["pin", "x", "--url", "/relative"],
        ["pin", "x", "--file", "no/such/file"],
        ["pin", "x", "--file", "."],
        ["list", "--limit", "1000000000"],
        ["list", "--limit=-1"],
        ["list", "--limit", "0"],
        ["export", "--detail", "all"],
        ["export", "--format", "html"],
        ["deliveries", "--status", "lost"],
        ["reply", UNKNOWN, "x", "--as", "mirror"],
    ],
    ids=" ".join,
)
def test_silly_arguments_are_refused_and_change_nothing(project, words):
    before = log_length(project)
    done = project.run(*words)
    assert (done.code, done.error["code"]) == (2, "E_INVALID_INPUT")
    assert done.error["hint"].startswith(f"pinbox {words[0]} --help")
    assert log_length(project) == before


def test_a_search_past_the_limit_is_refused_with_the_limit(project):
    assert project.data("list", "--search", "日" * 5_000) == []
    done = project.run("list", "--search", "日" * 5_462)
    assert (done.code, done.error["code"]) == (2, "E_INVALID_INPUT")
    assert "16,384" in done.error["message"]


def test_a_text_past_the_limit_is_refused_with_the_limit(project):
    before = log_length(project)
    pin_id = project.pin("long words")
    for words in (["pin"], ["reply", pin_id], ["resolve", pin_id, "--note"]):
        done = project.run(*words, "x" * (64 * 1024 + 1))
        assert (done.code, done.error["code"]) == (2, "E_INVALID_INPUT")
        assert f"longer than {contract.MAX_TEXT_BYTES:,} bytes" in done.error["message"]
        assert done.error["hint"] == "shorten it, or send the rest with pinbox reply"
    assert log_length(project) == before + 1


def test_an_argument_that_is_not_text_is_refused(project):
    done = project.run("pin", "bad \udcff byte")
    assert (done.code, done.error["code"]) == (2, "E_INVALID_INPUT")


# --- what is printed ------------------------------------------------------------------------------


def test_hostile_text_reaches_no_terminal_and_is_whole_in_json(project):
    """Also on the streams of reply and resolve, and in the export."""
    text = "walrus " + "".join(HOSTILE).replace("\ud83d", "")
    pin_id = project.pin(text)
    assert project.data("show", pin_id)["pin"]["text"] == text
    project.data("reply", pin_id, text, "--origin", f"x:{text[:40]}")
    shown = [
        project.see("list", "--search", "walrus"),
        project.see("show", pin_id),
        project.see("reply", pin_id, text),
        project.see("deliveries", pin_id),
        project.see("export"),
        project.see("resolve", pin_id, "--note", text),
        project.see("reopen", pin_id, text),
        project.see("pin", text),
    ]
    for done in shown:
        assert done.code == 0
        assert not [c for c in done.out + done.err if is_obeyed_by_a_terminal(c)]
    for done in (project.run("list"), project.run("show", pin_id)):
        assert not [c for c in done.out if is_obeyed_by_a_terminal(c)]


def test_json_may_be_asked_for_on_a_terminal(project):
    before, after = project.see("--json", "summary"), project.see("summary", "--json")
    assert before == after
    assert before.err == ""
    assert before.out.startswith('{\n  "ok": true,\n  "data": {\n    "open": ')


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "cp932"}]
)
def test_output_is_utf_8_in_any_locale(project, locale):
    pin_id = project.pin("日本語 ibex")
    done = project.run("show", pin_id, **locale)
    assert done.envelope["data"]["pin"]["text"] == "日本語 ibex"
    assert "日本語 ibex" in project.see("show", pin_id, **locale).out


def test_a_list_longer_than_a_pipe_holds_arrives_whole(project):
    for letter in "xyz":
        project.pin(letter * 60_000)
    texts = [pin["text"] for pin in project.data("list", "--limit", "3")]
    assert texts == [letter * 60_000 for letter in "zyx"]


# --- export ---------------------------------------------------------------------------------------


def test_a_list_of_nothing_names_the_project_and_an_export_of_nothing_says_so(tmp_path):
    empty = Project(tmp_path)
    seen, piped = empty.see("export"), empty.run("export")
    listed = empty.see("list")
    empty.run("stop")
    # Whoever stands in the wrong folder sees it.
    assert (listed.out, listed.err) == ("", f"0 pins in {empty.path.resolve()}\n")
    assert (seen.out, seen.err) == ("", "0 pins\n")
    assert (piped.out, piped.err) == ("", "")


def test_export_is_markdown_into_a_pipe_and_json_when_asked(project):
    pin_id = project.pin("export me", "--url", "http://localhost:3000/e")
    project.data("reply", pin_id, "said")
    line = f"- [open] http://localhost:3000/e — export me ({pin_id})\n"
    compact = project.run("export", "--detail", "compact")
    assert compact.code == 0
    assert line in compact.out
    standard = project.run("export").out
    assert line + "  number: #" in standard
    assert "  > said\n" in standard
    listed = project.data("list", "--status", "open")
    assert project.data("export", "--format", "json", "--status", "open") == listed
    assert project.data("export", "--json", "--status", "open") == listed
    assert (
        json.loads(project.see("export", "--format", "json", "--status", "open").out)["data"]
        == listed
    )


def test_threads_read_one_by_one_or_from_the_log_are_the_same(project):
    from pinbox.client import connect
    from pinbox.commands.export import threads

    first, second = project.pin("thread one"), project.pin("thread two")
    for pin_id, text in ((first, "a"), (second, "b"), (first, "c")):
        project.data("reply", pin_id, text)
    hub = connect(project.path)
    pins = project.data("list")
    asked, read = threads(hub, pins[1:2]), threads(hub, pins)
    assert [message["text"] for message in asked(first)] == ["a", "c"]
    assert [read(pin_id) for pin_id in (first, second)] == [asked(first), asked(second)]
    assert threads(hub, [])(first) == ()


def test_a_folder_that_was_removed_is_no_place_for_a_command(project, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"cd {gone} && rmdir {gone} && {sys.executable} -m pinbox list"
    done = subprocess.run(["sh", "-c", command], capture_output=True, env=project.environment())
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["hint"] == "run pinbox in a directory that exists"


# --- the hub --------------------------------------------------------------------------------------


def test_rebuild_says_what_it_did_and_that_nothing_drifted(project):
    project.pin("rebuild me")
    assert project.data("rebuild", "--check") == {"drift": {}}
    assert project.data("rebuild") == {"events": log_length(project)}
    assert project.see("rebuild", "--check").out == "clean: a rebuild would change nothing\n"


def test_status_shows_the_hub_and_stop_ends_it(project):
    project.data("summary")
    status = project.data("status")
    assert status["project"] == os.path.realpath(project.path)
    assert (status["running"], status["answering"]) == (True, True)
    seen = project.see("status")
    assert f"url       {status['url']}\n" in seen.out
    assert project.data("stop") == {
        "project": status["project"],
        "stopped": True,
        "pid": status["pid"],
    }
    assert project.data("status")["running"] is False
    assert project.data("stop")["stopped"] is False
    assert project.see("stop").err == "no hub was running\n"
    stopped = project.see("status")
    assert "hub       not running\n" in stopped.out
    assert stopped.err == ""
    project.data("summary")
    assert project.data("status")["url"] == status["url"]


def test_the_admin_link_opens_the_admin_of_this_hub_once(project):
    data = project.data("admin")
    assert data["url"].startswith(f"{project.data('status')['url']}/admin/")
    seen = project.see("admin")
    assert seen.out.startswith("http://127.0.0.1:")
    assert seen.out != f"{data['url']}\n"
    assert seen.err == "opens once, for whoever has it, within 5 minutes\n"


def test_looking_for_the_hub_creates_nothing(tmp_path):
    (tmp_path / "empty").mkdir()
    project = Project(tmp_path / "empty", {"XDG_STATE_HOME": str(tmp_path / "state")})
    assert project.data("status")["running"] is False
    assert project.data("stop")["stopped"] is False
    assert project.run("rebuild").code == 3
    assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]
