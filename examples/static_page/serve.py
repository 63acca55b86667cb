"""Shows the pages in this folder with the toolbar: `python serve.py [port]`. Standard library only.

A page that is opened in another way gets the toolbar by a tag of its own; see docs/toolbar.md.
"""

import mimetypes
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from wsgiref.simple_server import make_server

from pinbox.inject import WsgiMiddleware

HERE = Path(__file__).resolve().parent


def files(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    path = (HERE / environ["PATH_INFO"].lstrip("/")).resolve()
    path = path / "index.html" if path.is_dir() else path
    if not path.is_relative_to(HERE) or not path.is_file():
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"nothing here\n"]
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    start_response("200 OK", [("Content-Type", kind)])
    return [path.read_bytes()]


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    with make_server(
        "127.0.0.1", port, WsgiMiddleware(files, enabled=True, project=HERE)
    ) as server:
        print(f"http://localhost:{server.server_port}/", flush=True)
        server.serve_forever()
