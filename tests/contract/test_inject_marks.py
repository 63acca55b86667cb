"""Source marks in the answers of real apps: in pages with a toolbar and in their parts only."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pinbox import marks
from pinbox.inject import AsgiMiddleware, add_to_flask
from pinbox.project import HubState, read_hub

from . import web
from .cli_project import Project
from .inject_apps import django_settings
from .web import Site

# Django looks at its connections around a request.
pytestmark = pytest.mark.django_db

BASE = "<!doctype html><title>Shop</title><body>{% block main %}{% endblock %}</body>"
PAGE = '{% extends "base.html" %}\n{% block main %}\n<h1>{{ title }}</h1>{% endblock %}'
PART = "<li>one</li>"
PLAIN_PAGE = b"<!doctype html><title>Shop</title><body>\n<h1>&lt;Cart&gt;</h1></body>"
H1 = b"<h1 data-pb-source=templates/page.html:3>"
LI = b"<li data-pb-source=templates/part.html:1>one</li>"

#: path -> template, headers.
ANSWERS: dict[str, tuple[str, dict[str, str]]] = {
    "/": ("page.html", {}),
    "/part": ("part.html", {}),
    "/json": ("part.html", {"Content-Type": "application/json"}),
    "/text": ("part.html", {"Content-Type": "text/plain"}),
    "/feed": ("part.html", {"Content-Type": "application/xml"}),
    "/file": ("page.html", {"Content-Disposition": "attachment"}),
    "/forbidden": ("page.html", {"Content-Security-Policy": "script-src 'none'"}),
}
VALUES = {"title": "<Cart>"}
ENGINE = "django.template.backends.django.DjangoTemplates"


@contextlib.contextmanager
def django(folder: Path, backend: str = ENGINE) -> Iterator[Site]:
    from django.core.handlers.wsgi import WSGIHandler
    from django.shortcuts import render
    from django.urls import re_path

    def view(request: Any) -> Any:
        template, headers = ANSWERS[request.path]
        response = render(request, template, dict(VALUES))
        for name, value in headers.items():
            response[name] = value
        response["Content-Length"] = str(len(response.content))
        return response

    templates = [{"BACKEND": backend, "DIRS": [folder / "templates"]}]
    urls = (re_path("", view),)
    with (
        django_settings(folder, TEMPLATES=templates, ROOT_URLCONF=urls),
        web.wsgi(WSGIHandler()) as site,
    ):
        yield site


def django_jinja(folder: Path) -> Any:
    return django(folder, "django.template.backends.jinja2.Jinja2")


@contextlib.contextmanager
def flask(folder: Path) -> Iterator[Site]:
    from flask import Flask, make_response, render_template, request

    app = Flask("shop", root_path=str(folder))
    app.debug = True
    add_to_flask(app)

    @app.get("/")
    @app.get("/<name>")
    def view(name: str = "") -> Any:
        template, headers = ANSWERS[request.path]
        response = make_response(render_template(template, **VALUES))
        response.headers.update(headers)
        return response

    with web.wsgi(app) as site:
        yield site


@contextlib.contextmanager
def starlette(folder: Path) -> Iterator[Site]:
    from starlette.applications import Starlette
    from starlette.routing import Route
    from starlette.templating import Jinja2Templates

    templates = Jinja2Templates(directory=folder / "templates")

    async def view(request: Any) -> Any:
        template, headers = ANSWERS[request.url.path]
        return templates.TemplateResponse(request, template, dict(VALUES), headers=headers)

    def in_a_thread(request: Any) -> Any:
        return templates.TemplateResponse(request, "page.html", dict(VALUES))

    routes = [Route("/thread", in_a_thread), Route("/{name:path}", view)]
    app = Starlette(debug=True, routes=routes)
    app.add_middleware(AsgiMiddleware, project=folder, templates=templates)
    with web.asgi(app) as site:
        yield site


SITES = {"django": django, "django-jinja": django_jinja, "flask": flask, "starlette": starlette}


@pytest.fixture(scope="module")
def hub(project: Project) -> HubState:
    (project.path / "templates").mkdir()
    for name, text in (("base", BASE), ("page", PAGE), ("part", PART)):
        (project.path / "templates" / f"{name}.html").write_text(text)
    project.data("summary")
    return read_hub(project.path)


@pytest.fixture(scope="module", params=SITES)
def site(request, project: Project, hub: HubState) -> Iterator[Site]:
    with SITES[request.param](project.path) as site:
        yield site


def test_a_page_with_the_toolbar_says_where_its_elements_were_written(site):
    answer = site.get("/")
    assert b"/toolbar/toolbar.js" in answer.body
    assert H1 in answer.body
    assert b"<body data-pb-source=templates/base.html:1>" in answer.body
    assert answer.header("content-length") == str(len(answer.body))
    assert marks.strip(answer.body).startswith(PLAIN_PAGE.removesuffix(b"</body>"))


@pytest.mark.parametrize("path", ["/part", "/json"])
def test_a_part_of_a_page_is_marked_too(site, path):
    answer = site.get(path, sec_fetch_dest="empty", sec_fetch_site="same-origin")
    assert answer.body == LI
    assert answer.header("content-length") == str(len(LI))


@pytest.mark.parametrize("path", ["/text", "/feed", "/file", "/forbidden"])
def test_what_goes_into_no_page_with_a_toolbar_is_not_marked(site, path):
    answer = site.get(path)
    plain = PART.encode() if ANSWERS[path][0] == "part.html" else PLAIN_PAGE
    assert answer.body == plain
    assert answer.header("content-length") == str(len(plain))


@pytest.mark.parametrize("headers", [{"host": "shop.example"}, {"x_real_ip": "203.0.113.9"}])
def test_a_page_for_somebody_else_is_not_marked(site, headers):
    assert site.get("/", **headers).body == PLAIN_PAGE


def test_a_page_made_in_a_thread_is_marked(project, hub):
    with SITES["starlette"](project.path) as site:
        assert H1 in site.get("/thread").body


@pytest.mark.parametrize("kind", SITES)
def test_marks_can_be_turned_off_alone(kind, project, hub, monkeypatch):
    monkeypatch.setenv("PINBOX_MARKS", "0")
    with SITES[kind](project.path) as site:
        body = site.get("/").body
    assert b"/toolbar/toolbar.js" in body
    assert b"data-pb-source" not in body


@pytest.mark.parametrize("kind", SITES)
def test_in_production_no_template_is_touched(kind, project, hub, monkeypatch):
    """Not even prepared: the functions that would do it are not called."""
    monkeypatch.setenv("PINBOX_INJECT", "0")
    monkeypatch.setattr(marks, "mark_django", None)
    monkeypatch.setattr(marks, "mark_jinja", None)
    with SITES[kind](project.path) as site:
        assert site.get("/").body == PLAIN_PAGE


def test_an_app_in_a_linked_worktree_names_its_files_from_there(project, hub, tmp_path):
    import subprocess

    tree = tmp_path / "tree"
    git = ["git", "-C", str(project.path)]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], check=True)
    (tree / "templates").mkdir()
    for name, text in (("base", BASE), ("page", PAGE), ("part", PART)):
        (tree / "templates" / f"{name}.html").write_text(text)
    with SITES["flask"](tree) as site:
        body = site.get("/").body
    assert H1 in body
    assert hub.page_token.encode() in body


def test_a_page_without_a_hub_is_not_marked(tmp_path, monkeypatch):
    (tmp_path / "home").write_text("a file, where a folder is needed")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "shop"
    (folder / "templates").mkdir(parents=True)
    (folder / "templates" / "page.html").write_text(PAGE)
    (folder / "templates" / "base.html").write_text(BASE)
    with SITES["flask"](folder) as site:
        assert site.get("/").body == PLAIN_PAGE
