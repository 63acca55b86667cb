"""Whether an answer is a page that takes the toolbar, where its tag goes, and what changes with it.

Pure functions over headers and bytes; the three middlewares call them, each in its own framework's
words. A policy (CSP) is only ever read.
"""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from pinbox.markup import walk

Header = tuple[str, str]

#: Bytes. A larger page goes out as it came: buffering it would cost more than the toolbar gives.
MAX_PAGE_BYTES: Final = 8 * 1024 * 1024
#: Bytes. A page that ends in an odd way is read from its start, if that takes less than a second.
MAX_READ_BYTES: Final = 1024 * 1024
#: Describe the bytes of a whole answer, so they are wrong once it has changed.
_VALIDATORS: Final = frozenset(
    ("etag", "last-modified", "content-md5", "digest", "repr-digest", "content-digest")
)
_NO_PAGE_STATUS: Final = frozenset((204, 205, 206, 304))
#: A destination of a request that is shown to a person (https://www.w3.org/TR/fetch-metadata/).
_FRAMES: Final = ("iframe", "frame")

_LOOPBACK: Final = re.compile(
    r"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?\Z", re.IGNORECASE
)
_AFTER_NAME: Final = (b" ", b"\t", b"\n", b"\r", b"\f", b"/", b">")
#: What follows the last `</body>` of nearly every page: nothing but its end, comments, and scripts
#: that somebody put there. Then the place need not be looked for with care.
_PLAIN_TAIL: Final = re.compile(
    rb"</body\s*+>(?:\s++|</html\s*+>|<!--(?!-?>)(?:(?!--!?>|</body).)*+-->"
    rb"|<(script|style)(?:\s[^<>\"']*+(?:\"[^\"]*+\"[^<>\"']*+|'[^']*+'[^<>\"']*+)*+)?+>"
    rb"(?:(?!</(?:script|style|body)|<!--).)*+</\1\s*+>)*+\Z",
    re.IGNORECASE | re.DOTALL,
)
#: What a script of the page's needs where its policy has `sandbox`.
_IN_SANDBOX: Final = frozenset(("allow-scripts", "allow-same-origin"))
_META_POLICY: Final = re.compile(
    rb"<meta\s[^>]{0,2000}?http-equiv\s*=\s*[\"']?content-security-policy[\"'\s][^>]*",
    re.IGNORECASE,
)
_META_CONTENT: Final = re.compile(r"content\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)


class Place(NamedTuple):
    """A hub as a page needs it: its address, the page token, and the project's id."""

    endpoint: str
    token: str
    project: str


# --- which requests and answers ---------------------------------------------------------------


def is_loopback(host: str) -> bool:
    """Whether this is `localhost`, `127.0.0.1` or `[::1]`, with or without a port.

    The names that a hub lets pages call from; a page under another one could not use the toolbar.
    """
    return _LOOPBACK.match(host.strip()) is not None


def _is_loopback_peer(address: str) -> bool:
    address = address.strip().lower().removeprefix("::ffff:")
    return address in ("", "::1", "localhost", "unix:") or address.startswith("127.")


def is_near(host: str, peer: str, forwarded: Iterable[Header]) -> bool:
    """Whether a request comes from this machine, as far as it says.

    `host` is its Host header, `peer` the other side's address (empty for a Unix socket),
    `forwarded` what proxies in between wrote: a tunnel to this machine must not hand out a token.
    """
    if not is_loopback(host) or not _is_loopback_peer(peer):
        return False
    for name, value in forwarded:
        match name:
            case "x-forwarded-host":
                named = [is_loopback(part) for part in value.split(",")]
            case "x-forwarded-for" | "x-real-ip":
                named = [_is_loopback_peer(part.strip().strip("[]")) for part in value.split(",")]
            case _:
                pairs = re.findall(r"(?:^|[;,\s])(for|host)=\"?([^\";,\s]*)", value, re.IGNORECASE)
                named = [
                    is_loopback(given) or _is_loopback_peer(given.strip("[]")) for _, given in pairs
                ]
        if not all(named):
            return False
    return True


def wants_page(method: str, destination: str, site: str) -> bool:
    """Whether a request may be for a page that a person will look at.

    `destination` and `site` are its Sec-Fetch-Dest and Sec-Fetch-Site; a client that sends neither
    gets the toolbar. A page's own requests (htmx, an editor that loads what it will save) do not,
    nor frames inside a page of the same app, which has its toolbar already.
    """
    if method.upper() == "HEAD":
        return False
    if destination in _FRAMES:
        return site != "same-origin"
    return destination in ("", "document")


def may_take(status: int, headers: Sequence[Header]) -> bool:
    """Whether an answer with these headers (names in lower case) may be a page to put a tag into.

    Its body must then also be complete, see `end_of_body`.
    """
    if status < 200 or 300 <= status < 400 or status in _NO_PAGE_STATUS:
        return False
    types = [value for name, value in headers if name == "content-type"]
    if len(types) != 1 or types[0].partition(";")[0].strip().lower() != "text/html":
        return False
    if is_encoded(headers):
        return False
    for name, value in headers:
        if name == "content-disposition" and value.strip().lower().startswith("attachment"):
            return False
        if name == "content-range":
            return False
    size = length(headers)
    return size is None or 0 < size <= MAX_PAGE_BYTES


def keeps_marks(headers: Iterable[Header]) -> bool:
    """Whether an answer that is no page goes into one, so that source marks in it are of use."""
    given = dict(headers)
    kind = given.get("content-type", "").partition(";")[0].strip().lower()
    is_file = given.get("content-disposition", "").strip().lower().startswith("attachment")
    return kind in ("text/html", "application/json") and not is_file


def is_encoded(headers: Iterable[Header]) -> bool:
    return any(
        name == "content-encoding" and value.strip().lower() not in ("", "identity")
        for name, value in headers
    )


def length(headers: Iterable[Header]) -> int | None:
    """The declared Content-Length; None without one that makes sense."""
    values = {value.strip() for name, value in headers if name == "content-length"}
    if len(values) != 1:
        return None
    (value,) = values
    return int(value) if value.isdecimal() and value.isascii() and len(value) < 16 else None


# --- the tag ----------------------------------------------------------------------------------


def script_tag(place: Place, *, nonce: str = "", discover: str = "") -> bytes:
    """The tag of docs/toolbar.md. `async`: a hub that hangs holds up nothing of the page's."""
    attributes = {
        "src": f"{place.endpoint}/toolbar/toolbar.js",
        "data-endpoint": place.endpoint,
        "data-token": place.token,
        "data-project": place.project,
        "data-discover": discover,
        "nonce": nonce,
    }
    written = "".join(
        f' {name}="{html.escape(value)}"' for name, value in attributes.items() if value
    )
    tag = f'<script type="module" async crossorigin{written}></script>'
    return tag.encode("ascii", "xmlcharrefreplace")


def end_of_body(body: bytes, content_type: str) -> int | None:
    """Where the tag goes: before the last `</body>`. None when there is none, or the text is not
    written in a superset of ASCII.
    """
    if not _is_ascii_based(content_type) or body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    lower = body.lower()
    at = lower.rfind(b"</body")
    while at >= 0 and lower[at + 6 : at + 7] not in _AFTER_NAME:
        at = lower.rfind(b"</body", 0, at)
    if at < 0:
        return None
    if _PLAIN_TAIL.match(lower, at) and not _is_inside(lower, at):
        return at
    if len(body) > MAX_READ_BYTES:
        return None
    # It may stand in a comment or a script. Latin-1 gives every byte one character.
    tags, _ = walk(body.decode("latin-1"))
    ends = [tag.start for tag in tags if tag.is_end and tag.name == "body"]
    return ends[-1] if ends else None


def _is_inside(lower: bytes, at: int) -> bool:
    """Whether what stands at `at` may belong to a comment or script that began before it."""
    pairs = ((b"<!--", b"-->"), (b"<script", b"</script"), (b"<style", b"</style"))
    return any(lower.rfind(begin, 0, at) > lower.rfind(end, 0, at) for begin, end in pairs)


def _is_ascii_based(content_type: str) -> bool:
    found = re.search(r";\s*charset\s*=\s*[\"']?([^\"'\s;]*)", content_type, re.IGNORECASE)
    if found is None:
        return True  # a browser then takes a superset of ASCII, whatever a <meta> says
    try:
        codec = codecs.lookup(found[1])
    except (LookupError, ValueError):
        return False
    # The last two are ASCII until an escape sequence gives the same bytes another meaning.
    if codec.name.startswith(("utf-7", "iso2022", "hz")):
        return False
    try:
        return "</body>".encode(codec.name) == b"</body>"
    except (LookupError, ValueError, TypeError):  # a codec that is not one of texts
        return False


def changed_headers(headers: Iterable[Header], size: int) -> list[Header]:
    """`headers` for a body that now has `size` bytes.

    Content-Length is right if it was there, and what identified the old bytes is gone: a browser
    that asked "changed since?" would otherwise keep a page with an old tag, or without one.
    """
    changed = []
    for name, value in headers:
        lower = name.lower()
        if lower in _VALIDATORS:
            continue
        changed.append((name, str(size) if lower == "content-length" else value))
    return changed


# --- Content Security Policy ------------------------------------------------------------------


class Policy:
    """Every policy a page is under, of its headers and its `<meta>`; report-only ones aside."""

    def __init__(self, headers: Iterable[Header], body: bytes = b"") -> None:
        texts = [value for name, value in headers if name == "content-security-policy"]
        for meta in _META_POLICY.findall(body[:16384]):
            content = _META_CONTENT.search(meta.decode("latin-1"))
            if content:
                texts.append(html.unescape(content[1] or content[2] or ""))
        self._policies = [
            _directives(text) for whole in texts for text in whole.split(",") if text.strip()
        ]

    def __bool__(self) -> bool:
        return bool(self._policies)

    def nonce(self) -> str:
        """The nonce that scripts of the page carry; empty without one."""
        for policy in self._policies:
            for source in _sources(policy, "script-src-elem", "script-src") or ():
                if found := _nonce_in(source):
                    return found
        return ""

    def allows_script(self, url: str, nonce: str) -> bool:
        return all(_allows_script(policy, url, nonce) for policy in self._policies)

    def allows_connections(self, endpoint: str) -> bool:
        """Whether requests and sockets to the hub are allowed."""
        urls = (endpoint, "ws" + endpoint.removeprefix("http"))
        return all(
            (sources := _sources(policy, "connect-src")) is None
            or all(_matches(sources, url) for url in urls)
            for policy in self._policies
        )


def _directives(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for directive in text.split(";"):
        words = directive.split()
        if words:
            found.setdefault(words[0].lower(), words[1:])  # a second one of a name is ignored
    return found


def _nonce_in(source: str) -> str:
    return source[7:-1] if source.lower().startswith("'nonce-") and source.endswith("'") else ""


def _sources(policy: dict[str, list[str]], *names: str) -> list[str] | None:
    """The sources of the first directive that applies; None when nothing restricts."""
    for name in (*names, "default-src"):
        if name in policy:
            return policy[name]
    return None


def _allows_script(policy: dict[str, list[str]], url: str, nonce: str) -> bool:
    # In a sandbox without its own origin, the hub does not know the page either.
    if not _IN_SANDBOX.issubset(map(str.lower, policy.get("sandbox", _IN_SANDBOX))):
        return False
    sources = _sources(policy, "script-src-elem", "script-src")
    if sources is None:
        return True
    if nonce and any(_nonce_in(source) == nonce for source in sources):
        return True
    return "'strict-dynamic'" not in map(str.lower, sources) and _matches(sources, url)


def _matches(sources: Iterable[str], url: str) -> bool:
    """Whether a source list has the address by its scheme, host and port (paths are not compared:
    a page that names one of the hub's knows what it does).
    """
    scheme, _, rest = url.partition("://")
    place = rest.partition("/")[0]
    host, _, port = place.partition(":")
    for source in sources:
        named = source.lower()
        if named in ("*", f"{scheme}:"):
            return True
        given, colon, tail = named.rpartition("://")
        if colon and given != scheme:
            continue
        given_host, _, given_port = tail.partition("/")[0].partition(":")
        if given_host in (host, "*") and given_port in (port, "*"):
            return True
    return False
