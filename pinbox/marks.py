"""Source marks: elements of a page that say which line of which template they were written on.

    <li class="total">  becomes  <li data-pb-source=templates/checkout.html:42 class="total">

While a page of an app under development is rendered, each tag that stands in a template's own text
gets the attribute, with the file and line of that text. Where a tag really is one is known from all
of the output so far, across variables, blocks, includes and inheritance: nothing is written into a
script, a comment or another attribute. Taking the marks out again gives the very same text.

A value has no quotes, spaces or other signs that end something, so a marked tag is harmless even
where a template puts captured markup into a string. Standard library only; Django and Jinja2 are
imported by the functions that mark their templates.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Iterator
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from .markup import START, State, walk

if TYPE_CHECKING:
    from django.template import Engine
    from jinja2 import Environment

logger = logging.getLogger("pinbox.inject")

ATTRIBUTE: Final = "data-pb-source"
_MARK: Final = re.compile(rb" data-pb-source=[A-Za-z0-9._~/%-]+:[0-9]+(?=[ \t\n\r\f>])")
#: Not to be pointed at, or read by other programs of the page; and what stands in a <head>.
_UNMARKED: Final = frozenset(
    ("base", "br", "col", "frame", "frameset", "head", "html", "link", "meta", "noscript", "param")
    + ("script", "source", "style", "template", "title", "track", "wbr")
)
_PLAIN_NAME: Final = re.compile(r"[a-z][a-z0-9._:-]*\Z")
#: What a template is for is known from its name only.
_PAGES: Final = re.compile(
    r"(?:.*\.(?:x?html?|djhtml)(?:\.(?:j2|jinja2?))?|[^.]*\.(?:j2|jinja2?))\Z", re.IGNORECASE
)
#: Folders of templates that become letters, which no page shows.
_LETTERS: Final = frozenset(("email", "emails", "mail", "mails", "mailer", "newsletter"))
#: Filters of Jinja2 that leave the tags in a text as they are.
_KEEPING: Final = frozenset(("d", "default", "indent", "safe", "trim"))
_INSTALLED: Final = frozenset(("site-packages", "dist-packages", "node_modules"))


# --- while a page is made ---------------------------------------------------------------------


class Page:
    """An answer under way whose templates are marked; `is_marked` once there is a mark in it."""

    def __init__(self) -> None:
        self.is_marked = False


class _Output:
    """How far the output of one top-level template has come."""

    def __init__(self) -> None:
        self.state: State = START
        self.pauses = 0


_page: ContextVar[Page | None] = ContextVar("pinbox_page", default=None)
#: Of the Jinja2 template being rendered; a Django one is kept with its context.
_output: ContextVar[_Output | None] = ContextVar("pinbox_output", default=None)


@contextlib.contextmanager
def marking(page: Page) -> Iterator[None]:
    """What is rendered inside is marked, where its templates can be; `page` says whether it was."""
    token = _page.set(page)
    try:
        yield
    finally:
        _page.reset(token)


def strip(content: bytes) -> bytes:
    """`content` as it would be without marks."""
    return _MARK.sub(b"", content)


@lru_cache(maxsize=4096)
def marked(text: str, state: State, file: str, line: int) -> tuple[str, State]:
    """`text`, of a template `file` that has its first character on `line`, with marks; and the
    state after it. `state` is that of the output before it. Without `file` there are no marks.
    """
    tags, after = walk(text, state)
    if not file:
        return text, after
    parts, done, line_start = [], 0, 0
    for tag in tags:
        line += text.count("\n", line_start, tag.start)
        line_start = tag.start
        is_pointless = tag.is_end or tag.in_foreign or tag.name in _UNMARKED
        # `<br/>`: the value would take the stroke in.
        if is_pointless or text[tag.name_end] == "/" or not _PLAIN_NAME.match(tag.name):
            continue
        parts += [text[done : tag.name_end], f" {ATTRIBUTE}={file}:{line}"]
        done = tag.name_end
    if not parts:
        return text, after
    return "".join([*parts, text[done:]]), after


class Files:
    """The templates of one project, by the names that marks give them."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.realpath(root)

    def name(self, path: str | None) -> str:
        """Name of the template at `path`, from the project's folder; empty when it is not marked.

        Only what is written in the project and becomes HTML is.
        """
        # A loader's folder may be relative; a template that is no file has a name all the same.
        if not path or not (os.path.isabs(path) or os.path.isfile(path)):
            return ""
        relative = os.path.relpath(os.path.realpath(path), self.root)
        *folders, last = relative.split(os.sep)
        if os.pardir in folders or not _PAGES.match(last):
            return ""
        if not _INSTALLED.isdisjoint(folders) or not _LETTERS.isdisjoint(folders):
            return ""
        # Signs that end an unquoted value, and letters that a page's charset may not have.
        return quote("/".join([*folders, last]), safe="/")


# --- Django -----------------------------------------------------------------------------------


def mark_django(engine: Engine, files: Files) -> None:
    """Mark the templates that `engine` finds from now on. May be called twice."""
    if "find_template" in vars(engine):
        return
    find_template = engine.find_template

    def find_and_mark(name: str, dirs: Any = None, skip: Any = None) -> Any:
        template, origin = find_template(name, dirs, skip)
        try:
            _mark_template(template, files)
        except Exception as error:
            logger.error("the template %s is not marked: %s", name, type(error).__name__)
            logger.debug("the template %s is not marked", name, exc_info=error)
        return template, origin

    engine.find_template = find_and_mark  # type: ignore[method-assign]
    for loader in engine.template_loaders:
        if hasattr(loader, "reset"):  # what is cached is not marked
            loader.reset()


def _mark_template(template: Any, files: Files) -> None:
    if getattr(template, "_pinbox_is_marked", False):
        return
    template._pinbox_is_marked = True
    # Those without a name as well: they say where in the output the others stand.
    _mark_nodes(template.nodelist, files.name(getattr(template.origin, "name", None)))


def _mark_nodes(nodes: Any, file: str) -> None:
    """Replace the texts in a list of nodes, and in those of the tags that put out what they hold as
    it is. Of other packages' tags nobody knows what they do with it.
    """
    from django.template.base import TextNode

    plain, altering = _plain_tags(), _altering_tags()
    for place, node in enumerate(nodes):
        if type(node) is TextNode:
            nodes[place] = _marked_node()(node, file)
        elif type(node) in plain:
            for found in _lists_of(node):
                _mark_nodes(found, file)
        elif isinstance(node, altering):
            node.render = _without_marks(node.render)


def _without_marks(render: Any) -> Any:
    def rendered(context: Any) -> Any:
        token = _page.set(None)
        try:
            return render(context)
        finally:
            _page.reset(token)

    return rendered


@lru_cache(maxsize=1)
def _altering_tags() -> Any:
    """Types of nodes that escape what they hold, or keep it for pages without marks."""
    from django.template.defaulttags import FilterNode
    from django.templatetags.cache import CacheNode

    return (FilterNode, CacheNode)


@lru_cache(maxsize=1)
def _plain_tags() -> frozenset[type]:
    from django.template import defaulttags, loader_tags
    from django.templatetags import i18n, l10n, tz

    found = {
        defaulttags.AutoEscapeControlNode,
        defaulttags.ForNode,
        defaulttags.IfChangedNode,
        defaulttags.IfNode,
        defaulttags.SpacelessNode,
        defaulttags.WithNode,
        loader_tags.BlockNode,
        loader_tags.ExtendsNode,
        i18n.LanguageNode,
        l10n.LocalizeNode,
        tz.LocalTimeNode,
        tz.TimezoneNode,
    }
    partial = getattr(defaulttags, "PartialDefNode", None)  # since Django 6.0
    return frozenset(found | {partial} if partial else found)


def _lists_of(node: Any) -> Iterator[Any]:
    if hasattr(node, "conditions_nodelists"):  # `if`, whose `nodelist` is a copy
        for _, found in node.conditions_nodelists:
            yield found
        return
    for name in ("nodelist", *node.child_nodelists):
        found = getattr(node, name, None)
        if isinstance(found, list):
            yield found


@lru_cache(maxsize=1)
def _marked_node() -> Any:
    from django.template.base import TextNode

    class MarkedTextNode(TextNode):
        """A template's text, which is marked while a page is rendered for a request.

        Letters and other texts are rendered without a request, or outside one.
        """

        def __init__(self, node: Any, file: str) -> None:
            super().__init__(node.s)
            self.__dict__.update(vars(node))
            self._file, self._line = file, node.token.lineno

        def render(self, context: Any) -> str:
            page = _page.get()
            if page is None or getattr(context, "request", None) is None:
                return self.s
            # An attribute of the context goes along to included templates.
            output = getattr(context, "_pinbox_output", None)
            if output is None:
                output = context._pinbox_output = _Output()
            return _put_out(page, output, self.s, self._file, self._line)

        render_annotated = render

    return MarkedTextNode


def _put_out(page: Page, output: _Output, text: str, file: str, line: int) -> str:
    found, output.state = marked(text, output.state, file, line)
    page.is_marked = page.is_marked or found is not text
    return found


# --- Jinja2 -----------------------------------------------------------------------------------


def mark_jinja(environment: Environment, files: Files) -> None:
    """Mark the templates that `environment` compiles from now on. May be called twice."""
    from jinja2 import nodes
    from jinja2.nativetypes import NativeEnvironment

    if hasattr(environment, "_pinbox_is_marked") or isinstance(environment, NativeEnvironment):
        return
    generator, template = environment.code_generator_class, environment.template_class

    class MarkingGenerator(generator):  # type: ignore[valid-type, misc]
        def visit_Template(self, node: Any, frame: Any = None) -> None:
            _mark_statements(node, files.name(self.filename), nodes)
            super().visit_Template(node, frame)

        # An environment's `finalize` is for values, and was never given a template's own text.

        def _output_child_pre(self, node: Any, frame: Any, finalize: Any) -> None:
            super()._output_child_pre(node, frame, _for_text(node, finalize))

        def _output_child_post(self, node: Any, frame: Any, finalize: Any) -> None:
            super()._output_child_post(node, frame, _for_text(node, finalize))

    class MarkedTemplate(template):  # type: ignore[valid-type, misc]
        def render(self, *args: Any, **kwargs: Any) -> str:
            with _top_level():
                return str(super().render(*args, **kwargs))

        async def render_async(self, *args: Any, **kwargs: Any) -> str:
            with _top_level():
                return str(await super().render_async(*args, **kwargs))

    environment.code_generator_class = MarkingGenerator
    environment.template_class = MarkedTemplate
    # Compiled templates in there would reach an environment without marks, and the other way round.
    environment.bytecode_cache = None
    if environment.cache is not None:
        environment.cache.clear()
    environment._pinbox_is_marked = True  # type: ignore[attr-defined]


@contextlib.contextmanager
def _top_level() -> Iterator[None]:
    """A template rendered for itself, not included by another one; a stream of parts is not one."""
    token = _output.set(_Output() if _page.get() is not None else None)
    try:
        yield
    finally:
        _output.reset(token)


def jinja_text(text: str, file: str, line: int) -> str:
    """Called by compiled templates in the place of their own texts."""
    page, output = _page.get(), _output.get()
    if page is None or output is None or output.pauses > 0:
        return text
    return _put_out(page, output, text, file, line)


def jinja_pause(is_begin: bool) -> str:
    """Called by compiled templates around what they will alter: there, nothing is marked."""
    output = _output.get()
    if output is not None:
        output.pauses += 1 if is_begin else -1
    return ""


def _mark_statements(node: Any, file: str, nodes: Any) -> None:
    """Replace the texts below `node`, but in what may be escaped, kept or counted by others."""
    if isinstance(node, nodes.FilterBlock):
        first, last = (nodes.Output([call], lineno=node.lineno) for call in _pause(node, nodes))
        node.body = [first, *node.body, last]
        return
    if isinstance(node, nodes.AssignBlock):
        return
    if isinstance(node, nodes.CallBlock) and not isinstance(
        node.call.node, nodes.Name | nodes.Getattr | nodes.Getitem
    ):
        return  # the block of an extension
    if isinstance(node, nodes.Output):
        parts: list[Any] = []
        for part in node.nodes:
            if isinstance(part, nodes.TemplateData):
                parts.append(_call_for(part, file, nodes))
            elif _filters_a_call(part, nodes):
                begin, end = _pause(part, nodes)
                parts += [begin, part, end]
            else:
                parts.append(part)
        node.nodes = parts
        return
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.Stmt):
            _mark_statements(child, file, nodes)


def _filters_a_call(node: Any, nodes: Any) -> bool:
    """Whether a filter may get the markup of a macro."""
    is_filter = isinstance(node, nodes.Filter) and node.name not in _KEEPING
    return is_filter and node.find(nodes.Call) is not None


def _pause(node: Any, nodes: Any) -> list[Any]:
    return [_call(jinja_pause, [is_begin], node.lineno, nodes) for is_begin in (True, False)]


def _call_for(data: Any, file: str, nodes: Any) -> Any:
    return _call(jinja_text, [data.data, file, data.lineno], data.lineno, nodes)


def _call(function: Any, values: list[Any], line: int, nodes: Any) -> Any:
    name = nodes.ImportedName(f"{__name__}.{function.__name__}", lineno=line)
    arguments = [nodes.Const(value, lineno=line) for value in values]
    call = nodes.Call(name, arguments, [], None, None, lineno=line)
    text = nodes.MarkSafe(call, lineno=line)
    text.is_of_pinbox = True
    return text


def _for_text(node: Any, finalize: Any) -> Any:
    return finalize._replace(src=None) if hasattr(node, "is_of_pinbox") else finalize
