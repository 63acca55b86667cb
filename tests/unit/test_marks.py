"""Source marks in a text of HTML: where they stand, and that nothing else changes."""

import html.parser
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinbox import marks
from pinbox.markup import START, State

FILE = "templates/a.html"


def mark(*pieces: str, file: str = FILE, line: int = 1) -> str:
    state, parts = START, []
    for piece in pieces:
        part, state = marks.marked(piece, state, file, line)
        parts.append(part)
    return "".join(parts)


def test_each_tag_says_the_line_it_stands_on():
    assert mark("<p>a</p>\n\n<b\n class=x>\n<i>", line=7) == (
        "<p data-pb-source=templates/a.html:7>a</p>\n\n"
        "<b data-pb-source=templates/a.html:9\n class=x>\n"
        "<i data-pb-source=templates/a.html:11>"
    )


@pytest.mark.parametrize(
    "text",
    [
        "<!doctype html><html><head><title><p></title><meta charset=utf-8></head>",
        "<script>let a = '<p>'</script><style>p > b {}</style>",
        "<!-- <p> -->",
        "<br/><hr/><img/>",
        "</p>",
        "&lt;p&gt; 1 < 2",
        "<script type=text/template><p></script>",
        "<noscript><p></noscript><template></template>",
        "no tag at all",
        "",
    ],
)
def test_what_nobody_can_point_at_is_not_marked(text):
    assert mark(text) == text


def test_a_text_field_is_marked_and_its_text_is_not():
    assert mark("<textarea><p></textarea>") == f"<textarea data-pb-source={FILE}:1><p></textarea>"


def test_a_drawing_is_marked_once_and_not_its_strokes():
    assert mark("<svg class=x><path d='M0'/><g></g></svg><p>").count("data-pb-source") == 2


def test_a_tag_that_a_variable_or_a_block_cuts_is_marked_where_its_name_is_whole():
    assert mark("<div ", "class=x", ">") == f"<div data-pb-source={FILE}:1 class=x>"
    for pieces in (["<h", " class=x>"], ["<", " class=x>"], ["<div", ">"]):
        assert mark(*pieces) == "".join(pieces)


@pytest.mark.parametrize("quote", ['"', "'"])
def test_text_inside_an_attribute_is_left_alone(quote):
    pieces = (f"<a title={quote}", "<b>", quote, ">", "<i>")
    assert mark(*pieces) == (
        f"<a data-pb-source={FILE}:1 title={quote}<b>{quote}><i data-pb-source={FILE}:1>"
    )


def test_a_template_without_a_name_only_moves_on():
    assert marks.marked("<script>", START, "", 1) == ("<script>", State("raw", "script"))


# --- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("templates/checkout.html", "templates/checkout.html"),
        ("shop/templates/shop/a.htm", "shop/templates/shop/a.htm"),
        ("t/page.html.j2", "t/page.html.j2"),
        ("t/page.jinja", "t/page.jinja"),
        ("t/page.jinja2", "t/page.jinja2"),
        ("account/email.html", "account/email.html"),
        ("t/mit Leerzeichen/ä.html", "t/mit%20Leerzeichen/%C3%A4.html"),
        ("t/a=b'\">`&.html", "t/a%3Db%27%22%3E%60%26.html"),
        ("t/robots.txt", ""),
        ("t/feed.xml", ""),
        ("t/app.js", ""),
        ("t/icon.svg", ""),
        ("t/mail.txt.j2", ""),
        ("t/nginx.conf.jinja", ""),
        ("account/email/welcome.html", ""),
        ("venv/lib/python3.11/site-packages/x/templates/x.html", ""),
        ("../other/a.html", ""),
    ],
)
def test_what_becomes_html_and_is_of_the_project_has_a_name(tmp_path, path, name):
    assert marks.Files(tmp_path).name(os.path.join(tmp_path, path)) == name


@pytest.mark.parametrize("path", [None, "", "<template>", "a.html", "<unknown source>"])
def test_a_template_that_is_no_file_has_none(tmp_path, path):
    assert marks.Files(tmp_path).name(path) == ""


def test_a_file_named_from_the_current_directory_has_a_name(tmp_path, monkeypatch):
    """As `Jinja2Templates(directory="templates")` names them."""
    (tmp_path / "shop" / "templates").mkdir(parents=True)
    (tmp_path / "shop" / "templates" / "a.html").touch()
    monkeypatch.chdir(tmp_path / "shop")
    assert marks.Files(tmp_path).name("templates/a.html") == "shop/templates/a.html"


def test_a_project_behind_a_link_is_the_same_project(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert marks.Files(tmp_path / "real").name(str(tmp_path / "link" / "a.html")) == "a.html"
    assert marks.Files(tmp_path / "link").name(str(tmp_path / "real" / "a.html")) == "a.html"


# --- properties -------------------------------------------------------------------------------

SCRAPS = st.sampled_from(
    [*"<>/='\"! -\n", "<!--", "-->", "<script", "</script", "<svg", "</svg>", "<p", "a", "<p>", "é"]
)
PIECES = st.lists(st.lists(SCRAPS, max_size=12).map("".join), max_size=8)


@given(PIECES)
def test_without_its_marks_any_text_is_what_it_was(pieces):
    assert marks.strip(mark(*pieces).encode()) == "".join(pieces).encode()


@given(PIECES)
def test_marks_change_nothing_of_what_follows_them(pieces):
    """The state after a piece is the same, so that the next one is read in the same way."""
    state = START
    for piece in pieces:
        text, after = marks.marked(piece, state, FILE, 1)
        assert marks.marked(text, state, "", 1)[1] == after
        state = after


class Reader(html.parser.HTMLParser):
    """What a parser that is not ours finds; marks apart."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[tuple] = []
        self.marked: list[str] = []

    def handle_starttag(self, tag, attrs):
        if any(name == marks.ATTRIBUTE for name, _ in attrs):
            self.marked.append(tag)
        self.found.append((tag, [pair for pair in attrs if pair[0] != marks.ATTRIBUTE]))

    def handle_endtag(self, tag):
        self.found.append(("/", tag))

    def handle_data(self, data):
        self.found.append(("text", data))

    def handle_comment(self, data):
        self.found.append(("comment", data))


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    return reader


WORDS = st.sampled_from(["a", "<b>", "x > y", "</p>", "-", "'", "{}", "  ", "\n"])
VALUES = st.lists(WORDS, max_size=3).map("".join)
ATTRIBUTES = st.lists(
    st.one_of(
        st.tuples(st.just('{}="{}"'), VALUES.map(lambda v: v.replace('"', ""))),
        st.tuples(st.just("{}='{}'"), VALUES.map(lambda v: v.replace("'", ""))),
        st.tuples(st.just("{}=x"), st.just("")),
        st.tuples(st.just("{}"), st.just("")),
    ),
    max_size=3,
).map(lambda pairs: "".join(f" {p.format(f'k{i}', v)}" for i, (p, v) in enumerate(pairs)))


def element(children):
    name = st.sampled_from(["p", "div", "a", "li", "my-part", "H1"])
    return st.builds(
        lambda n, a, c: f"<{n}{a}>{''.join(c)}</{n}>",
        name,
        ATTRIBUTES,
        st.lists(children, max_size=3),
    )


LEAVES = st.one_of(
    st.sampled_from(["text", " ", "\n", "&amp;", "<br>", "<img src='a'>", "<input>"]),
    VALUES.filter(lambda v: "--" not in v and not v.endswith("-")).map(lambda v: f"<!-- {v} -->"),
    VALUES.map(lambda v: f"<script>{v}</script>"),
    VALUES.map(lambda v: f"<style>{v}</style>"),
)


@given(st.recursive(LEAVES, element, max_leaves=20), st.data())
def test_another_parser_reads_the_same_page_and_every_visible_element_marked(text, data):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=3)))
    whole = read(mark(text))
    assert whole.found == read(text).found
    invisible = ("br", "script", "style")
    expected = [tag for tag, *_ in read(text).found if tag not in ("/", "text", "comment")]
    assert whole.marked == [tag for tag in expected if tag not in invisible]
    bounds = [0, *cuts, len(text)]
    pieces = [text[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]
    assert marks.strip(mark(*pieces).encode()) == text.encode()
