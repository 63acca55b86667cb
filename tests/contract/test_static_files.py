"""The admin's files, from the packages themselves through the whole ASGI application."""

import re
from pathlib import Path

import django
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

import pinbox

from .asgi import request

# Django closes old connections around a request, so it looks at them.
pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def app():
    from pinbox_site.asgi import application

    return application


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("admin/css/base.css", "text/css"),
        ("admin/img/search.svg", "image/svg+xml"),
        ("pinbox/admin.css", "text/css"),
        ("pinbox/times.js", "text/javascript"),
    ],
)
def test_a_file_is_served_without_a_token_and_kept_by_the_browser(app, name, kind):
    answer = request(app, path=settings.STATIC_URL + name)
    assert answer.status == 200
    assert (answer.header("content-type") or "").startswith(kind)
    assert answer.header("cache-control") == "private, max-age=86400"
    assert int(answer.header("content-length") or 0) == len(answer.body) > 0


def test_a_file_s_address_changes_with_our_version_and_with_django_s():
    versions = f"/static/{pinbox.__version__}-{django.__version__}/"
    assert versions == settings.STATIC_URL


def test_a_browser_that_has_a_file_is_not_sent_it_again(app):
    path = settings.STATIC_URL + "admin/css/base.css"
    changed = request(app, path=path).header("last-modified")
    answer = request(app, path=path, headers=[("if-modified-since", changed or "")])
    assert (answer.status, answer.body) == (304, b"")


@pytest.mark.parametrize(
    "name",
    [
        "nothing.css",
        "",
        "admin/",
        "../admin.py",
        "pinbox/../../admin.py",
        "/etc/passwd",
        "pinbox/..%2f..%2fadmin.py",
        "\0",
    ],
)
def test_nothing_else_is_a_file(app, name):
    answer = request(app, path=settings.STATIC_URL + name)
    assert answer.status == 404
    assert answer.header("cache-control") == "no-store"
    assert b"PinboxAdminSite" not in answer.body


@pytest.mark.django_db
def test_every_file_that_a_page_of_the_admin_names_is_there(app):
    client = Client()
    client.force_login(User.objects.create_user("pinbox", is_staff=True))
    named = set()
    for path in ("/admin/", "/admin/login/", "/admin/pins/pin/", "/admin/delivery/delivery/"):
        page = client.get(path).content.decode()
        named.update(re.findall(r'(?:src|href)="(/static/[^"]+)"', page))
    assert len(named) > 6
    css = Path(pinbox.__file__).parents[1] / "pinbox_site/static/pinbox/admin.css"
    named.update(
        f"{settings.STATIC_URL}pinbox/{name}"
        for name in re.findall(r'url\("([^"]+)"\)', css.read_text())
    )
    assert {path: request(app, path=path).status for path in named} == dict.fromkeys(named, 200)
