"""Who is asking: one verifier behind HTTP and the socket, with three strategies.

`token` (the default) knows the hub's two tokens, `jwt` trusts an issuer's signatures
(`pinbox_site.jwks`), `none` lets everyone in and needs a second opt-in. A wrong set-up closes the
hub: every request fails, /health says why, and so does `manage.py check`.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from django.http import HttpResponse
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

import pinbox
from delivery import configuration
from pinbox.contract import SCHEMA_VERSION, WS_PROTOCOL, Caller, PinboxError

from . import runtime
from .envelope import error_body, to_json

#: Seconds by which clocks of the issuer and the hub may differ (PINBOX_JWT_LEEWAY_S).
DEFAULT_LEEWAY_S: Final = 10
MAX_LEEWAY_S: Final = 300
#: Characters of a token that a person chose (PINBOX_TOKEN): fewer can be guessed.
MIN_TEAM_TOKEN: Final = 24
#: A longer credential is no token of ours or of any issuer's.
MAX_CREDENTIAL: Final = 8192
LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})

_JWT_NAMES: Final = ("PINBOX_JWT_ISSUER", "PINBOX_JWT_JWKS_URL", "PINBOX_JWT_AUDIENCE")


class Verifier(Protocol):
    @property
    def may_block(self) -> bool:
        """True when `verify` may wait for the network, so that it must not run on an event loop."""
        ...

    def verify(self, credential: str | None) -> Caller:
        """The caller behind a bearer credential. Raises PinboxError, of status 401 when refused."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One reason why the hub cannot work; `id` is that of the system check."""

    id: str
    message: str
    hint: str
    part: str = "authentication"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthSettings:
    strategy: str
    is_team: bool
    token: str
    page_token: str
    issuer: str
    jwks_url: str
    audience: str
    leeway: str
    allow_unauthenticated: bool

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "AuthSettings":
        def read(name: str) -> str:
            return environ.get(name, "").strip()

        return cls(
            strategy=read("PINBOX_AUTH").lower() or "token",
            is_team=bool(read("PINBOX_ALLOWED_HOSTS")),
            token=read("PINBOX_TOKEN"),
            page_token=read("PINBOX_PAGE_TOKEN"),
            issuer=read("PINBOX_JWT_ISSUER"),
            jwks_url=read("PINBOX_JWT_JWKS_URL"),
            audience=read("PINBOX_JWT_AUDIENCE"),
            leeway=read("PINBOX_JWT_LEEWAY_S"),
            allow_unauthenticated=read("PINBOX_ALLOW_UNAUTHENTICATED") == "1",
        )

    @property
    def leeway_s(self) -> int:
        return int(self.leeway) if self.leeway else DEFAULT_LEEWAY_S


# --- strategies -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TokenVerifier:
    """The tokens of this start (`runtime`), else those of the environment.

    A local hub refuses with E_INVALID_INPUT, as its clients have always known it; a team's with
    E_AUTH.
    """

    settings: AuthSettings
    may_block: bool = False

    def tokens(self) -> tuple[str, str]:
        """The full token and the page token; an empty one admits nobody."""
        now = runtime.current()
        if now.token:
            return now.token, now.page_token
        return self.settings.token, self.settings.page_token

    def verify(self, credential: str | None) -> Caller:
        given = sha256((credential or "").encode("utf-8", "surrogatepass")).digest()
        full, page = self.tokens()
        # Both are compared, whatever the first one gave: the time taken tells nothing.
        is_full = compare_digest(given, sha256(full.encode()).digest())
        is_page = compare_digest(given, sha256(page.encode()).digest())
        if credential and full and is_full:
            return Caller("full")
        if credential and page and is_page:
            return Caller("page")
        raise self._refusal(missing=not credential)

    def _refusal(self, *, missing: bool) -> PinboxError:
        message = "the bearer token is missing" if missing else "the bearer token is not valid"
        if self.settings.is_team:
            return PinboxError("E_AUTH", message, "Set PINBOX_TOKEN to the token of this hub.")
        hint = (
            "The token is in hub.json of the project's state folder; `pinbox status` says where. "
            "A browser gets in by `pinbox admin`."
        )
        return PinboxError("E_INVALID_INPUT", message, hint, status=401)


@dataclass(frozen=True, slots=True)
class OpenVerifier:
    """Strategy `none`: everyone may do everything."""

    may_block: bool = False

    def verify(self, credential: str | None) -> Caller:
        return Caller("full")


@dataclass(frozen=True, slots=True)
class ClosedVerifier:
    """A wrong set-up: nobody gets in, whatever they bring."""

    problem: Problem
    may_block: bool = False

    def verify(self, credential: str | None) -> Caller:
        raise closed(self.problem, status=500)


def closed(problem: Problem, *, status: int) -> PinboxError:
    message = f"{problem.part} is misconfigured: {problem.message}"
    return PinboxError("E_INTERNAL", message, problem.hint, status=status)


# --- configuration --------------------------------------------------------------------------------


def delivery_problems(environ: Mapping[str, str]) -> list[Problem]:
    """All that is wrong with what is said of delivery: a hub that keeps what it should send on
    would look as if it worked.
    """
    return [
        Problem(id=one.id, message=one.message, hint=one.hint, part="delivery")
        for one in configuration.problems(environ)
    ]


def problems(settings: AuthSettings) -> list[Problem]:
    """All that is wrong with the settings, worst first. Quotes no value: it may be secret."""
    match settings.strategy:
        case "token":
            return _token_problems(settings)
        case "jwt":
            return _jwt_problems(settings)
        case "none":
            return _none_problems(settings)
    return [
        Problem(
            id="pinbox.E001",
            message="PINBOX_AUTH is none of token, jwt, none",
            hint="Set PINBOX_AUTH=token, or unset it.",
        )
    ]


def _token_problems(settings: AuthSettings) -> list[Problem]:
    if settings.is_team and len(settings.token) < MIN_TEAM_TOKEN:
        return [
            Problem(
                id="pinbox.E002",
                message=f"PINBOX_TOKEN has fewer than {MIN_TEAM_TOKEN} characters",
                hint="Set PINBOX_TOKEN to the output of `openssl rand -base64 32`.",
            )
        ]
    return []


def _jwt_problems(settings: AuthSettings) -> list[Problem]:
    found = []
    values = (settings.issuer, settings.jwks_url, settings.audience)
    missing = [name for name, value in zip(_JWT_NAMES, values, strict=True) if not value]
    if missing:
        found.append(
            Problem(
                id="pinbox.E003",
                message=f"PINBOX_AUTH=jwt needs {', '.join(missing)}",
                hint="Set issuer, JWKS URL and audience; all three are required.",
            )
        )
    if settings.jwks_url and not _is_safe_url(settings.jwks_url):
        found.append(
            Problem(
                id="pinbox.E004",
                message="PINBOX_JWT_JWKS_URL is not an https URL",
                hint="Plain http is accepted for a loopback host only, a user name never.",
            )
        )
    if settings.leeway and not (
        re.fullmatch("[0-9]{1,3}", settings.leeway) and settings.leeway_s <= MAX_LEEWAY_S
    ):
        found.append(
            Problem(
                id="pinbox.E005",
                message=f"PINBOX_JWT_LEEWAY_S is not a number from 0 to {MAX_LEEWAY_S}",
                hint=f"Unset it for {DEFAULT_LEEWAY_S} seconds.",
            )
        )
    if not _has_cryptography():
        found.append(
            Problem(
                id="pinbox.E006",
                message="PINBOX_AUTH=jwt needs the package cryptography",
                hint="Run `pip install 'pinbox[team]'`.",
            )
        )
    return found


def _none_problems(settings: AuthSettings) -> list[Problem]:
    if settings.allow_unauthenticated:
        return []
    return [
        Problem(
            id="pinbox.E007",
            message="PINBOX_AUTH=none lets everyone in and was not confirmed",
            hint="Set PINBOX_ALLOW_UNAUTHENTICATED=1 as well, or PINBOX_AUTH=token.",
        )
    ]


def _is_safe_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises ValueError when it is not a number
    except ValueError:
        return False
    if parts.username is not None or not parts.hostname:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK_HOSTS)


def _has_cryptography() -> bool:
    try:
        import cryptography  # noqa: F401 - only a team hub has it, and it is slow to import
    except ImportError:
        return False
    return True


def build(settings: AuthSettings) -> Verifier:
    """The verifier these settings ask for, or one that refuses everything."""
    found = problems(settings)
    if found:
        return ClosedVerifier(found[0])
    if settings.strategy == "jwt":
        from .jwks import JwtVerifier  # PyJWT and cryptography load only where they are used

        return JwtVerifier(
            issuer=settings.issuer,
            audience=settings.audience,
            jwks_url=settings.jwks_url,
            leeway_s=settings.leeway_s,
        )
    if settings.strategy == "none":
        return OpenVerifier()
    return TokenVerifier(settings)


@cache
def verifier() -> Verifier:
    """The one verifier of this process, from its environment (tests: `verifier.cache_clear()`)."""
    found = delivery_problems(os.environ)
    return ClosedVerifier(found[0]) if found else build(AuthSettings.from_environ(os.environ))


def fault() -> PinboxError | None:
    """Why nobody can get in (status 503, for /health), or None."""
    current = verifier()
    if isinstance(current, ClosedVerifier):
        return closed(current.problem, status=503)
    if isinstance(current, TokenVerifier) and not current.tokens()[0]:
        problem = Problem(
            id="", message="the hub has no token", hint="Start it with `pinbox serve`."
        )
        return closed(problem, status=503)
    return None


def health_document() -> tuple[int, bytes]:
    """Status and body of GET /health, which needs neither a token nor an open database."""
    error = fault()
    if error is not None:
        return error.status, error_body(error)
    data = {
        "version": pinbox.__version__,
        "schemaVersion": SCHEMA_VERSION,
        "wsProtocol": WS_PROTOCOL,
        "instance": runtime.current().instance,
    }
    return 200, to_json({"ok": True, "data": data})


def health() -> HttpResponse:
    """GET /health where no gate stands in front (Django's own handler)."""
    status, body = health_document()
    return HttpResponse(body, status=status, content_type="application/json")


# --- the doors ------------------------------------------------------------------------------------


def bearer(header: str | None) -> str | None:
    """The credential in an Authorization header; None when there is none, or of another kind.

    A header that was sent twice arrives joined by a comma and fits no token: a proxy and the hub
    might otherwise read different ones.
    """
    scheme, _, credential = (header or "").partition(" ")
    if scheme.lower() != "bearer":
        return None
    return credential.strip() or None


def check(credential: str | None) -> Caller:
    """The caller behind a credential that came in any way (header, socket's subprotocol).

    Raises PinboxError. May wait for the issuer's keys when `verifier().may_block`.
    """
    if credential is not None and len(credential) > MAX_CREDENTIAL:
        credential = ""
    return verifier().verify(credential)


class BearerAuthentication(BaseAuthentication):
    """DRF's door to the verifier: `request.user` becomes the Caller.

    The bridge has usually asked already, before it looked for a route; its answer is on the Django
    request as `pinbox_caller`.
    """

    def authenticate(self, request: Request) -> tuple[Any, None]:
        caller = getattr(request._request, "pinbox_caller", None)
        if not isinstance(caller, Caller):
            caller = check(bearer(request.META.get("HTTP_AUTHORIZATION")))
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class HasScope(BasePermission):
    """A page's token may only use views that say `required_scope = "page"`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        require_scope(request.user, getattr(view, "required_scope", "full"))
        return True


def require_scope(caller: Any, required: str) -> None:
    """Raise E_AUTH (403) unless the caller has the scope. "full" includes "page"."""
    scope = caller.scope if isinstance(caller, Caller) else ""
    if scope == "full" or (scope == "page" and required == "page"):
        return
    raise PinboxError(
        "E_AUTH",
        "this token is for pages and may not do this",
        "Use the hub's full token; it is in hub.json and never in a page.",
        status=403,
    )
