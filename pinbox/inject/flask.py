"""Flask, which is a WSGI application that says itself whether it is being debugged."""

from __future__ import annotations

import os
from typing import Any

from .wsgi import WsgiMiddleware


def add_to_flask(app: Any, *, project: str | os.PathLike[str] | None = None) -> None:
    """The toolbar in the pages of `app`, and source marks in its templates, as long as it runs in
    debug mode (`flask run --debug`, FLASK_DEBUG=1, `app.run(debug=True)`).

    The project is the one that `project`, else the app's own folder is in. May be called twice.
    """
    if not isinstance(app.wsgi_app, WsgiMiddleware):
        app.wsgi_app = WsgiMiddleware(
            app.wsgi_app,
            enabled=lambda: bool(app.debug),
            project=project or app.root_path,
            templates=lambda: app.jinja_env,
        )
