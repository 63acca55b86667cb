"""The toolbar's files, through the whole ASGI application: what a page on another port may load."""

import gzip

import pytest

from pinbox_site import toolbar

from .asgi import request

PAGE = ("origin", "http://localhost:3000")


@pytest.fixture(scope="module")
def app():
    from pinbox_site.asgi import application

    return application


def test_a_page_on_another_loopback_port_may_import_the_module_without_a_token(app):
    answer = request(app, path="/toolbar/toolbar.js", headers=[PAGE])
    assert answer.status == 200
    assert answer.header("content-type") == "text/javascript; charset=utf-8"
    assert answer.header("access-control-allow-origin") == "http://localhost:3000"
    assert answer.header("x-content-type-options") == "nosniff"
    assert int(answer.header("content-length") or 0) == len(answer.body) > 0


def test_a_page_of_another_site_gets_no_byte(app):
    foreign = [("origin", "https://evil.example")]
    answer = request(app, path="/toolbar/toolbar.js", headers=foreign)
    assert (answer.status, answer.body) == (403, b"")
    tag = [("sec-fetch-site", "cross-site")]
    assert request(app, path="/toolbar/toolbar.js", headers=tag).status == 403


def test_a_browser_that_has_a_file_is_not_sent_it_again(app):
    first = request(app, path="/toolbar/toolbar.js")
    assert first.header("cache-control") == "no-cache"
    etag = first.header("etag") or ""
    again = request(app, path="/toolbar/toolbar.js", headers=[("if-none-match", f"W/{etag}")])
    assert (again.status, again.body, again.header("etag")) == (304, b"", etag)
    other = request(app, path="/toolbar/toolbar.js", headers=[("if-none-match", '"other"')])
    assert other.status == 200


def test_a_file_is_packed_for_a_browser_that_unpacks(app):
    plain = request(app, path="/toolbar/toolbar.js")
    packed = request(
        app, path="/toolbar/toolbar.js", headers=[("accept-encoding", "br, gzip;q=0.8")]
    )
    assert packed.header("content-encoding") == "gzip"
    assert "accept-encoding" in (packed.header("vary") or "")
    assert gzip.decompress(packed.body) == plain.body
    refused = request(app, path="/toolbar/toolbar.js", headers=[("accept-encoding", "gzip;q=0")])
    assert refused.body == plain.body


@pytest.mark.parametrize("name", sorted(toolbar.load()))
def test_every_file_is_served(app, name):
    answer = request(app, path=f"/toolbar/{name}")
    assert (answer.status, answer.body) == (200, (toolbar.MADE / name).read_bytes())
    head = request(app, "HEAD", f"/toolbar/{name}")
    assert (head.status, head.body) == (200, b"")
    assert head.header("content-length") == answer.header("content-length")


@pytest.mark.parametrize(
    "path",
    [
        "/toolbar/",
        "/toolbar/nothing.js",
        "/toolbar/../__init__.py",
        "/toolbar/../../settings.py",
        "/toolbar/web/toolbar.js",
        "/toolbar//etc/passwd",
        "/toolbar/toolbar.js/",
        "/toolbar/toolbar.js\0",
        "/toolbar/..%2f__init__.py",
    ],
)
def test_nothing_else_is_a_file(app, path):
    answer = request(app, path=path)
    assert answer.status == 404
    assert b"MADE" not in answer.body


def test_a_write_to_the_folder_is_the_api_s_to_refuse(app):
    assert request(app, "POST", "/toolbar/toolbar.js").status == 401
    assert request(app, path="/toolbar").status == 401
