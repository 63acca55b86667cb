"""What the middlewares share: which requests, which answers, and the answer with the tag in."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from pinbox import marks
from pinbox.marks import Page

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


class Answer(NamedTuple):
    """What is known of an answer before it is made."""

    #: It may be a page, which gets the toolbar.
    may_be_page: bool
    #: Whether its templates were marked.
    marks: Page


class Toolbar:
    """Puts one project's toolbar into pages. No method raises: a page goes out in any case."""

    def __init__(self, project: str | os.PathLike[str] | None = None) -> None:
        self._start = project
        self._has_marked = os.environ.get("PINBOX_MARKS", "").strip().lower() in _OFF
        self.finder = Finder(project)

    def answer_to(self, method: str, peer: str, headers: Iterable[Header]) -> Answer | None:
        """What the answer to a request may be; None when it is none of ours: not from this machine.

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
        if hosts != 1 or method.upper() == "HEAD":
            return None
        if not page.is_near(host, peer, forwarded):
            if destination == "document":  # a person looks at it, and may wonder
                self.finder.say_once(
                    "a page was asked for under another name than localhost or 127.0.0.1, or from"
                    " another machine or container: such pages have no toolbar"
                )
            return None
        return Answer(page.wants_page(method, destination, site), Page())

    def mark_jinja(self, templates: Any) -> None:
        """Prepare these templates for marks, at the first request."""
        if templates is not None:
            self.mark_once(lambda files: _mark_jinja(templates, files))

    def mark_once(self, mark: Callable[[marks.Files], None]) -> None:
        if self._has_marked:
            return
        self._has_marked = True
        try:
            mark(marks.Files(_checkout(self.finder.project(), self._start)))
        except Exception as error:
            self.finder.say_once(f"templates are not marked: {type(error).__name__}: {error}")

    def discovery(
        self, method: str, peer: str, headers: Iterable[Header]
    ) -> tuple[int, list[Header], bytes] | None:
        """The answer to a page of the app that asks where its hub is; None for anybody else.

        The browser says itself that the asking page is of the same origin, which no page can forge.
        """
        given = list(headers)
        sites = [value.strip().lower() for name, value in given if name == "sec-fetch-site"]
        if method != "GET" or sites != ["same-origin"] or not self.answer_to("GET", peer, given):
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

    def may_change(self, answer: Answer, status: int, headers: Iterable[Header]) -> bool:
        """Whether an answer with this head is worth waiting for its body."""
        try:
            lower = [(name.lower(), value) for name, value in headers]
            return self._may_be_page(answer, status, lower) or self._must_lose_marks(answer, lower)
        except Exception:  # headers that are no headers: the server will say so
            return False

    @staticmethod
    def _may_be_page(answer: Answer, status: int, lower: list[Header]) -> bool:
        return answer.may_be_page and page.may_take(status, lower)

    @staticmethod
    def _must_lose_marks(answer: Answer, lower: list[Header]) -> bool:
        """A template's text that is sent as something else: a letter shown, a file, a feed."""
        is_kept = page.keeps_marks(lower) or page.is_encoded(lower)
        return answer.marks.is_marked and not is_kept

    def put(
        self,
        answer: Answer,
        status: int,
        headers: Iterable[Header],
        body: bytes,
        *,
        nonce: Callable[[], str] | None = None,
        mounted: str = "",
    ) -> tuple[list[Header], bytes] | None:
        """Headers and body of the page with the toolbar's tag; None to send the answer as it is.

        `nonce` gives the app's own for this request, if the policy is not written yet and will have
        it once it was asked for. `mounted` is the path at which the app is mounted. Without the
        toolbar, what is no part of another page loses its source marks.
        """
        try:
            return self._put(answer, status, list(headers), body, nonce, mounted)
        except Exception as error:
            logger.error("the toolbar could not be put into a page: %s", type(error).__name__)
            logger.debug("the toolbar could not be put into a page", exc_info=error)
            return None

    def _put(
        self,
        answer: Answer,
        status: int,
        headers: list[Header],
        body: bytes,
        nonce: Callable[[], str] | None,
        mounted: str,
    ) -> tuple[list[Header], bytes] | None:
        lower = [(name.lower(), value) for name, value in headers]
        if len(body) > page.MAX_PAGE_BYTES or page.length(lower) not in (None, len(body)):
            return None  # not the whole of it, or a mistake that is not ours to hide
        plain = marks.strip(body) if answer.marks.is_marked else body
        without = None if plain == body else (page.changed_headers(headers, len(plain)), plain)
        if not self._may_be_page(answer, status, lower):
            return without if self._must_lose_marks(answer, lower) else None
        kind = dict(lower)["content-type"]
        at = page.end_of_body(body, kind)
        if at is None:
            return None  # a part of a page, or one whose text we cannot read
        place = self.finder.place()
        if place is None:
            # Without validators, the browser's next reload gets the page anew, with the tag.
            return page.changed_headers(headers, len(plain)), plain
        policy = Policy(lower, body)
        own = policy.nonce() or (nonce() if nonce is not None else "")
        if not self._is_allowed(policy, place.endpoint, own):
            return without
        tag = page.script_tag(place, nonce=own, discover=mounted + DISCOVER)
        changed = body[:at] + tag + body[at:]
        return page.changed_headers(headers, len(changed)), changed

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


def _mark_jinja(templates: Any, files: marks.Files) -> None:
    is_function = callable(templates) and not hasattr(templates, "env")
    found = templates() if is_function else templates
    marks.mark_jinja(getattr(found, "env", found), files)


def _checkout(project: Path, start: str | os.PathLike[str] | None) -> Path:
    """The folder that files are named from: the project's, but for an app in a linked worktree of
    it, which has files of its own.
    """
    here = Path(os.path.realpath(os.getcwd() if start is None else start))
    if here.is_relative_to(project):
        return project
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            return folder
    return project
