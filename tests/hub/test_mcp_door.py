"""/mcp in front of the hub's application: the extra that is not installed, a stream that outlives
its token."""

import asyncio
import importlib

import pytest

from pinbox.contract import Caller, PinboxError
from pinbox_site import auth, mcp_door
from pinbox_site.mcp_door import McpDoor

from .conftest import TOKEN

HEADERS = [(b"authorization", f"Bearer {TOKEN}".encode())]


async def nobody(scope, receive, send):
    raise AssertionError("the request went past the door")


def post(door, headers=HEADERS):
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
    return door(scope, None, None)


@pytest.mark.parametrize(("kind", "path"), [("http", "/mcp/"), ("websocket", "/mcp")])
def test_what_is_no_mcp_goes_past(kind, path):
    asked = []

    async def app(scope, receive, send):
        asked.append(scope["path"])

    asyncio.run(McpDoor(app, None)({"type": kind, "path": path, "headers": []}, None, None))
    assert asked == [path]


def test_a_hub_without_the_extra_says_how_to_install_it(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(PinboxError) as refused:
        asyncio.run(post(McpDoor(nobody, None)))
    assert refused.value.status == 501
    assert "pip install 'pinbox[mcp]'" in refused.value.hint


def test_nobody_learns_without_a_token_whether_it_is_installed(monkeypatch):
    monkeypatch.setattr(importlib, "import_module", nobody)
    with pytest.raises(PinboxError) as refused:
        asyncio.run(post(McpDoor(nobody, None), headers=[]))
    assert refused.value.status == 401


class Expiring:
    """A verifier of tokens that are good for one look."""

    may_block = True

    def __init__(self):
        self.looks = 0

    def verify(self, credential):
        self.looks += 1
        if self.looks > 1:
            raise PinboxError("E_AUTH", "expired")
        return Caller("full")


def test_a_stream_ends_with_its_token(monkeypatch):
    verifier = Expiring()
    monkeypatch.setattr(auth, "verifier", lambda: verifier)
    monkeypatch.setattr(mcp_door, "_RECHECK_S", 0.0)

    class Stream:
        has_ended = False

        async def __call__(self, scope, receive, send):
            await asyncio.Event().wait()

    async def main():
        door = McpDoor(nobody, None)
        door._server = Stream()
        with pytest.raises(PinboxError, match="expired"):
            await asyncio.wait_for(post(door), 10)

    asyncio.run(main())
