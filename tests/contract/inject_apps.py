"""The same small site in five frameworks and by hand: pages, and what looks like one."""

import asyncio
import contextlib
import gzip
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

from starlette.requests import Request

from pinbox.inject import AsgiMiddleware, WsgiMiddleware, add_to_flask

from . import web
from .web import Site

PAGE = "<!doctype html><html><head><title>Café</title></head><body><p>Ä</p></body></html>"
FRAGMENT = "<li>one more</li>"
ETAG = '"v1"'
NONCE = "r4nd0m=="

#: path -> status, headers, body. What is not here is said by each app in its own way.
ANSWERS: dict[str, tuple[int, dict[str, str], bytes]] = {
    "/": (200, {"ETag": ETAG}, PAGE.encode()),
    "/latin-1": (200, {"Content-Type": "text/html; charset=latin-1"}, PAGE.encode("latin-1")),
    "/utf-16": (200, {"Content-Type": "text/html; charset=utf-16"}, PAGE.encode("utf-16")),
    "/fragment": (200, {}, FRAGMENT.encode()),
    "/missing": (404, {}, PAGE.encode()),
    "/elsewhere": (302, {"Location": "/"}, PAGE.encode()),
    "/text": (200, {"Content-Type": "text/plain"}, PAGE.encode()),
    "/download": (200, {"Content-Disposition": 'attachment; filename="a.html"'}, PAGE.encode()),
    "/gzip": (200, {"Content-Encoding": "gzip"}, gzip.compress(PAGE.encode(), mtime=0)),
    "/part": (206, {"Content-Range": "bytes 0-9/10"}, PAGE.encode()),
    "/nonce": (
        200,
        {"Content-Security-Policy": f"default-src 'self'; script-src 'nonce-{NONCE}'"},
        PAGE.encode(),
    ),
    "/forbidden": (200, {"Content-Security-Policy": "default-src 'self'"}, PAGE.encode()),
}
#: Parts of the page that is sent without anybody knowing how long it will be.
STREAM = [PAGE[:40].encode(), PAGE[40:].encode()]
#: Set, except while a test holds back the second part until it has the first.
GATE = threading.Event()
GATE.set()
GATE_S = 20


def stream() -> Iterator[bytes]:
    for part in STREAM:
        yield part
        GATE.wait(GATE_S)


async def async_stream() -> AsyncIterator[bytes]:
    for part in STREAM:
        yield part
        await asyncio.to_thread(GATE.wait, GATE_S)


def answer_to(path: str) -> tuple[int, dict[str, str], bytes]:
    nothing = (404, {"Content-Type": "text/plain"}, b"nothing here")
    status, headers, body = ANSWERS.get(path, nothing)
    return status, {"Content-Type": "text/html; charset=utf-8", **headers}, body


def django_views() -> list[Any]:
    from django.http import HttpResponse, HttpResponseNotModified, StreamingHttpResponse
    from django.urls import re_path

    def view(request: Any) -> Any:
        if request.path == "/stream":
            is_async = hasattr(request, "scope")
            return StreamingHttpResponse(async_stream() if is_async else stream())
        if request.path == "/unchanged":
            return HttpResponseNotModified(headers={"ETag": ETAG})
        if request.path == "/failing":
            raise RuntimeError("of the app itself")
        status, headers, body = answer_to(request.path)
        response = HttpResponse(body, status=status, headers=headers)
        response["Content-Length"] = str(len(body))
        return response

    return [re_path("", view)]


@contextlib.contextmanager
def django_settings(project: Path, *middleware: str, **more: Any) -> Iterator[None]:
    """The settings of a small app under development, in the process of the tests."""
    from django.test import override_settings

    settings = {
        "DEBUG": True,
        "BASE_DIR": project,
        "ALLOWED_HOSTS": ["*"],
        "ROOT_URLCONF": tuple(django_views()),
        "MIDDLEWARE": [*middleware, "pinbox.inject.DjangoMiddleware"],
        **more,
    }
    with override_settings(**settings):
        yield


@contextlib.contextmanager
def django(project: Path) -> Iterator[Site]:
    from django.core.handlers.wsgi import WSGIHandler

    with django_settings(project), web.wsgi(WSGIHandler()) as site:
        yield site


@contextlib.contextmanager
def django_async(project: Path) -> Iterator[Site]:
    from django.core.handlers.asgi import ASGIHandler

    with django_settings(project), web.asgi(ASGIHandler()) as site:
        yield site


@contextlib.contextmanager
def flask(project: Path) -> Iterator[Site]:
    from flask import Flask, Response, request

    app = Flask(__name__)
    app.debug = True
    add_to_flask(app, project=project)

    @app.get("/stream")
    def streamed() -> Any:
        return Response(stream(), mimetype="text/html")

    @app.get("/unchanged")
    def unchanged() -> Any:
        return Response(status=304, headers={"ETag": ETAG})

    @app.get("/failing")
    def failing() -> Any:
        app.config["PROPAGATE_EXCEPTIONS"] = False
        raise RuntimeError("of the app itself")

    @app.get("/")
    @app.get("/<path:name>")
    def view(name: str = "") -> Any:
        status, headers, body = answer_to(request.path)
        return Response(body, status=status, headers=headers)

    with web.wsgi(app) as site:
        yield site


@contextlib.contextmanager
def starlette(project: Path) -> Iterator[Site]:
    from starlette.applications import Starlette
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    async def streamed(request: Any) -> Any:
        return StreamingResponse(async_stream(), media_type="text/html")

    async def unchanged(request: Any) -> Any:
        return Response(status_code=304, headers={"ETag": ETAG})

    async def failing(request: Any) -> Any:
        raise RuntimeError("of the app itself")

    async def view(request: Any) -> Any:
        status, headers, body = answer_to(request.url.path)
        return Response(body, status_code=status, headers=headers)

    routes = [
        Route("/stream", streamed),
        Route("/unchanged", unchanged),
        Route("/failing", failing),
        Route("/{name:path}", view),
    ]
    app = Starlette(debug=True, routes=routes)
    app.add_middleware(AsgiMiddleware, project=project)
    with web.asgi(app) as site:
        yield site


@contextlib.contextmanager
def fastapi(project: Path) -> Iterator[Site]:
    from fastapi import FastAPI
    from fastapi.responses import Response, StreamingResponse

    app = FastAPI(debug=True)
    app.add_middleware(AsgiMiddleware, project=project)

    @app.get("/stream")
    async def streamed() -> Any:
        return StreamingResponse(async_stream(), media_type="text/html")

    @app.get("/unchanged")
    async def unchanged() -> Any:
        return Response(status_code=304, headers={"ETag": ETAG})

    @app.get("/failing")
    async def failing() -> Any:
        raise RuntimeError("of the app itself")

    @app.get("/{name:path}")
    @app.head("/{name:path}")
    def view(request: Request) -> Any:
        status, headers, body = answer_to(request.url.path)
        return Response(body, status_code=status, headers=headers)

    with web.asgi(app) as site:
        yield site


@contextlib.contextmanager
def plain_wsgi(project: Path) -> Iterator[Site]:
    """A generator, whose head comes with its first part, as PEP 3333 allows."""

    def app(environ: Any, start_response: Any) -> Iterator[bytes]:
        path = environ["PATH_INFO"]
        if path == "/failing":
            raise RuntimeError("of the app itself")
        if path == "/stream":
            start_response("200 OK", [("Content-Type", "text/html")])
            yield from stream()
        elif path == "/unchanged":
            start_response("304 Not Modified", [("ETag", ETAG)])
            yield b""
        else:
            status, headers, body = answer_to(path)
            length = {"Content-Length": str(len(body))}
            start_response(f"{status} Whatever", [*(headers | length).items()])
            yield body[:10]
            yield body[10:]

    with web.wsgi(WsgiMiddleware(app, enabled=True, project=project)) as site:
        yield site


SITES: dict[str, Callable[[Path], contextlib.AbstractContextManager[Site]]] = {
    "django": django,
    "django-async": django_async,
    "flask": flask,
    "starlette": starlette,
    "fastapi": fastapi,
    "wsgi": plain_wsgi,
}
