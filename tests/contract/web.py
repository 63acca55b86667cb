"""Real apps behind real sockets, and a client that shows what was sent, byte for byte."""

import asyncio
import contextlib
import http.client
import socketserver
import threading
import wsgiref.simple_server
from collections.abc import Iterator
from typing import Any, NamedTuple

import uvicorn

from tests.wait import wait_until


class Answer(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) < 2, f"{name} was sent twice"
        return values[0] if values else None


class Site:
    """An app that listens on `port` of 127.0.0.1."""

    def __init__(self, port: int) -> None:
        self.port = port

    def get(self, path: str = "/", *, method: str = "GET", **headers: str) -> Answer:
        """One request; `sec_fetch_dest="document"` becomes a header of that name."""
        with self.open(path, method=method, **headers) as answer:
            return Answer(answer.status, answer.getheaders(), answer.read())

    @contextlib.contextmanager
    def open(
        self, path: str, *, method: str = "GET", **headers: str
    ) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        given.setdefault("host", f"localhost:{self.port}")
        try:
            connection.request(method, path, headers=given)
            yield connection.getresponse()
        finally:
            connection.close()


class _Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


class _Handler(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextlib.contextmanager
def wsgi(app: Any) -> Iterator[Site]:
    server = wsgiref.simple_server.make_server("127.0.0.1", 0, app, _Server, _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield Site(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def asgi(app: Any) -> Iterator[Site]:
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    try:
        wait_until(lambda: server.started, what="the server listens")
        yield Site(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
