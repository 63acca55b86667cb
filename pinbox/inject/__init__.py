"""Puts the toolbar into the pages of an app under development: one line for each framework.

    Django              MIDDLEWARE = [..., "pinbox.inject.DjangoMiddleware"]
    Flask               pinbox.inject.add_to_flask(app)
    FastAPI, Starlette  app.add_middleware(pinbox.inject.AsgiMiddleware)
    other WSGI, ASGI    app = pinbox.inject.WsgiMiddleware(app)

Importing it needs no package but this one; a framework is imported by the middleware that serves
it. See docs/toolbar-in-a-page.md.
"""

from .asgi import AsgiMiddleware
from .django import DjangoMiddleware
from .flask import add_to_flask
from .wsgi import WsgiMiddleware

__all__ = ["AsgiMiddleware", "DjangoMiddleware", "WsgiMiddleware", "add_to_flask"]
