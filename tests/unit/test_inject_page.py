"""Which answers are pages, where the tag goes, and what a policy allows. No framework, no hub."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinbox.inject import page
from pinbox.inject.page import Place, Policy

HTML = ("content-type", "text/html; charset=utf-8")
TAG = b"<script></script>"
PLACE = Place(endpoint="http://127.0.0.1:4000", token="page-token", project="3f2a9c1b7d04")
SCRIPT = "http://127.0.0.1:4000/toolbar/toolbar.js"


def with_tag(body: bytes, content_type: str, tag: bytes) -> bytes | None:
    at = page.end_of_body(body, content_type)
    return None if at is None else body[:at] + tag + body[at:]


# --- requests ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:80", "[::1]"]
)
def test_a_loopback_name_is_near(host):
    assert page.is_near(host, "127.0.0.1", [])


@pytest.mark.parametrize(
    "host",
    ["", "shop.example", "localhost.shop.example", "127.0.0.1.nip.io", "127.0.0.1:x", "[::1", "::1"]
    + ["app.localhost", "0.0.0.0", "localhost:8000:1", "local host", "192.168.1.2"],
)
def test_any_other_name_is_not(host):
    assert not page.is_near(host, "127.0.0.1", [])


@pytest.mark.parametrize(
    ("peer", "near"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("", True),
    ]
    + [("10.0.0.2", False), ("172.17.0.1", False), ("fe80::1", False), ("1.127.0.0", False)],
)
def test_the_other_side_must_be_this_machine_or_a_socket_of_it(peer, near):
    assert page.is_near("localhost", peer, []) is near


@pytest.mark.parametrize(
    ("name", "value", "near"),
    [
        ("x-forwarded-for", "127.0.0.1", True),
        ("x-forwarded-for", "203.0.113.9", False),
        ("x-forwarded-for", "127.0.0.1, 203.0.113.9", False),
        ("x-real-ip", "203.0.113.9", False),
        ("x-forwarded-host", "localhost:5173", True),
        ("x-forwarded-host", "quick-brown-fox.tunnel.example", False),
        ("forwarded", 'for="[::1]";host=localhost:8000;proto=http', True),
        ("forwarded", "for=203.0.113.9;proto=https;by=127.0.0.1", False),
        ("forwarded", "for=127.0.0.1, for=203.0.113.9", False),
    ],
)
def test_a_tunnel_does_not_make_a_stranger_near(name, value, near):
    assert page.is_near("localhost:8000", "127.0.0.1", [(name, value)]) is near


@pytest.mark.parametrize(
    ("method", "destination", "site", "wanted"),
    [
        ("GET", "", "", True),
        ("GET", "document", "none", True),
        ("POST", "document", "same-origin", True),
        ("HEAD", "document", "none", False),
        ("GET", "empty", "same-origin", False),
        ("GET", "iframe", "same-origin", False),
        ("GET", "iframe", "cross-site", True),
        ("GET", "frame", "same-site", True),
        ("GET", "image", "same-origin", False),
        ("GET", "script", "", False),
    ],
)
def test_only_what_a_person_will_look_at_is_a_page(method, destination, site, wanted):
    assert page.wants_page(method, destination, site) is wanted


# --- answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "headers", "taken"),
    [
        (200, [HTML], True),
        (404, [HTML], True),
        (500, [("content-type", "Text/HTML")], True),
        (200, [HTML, ("content-encoding", "identity")], True),
        (200, [HTML, ("content-disposition", "inline")], True),
        (101, [HTML], False),
        (204, [HTML], False),
        (206, [HTML], False),
        (302, [HTML], False),
        (304, [HTML], False),
        (200, [], False),
        (200, [HTML, HTML], False),
        (200, [("content-type", "")], False),
        (200, [("content-type", "text/htmlx")], False),
        (200, [("content-type", "application/xhtml+xml")], False),
        (200, [("content-type", "text/plain")], False),
        (200, [HTML, ("content-encoding", "gzip")], False),
        (200, [HTML, ("content-encoding", "br")], False),
        (200, [HTML, ("content-disposition", "attachment; filename=a.html")], False),
        (200, [HTML, ("content-range", "bytes 0-1/2")], False),
        (200, [HTML, ("content-length", "0")], False),
        (200, [HTML, ("content-length", str(page.MAX_PAGE_BYTES + 1))], False),
        (200, [HTML, ("content-length", "²")], True),
    ],
)
def test_only_a_whole_plain_html_answer_is_taken(status, headers, taken):
    assert page.may_take(status, headers) is taken


@pytest.mark.parametrize(
    ("body", "at"),
    [
        (b"<body>a|</body>", None),
        (b"<body>a|</BODY\n></HTML>\n", None),
        (b"<body>a</body> b|</body>", None),
        (b"<body>a|</body></html><!-- </body> -->", None),
        (b"<body>a|</body></html><!-- served by a -->", None),
        (b"<body>a|</body></html>\n<!-- a --><!-- b -->\n", None),
        (b"<body>a|</body></html><script>x='</body>'</script>", None),
        (b"<body>a|</body>\n<script src='a.js' defer></script><style>b>c{}</style>\n</html>", None),
        (b"<body><script>a='|</body><script>b</script>", "none"),
        (b"<body><!-- </body><script>--></script>", "none"),
        (b"<body>a|</body><script>if (a-->b) {}</script></html>", None),
        (b"<body title='</body>'>|</body><b title='</body>'>", None),
        (b"<body><textarea></body></html></textarea>", "none"),
        (b"<body><!-- </body></html>", "loose"),
        (b"<p>a fragment</p>", "none"),
        (b"&lt;/body&gt;", "none"),
        (b"</bodyguard>", "none"),
        (b"</body", "none"),
        (b"", "none"),
    ],
)
def test_the_tag_goes_before_the_last_end_of_the_body_that_is_one(body, at):
    before, found, after = body.partition(b"|")
    if at == "loose":  # an unfinished page, whose end nobody can see: only not a crash
        with_tag(body, HTML[1], TAG)
    elif at == "none":
        assert with_tag(body, HTML[1], TAG) is None
    else:
        assert found
        assert with_tag(before + after, HTML[1], TAG) == before + TAG + after


def test_an_odd_end_of_a_very_long_page_is_not_looked_into():
    odd = b"<body></body><p></html>"
    assert with_tag(odd, HTML[1], TAG) == b"<body>" + TAG + b"</body><p></html>"
    long = b"<p>" * (page.MAX_READ_BYTES // 3 + 1)
    assert with_tag(long + odd, HTML[1], TAG) is None
    assert with_tag(long + b"</body></html>", HTML[1], TAG) is not None


@pytest.mark.parametrize(
    ("charset", "taken"),
    [("utf-8", True), ("UTF8", True), ('"latin-1"', True), ("windows-1252", True), ("gbk", True)]
    + [("shift_jis", True), ("us-ascii", True), ("utf-16", False), ("utf-16le", False)]
    + [("utf-32", False), ("utf-7", False), ("iso-2022-jp", False), ("cp037", False)]
    + [("no-such-charset", False), ("hex", False), ("", False), ("utf-8\0", False)],
)
def test_a_charset_that_does_not_write_ascii_as_ascii_is_refused(charset, taken):
    content_type = f"text/html; charset={charset}"
    found = with_tag(b"<body></body>", content_type, TAG)
    assert (found == b"<body>" + TAG + b"</body>") is taken


def test_a_page_whose_bytes_say_utf_16_is_refused():
    for name in ("utf-16", "utf-16le", "utf-16be"):
        body = "\ufeff<body></body>".encode(name)
        assert with_tag(body, "text/html", TAG) is None


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_no_byte_of_a_page_is_changed(before, after):
    body = before + b"</body>" + after
    found = with_tag(body, "text/html", TAG)
    assert found is None or found.replace(TAG, b"", 1) == body or TAG in body


def test_the_length_is_right_and_what_named_the_old_bytes_is_gone():
    old = [
        ("Content-Type", "text/html"),
        ("Content-Length", "10"),
        ("ETag", '"a"'),
        ("Last-Modified", "Mon, 30 Nov 2026 00:00:00 GMT"),
        ("Repr-Digest", "sha-256=:a:"),
        ("Set-Cookie", "a=1"),
        ("Set-Cookie", "b=2"),
    ]
    assert page.changed_headers(old, 27) == [
        ("Content-Type", "text/html"),
        ("Content-Length", "27"),
        ("Set-Cookie", "a=1"),
        ("Set-Cookie", "b=2"),
    ]


def test_a_length_that_was_not_said_is_not_added():
    assert page.changed_headers([HTML], 5) == [HTML]


# --- the tag ----------------------------------------------------------------------------------


def test_the_tag_is_the_one_that_the_toolbar_reads():
    assert page.script_tag(PLACE) == (
        b'<script type="module" async crossorigin src="http://127.0.0.1:4000/toolbar/toolbar.js"'
        b' data-endpoint="http://127.0.0.1:4000" data-token="page-token"'
        b' data-project="3f2a9c1b7d04"></script>'
    )


def test_what_stands_in_the_tag_cannot_leave_it():
    tag = page.script_tag(PLACE, nonce='"><img>', discover="/é'\"<")
    assert tag.count(b"<") == 2
    assert b'nonce="&quot;&gt;&lt;img&gt;"' in tag
    assert b'data-discover="/&#233;&#x27;&quot;&lt;"' in tag


# --- policies ---------------------------------------------------------------------------------


def policy(*texts: str, body: bytes = b"") -> Policy:
    return Policy([("content-security-policy", text) for text in texts], body)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", True),
        ("img-src 'none'", True),
        ("default-src 'self'", False),
        ("default-src 'none'; script-src *", True),
        ("script-src 'self' http://127.0.0.1:4000", True),
        ("script-src 'self' http://127.0.0.1:*", True),
        ("script-src 127.0.0.1:4000", True),
        ("script-src http://127.0.0.1:4000/toolbar/", True),
        ("script-src http://127.0.0.1:4001", False),
        ("script-src https://127.0.0.1:4000", False),
        ("script-src http://127.0.0.1", False),
        ("script-src localhost:*", False),
        ("script-src http:", True),
        ("script-src https:", False),
        ("script-src 'self' 'unsafe-inline'", False),
        ("SCRIPT-SRC 'self'; script-src *", False),
        ("script-src *; script-src-elem 'self'", False),
        ("script-src 'none'; script-src-elem *", True),
        ("script-src 'strict-dynamic' *", False),
        ("script-src 'self' 'nonce-abc='", True),
        ("script-src 'strict-dynamic' 'nonce-abc='", True),
        ("default-src 'nonce-abc='", True),
        ("script-src *, default-src 'self'", False),
        ("sandbox", False),
        ("sandbox allow-scripts", False),
        ("sandbox Allow-Scripts allow-same-origin", True),
        ("script-src http://*:*", True),
        ("script-src *:4000", True),
        ("script-src *:4001", False),
        ("script-src 'NONCE-aBc='", True),
    ],
)
def test_a_policy_is_read_as_a_browser_reads_it(text, allowed):
    found = policy(text)
    assert found.allows_script(SCRIPT, found.nonce()) is allowed


def test_every_policy_must_allow_the_script():
    found = policy("script-src 'nonce-a'", "script-src 'nonce-b'")
    assert not found.allows_script(SCRIPT, found.nonce())
    assert policy("script-src 'nonce-a'", "default-src http:").allows_script(SCRIPT, "a")


def test_a_report_only_policy_forbids_nothing():
    found = Policy([("content-security-policy-report-only", "script-src 'none'")])
    assert found.allows_script(SCRIPT, "")


def test_a_policy_in_the_page_s_own_head_counts():
    head = b"<meta charset=utf-8><META content='script-src &#39;self&#39;' "
    head += b"http-equiv='Content-Security-Policy'>"
    assert not policy(body=head).allows_script(SCRIPT, "")
    assert policy(body=head.replace(b"Content-Security-Policy", b"refresh")).allows_script(
        SCRIPT, ""
    )


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("script-src 'self'", True),
        ("default-src 'self'", False),
        ("default-src 'self'; connect-src *", True),
        ("connect-src http: ws:", True),
        ("connect-src http://127.0.0.1:4000 ws://127.0.0.1:4000", True),
        ("connect-src http://127.0.0.1:4000", False),
    ],
)
def test_a_policy_that_keeps_the_toolbar_from_its_hub_is_noticed(text, allowed):
    assert policy(text).allows_connections(PLACE.endpoint) is allowed
