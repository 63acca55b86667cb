"""The toolbar's files at /toolbar/, plain ASGI in front of the API: public, without a token.

The gate in front has judged Host and Origin and adds the CORS headers. What a page does with the
hub still needs a token. See docs/toolbar.md.
"""

import gzip
import hashlib
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Any, Any, Any], Awaitable[None]]
Header = tuple[bytes, bytes]

PREFIX: Final = "/toolbar/"
#: The modules, for those who change them.
FOLDER: Final = Path(__file__).parent / "web"
#: What the hub serves, made from them by bundle.py.
MADE: Final = FOLDER.parent / "made"
_TYPE: Final = b"text/javascript; charset=utf-8"
#: A browser keeps a file and asks each time whether it is still the same: a hub may be upgraded
#: under the same address.
_CACHE: Final = b"no-cache"


@dataclass(frozen=True, slots=True)
class File:
    """One file, ready to be sent either way."""

    body: bytes
    packed: bytes
    etag: bytes


def load(folder: Path = MADE) -> dict[str, File]:
    """Every file that is served, by its name. Nothing else can be asked for."""
    return {path.name: _file(path.read_bytes()) for path in sorted(folder.glob("*.js"))}


def _file(body: bytes) -> File:
    digest = hashlib.sha256(body).hexdigest()[:32].encode()
    # A fixed time, so that the same file is the same bytes on every start.
    return File(body, gzip.compress(body, 9, mtime=0), b'"' + digest + b'"')


class Toolbar:
    """`Toolbar(app)`: answers GET and HEAD for /toolbar/, everything else goes to `app`."""

    def __init__(self, app: App, files: dict[str, File] | None = None) -> None:
        self._app = app
        self._files = files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_ours = scope["type"] == "http" and scope["path"].startswith(PREFIX)
        if not is_ours or scope["method"] not in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
            return
        if self._files is None:
            # At the first request: a hub that serves no page should not pay for it at its start.
            self._files = load()
        file = self._files.get(scope["path"].removeprefix(PREFIX))
        if file is None:
            await _answer(send, 404, [(b"content-type", b"text/plain")], b"no such file\n")
            return
        status, headers, body = _choose(file, dict(scope["headers"]))
        await _answer(send, status, headers, b"" if scope["method"] == "HEAD" else body)


def _choose(file: File, asked: dict[bytes, bytes]) -> tuple[int, list[Header], bytes]:
    headers = [
        (b"content-type", _TYPE),
        (b"cache-control", _CACHE),
        (b"etag", file.etag),
        (b"vary", b"accept-encoding"),
    ]
    if file.etag in asked.get(b"if-none-match", b""):
        return 304, headers[1:], b""
    if _takes_gzip(asked.get(b"accept-encoding", b"")):
        return 200, [*headers, _length(file.packed), (b"content-encoding", b"gzip")], file.packed
    return 200, [*headers, _length(file.body)], file.body


def _takes_gzip(accepted: bytes) -> bool:
    for part in accepted.lower().split(b","):
        name, _, weight = part.partition(b";")
        if name.strip() == b"gzip":
            return weight.replace(b" ", b"") not in {b"q=0", b"q=0.0", b"q=0.00", b"q=0.000"}
    return False


def _length(body: bytes) -> Header:
    return b"content-length", b"%d" % len(body)


async def _answer(send: Send, status: int, headers: list[Header], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
