"""Where tags are, by the rules of the HTML standard, in one piece and in many."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinbox import markup
from pinbox.markup import START, walk


def names(text: str) -> list[str]:
    tags, _ = walk(text)
    return [("/" if tag.is_end else "") + tag.name for tag in tags]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<p>a</p>", ["p", "/p"]),
        ("<a href=\"x>y\" title='<b>'>", ["a"]),
        ("<a href=x>y<b>", ["a", "b"]),
        ("<a href=<b> c>", ["a"]),
        ("<a =>x<b>", ["a", "b"]),
        ("<a b = 'c>' d>", ["a"]),
        ("<br/><hr />", ["br", "hr"]),
        ("<DIV\nCLASS=x></Div\t>", ["div", "/div"]),
        ("a < b <c", []),
        ("1<2 <3> </ x> <b>", ["b"]),
        ("<!doctype html><?php <b> ?><i>", ["i"]),
        ("<!-- <p> --><b>", ["b"]),
        ("<!--><p>--><b>", ["p", "b"]),
        ("<!---><p>", ["p"]),
        ("<!-- --!><p>", ["p"]),
        ("<script>'<p>' </script ><b>", ["script", "/script", "b"]),
        ("<script><!-- <script> </script> <p> --></script><b>", ["script", "/script", "b"]),
        ("<script><!-- </script><b>", ["script", "/script", "b"]),
        ("<script><!--> <script> </script><b>", ["script", "/script", "b"]),
        ("<SCRIPT>'</scripts><p>'</Script>", ["script", "/script"]),
        ("<textarea><p></textarea>", ["textarea", "/textarea"]),
        ("<title><p></title><style><p></style>", ["title", "/title", "style", "/style"]),
        ("<svg><title/><path d='M0'/></svg><p>", ["svg", "title", "path", "/svg", "p"]),
        ("<svg/><title><p>", ["svg", "title"]),
        ("<svg><![CDATA[<p>]]><g></svg>", ["svg", "g", "/svg"]),
        ("<![CDATA[<p>]]>", []),
        ("<plaintext><p></plaintext>", ["plaintext"]),
        ("<é><b>", ["b"]),
    ],
)
def test_tags_are_found_where_a_browser_finds_them(text, found):
    assert names(text) == found


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        (["<a href='", "'>", "<b>"], ["a", "b"]),
        (["<div ", "class=x>", "<p>"], ["div", "p"]),
        (["<div", ' class="<b>">', "<p>"], ["p"]),
        (["<", " class='<b>'>", "<p>"], ["p"]),
        (["</", "><p>"], ["p"]),
        (["<h", "><p>"], ["p"]),
        (["<script", " nonce='", "'>'<p>'</script>", "<p>"], ["/script", "p"]),
        (["<a href=", "><p>"], ["a", "p"]),
        (["<a href=", " title='<b>'>", "<p>"], ["a", "p"]),
        (["<a href=", "'<b>'>", "<p>"], ["a", "p"]),
        (["<a href=", "/x/'<b>"], ["a"]),
        (["<!-- ", " <p> ", "--><b>"], ["b"]),
        (["<script>", "'<p>'", "</script><b>"], ["script", "/script", "b"]),
        (["<svg>", "<title/>", "</svg><p>"], ["svg", "title", "/svg", "p"]),
    ],
)
def test_text_between_variables_goes_on_where_the_last_one_stopped(pieces, found):
    state, tags = START, []
    for piece in pieces:
        more, state = walk(piece, state)
        tags += [("/" if tag.is_end else "") + tag.name for tag in more]
    assert tags == found


def test_a_tag_says_where_its_name_ends():
    (tag,) = walk("ab<div class=x>")[0]
    assert (tag.start, tag.name_end) == (2, 6)


SCRAPS = st.sampled_from(
    [*"<>/='\"! -", "<!--", "-->", "<script", "</script", "<svg", "</svg>", "<p", "a", "\n", "]]>"]
)


@given(st.lists(SCRAPS, max_size=40).map("".join))
def test_any_text_is_walked_to_its_end(text):
    tags, state = walk(text)
    assert all(text[tag.start] == "<" and tag.start < tag.name_end for tag in tags)
    assert [tag.start for tag in tags] == sorted(tag.start for tag in tags)
    walk(text, state)


ATTRIBUTES = st.sampled_from(
    [
        " a",
        "\nb='c'",
        ' d="<e>"',
        " f=g",
        " h=i/j",
        " k=/",
        " l = m",
        " n=",
        "/",
        "o",
        " p='q",
        " =",
    ]
)
TAGS = st.builds(
    lambda name, attributes, end: f"<{name}{''.join(attributes)}{end}",
    st.sampled_from(["p", "/p", "svg", "title", "path", "h1", "/title", "/svg", "p:q"]),
    st.lists(ATTRIBUTES, max_size=4),
    st.sampled_from([">", "/>", " >", " />", ""]),
)


@given(st.lists(TAGS | SCRAPS, max_size=12).map("".join))
def test_a_whole_tag_is_read_as_its_parts_are(text):
    fast = walk(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markup, "_WHOLE_TAG", re.compile(r"(?!)"))
        assert walk(text) == fast


@given(st.lists(SCRAPS, max_size=40).map("".join))
def test_a_page_of_ten_thousand_such_scraps_takes_no_longer_than_its_length(text):
    walk((text + "x") * 200)
