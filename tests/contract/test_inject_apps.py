"""The toolbar in the pages of real apps of five frameworks, over HTTP, with a real hub."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django import VERSION as django_version

from pinbox.project import HubState, NoHub, project_id, read_hub
from tests.wait import wait_until

from . import inject_apps, web
from .cli_project import Project
from .inject_apps import ANSWERS, ETAG, FRAGMENT, NONCE, PAGE, SITES, STREAM
from .web import Answer, Site

# Django looks at its connections around a request.
pytestmark = pytest.mark.django_db

SCRIPT = re.compile(rb'<script type="module" async crossorigin[^>]*></script>')


@pytest.fixture(scope="module")
def hub(project: Project) -> HubState:
    project.data("summary")
    return read_hub(project.path)


@pytest.fixture(scope="module", params=SITES)
def site(request, project: Project, hub: HubState) -> Iterator[Site]:
    with SITES[request.param](project.path) as site:
        yield site


def tag_of(answer: Answer) -> dict[str, str]:
    """The attributes of the one tag in a page, which stands where it should."""
    found = SCRIPT.findall(answer.body)
    assert len(found) == 1, answer
    assert answer.body.endswith(found[0] + b"</body></html>")
    return dict(re.findall(r'([a-z-]+)="([^"]*)"', found[0].decode()))


def test_a_page_gets_one_tag_that_names_the_hub(site, hub, project):
    answer = site.get("/")
    assert answer.status == 200
    assert tag_of(answer) == {
        "type": "module",
        "src": f"http://127.0.0.1:{hub.port}/toolbar/toolbar.js",
        "data-endpoint": f"http://127.0.0.1:{hub.port}",
        "data-token": hub.page_token,
        "data-project": project_id(project.path),
        "data-discover": "/__pinbox__/hub",
    }
    assert SCRIPT.sub(b"", answer.body) == PAGE.encode()
    assert answer.header("content-length") == str(len(answer.body))
    assert answer.header("etag") is None


def test_the_full_token_is_nowhere_in_a_page(site, hub):
    answer = site.get("/")
    assert hub.token.encode() not in answer.body
    assert hub.token not in str(answer.headers)


def test_the_address_in_the_tag_serves_the_toolbar(site):
    _, _, rest = tag_of(site.get("/"))["src"].partition("127.0.0.1:")
    port, _, path = rest.partition("/")
    answer = Site(int(port)).get(
        f"/{path}",
        host=f"127.0.0.1:{port}",
        origin=f"http://localhost:{site.port}",
        sec_fetch_site="cross-site",
    )
    assert answer.status == 200
    assert answer.header("access-control-allow-origin") == f"http://localhost:{site.port}"


@pytest.mark.parametrize("path", ["/missing", "/latin-1"])
def test_a_page_of_another_status_or_charset_gets_it_too(site, path):
    answer = site.get(path)
    assert answer.status == ANSWERS[path][0]
    assert tag_of(answer)
    assert SCRIPT.sub(b"", answer.body) == ANSWERS[path][2]


@pytest.mark.parametrize(
    "path",
    ["/utf-16", "/fragment", "/elsewhere", "/text", "/download", "/gzip", "/part", "/forbidden"],
)
def test_what_is_not_a_page_to_put_a_tag_into_is_sent_as_it_was(site, path):
    answer = site.get(path)
    status, headers, body = ANSWERS[path]
    assert (answer.status, answer.body) == (status, body)
    assert answer.header("content-length") == str(len(body))
    for name, value in headers.items():
        assert answer.header(name) == value


def test_a_stream_is_not_held_up_or_changed(site):
    inject_apps.GATE.clear()
    try:
        with site.open("/stream") as answer:
            assert answer.read1(len(STREAM[0])) == STREAM[0]
            inject_apps.GATE.set()
            assert answer.read() == STREAM[1]
    finally:
        inject_apps.GATE.set()


def test_an_unchanged_page_stays_unchanged(site):
    answer = site.get("/unchanged")
    assert (answer.status, answer.body, answer.header("etag")) == (304, b"", ETAG)


def test_a_head_request_is_left_alone(site):
    answer = site.get("/", method="HEAD")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.header("content-length") == str(len(PAGE.encode()))
    assert answer.header("etag") == ETAG


def test_the_nonce_of_the_page_s_policy_is_kept(site):
    answer = site.get("/nonce")
    assert tag_of(answer)["nonce"] == NONCE
    policy = ANSWERS["/nonce"][1]["Content-Security-Policy"]
    assert answer.header("content-security-policy") == policy


@pytest.mark.parametrize("kind", SITES)
def test_a_policy_that_forbids_the_toolbar_is_said_once_and_not_touched(kind, project, hub, caplog):
    with SITES[kind](project.path) as site:
        first, second = site.get("/forbidden"), site.get("/forbidden")
    assert first.body == second.body == PAGE.encode()
    assert first.header("content-security-policy") == "default-src 'self'"
    # A thread of a site before may still be looking for its own hub, and say so.
    (said,) = [text for text in caplog.messages if "Content-Security-Policy" in text]
    assert f"add http://127.0.0.1:{hub.port} to script-src" in said
    assert hub.page_token not in said


@pytest.mark.parametrize("host", ["shop.example", "localhost.shop.example", "192.168.1.7:8000"])
def test_a_page_under_another_name_holds_no_token(site, host):
    answer = site.get("/", host=host)
    assert answer.body == PAGE.encode()
    assert answer.header("etag") == ETAG


@pytest.mark.parametrize("header", ["x_forwarded_for", "x_real_ip"])
def test_a_page_for_somebody_behind_a_tunnel_holds_no_token(site, header):
    assert site.get("/", **{header: "203.0.113.9"}).body == PAGE.encode()


def test_a_person_who_looks_at_such_a_page_finds_the_reason_in_the_log(project, hub, caplog):
    with SITES["flask"](project.path) as site:
        for name in ("shop.example", "0.0.0.0:8000"):
            site.get("/", host=name, sec_fetch_dest="document")
    (said,) = [r.getMessage() for r in caplog.records if r.name == "pinbox.inject"]
    assert "another name than localhost" in said
    assert "shop.example" not in said


def test_what_a_page_loads_by_script_stays_as_it_is(site):
    answer = site.get("/", sec_fetch_dest="empty", sec_fetch_site="same-origin")
    assert answer.body == PAGE.encode()
    assert site.get("/fragment", sec_fetch_dest="empty").body == FRAGMENT.encode()


def test_an_error_of_the_app_stays_the_app_s(site):
    assert site.get("/failing").status == 500


def test_a_page_that_stays_open_finds_its_hub_again(site, hub):
    answer = site.get("/__pinbox__/hub", sec_fetch_site="same-origin", sec_fetch_dest="empty")
    assert answer.status == 200
    assert answer.header("cache-control") == "no-store"
    assert json.loads(answer.body) == {
        "endpoint": f"http://127.0.0.1:{hub.port}",
        "token": hub.page_token,
    }


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "none"},
        {"sec_fetch_site": "same-origin", "host": "shop.example"},
        {"sec_fetch_site": "same-origin", "x_forwarded_for": "203.0.113.9"},
        {"sec_fetch_site": "same-origin", "method": "POST"},
    ],
    ids=str,
)
def test_nobody_else_is_told_where_the_hub_is(site, hub, headers):
    answer = site.get("/__pinbox__/hub", **headers)
    assert answer.status >= 400
    assert hub.page_token.encode() not in answer.body


# --- the hub ----------------------------------------------------------------------------------


@pytest.fixture
def cold(tmp_path: Path) -> Iterator[Project]:
    """A project where no hub ever ran."""
    folder = tmp_path / "cold"
    (folder / ".git").mkdir(parents=True)
    project = Project(folder)
    yield project
    project.run("stop")


@pytest.mark.parametrize("kind", ["django", "flask", "starlette"])
def test_the_first_page_starts_a_hub_and_does_not_wait_for_it(kind, cold, caplog):
    with SITES[kind](cold.path) as site:
        started = time.monotonic()
        first = site.get("/")
        waited_s = time.monotonic() - started
        assert first.body == PAGE.encode()
        # A hub takes longer than this to start; a page does not.
        assert waited_s < 0.5
        # The browser must ask for the whole page when it is reloaded.
        assert first.header("etag") is None
        wait_until(lambda: SCRIPT.search(site.get("/").body), timeout=30, what="a hub is known")
        assert tag_of(site.get("/"))["data-token"] == read_hub(cold.path).page_token
        # The developer looks at a page without a toolbar.
        wait_until(
            lambda: any("load the page again" in text for text in caplog.messages),
            what="the log says how to get one",
        )


def test_a_page_that_stays_open_is_told_that_there_is_no_hub_yet(cold):
    with SITES["flask"](cold.path) as site:
        answer = site.get("/__pinbox__/hub", sec_fetch_site="same-origin")
        assert (answer.status, answer.body) == (503, b"{}")


def test_a_hub_that_cannot_start_is_said_once_and_breaks_no_page(tmp_path, monkeypatch, caplog):
    (tmp_path / "home").write_text("a file, where a folder is needed")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    project = tmp_path / "project"
    project.mkdir()

    def said() -> list[str]:
        return [r.getMessage() for r in caplog.records if r.name == "pinbox.inject"]

    with SITES["flask"](project) as site:
        assert site.get("/").body == PAGE.encode()
        wait_until(said)
        for _ in range(3):
            assert site.get("/").body == PAGE.encode()
    assert len(said()) == 1
    assert "no hub for the toolbar" in said()[0]


def test_a_hub_that_hangs_holds_up_no_page_and_is_replaced(cold):
    cold.data("summary")
    hung = read_hub(cold.path)
    with SITES["flask"](cold.path) as site:
        assert tag_of(site.get("/"))
        os.kill(hung.pid, signal.SIGSTOP)
        slowest_s = 0.0

        def is_replaced() -> bool:
            nonlocal slowest_s
            started = time.monotonic()
            site.get("/")
            slowest_s = max(slowest_s, time.monotonic() - started)
            try:
                return read_hub(cold.path).instance != hung.instance
            except NoHub:
                return False

        wait_until(is_replaced, timeout=40, what="another hub has its place")
        assert slowest_s < 0.5
        wait_until(lambda: SCRIPT.search(site.get("/").body), timeout=20)


# --- when it is on ----------------------------------------------------------------------------


def body_of(context) -> bytes:
    with context as site:
        return site.get("/").body


def test_django_leaves_the_middleware_out_when_debug_is_off(project, hub):
    from django.core.exceptions import MiddlewareNotUsed
    from django.core.handlers.wsgi import WSGIHandler

    from pinbox.inject import DjangoMiddleware

    with inject_apps.django_settings(project.path, DEBUG=False):
        with pytest.raises(MiddlewareNotUsed):
            DjangoMiddleware(lambda request: None)
        with web.wsgi(WSGIHandler()) as site:
            assert site.get("/").body == PAGE.encode()


@pytest.mark.parametrize("kind", SITES)
def test_pinbox_inject_turns_it_off_everywhere(kind, project, hub, monkeypatch):
    monkeypatch.setenv("PINBOX_INJECT", "0")
    assert body_of(SITES[kind](project.path)) == PAGE.encode()


def plain_asgi():
    async def app(scope, receive, send):
        headers = [(b"content-type", b"text/html"), (b"content-length", b"%d" % len(PAGE.encode()))]
        # ASGI has it that any iterable will do: one may be read once only.
        await send({"type": "http.response.start", "status": 200, "headers": iter(headers)})
        body = PAGE.encode()
        await send({"type": "http.response.body", "body": body[:9], "more_body": True})
        await send({"type": "http.response.body", "body": body[9:]})

    return app


def plain_wsgi():
    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/html")])
        return [PAGE.encode()]

    return app


@pytest.mark.parametrize(
    ("variable", "enabled", "is_on"),
    [
        (None, None, False),
        (None, True, True),
        (None, False, False),
        (None, lambda: True, True),
        ("1", None, True),
        ("1", False, False),
        ("0", True, False),
        ("nonsense", None, False),
        ("nonsense", True, True),
    ],
)
def test_a_plain_app_says_itself_whether_it_is_under_development(
    project, hub, monkeypatch, variable, enabled, is_on
):
    from pinbox.inject import AsgiMiddleware, WsgiMiddleware

    if variable is not None:
        monkeypatch.setenv("PINBOX_INJECT", variable)
    old = WsgiMiddleware(plain_wsgi(), enabled=enabled, project=project.path)
    new = AsgiMiddleware(plain_asgi(), enabled=enabled, project=project.path)
    assert (SCRIPT.search(body_of(web.wsgi(old))) is not None) is is_on
    assert (SCRIPT.search(body_of(web.asgi(new))) is not None) is is_on


def test_flask_and_starlette_are_asked_whether_they_are_debugged(project, hub):
    from flask import Flask
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    from pinbox.inject import AsgiMiddleware, add_to_flask

    flask = Flask(__name__)
    add_to_flask(flask, project=project.path)
    flask.get("/")(lambda: PAGE)
    assert body_of(web.wsgi(flask)) == PAGE.encode()
    flask.debug = True  # as `app.run(debug=True)` does, after everything else
    assert SCRIPT.search(body_of(web.wsgi(flask)))

    def home(request):
        return HTMLResponse(PAGE)

    for debug in (False, True):
        app = Starlette(debug=debug, routes=[Route("/", home)])
        app.add_middleware(AsgiMiddleware, project=project.path)
        assert (SCRIPT.search(body_of(web.asgi(app))) is not None) is debug


def test_two_middlewares_write_one_tag(project, hub):
    from django.core.handlers.asgi import ASGIHandler
    from django.core.handlers.wsgi import WSGIHandler

    from pinbox.inject import AsgiMiddleware, WsgiMiddleware

    with inject_apps.django_settings(project.path, "pinbox.inject.DjangoMiddleware"):
        old = WsgiMiddleware(WSGIHandler(), enabled=True, project=project.path)
        new = AsgiMiddleware(ASGIHandler(), enabled=True, project=project.path)
        assert len(SCRIPT.findall(body_of(web.wsgi(old)))) == 1
        assert len(SCRIPT.findall(body_of(web.asgi(new)))) == 1


# --- among other middleware -------------------------------------------------------------------


def test_django_s_own_middlewares_see_the_finished_page(project, hub):
    """Compression, conditional requests and content length stand outside ours, as the docs say."""
    import gzip

    from django.core.handlers.wsgi import WSGIHandler

    others = [
        f"django.middleware.{name}"
        for name in ("gzip.GZipMiddleware", "http.ConditionalGetMiddleware")
    ]
    body = PAGE.replace("<p>", "<p>" + "long " * 100).encode()
    with (
        pytest.MonkeyPatch.context() as patch,
        inject_apps.django_settings(project.path, *others),
    ):
        patch.setitem(inject_apps.ANSWERS, "/", (200, {}, body))
        with web.wsgi(WSGIHandler()) as site:
            answer = site.get("/", accept_encoding="gzip")
            assert answer.header("content-encoding") == "gzip"
            assert SCRIPT.sub(b"", gzip.decompress(answer.body)) == body
            assert answer.header("content-length") == str(len(answer.body))
            plain = site.get("/")
            again = site.get("/", if_none_match=plain.header("etag") or "")
            assert (tag_of(plain) != {}, again.status) == (True, 304)


def test_a_compressing_middleware_inside_ours_leaves_nothing_to_do(project, hub):
    from django.core.handlers.wsgi import WSGIHandler

    inside = ["pinbox.inject.DjangoMiddleware", "django.middleware.gzip.GZipMiddleware"]
    body = ("x" * 500 + PAGE).encode()
    with (
        pytest.MonkeyPatch.context() as patch,
        inject_apps.django_settings(project.path, MIDDLEWARE=inside),
    ):
        patch.setitem(inject_apps.ANSWERS, "/", (200, {}, body))
        with web.wsgi(WSGIHandler()) as site:
            answer = site.get("/", accept_encoding="gzip")
            assert answer.header("content-encoding") == "gzip"


class LazyPolicy:
    """As django-csp and Django 6: the nonce gets into the policy once it was asked for."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        asked = []

        class Nonce:
            def __str__(self):
                asked.append(True)
                return NONCE

        request.csp_nonce = Nonce()
        response = self.get_response(request)
        nonce = f" 'nonce-{NONCE}'" if asked else ""
        response["Content-Security-Policy"] = f"script-src 'self'{nonce}"
        return response


def test_a_nonce_that_django_makes_on_demand_is_asked_for_by_pages_alone(project, hub):
    from django.core.handlers.wsgi import WSGIHandler

    with (
        inject_apps.django_settings(project.path, f"{__name__}.LazyPolicy"),
        web.wsgi(WSGIHandler()) as site,
    ):
        answer = site.get("/")
        assert tag_of(answer)["nonce"] == NONCE
        policy = answer.header("content-security-policy") or ""
        assert f"'nonce-{NONCE}'" in policy
        assert "nonce" not in (site.get("/fragment").header("content-security-policy") or "")


@pytest.mark.skipif(django_version < (6, 0), reason="Django writes policies itself from 6.0 on")
def test_the_nonce_of_django_s_own_policy_is_kept(project, hub):
    from django.core.handlers.wsgi import WSGIHandler
    from django.utils.csp import CSP  # type: ignore[import-not-found, unused-ignore]

    outside = "django.middleware.csp.ContentSecurityPolicyMiddleware"
    policy = {"script-src": [CSP.SELF, CSP.NONCE]}
    with (
        inject_apps.django_settings(project.path, outside, SECURE_CSP=policy),
        web.wsgi(WSGIHandler()) as site,
    ):
        answer = site.get("/")
        nonce = tag_of(answer)["nonce"]
        assert nonce
        assert f"'nonce-{nonce}'" in (answer.header("content-security-policy") or "")
