"""MCP at /mcp of a real hub: the protocol's own client, older ones by hand, and who is kept out."""

import json
import urllib.error
import urllib.request
from datetime import datetime, timedelta

import anyio
import pytest

from tests.mcp_clients import (
    CHANGES,
    MODES,
    PINS,
    READS,
    News,
    call,
    call_everything,
    over_http,
    pinbox,
    run,
    subscribed,
)
from tests.process.conftest import Place
from tests.wait import wait_until

#: Seconds that requests under way get when a hub stops (pinbox_site.server.DRAIN_S).
DRAIN_S = 2

pytestmark = [pytest.mark.process]

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A hub that lets agents change pins."""
    place = Place(tmp_path_factory.mktemp("mcp"))
    place.environ["PINBOX_MCP_MUTATIONS"] = "1"
    place.run("list")
    yield place
    place.reap()


class Raw:
    """A client by hand, in one session."""

    def __init__(self, state, token=None, **headers):
        self.url = f"http://127.0.0.1:{state.port}/mcp"
        self.headers = {
            "Authorization": f"Bearer {state.token if token is None else token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **headers,
        }

    def send(self, body):
        """(status, headers, body) of one POST."""
        request = urllib.request.Request(self.url, body, self.headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def ask(self, method, params=None, *, number=1):
        """The message that answers a request, out of its event stream."""
        said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
        status, headers, body = self.send(json.dumps(said).encode())
        assert status == 200, body
        if "Mcp-Session-Id" in headers:
            self.headers["Mcp-Session-Id"] = headers["Mcp-Session-Id"]
        lines = [line[6:] for line in body.splitlines() if line.startswith(b"data: ")]
        (message,) = [json.loads(line) for line in lines if b'"id"' in line]
        return message

    def greet(self, revision):
        info = {"name": "by hand", "version": "0"}
        hello = {"protocolVersion": revision, "capabilities": {}, "clientInfo": info}
        answer = self.ask("initialize", hello)["result"]
        self.headers["Mcp-Protocol-Version"] = answer["protocolVersion"]
        done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert self.send(json.dumps(done).encode())[0] == 202
        return answer


@pytest.mark.parametrize("mode", MODES)
def test_the_sdk_s_own_client_lists_and_calls_everything(place, mode):
    place.environ["PINBOX_MCP_MUTATIONS"] = "1"
    pin_id = pinbox(place, "pin", "too small")["id"]

    async def main():
        async with over_http(place.state(), mode=mode) as client:
            await call_everything(client, pin_id, "too small")

    run(main)


def test_it_only_reads_unless_the_hub_was_told_otherwise(daemon, hub):
    async def names(place):
        async with over_http(place.state()) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert run(names, daemon) == READS
    assert run(names, hub) == READS + CHANGES


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_older_revision_is_spoken(hub, revision):
    client = Raw(hub.state())
    answer = client.greet(revision)
    assert answer["protocolVersion"] == revision
    assert answer["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
    tools = client.ask("tools/list", number=2)["result"]["tools"]
    assert [tool["name"] for tool in tools] == READS + CHANGES
    asked = {"name": "pinbox_summary", "arguments": {}}
    result = client.ask("tools/call", asked, number=3)["result"]
    assert "open" in json.loads(result["content"][0]["text"])


@pytest.mark.parametrize("mode", MODES)
def test_who_subscribed_is_told(hub, mode):
    async def main():
        news = News()
        async with over_http(hub.state(), mode=mode, news=news) as client:
            async with subscribed(client, news, PINS):
                await call(client, "summary")
                pin = await anyio.to_thread.run_sync(pinbox, hub, "pin", "hello")
                await news.until("list", PINS)
            news.forget()
            async with subscribed(client, news, f"{PINS}/{pin['id']}"):
                await call(client, "reply", id=pin["id"], text="I see")
                await news.until(f"{PINS}/{pin['id']}")
                assert "list" not in news.heard

    run(main)


@pytest.mark.parametrize("mode", MODES)
def test_an_open_stream_neither_keeps_a_hub_nor_delays_its_stop(place, mode):
    place.environ["PINBOX_IDLE_MS"] = "3000"
    place.run("list")

    async def main():
        news = News()
        client = over_http(place.state(), mode=mode, news=news)
        async with client as client, subscribed(client, news, PINS):
            await anyio.to_thread.run_sync(pinbox, place, "pin", "hello")
            await news.until(PINS)  # it listens
            await anyio.to_thread.run_sync(wait_until, lambda: not place.hubs(), 20)
        stopping, stopped = place.log().splitlines()[-2:]
        assert stopping.endswith("stopping: idle")
        assert stopped.endswith(": stopped")
        at = [datetime.fromisoformat(line[:23].replace(",", ".")) for line in (stopping, stopped)]
        assert at[1] - at[0] < timedelta(seconds=DRAIN_S), "it waited for no stream"

    run(main)


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"token": ""}, 401, "E_INVALID_INPUT"),
        ({"token": "page"}, 403, "E_AUTH"),
        ({"Host": "evil.example"}, 403, "E_AUTH"),
        ({"Origin": "https://evil.example"}, 403, None),
    ],
)
def test_whoever_may_not_come_in_gets_nothing(hub, headers, status, code):
    state = hub.state()
    headers = dict(headers)
    token = {"page": state.page_token, None: None, "": ""}[headers.pop("token", None)]
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    got, _, body = Raw(state, token, **headers).send(json.dumps(hello).encode())
    assert got == status
    assert (json.loads(body)["error"]["code"] if body else None) == code


def test_no_body_is_a_fault_of_the_hub_s(hub):
    client = Raw(hub.state())
    client.greet("2025-06-18")
    pin_id = pinbox(hub, "pin", "x")["id"]

    def reply(text):
        """A call whose text is written into JSON as it stands."""
        arguments = f'{{"id":"{pin_id}","text":"{text}"}}'
        params = f'{{"name":"pinbox_reply","arguments":{arguments}}}'
        return f'{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{params}}}'.encode()

    bodies = [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
        b'{"jsonrpc":"2.0","id":1,"method":"no/such","params":{"a":'
        + b"[" * 500
        + b"]" * 500
        + b"}}",
        reply("\\ud800"),
        reply("\\u0000"),
        reply("--as"),
        reply("x" * 200_000),
        b" " * 3_000_000,
    ]
    statuses = [client.send(body)[0] for body in bodies]
    assert all(status in (200, 400, 413) for status in statuses), statuses
    assert statuses[-1] == 413
    thread = json.loads(hub.run("show", pin_id).stdout)["data"]["thread"]
    assert [message["text"] for message in thread] == ["--as"]
    assert "ERROR" not in hub.log()
    assert "Traceback" not in hub.log()
