"""The way to `/mcp`: who comes in, and what is said where the extra is not installed.

Host, Origin and the body's size were looked at before, in the gate. The SDK is imported by the
first request that may come in, off the loop: it costs more than the rest of the hub.
"""

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from pinbox.contract import PinboxError

from . import auth, idle

if TYPE_CHECKING:
    from pins.live import LiveLog

App = Callable[[Any, Any, Any], Awaitable[None]]

PATH: Final = "/mcp"
#: Seconds between two looks whether the credential of a stream that stays open is still good.
_RECHECK_S: Final = 60.0


class McpDoor:
    """`McpDoor(app, live)`: MCP at PATH, by what `app` answers; `app` itself everywhere else."""

    def __init__(self, app: App, live: "LiveLog") -> None:
        self._app = app
        self._live = live
        self._loading = asyncio.Lock()
        self._server: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        # A stream may stay open for days, and keeps nobody here; what is asked for on it does.
        idle.touch()
        credential = _credential(scope)
        await _check(credential)
        server = await self._loaded()
        if not auth.verifier().may_block:
            await server(scope, receive, send)
            return
        serving = asyncio.ensure_future(server(scope, receive, send))
        watch = asyncio.create_task(_end_when_expired(credential, serving))
        try:
            await serving
        except asyncio.CancelledError:
            if not watch.done():
                raise
            raise watch.result() from None
        finally:
            watch.cancel()

    async def _loaded(self) -> Any:
        async with self._loading:
            with idle.idle.busy():
                if self._server is None or self._server.has_ended:
                    try:
                        http = await asyncio.to_thread(
                            importlib.import_module, "pinbox_site.mcp.http"
                        )
                    except ImportError as error:
                        raise _not_installed() from error
                    server = http.HttpServer(self._app, self._live)
                    await server.start()
                    self._server = server
        return self._server

    async def close(self) -> None:
        """End every stream."""
        if self._server is not None:
            await self._server.close()
            self._server = None


def _credential(scope: Any) -> str | None:
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    return auth.bearer(b", ".join(given).decode("latin-1")) if given else None


async def _check(credential: str | None) -> None:
    """Raise PinboxError unless the credential may do everything."""
    if auth.verifier().may_block:
        caller = await asyncio.to_thread(auth.check, credential)
    else:
        caller = auth.check(credential)
    auth.require_scope(caller, "full")


async def _end_when_expired(credential: str | None, serving: "asyncio.Future[None]") -> PinboxError:
    """A stream does not outlive the token it came with. Returns why it was ended."""
    while True:
        await asyncio.sleep(_RECHECK_S)
        try:
            await _check(credential)
        except PinboxError as error:
            if error.status == 401:
                serving.cancel()
                return error


def _not_installed() -> PinboxError:
    return PinboxError(
        "E_INVALID_INPUT",
        "MCP is not installed with this hub",
        "pipx inject pinbox mcp websockets, or pip install 'pinbox[mcp]'; then pinbox stop",
        status=501,
    )
