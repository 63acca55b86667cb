"""What the middlewares share: which requests, which answers, and the answer with the tag in."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Final

from . import page
from .finder import Finder, logger
from .page import Header, Policy

#: Answered to a page of the app itself: where its hub is now.
DISCOVER: Final = "/__pinbox__/hub"
_ON: Final = ("1", "true", "yes", "on")
_OFF: Final = ("0", "false", "no", "off")


def wish() -> bool | None:
    """What PINBOX_INJECT says: on, off, or nothing."""
    value = os.environ.get("PINBOX_INJECT", "").strip().lower()
    return True if value in _ON else False if value in _OFF else None


class Toolbar:
    """Puts one project's toolbar into pages. No method raises: a page goes out in any case."""

    def __init__(self, project: str | os.PathLike[str] | None = None) -> None:
        self.finder = Finder(project)

    def is_wanted(self, method: str, peer: str, headers: Iterable[Header]) -> bool:
        """Whether a request may get a page with the toolbar: from this machine, to be looked at.

        Names of headers in lower case, with `-`.
        """
        host = destination = site = ""
        hosts, forwarded = 0, []
        for name, value in headers:
            match name:
                case "host":
                    host, hosts = value, hosts + 1
                case "sec-fetch-dest":
                    destination = value.strip().lower()
                case "sec-fetch-site":
                    site = value.strip().lower()
                case "x-forwarded-host" | "x-forwarded-for" | "x-real-ip" | "forwarded":
                    forwarded.append((name, value))
        return (
            hosts == 1
            and page.wants_page(method, destination, site)
            and page.is_near(host, peer, forwarded)
        )

    def discovery(
        self, method: str, peer: str, headers: Iterable[Header]
    ) -> tuple[int, list[Header], bytes] | None:
        """The answer to a page of the app that asks where its hub is; None for anybody else.

        The browser says itself that the asking page is of the same origin, which no page can forge.
        """
        given = list(headers)
        sites = [value.strip().lower() for name, value in given if name == "sec-fetch-site"]
        near = [pair for pair in given if not pair[0].startswith("sec-fetch-")]
        if method != "GET" or sites != ["same-origin"] or not self.is_wanted("GET", peer, near):
            return None
        found = self.finder.place()
        data = {"endpoint": found.endpoint, "token": found.token} if found else {}
        body = json.dumps(data).encode()
        answer = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        return 200 if found else 503, answer, body

    def may_take(self, status: int, headers: Iterable[Header]) -> bool:
        """Whether an answer with this head is worth waiting for its body."""
        try:
            return page.may_take(status, [(name.lower(), value) for name, value in headers])
        except Exception:  # headers that are no headers: the server will say so
            return False

    def put(
        self,
        status: int,
        headers: Iterable[Header],
        body: bytes,
        *,
        nonce: Callable[[], str] | None = None,
        mounted: str = "",
    ) -> tuple[list[Header], bytes] | None:
        """Headers and body of the page with the toolbar's tag; None to send the answer as it is.

        `nonce` gives the app's own for this request, if the policy is not written yet and will have
        it once it was asked for. `mounted` is the path at which the app is mounted.
        """
        try:
            return self._put(status, list(headers), body, nonce, mounted)
        except Exception:
            logger.exception("the toolbar could not be put into a page")
            return None

    def _put(
        self,
        status: int,
        headers: list[Header],
        body: bytes,
        nonce: Callable[[], str] | None,
        mounted: str,
    ) -> tuple[list[Header], bytes] | None:
        lower = [(name.lower(), value) for name, value in headers]
        if len(body) > page.MAX_PAGE_BYTES or not page.may_take(status, lower):
            return None
        if page.length(lower) not in (None, len(body)):
            return None  # not the whole of it, or a mistake that is not ours to hide
        content_type = dict(lower)["content-type"]
        if page.with_tag(body, content_type, b"") is None:
            return None
        place = self.finder.place()
        if place is None:
            # Without validators, the browser's next reload gets the page anew, with the tag.
            return page.changed_headers(headers, len(body)), body
        policy = Policy(lower, body)
        own = policy.nonce() or (nonce() if nonce is not None else "")
        if not self._is_allowed(policy, place.endpoint, own):
            return None
        tag = page.script_tag(place, nonce=own, discover=mounted + DISCOVER)
        changed = page.with_tag(body, content_type, tag)
        return None if changed is None else (page.changed_headers(headers, len(changed)), changed)

    def _is_allowed(self, policy: Policy, endpoint: str, nonce: str) -> bool:
        if not policy.allows_script(f"{endpoint}/toolbar/toolbar.js", nonce):
            self.finder.say_once(
                "the page's Content-Security-Policy forbids the toolbar's script, so it is left"
                f" out; in development, give scripts a nonce or add {endpoint} to script-src"
            )
            return False
        if not policy.allows_connections(endpoint):
            sockets = "ws" + endpoint.removeprefix("http")
            self.finder.say_once(
                "the page's Content-Security-Policy keeps the toolbar from its hub;"
                f" in development, add {endpoint} and {sockets} to connect-src"
            )
        return True
