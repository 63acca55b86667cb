"""`pip install --no-deps pinbox` beside an app, Pinbox itself installed elsewhere."""

import subprocess
from pathlib import Path

import pytest

from .conftest import DEADLINE_S, Installed

pytestmark = [pytest.mark.packaging, pytest.mark.process]

#: Asks a page until it has the toolbar. Prints what it loaded that is not of the standard library.
APP = """if True:
    import sys, threading, urllib.request, wsgiref.simple_server
    from pinbox.inject import WsgiMiddleware
    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/html")])
        return [b"<html><body>hello</body></html>"]
    server = wsgiref.simple_server.make_server("127.0.0.1", 0, WsgiMiddleware(app, enabled=True))
    server.RequestHandlerClass.log_message = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    again = threading.Event()
    for _ in range(300):
        page = urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").read()
        if b"/toolbar/toolbar.js" in page:
            break
        again.wait(0.1)
    print(page.decode())
    own = set(sys.stdlib_module_names) | {"pinbox", "__main__"}
    print(sorted({name.split(".")[0] for name in sys.modules} - own))
"""


@pytest.fixture
def stopped(installed: Installed, project: Path, home: Path):
    yield project
    installed.run("pinbox", "stop", cwd=project, home=home)


def test_an_app_without_our_dependencies_gets_the_hub_of_the_program_on_the_path(
    bare: Installed, installed: Installed, stopped: Path, home: Path
):
    done = subprocess.run(
        [str(bare.bin / "python"), "-I", "-c", APP],
        cwd=stopped,
        env={"HOME": str(home), "PATH": f"{bare.bin}:{installed.bin}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page, loaded = done.stdout.splitlines()
    assert "/toolbar/toolbar.js" in page, done.stderr
    assert loaded == "[]"


def test_an_app_without_any_hub_says_what_to_install(bare: Installed, project: Path, home: Path):
    code = APP.replace("range(300)", "range(5)")
    done = subprocess.run(
        [str(bare.bin / "python"), "-I", "-c", code],
        cwd=project,
        env={"HOME": str(home), "PATH": f"{bare.bin}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "<html><body>hello</body></html>"
    assert done.stderr.count("pipx install pinbox") == 1
