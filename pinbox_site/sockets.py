"""The way to `/ws`: which paths there are, who comes in, how many, and what happens when one fails.

Host and Origin were looked at before, in the gate. The credential comes as a subprotocol
`pinbox.token.<token>` or as `?token=`, for a browser cannot set a header; it goes no further than
this module, and into no log.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qs

from pinbox.contract import PinboxError

from . import auth, idle
from .envelope import log_incident
from .gate import answer

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Any, Any, Any], Awaitable[None]]

PATH: Final = "/ws"
_NO_SOCKET: Final = b"this address is for websockets: the request asks for no upgrade\n"
_TOKEN_PREFIX: Final = "pinbox.token."  # noqa: S105 - the name of the subprotocol
#: Sockets at once. Each holds a descriptor, and about 100 KB while it catches up.
MAX_SOCKETS: Final = 2000
#: Seconds between two looks whether a credential that can expire is still good.
_RECHECK_S: Final = 60.0

UNAUTHORIZED: Final = 4401
#: RFC 6455: an error of the server, and "try again later".
_FAILED: Final = 1011
_TRY_LATER: Final = 1013


class Sockets:
    """`Sockets(app)`: lets `app` speak on the sockets that may come in."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            # Whatever credential it has: the contract's answer to who asks for no socket.
            await answer(send, 400, _NO_SOCKET, [(b"content-type", b"text/plain; charset=utf-8")])
            return
        if scope["path"] != PATH:
            await receive()
            await send({"type": "websocket.close", "code": 1000})
            return
        idle.touch()
        self._open += 1
        try:
            await self._serve(scope, receive, send)
        except OSError:  # the client left while something was on its way to it
            pass
        except Exception as error:  # the edge of a socket; the server would log its text
            log_incident(error, f"the socket {PATH}")
            with contextlib.suppress(OSError):
                await send({"type": "websocket.close", "code": _FAILED})
        finally:
            self._open -= 1
            idle.touch()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        subprotocol, credential = _offered(scope)
        code = _TRY_LATER if self._open > MAX_SOCKETS else await _refusal(credential)
        if code is not None:
            # A browser is told the code of an open socket only, so it is opened first.
            await receive()
            await send({"type": "websocket.accept", "subprotocol": subprotocol})
            await send({"type": "websocket.close", "code": code})
            return
        inner = {**scope, "query_string": b"", "pinbox.subprotocol": subprotocol}
        watch = None
        if auth.verifier().may_block:
            watch = asyncio.create_task(_close_when_expired(credential, send))
        try:
            await self._app(inner, receive, send)
        finally:
            if watch is not None:
                watch.cancel()


def _offered(scope: Scope) -> tuple[str | None, str | None]:
    """The subprotocol that carries a credential, to be echoed, and the credential."""
    for subprotocol in scope.get("subprotocols", ()):
        if subprotocol.startswith(_TOKEN_PREFIX):
            return subprotocol, subprotocol.removeprefix(_TOKEN_PREFIX)
    try:
        given = parse_qs(scope.get("query_string", b"").decode(), max_num_fields=20).get("token")
    except ValueError:
        given = None
    return None, given[0] if given else None


async def _refusal(credential: str | None) -> int | None:
    """The code to close with, or None for a credential that is good: a page's is enough."""
    try:
        if auth.verifier().may_block:
            await asyncio.to_thread(auth.check, credential)
        else:
            auth.check(credential)
    except PinboxError as error:
        return UNAUTHORIZED if error.status == 401 else _FAILED
    return None


async def _close_when_expired(credential: str | None, send: Send) -> None:
    """A socket does not outlive the token it came with."""
    while True:
        await asyncio.sleep(_RECHECK_S)
        if await _refusal(credential) == UNAUTHORIZED:
            break
    with contextlib.suppress(OSError):
        await send({"type": "websocket.close", "code": UNAUTHORIZED})
