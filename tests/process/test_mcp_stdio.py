"""`pinbox mcp` as agents run it: spawned in a project, spoken to by the protocol's own client."""

import contextlib
import json
import signal
import subprocess

import anyio
import pytest

from tests.mcp_clients import (
    MODES,
    PATIENCE_S,
    PINS,
    READS,
    News,
    call,
    call_everything,
    error_of,
    over_stdio,
    pinbox,
    run,
    subscribed,
)
from tests.process.conftest import PYTHON
from tests.wait import wait_until

pytestmark = [pytest.mark.process]

ALLOWED = "--allow-mutations"


async def aside(function, *arguments):
    """Blocking work, while the client goes on."""
    return await anyio.to_thread.run_sync(function, *arguments)


@pytest.mark.parametrize("mode", MODES)
def test_the_sdk_s_own_client_lists_and_calls_everything(daemon, mode):
    pin_id = pinbox(daemon, "pin", "too small")["id"]

    async def main():
        async with over_stdio(daemon, ALLOWED, mode=mode) as client:
            await call_everything(client, pin_id, "too small")

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_who_subscribed_is_told_of_the_list_and_of_the_pin_and_of_nothing_older(daemon, mode):
    old = pinbox(daemon, "pin", "before")["id"]

    async def main():
        news = News()
        uris = (PINS, f"{PINS}/{old}")
        server = over_stdio(daemon, mode=mode, news=news)
        async with server as client, subscribed(client, news, *uris):
            await call(client, "summary")
            new = (await aside(pinbox, daemon, "pin", "after"))["id"]
            await news.until("list", PINS)
            assert f"{PINS}/{old}" not in news.heard  # nothing happened to it since
            news.forget()
            await aside(pinbox, daemon, "reply", old, "hello")
            await news.until(PINS, f"{PINS}/{old}")
            assert "list" not in news.heard
            news.forget()
            await aside(pinbox, daemon, "resolve", new)
            await aside(pinbox, daemon, "resolve", old)
            await news.until(f"{PINS}/{old}")
            assert f"{PINS}/{new}" not in news.heard  # nobody asked for that

    run(main)


def test_the_first_call_starts_the_hub_of_a_cold_project_and_only_reads(place):
    async def main():
        async with over_stdio(place) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == READS
            assert not place.has_hub()
            assert (await call(client, "summary"))["open"] == 0
            assert place.has_hub()
            refused = await client.call_tool("pinbox_reply", {"id": "pin_aaaaaaaaaa", "text": "x"})
            assert "--allow-mutations" in error_of(refused)["hint"]

    run(main)


def test_a_hub_that_stopped_is_not_missed_until_a_call_and_is_heard_again(daemon):
    async def main():
        news = News()
        async with over_stdio(daemon, news=news) as client, subscribed(client, news, PINS):
            await call(client, "summary")
            await aside(pinbox, daemon, "stop")
            assert not daemon.hubs()
            assert (await call(client, "summary"))["open"] == 0  # another hub
            await aside(pinbox, daemon, "pin", "one")
            await news.until(PINS)
            news.forget()
            await aside(pinbox, daemon, "stop")
            await aside(pinbox, daemon, "pin", "two")  # somebody else started the third
            await news.until(PINS)

    run(main)


def test_a_listening_server_keeps_no_idle_hub(place):
    place.environ["PINBOX_IDLE_MS"] = "1500"

    async def main():
        news = News()
        async with over_stdio(place, news=news) as client, subscribed(client, news, PINS):
            await call(client, "summary")
            first = place.hubs()
            await aside(pinbox, place, "pin", "one")
            await news.until(PINS)  # it listens
            await aside(wait_until, lambda: not place.hubs(), PATIENCE_S, "the hub has left")
            assert (await call(client, "summary"))["open"] == 1
            assert place.hubs() != first

    run(main)


def test_two_servers_at_once_share_one_hub(place):
    async def main():
        async with (
            over_stdio(place, ALLOWED) as one,
            over_stdio(place, ALLOWED, mode="legacy") as two,
        ):
            news = News()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call_summary, one)
                tasks.start_soon(call_summary, two)
            assert len(place.hubs()) == 1
            async with subscribed(one, news, PINS):
                pin_id = (await aside(pinbox, place, "pin", "shared"))["id"]
                await news.until(PINS)
                news.forget()
                await call(two, "reply", id=pin_id, text="from the other one")
                await news.until(PINS)
            assert (await call(one, "show", id=pin_id))["thread"][0]["text"] == "from the other one"

    async def call_summary(client):
        await call(client, "summary")

    run(main)


NASTY = [
    "-rf",
    "--help",
    "--as=human",
    "--",
    "a\nb\r\n",
    "日本語 \u202e",
    "'; rm -rf /",
    "$(id)",
    " x ",
]


def test_words_that_look_like_options_are_only_words(daemon):
    pin_id = pinbox(daemon, "pin", "too small")["id"]

    async def main():
        async with over_stdio(daemon, ALLOWED) as client:
            for text in NASTY:
                assert (await call(client, "reply", id=pin_id, text=text))["text"] == text
                assert "pins" in await call(client, "list", search=text)
                for name in ("show", "resolve"):
                    result = await client.call_tool(f"pinbox_{name}", {"id": text})
                    assert error_of(result)["code"] == "E_INVALID_INPUT"
            for wrong in ("", "\0", "x" * 70_000, "é" * 40_000):
                result = await client.call_tool("pinbox_reply", {"id": pin_id, "text": wrong})
                assert error_of(result)["code"] == "E_INVALID_INPUT"
            result = await client.call_tool("pinbox_list", {"search": "x" * 2_000_000})
            assert error_of(result)["code"] == "E_INVALID_INPUT"
            thread = (await call(client, "show", id=pin_id))["thread"]
            assert [message["text"] for message in thread] == NASTY
            assert {message["role"] for message in thread} == {"agent"}

    run(main)


def line(**message):
    return json.dumps({"jsonrpc": "2.0", **message}) + "\n"


HELLO = line(
    id=1,
    method="initialize",
    params={
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "0"},
    },
) + line(method="notifications/initialized")


@contextlib.contextmanager
def by_hand(place, command=None):
    """A server that was greeted; gone at the end."""
    with subprocess.Popen(
        command or place.command("mcp", ALLOWED),
        cwd=place.project,
        env=place.environ,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # What runs in the background of a script, as this suite may, passes an ignored one on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            process.stdin.write(HELLO)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == 1
            yield process
        finally:
            process.kill()


def test_no_request_is_left_without_an_answer(daemon):
    pin_id = pinbox(daemon, "pin", "x")["id"]
    reply = {"name": "pinbox_reply", "arguments": {"id": pin_id, "text": "half \ud83d, 😀"}}
    lines = [
        "no JSON\n",
        '{"a":' * 20_000 + "\n",
        '{"jsonrpc":"2.0","id":9}\n',
        line(id=2, method="tools/call", params=[]),
        line(id=3, method="tools/call", params=reply),
    ]
    with by_hand(daemon) as process:
        process.stdin.write("".join(lines))
        process.stdin.flush()
        refused, replied = (json.loads(process.stdout.readline()) for _ in range(2))
    assert (refused["id"], refused["error"]["code"]) == (2, -32600)
    assert replied["id"] == 3
    thread = pinbox(daemon, "show", pin_id)["thread"]
    assert [message["text"] for message in thread] == ["half \ufffd, 😀"]


def test_an_interrupt_ends_it_at_once_and_says_nothing(daemon):
    with by_hand(daemon) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == -signal.SIGINT
        assert process.stdout.read() == ""


def test_it_outlives_no_client_that_stopped_reading(daemon):
    served = (
        "import sys; from pathlib import Path; from pinbox import hub; "
        "sys.path.append(str(hub.hub_folder())); from pinbox_site.mcp import stdio; "
        "stdio._DRAIN_S = 0.5; stdio.serve(Path.cwd(), allow_mutations=False)"
    )
    with by_hand(daemon, [PYTHON, "-I", "-c", served]) as process:
        process.stdin.write("".join(line(id=n, method="tools/list") for n in range(2, 100)))
        process.stdin.close()
        process.wait(PATIENCE_S)


def test_a_project_that_was_moved_away_does_not_come_back_empty(place):
    async def main():
        async with over_stdio(place) as client:
            place.project.rename(place.project.with_name("moved"))
            error = error_of(await client.call_tool("pinbox_summary", {}))
            assert "is gone" in error["message"]

    run(main)
    assert not place.project.exists()


def test_an_old_client_s_handshake_is_answered_and_stdout_has_nothing_else(daemon):
    hello = {
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {"name": "Old one; rm", "version": "0"},
    }
    say = {
        "name": "pinbox_reply",
        "arguments": {"id": pinbox(daemon, "pin", "x")["id"], "text": "y"},
    }
    words = [
        line(id=1, method="initialize", params=hello),
        line(method="notifications/initialized"),
        line(id=2, method="tools/call", params=say),
    ]
    process = subprocess.Popen(
        daemon.command("mcp", ALLOWED),
        cwd=daemon.project,
        env=daemon.environ,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        answers = {}
        for word in words:
            process.stdin.write(word)
            process.stdin.flush()
            while '"id"' in word and json.loads(word)["id"] not in answers:
                answer = json.loads(process.stdout.readline())
                answers[answer.get("id")] = answer
        rest, said = process.communicate(timeout=PATIENCE_S)
    assert answers[1]["result"]["protocolVersion"] == "2024-11-05"
    assert json.loads(answers[2]["result"]["content"][0]["text"])["origin"] == "Oldonerm:mcp"
    assert (process.returncode, rest, said) == (0, "", "")


def test_the_project_can_be_named(daemon, tmp_path):
    pinbox(daemon, "pin", "elsewhere")

    async def main():
        async with over_stdio(daemon, "--project", str(daemon.project), cwd=tmp_path) as client:
            assert (await call(client, "summary"))["open"] == 1

    run(main)
    wrong = daemon.run("mcp", "--project", str(tmp_path / "none"), check=False)
    assert wrong.returncode == 2
    assert json.loads(wrong.stdout)["error"]["message"] == "--project is not a folder"
