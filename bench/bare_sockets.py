"""The floor of a fan-out: an ASGI application of nothing but sockets, on the same server.

`python -m bench.bare_sockets FD`: serves on a bound socket. Each POST goes as one frame to every
socket that said something.
"""

import sys
from typing import Any

from daphne.server import Server

from .pins import pin_input
from .wire import event_frame

everyone: set[Any] = set()


async def application(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    if scope["type"] == "http":
        frame = event_frame(1, pin_input(1))
        for other in list(everyone):
            await other({"type": "websocket.send", "text": frame})
        await send({"type": "http.response.start", "status": 201, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        return
    await send({"type": "websocket.accept", "subprotocol": scope["subprotocols"][0]})
    await receive()
    everyone.add(send)
    await send({"type": "websocket.send", "text": "{}"})
    await receive()  # nothing but its end
    everyone.discard(send)


if __name__ == "__main__":
    Server(application, endpoints=[f"fd:fileno={sys.argv[1]}"], signal_handlers=False).run()
