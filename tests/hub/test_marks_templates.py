"""Source marks in real templates of Django and Jinja2: the right line, and no other change."""

import asyncio
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django.contrib.admin
import jinja2
import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django.template import (
    Context,
    Engine,
    Library,
    RequestContext,
    TemplateDoesNotExist,
    TemplateSyntaxError,
)
from django.template import engines as configured_engines
from django.test import Client, RequestFactory, override_settings
from django.urls import path

from pinbox import marks
from pinbox.marks import Files, Page, marking

MARKED = re.compile(r"<([a-z0-9-]+) data-pb-source=([^ >]+)")


def marked_in(text: str) -> list[tuple[str, str]]:
    """Name and mark of each marked element, in order."""
    return MARKED.findall(text)


def plain(text: str) -> str:
    return marks.strip(text.encode()).decode()


class Templates:
    """A folder of templates, rendered with and without marks."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            target = self.root / (name.replace("__", "/") + ".html")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

    def engine(self, **libraries: str) -> Engine:
        names = ("i18n", "l10n", "tz", "cache")
        found = {name: f"django.templatetags.{name}" for name in names}
        return Engine(dirs=[self.root], debug=True, libraries=found | libraries)

    def django(self, name: str, request: HttpRequest | None = None, **values: Any) -> str:
        """The page with marks, after making sure that it is otherwise the page without."""
        request = request or RequestFactory().get("/")
        without = self.engine().get_template(name).render(RequestContext(request, values))
        engine = self.engine()
        marks.mark_django(engine, Files(self.root))
        with marking(Page()):
            page = engine.get_template(name).render(RequestContext(request, values))
            again = engine.get_template(name).render(RequestContext(request, values))
        off = engine.get_template(name).render(RequestContext(request, values))
        assert page == again
        assert plain(page) == without == off
        return page

    def jinja(self, name: str, *, options: dict[str, Any] | None = None, **values: Any) -> str:
        loader = jinja2.FileSystemLoader(self.root)
        given: dict[str, Any] = {"autoescape": True, **(options or {})}
        without = jinja2.Environment(loader=loader, **given).get_template(name).render(values)
        environment = jinja2.Environment(loader=loader, **given)
        marks.mark_jinja(environment, Files(self.root))
        with marking(Page()):
            page = environment.get_template(name).render(values)
            again = environment.get_template(name).render(values)
        off = environment.get_template(name).render(values)
        assert page == again
        assert plain(page) == without == off
        return page


@pytest.fixture
def templates(tmp_path: Path) -> Templates:
    return Templates(tmp_path)


# --- what both languages write in the same way --------------------------------------------------


@pytest.fixture(params=["django", "jinja"])
def render(request, templates: Templates):
    return getattr(templates, request.param)


def test_a_child_s_blocks_and_its_parent_s_frame_are_told_apart(templates, render):
    templates.write(
        base='<html>\n<body class="{% block look %}{% endblock %}">\n<main>'
        "{% block main %}{% endblock %}</main></body></html>",
        page='{% extends "base.html" %}\n{% block look %}dark{% endblock %}\n'
        "{% block main %}\n<h1>{{ title }}</h1>{% endblock %}\n<p>never shown</p>",
    )
    assert marked_in(render("page.html", title="<x>")) == [
        ("body", "base.html:2"),
        ("main", "base.html:3"),
        ("h1", "page.html:4"),
    ]


def test_what_a_block_adds_to_its_parent_s_keeps_the_parent_s_lines(templates, render):
    is_django = render.__name__ == "django"
    above = "{{ block.super }}" if is_django else "{{ super() }}"
    templates.write(
        base="\n<ul>{% block items %}<li>one</li>{% endblock %}</ul>",
        page='{% extends "base.html" %}\n{% block items %}'
        + above
        + "\n<li>two</li>{% endblock %}",
    )
    assert marked_in(render("page.html")) == [
        ("ul", "base.html:2"),
        ("li", "base.html:2"),
        ("li", "page.html:3"),
    ]


def test_an_included_template_and_a_loop_s_body_have_their_own_lines(templates, render):
    templates.write(
        page="<ul>{% for item in items %}\n"
        '{% include "parts/item.html" %}{% endfor %}\n</ul>{% if items %}<b>some</b>'
        "{% else %}<i>none</i>{% endif %}",
        parts__item="\n<li>{{ item }}</li>",
    )
    assert marked_in(render("page.html", items=["a", "b"])) == [
        ("ul", "page.html:1"),
        ("li", "parts/item.html:2"),
        ("li", "parts/item.html:2"),
        ("b", "page.html:3"),
    ]
    assert marked_in(render("page.html", items=[]))[-1] == ("i", "page.html:3")


def test_a_tag_that_conditions_cut_is_marked_once_and_stays_whole(templates, render):
    templates.write(
        page='<div {% if a %}class="x > <b>"{% else %}title=\'"<i>\'{% endif %} id={{ id }}>\n'
        '<a href="{% if a %}<u>{% endif %}">{{ id }}</a><p>'
    )
    for a in (True, False):
        assert marked_in(render("page.html", a=a, id=7)) == [
            ("div", "page.html:1"),
            ("a", "page.html:2"),
            ("p", "page.html:2"),
        ]


def test_text_in_scripts_is_not_marked_wherever_it_comes_from(templates, render):
    templates.write(
        base="<script>{% block script %}{% endblock %}</script>"
        "<style>{% block look %}{% endblock %}</style><!-- {% block note %}{% endblock %} -->"
        "<p title='{% block title %}{% endblock %}'>",
        page='{% extends "base.html" %}{% block script %}let a = "<b>{% include "part.html" %}"'
        "{% endblock %}{% block look %}<b>{% endblock %}{% block note %}<b>{% endblock %}"
        "{% block title %}<b>{% endblock %}",
        part="<em>",
    )
    assert marked_in(render("page.html")) == [("p", "base.html:1")]


def test_values_are_not_marked_and_do_not_confuse(templates, render):
    templates.write(page="<p>{{ text }}</p>\n<b>{{ text }}</b>")
    page = render("page.html", text='<a href="')
    assert marked_in(page) == [("p", "page.html:1"), ("b", "page.html:2")]


def test_what_a_filter_gets_is_not_marked(templates, render):
    name = "force_escape" if render.__name__ == "django" else "forceescape"
    templates.write(
        page=f"{{% filter {name} %}}<b>{{% include 'part.html' %}}</b>{{% endfilter %}}<p>",
        part="<em>",
    )
    page = render("page.html")
    assert page.startswith("&lt;b&gt;&lt;em&gt;")
    assert marked_in(page) == [("p", "page.html:1")]


def test_a_macro_s_markup_that_is_filtered_is_not_marked(templates):
    templates.write(
        page="{% macro m() %}<b title='-'>{% endmacro %}<i>{{ m()|replace('-', '+') }}</i>"
        "<u>{{ m()|length }}</u><s>{{ m()|trim|upper }}</s><p>{{ m()|trim|safe }}</p>"
    )
    assert marked_in(templates.jinja("page.html")) == [
        (name, "page.html:1") for name in ("i", "u", "s", "p", "b")
    ]


def test_a_broken_page_stays_as_broken_as_it_was(templates, render):
    templates.write(page="</p><<p><a <b> c=\"d'>{{ x }}<!-- <i {{ x }} </title>")
    render("page.html", x="'")


# --- Django ---------------------------------------------------------------------------------------


def test_every_block_tag_that_puts_out_what_it_holds_is_marked(templates):
    templates.write(
        page="{% load i18n l10n tz cache %}\n{% with a=1 %}<i>{% endwith %}"
        "{% autoescape off %}<i>{% endautoescape %}{% spaceless %}<i> </i>{% endspaceless %}"
        "{% language 'de' %}<i>{% endlanguage %}{% localize on %}<i>{% endlocalize %}"
        "{% timezone 'UTC' %}<i>{% endtimezone %}{% ifchanged %}<i>{% endifchanged %}"
        "{% for a in x %}{% empty %}<i>{% endfor %}"
    )
    assert marked_in(templates.django("page.html", x=[])) == [("i", "page.html:2")] * 8


@pytest.mark.skipif(django.VERSION < (6, 0), reason="partials came with Django 6.0")
def test_a_partial_has_the_lines_it_is_written_on(templates):
    templates.write(
        page="{% partialdef row inline %}\n<b>{{ a }}</b>{% endpartialdef %}<p>\n{% partial row %}"
    )
    assert marked_in(templates.django("page.html", a=1)) == [
        ("b", "page.html:2"),
        ("p", "page.html:2"),
        ("b", "page.html:2"),
    ]
    assert marked_in(templates.django("page.html#row", a=1)) == [("b", "page.html:2")]


def test_translated_texts_keep_their_names(templates):
    templates.write(
        page="{% load i18n %}{% blocktranslate with a=1 %}<b>{{ a }}</b>{% endblocktranslate %}"
        "{% translate '<b>' %}{% verbatim %}<u>{{ x }}</u>{% endverbatim %}{% comment %}<p>"
        "{% endcomment %}{# <p> #}<i>"
    )
    assert marked_in(templates.django("page.html")) == [("i", "page.html:1")]


def test_what_is_kept_in_a_cache_is_not_marked(templates):
    templates.write(
        page="{% load cache %}{% cache 60 marks %}<b>{% include 'part.html' %}{% endcache %}<i>",
        part="<u>",
    )
    assert marked_in(templates.django("page.html")) == [("i", "page.html:1")]


def test_a_template_rendered_without_a_request_is_not_marked(templates):
    """Letters are; and what is rendered by a task or a command."""
    templates.write(page="<p>")
    engine = templates.engine()
    marks.mark_django(engine, Files(templates.root))
    with marking(Page()) as _:
        assert engine.get_template("page.html").render(Context()) == "<p>"
    request = RequestContext(RequestFactory().get("/"))
    assert engine.get_template("page.html").render(request) == "<p>"


def test_a_template_of_a_package_is_not_marked_but_the_project_s_blocks_in_it_are(templates):
    templates.write(
        **{
            "site-packages__base": "<body><script>{% block js %}{% endblock %}</script>"
            "{% block main %}{% endblock %}"
        },
        page='{% extends "site-packages/base.html" %}{% block js %}"<b>"{% endblock %}'
        "{% block main %}<p>{% endblock %}",
    )
    assert marked_in(templates.django("page.html")) == [("p", "page.html:1")]


def test_inclusion_tags_of_the_project_have_their_own_lines(templates):
    templates.write(page="{% load own %}\n<p>{% part %}</p>", part="\n\n<em>{{ n }}</em>")
    library = Library()
    library.inclusion_tag("part.html")(part)
    module = types.ModuleType("marks_own_tags")
    module.register = library  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    try:
        engine = templates.engine(own=module.__name__)
        marks.mark_django(engine, Files(templates.root))
        with marking(Page()):
            page = engine.get_template("page.html").render(
                RequestContext(RequestFactory().get("/"))
            )
    finally:
        del sys.modules[module.__name__]
    assert marked_in(page) == [("p", "page.html:2"), ("em", "part.html:3")]


def part():
    return {"n": 1}


def test_marking_an_engine_twice_marks_once(templates):
    templates.write(page="<p>")
    engine = templates.engine()
    for _ in range(2):
        marks.mark_django(engine, Files(templates.root))
    with marking(Page()):
        page = engine.get_template("page.html").render(RequestContext(RequestFactory().get("/")))
    assert page == "<p data-pb-source=page.html:1>"


def test_an_error_in_a_template_says_the_same_as_without_marks(templates):
    templates.write(page="<p>\n{% nothing %}", late="<p>\n{% include nothing %}")
    engine = templates.engine()
    marks.mark_django(engine, Files(templates.root))
    with pytest.raises(TemplateSyntaxError) as raised:
        engine.get_template("page.html")
    assert raised.value.template_debug["line"] == 2
    with marking(Page()), pytest.raises(TemplateDoesNotExist) as late:
        engine.get_template("late.html").render(RequestContext(RequestFactory().get("/")))
    assert late.value.template_debug["line"] == 2  # type: ignore[attr-defined]


# --- Django's own admin, as the largest set of templates everybody has ----------------------------

SITE = admin.AdminSite(name="marks")
SITE.register([User, Group])
urlpatterns = [path("admin/", SITE.urls)]

ADMIN_PAGES = (
    "/admin/",
    "/admin/auth/",
    "/admin/auth/user/",
    "/admin/auth/user/?q=ada&o=2",
    "/admin/auth/user/add/",
    "/admin/auth/user/{id}/change/",
    "/admin/auth/user/{id}/history/",
    "/admin/auth/user/{id}/delete/",
    "/admin/auth/user/{id}/password/",
    "/admin/auth/group/add/",
    "/admin/password_change/",
    "/admin/nothing/",
)


@pytest.fixture
def admin_marked() -> Iterator[None]:
    """The admin's templates as if they were the project's own."""
    engine = configured_engines["django"].engine
    marks.mark_django(engine, Files(Path(django.contrib.admin.__file__).parent))
    yield
    del engine.find_template
    for loader in engine.template_loaders:
        loader.reset()


def timeless(page):
    """A form for a new user offers this very second as its date of joining."""
    return re.sub(rb"\d\d:\d\d:\d\d", b"time", page)


@pytest.mark.django_db
@override_settings(
    ROOT_URLCONF=__name__,
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
)
def test_every_page_of_the_admin_is_the_same_byte_for_byte_without_its_marks(
    admin_marked, monkeypatch
):
    monkeypatch.setattr("django.template.context_processors.get_token", lambda request: "token")
    user = User.objects.create_superuser("ada", "ada@shop.example", "secret")
    browser = Client()
    browser.force_login(user)
    seen = set()
    for address in ADMIN_PAGES:
        address = address.format(id=user.pk)
        without = browser.get(address)
        page = Page()
        with marking(page):
            answer = browser.get(address)
        assert answer.status_code == without.status_code
        assert timeless(marks.strip(answer.content)) == timeless(without.content), address
        found = marked_in(answer.content.decode())
        assert page.is_marked is bool(found)
        seen |= {mark.partition(":")[0] for _, mark in found}
        for name, mark in found:
            file, _, line = mark.partition(":")
            source = Path(django.contrib.admin.__file__).parent / file
            assert f"<{name}" in source.read_text().splitlines()[int(line) - 1], mark
    assert len(seen) > 15, seen


# --- Jinja2 ---------------------------------------------------------------------------------------


def test_a_macro_s_elements_have_the_lines_of_the_macro(templates):
    templates.write(
        forms="\n{% macro field(name) %}\n<label>{{ name }}{{ caller() if caller }}</label>"
        "{% endmacro %}",
        page='{% from "forms.html" import field %}{% import "forms.html" as forms with context %}\n'
        "<form>{{ field('a') }}\n{% call forms.field('b') %}<em>!</em>{% endcall %}</form>",
    )
    assert marked_in(templates.jinja("page.html")) == [
        ("form", "page.html:2"),
        ("label", "forms.html:3"),
        ("label", "forms.html:3"),
        ("em", "page.html:3"),
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"trim_blocks": True, "lstrip_blocks": True},
        {"trim_blocks": True, "keep_trailing_newline": True},
        {"line_statement_prefix": "%%", "line_comment_prefix": "##"},
        {"newline_sequence": "\r\n"},
        {"autoescape": False},
        {"optimized": False},
        {"enable_async": True},
        {"finalize": lambda value: f"({str(value).upper()})"},
        {"finalize": jinja2.pass_context(lambda _, value: f"({value})")},
        {"extensions": ["jinja2.ext.do", "jinja2.ext.loopcontrols", "jinja2.ext.i18n"]},
    ],
    ids=lambda options: next(iter(options)),
)
def test_lines_are_right_whatever_an_environment_does_to_space(templates, options):
    templates.write(
        page="<h1>\n"
        "  {%- if a -%}\n"
        "  <p>\n"
        "  {%- endif %}\n"
        "  {% for x in [1, 2] %}\n"
        "    <i>{{ x }}</i>\n"
        "  {% endfor %}\n"
        "  {% raw %}<b>{{ raw }}</b>{% endraw %}\n"
        "  {# <!-- \n #}\n"
        "<u>\n"
    )
    assert marked_in(templates.jinja("page.html", options=options, a=True)) == [
        ("h1", "page.html:1"),
        ("p", "page.html:3"),
        ("i", "page.html:6"),
        ("i", "page.html:6"),
        ("b", "page.html:8"),
        ("u", "page.html:11"),
    ]


def test_translated_and_captured_texts_are_left_alone(templates):
    templates.write(
        page="{% trans %}<b>one</b>{% endtrans %}{% set x %}<i>two</i>{% endset %}"
        "<p title='{{ x|striptags }}'>{{ x }}"
    )
    options = {"extensions": ["jinja2.ext.i18n"]}

    def null_translations(environment: Any) -> None:
        environment.install_null_translations()

    loader = jinja2.FileSystemLoader(templates.root)
    pages = []
    for is_marked in (False, True):
        environment = jinja2.Environment(loader=loader, autoescape=True, **options)
        null_translations(environment)
        if is_marked:
            marks.mark_jinja(environment, Files(templates.root))
        with marking(Page()):
            pages.append(environment.get_template("page.html").render())
    assert plain(pages[1]) == pages[0]
    assert marked_in(pages[1]) == [("p", "page.html:1")]


def test_the_block_of_an_extension_is_left_alone(templates):
    from jinja2 import nodes
    from jinja2.ext import Extension

    class Shout(Extension):
        tags = {"shout"}

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endshout",), drop_needle=True)
            return nodes.CallBlock(self.call_method("_shout"), [], [], body).set_lineno(line)

        def _shout(self, caller):
            return caller().upper()

    templates.write(page="{% shout %}<b>a</b>{% endshout %}<p>")
    page = templates.jinja("page.html", options={"extensions": [Shout]})
    assert page.startswith("<B>A</B>")
    assert marked_in(page) == [("p", "page.html:1")]


def test_pages_made_at_the_same_time_do_not_mix_their_places(templates):
    templates.write(
        script="<script>{% for i in range(50) %}{{ wait() }}'<b>'{% endfor %}</script><p>",
        text="{% for i in range(50) %}{{ wait() }}<b>{% endfor %}",
    )
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates.root), enable_async=True, autoescape=True
    )
    marks.mark_jinja(environment, Files(templates.root))

    async def wait() -> str:
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        loop.call_soon(turn.set_result, "")  # the other page has its turn
        return await turn

    async def both() -> list[str]:
        return await asyncio.gather(
            *(environment.get_template(f"{n}.html").render_async(wait=wait) for n in names)
        )

    names = ("script", "text")
    with marking(Page()):
        script, text = asyncio.run(both())
    assert marked_in(script) == [("p", "script.html:1")]
    assert len(marked_in(text)) == 50


def test_a_template_that_another_one_renders_for_itself_starts_anew(templates):
    templates.write(outer="<script>{{ inner() }}'<b>'</script><p>", inner="<i>")
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(templates.root))
    marks.mark_jinja(environment, Files(templates.root))
    inner = environment.get_template("inner.html").render
    with marking(Page()):
        page = environment.get_template("outer.html").render(inner=inner)
    assert marked_in(page) == [("i", "inner.html:1"), ("p", "outer.html:1")]


def test_a_stream_of_parts_is_not_marked(templates):
    templates.write(page="<p>")
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(templates.root))
    marks.mark_jinja(environment, Files(templates.root))
    with marking(Page()):
        assert "".join(environment.get_template("page.html").generate()) == "<p>"


def test_compiled_templates_on_disk_are_neither_written_nor_read(templates, tmp_path):
    templates.write(page="<p>")
    cache = jinja2.FileSystemBytecodeCache(str(tmp_path))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates.root), bytecode_cache=cache
    )
    marks.mark_jinja(environment, Files(templates.root))
    environment.get_template("page.html").render()
    assert list(tmp_path.glob("__jinja2_*")) == []


def test_an_environment_of_values_instead_of_text_is_left_alone():
    from jinja2.nativetypes import NativeEnvironment

    environment = NativeEnvironment()
    marks.mark_jinja(environment, Files("/"))
    assert environment.template_class is NativeEnvironment.template_class
