"""Who is told what changed. Every notification means "read it again", so of equal ones that wait
for a slow client one is enough.

Clients of today's revision listen on streams of their own, which the SDK serves from its bus. Those
of the handshake revisions are told on their connection: of a changed list all of them, of a changed
resource whoever subscribed to it.
"""

from typing import Any, Final

import anyio
from anyio.abc import TaskGroup
from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent

PINS: Final = "pinbox://pins"
#: Resources that one client may subscribe to.
MAX_SUBSCRIPTIONS: Final = 1000
#: Streams of today's revision at once.
MAX_STREAMS: Final = 256


def uri_of(pin_id: str) -> str:
    return f"{PINS}/{pin_id}"


class TooMany(Exception):
    """The client has MAX_SUBSCRIPTIONS already."""


class Feed:
    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self._clients: dict[Connection, _Client] = {}
        self._tasks: TaskGroup  # while the server runs
        #: Serves `subscriptions/listen`.
        self.listen = ListenHandler(self._bus, max_subscriptions=MAX_STREAMS)

    def attach(self, tasks: TaskGroup) -> None:
        """The task group in which clients are told."""
        self._tasks = tasks

    # --- what happened ----------------------------------------------------------------------------

    async def happened(self, kind: str, payload: dict[str, Any]) -> None:
        """An event of the log: its type and its payload, a pin or a message of one."""
        pin_id = payload.get("pinId") if kind == "thread.message" else payload.get("id")
        if kind == "pin.created":
            await self._tell(ResourcesListChanged())
        await self._tell(ResourceUpdated(PINS))
        if isinstance(pin_id, str):
            await self._tell(ResourceUpdated(uri_of(pin_id)))

    async def all_changed(self) -> None:
        """The log is another one."""
        await self._tell(ResourcesListChanged())
        subscribed = {uri for client in self._clients.values() for uri in client.uris}
        for uri in {PINS, *subscribed}:
            await self._tell(ResourceUpdated(uri))

    async def _tell(self, event: ServerEvent) -> None:
        await self._bus.publish(event)
        for client in self._clients.values():
            client.hear(event)

    # --- clients of the handshake revisions -------------------------------------------------------

    def join(self, session: ServerSession) -> None:
        """A client whose handshake is done."""
        self._client(session)

    def subscribe(self, session: ServerSession, uri: str) -> None:
        """Raises TooMany."""
        uris = self._client(session).uris
        if len(uris) >= MAX_SUBSCRIPTIONS and uri not in uris:
            raise TooMany
        uris.add(uri)

    def unsubscribe(self, session: ServerSession, uri: str) -> None:
        self._client(session).uris.discard(uri)

    def _client(self, session: ServerSession) -> "_Client":
        # A session is made anew for each request; the SDK gives no other way to what lasts.
        connection = session._connection
        client = self._clients.get(connection)
        if client is None:
            client = self._clients[connection] = _Client(connection)
            self._tasks.start_soon(client.run)
            connection.exit_stack.callback(self._leave, connection)
        return client

    def _leave(self, connection: Connection) -> None:
        client = self._clients.pop(connection, None)
        if client is not None:
            client.scope.cancel()


class _Client:
    """What one connection subscribed to, and what it has not been told yet."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.uris: set[str] = set()
        self.scope = anyio.CancelScope()
        #: In order, each once: no more than it has subscriptions.
        self._waiting: dict[ServerEvent, None] = {}
        self._news = anyio.Event()

    def hear(self, event: ServerEvent) -> None:
        if isinstance(event, ResourceUpdated) and event.uri not in self.uris:
            return
        self._waiting[event] = None
        self._news.set()

    async def run(self) -> None:
        """Tell it, for as long as it is connected."""
        with self.scope:
            while True:
                await self._news.wait()
                self._news = anyio.Event()
                while self._waiting:
                    event = next(iter(self._waiting))
                    del self._waiting[event]
                    if isinstance(event, ResourceUpdated):
                        await self._connection.send_resource_updated(event.uri)
                    else:
                        await self._connection.send_resource_list_changed()
