"""The hub as one ASGI application: gate, toolbar files, MCP, the API's bridge, then the socket,
or Django for the admin.
"""

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pinbox_site.settings")

import django

django.setup(set_prefix=False)

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler  # noqa: E402
from django.core.exceptions import SuspiciousFileOperation  # noqa: E402
from django.core.handlers.asgi import ASGIHandler  # noqa: E402
from django.http import Http404, HttpRequest  # noqa: E402

from pins.consumers import LogConsumer  # noqa: E402
from pins.live import live_log  # noqa: E402

from . import idle  # noqa: E402
from .bridge import Bridge  # noqa: E402
from .gate import Gate  # noqa: E402
from .mcp_door import McpDoor  # noqa: E402
from .sockets import Sockets  # noqa: E402
from .toolbar import Toolbar  # noqa: E402

#: Seconds a browser keeps a file of the admin. Its address has our version and Django's.
_KEEP_S = 86_400


class StaticFiles(ASGIStaticFilesHandler):
    """Serves the admin's files out of the packages themselves: nobody runs `collectstatic`."""

    def serve(self, request: HttpRequest) -> Any:
        try:
            response = super().serve(request)
        except SuspiciousFileOperation as error:  # a way out of the folder; Django answers only 404
            raise Http404 from error
        response["Cache-Control"] = f"private, max-age={_KEEP_S}"
        return response


idle.stay_while(live_log.is_lively)
sockets = Sockets(LogConsumer.as_asgi(live=live_log))
mcp = McpDoor(Bridge(StaticFiles(ASGIHandler()), sockets), live_log)
application = Gate(Toolbar(mcp))
