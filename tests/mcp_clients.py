"""The MCP SDK's own client, and what both transports of our server are asked through it."""

import contextlib
import json
import warnings
from pathlib import Path

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPDeprecationWarning

ROOT = Path(__file__).resolve().parents[1]

#: Seconds a server may take to start or to tell, far beyond what it needs.
PATIENCE_S = 30

#: The newest revision of the handshake, and that without one.
MODES = ("legacy", "auto")

READS = ["pinbox_summary", "pinbox_list", "pinbox_show"]
CHANGES = ["pinbox_reply", "pinbox_resolve", "pinbox_verify"]
PINS = "pinbox://pins"


class News:
    """What a client was told: the resource that changed, or "list"."""

    def __init__(self):
        self.heard = []
        self._more = anyio.Event()

    async def __call__(self, message):
        params = getattr(message, "params", None)
        self.add(getattr(params, "uri", None) or "list")

    def add(self, word):
        self.heard.append(word)
        self._more.set()

    async def until(self, *words):
        """Wait until every one of `words` was heard."""
        with anyio.fail_after(PATIENCE_S):
            while not set(words) <= set(self.heard):
                self._more = anyio.Event()
                await self._more.wait()

    def forget(self):
        self.heard.clear()


@contextlib.asynccontextmanager
async def over_stdio(place, *options, mode="auto", cwd=None, news=None):
    """A client of a `pinbox mcp` that was spawned in `place` (tests.process.conftest.Place)."""
    command = place.command("mcp", *options)
    server = StdioServerParameters(
        command=command[0],
        args=command[1:],
        env=dict(place.environ),
        cwd=cwd or place.project,
    )
    transport = stdio_client(server)
    async with Client(transport, mode=mode, message_handler=news or News()) as client:
        yield client


@contextlib.asynccontextmanager
async def over_http(state, *, mode="auto", news=None):
    """A client of the hub that `state` names, with its full token."""
    headers = {"Authorization": f"Bearer {state.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False) as http:
        transport = streamable_http_client(f"http://127.0.0.1:{state.port}/mcp", http_client=http)
        async with Client(transport, mode=mode, message_handler=news or News()) as client:
            yield client


@contextlib.asynccontextmanager
async def subscribed(client, news, *uris):
    """The client is told of the list and of `uris`, in the way of its revision."""
    if client.protocol_version < "2026":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            for uri in uris:
                await client.subscribe_resource(uri)
        yield
        return
    listening = client.listen(resource_subscriptions=list(uris), resources_list_changed=True)
    async with listening as stream, anyio.create_task_group() as tasks:

        async def hear():
            with contextlib.suppress(SubscriptionLost):  # the server went away
                async for event in stream:
                    news.add(getattr(event, "uri", "list"))

        tasks.start_soon(hear)
        yield
        tasks.cancel_scope.cancel()


def data_of(result):
    """The structured content of a result that succeeded; its text says the same."""
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


def error_of(result):
    assert result.is_error, result
    error = json.loads(result.content[0].text)
    assert set(error) <= {"code", "message", "hint"}
    return error


async def call(client, name, **arguments):
    return data_of(await client.call_tool(f"pinbox_{name}", arguments))


async def call_everything(client, pin_id, text):
    """Every tool and resource, once, about an open pin of that id and text."""
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == READS + CHANGES
    for tool in tools:
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema["type"] == "object"
        assert tool.annotations.read_only_hint is (tool.name in READS)

    assert (await call(client, "summary"))["open"] == 1
    listed = await call(client, "list", status="open", search=text)
    assert [(row["id"], row["text"]) for row in listed["pins"]] == [(pin_id, text)]
    assert await call(client, "list", status="resolved") == {"note": listed["note"], "pins": []}
    shown = await call(client, "show", id=pin_id)
    assert (shown["pin"]["text"], shown["thread"]) == (text, [])

    replied = await call(client, "reply", id=pin_id, text="-1px, I see")
    assert (replied["role"], replied["origin"]) == ("agent", "mcp:mcp")
    resolved = await call(client, "resolve", id=pin_id, note="--wider")
    assert resolved["resolution"]["by"] == "agent"
    assert resolved["resolution"]["note"] == "--wider"
    again = error_of(await client.call_tool("pinbox_resolve", {"id": pin_id}))
    assert again["code"] == "E_CONFLICT"
    verified = await call(client, "verify", id=pin_id, outcome="accepted")
    assert verified["verification"]["outcome"] == "accepted"
    unknown = error_of(await client.call_tool("pinbox_show", {"id": "pin_aaaaaaaaaa"}))
    assert (unknown["code"], unknown["hint"]) == ("E_NOT_FOUND", "pinbox_list has the ids")

    resources = (await client.list_resources()).resources
    assert [str(resource.uri) for resource in resources] == [PINS, f"{PINS}/{pin_id}"]
    templates = (await client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == [f"{PINS}/{{id}}"]
    (content,) = (await client.read_resource(PINS)).contents
    assert json.loads(content.text)["pins"][0]["id"] == pin_id
    (content,) = (await client.read_resource(f"{PINS}/{pin_id}")).contents
    whole = json.loads(content.text)
    assert whole["pin"]["status"] == "resolved"
    assert [message["text"] for message in whole["thread"]] == ["-1px, I see"]


def run(main, *arguments):
    with warnings.catch_warnings():
        # The SDK leaves it to the interpreter to close what a killed peer left open.
        warnings.simplefilter("ignore", ResourceWarning)
        return anyio.run(main, *arguments)


def pinbox(place, *words):
    """The `data` of a command in `place`."""
    return json.loads(place.run(*words).stdout)["data"]
