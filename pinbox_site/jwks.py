"""The strategy `jwt`: tokens signed by an issuer, checked with the keys it publishes (JWKS).

PyJWT checks signatures and claims. The keys' cache is our own: keys outlive an outage of the
issuer for `GRACE_S`, and no stream of invented key ids makes us call the issuer more than once a
`REFETCH_S`. Which settings are needed is `pinbox_site.auth`'s business.
"""

import http.client
import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import jwt

from pinbox.contract import Caller, PinboxError

log = logging.getLogger(__name__)

#: Seconds for which fetched keys are used without asking again.
FRESH_S: Final = 600
#: Seconds for which they are still used when the issuer cannot be reached: one day.
GRACE_S: Final = 24 * 3600
#: Seconds between two fetches, whatever tokens ask for.
REFETCH_S: Final = 60
#: The same while we have no key at all and every request fails.
RETRY_S: Final = 5
#: Seconds one fetch may take in all.
FETCH_S: Final = 5
#: A JWKS is a few kilobytes.
MAX_BYTES: Final = 256 * 1024
MAX_KEYS: Final = 100
MAX_SUBJECT: Final = 255
#: Bits below which an RSA key does not count as one (NIST SP 800-131A).
MIN_RSA_BITS: Final = 2048

#: algorithm -> (key type, curve). None is symmetric: a published key must never verify an HMAC.
ALGORITHMS: Final[dict[str, tuple[str, str | None]]] = {
    "EdDSA": ("OKP", "Ed25519"),
    "RS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
}
#: What PyJWT reports -> what we tell. The token itself is never part of it.
_REASONS: Final[tuple[tuple[type[Exception], str, str], ...]] = (
    (jwt.ExpiredSignatureError, "the token has expired", "Sign in again."),
    (
        jwt.ImmatureSignatureError,
        "the token is not valid yet",
        "Compare the issuer's clock with the hub's.",
    ),
    (jwt.InvalidAudienceError, "the token is for another audience", "Ask for one for this hub."),
    (jwt.InvalidIssuerError, "the token is from another issuer", "Ask this hub's issuer for one."),
    (jwt.InvalidSignatureError, "the token's signature does not match", "Sign in again."),
)


class IssuerUnavailable(Exception):
    """The issuer's keys could not be fetched, or were not a JWKS."""


@dataclass(frozen=True, slots=True)
class PublishedKey:
    kid: str | None
    algorithm: str
    key: jwt.PyJWK


# --- keys -----------------------------------------------------------------------------------------


def fetch(url: str) -> bytes:
    """GET the JWKS: no redirects, at most MAX_BYTES, at most FETCH_S. Raises IssuerUnavailable."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(host, port, timeout=FETCH_S, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=FETCH_S)
    try:
        connection.connect()
        return _read_document(connection, parts)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise IssuerUnavailable(type(error).__name__) from error
    finally:
        connection.close()


def _read_document(connection: http.client.HTTPConnection, parts: SplitResult) -> bytes:
    # The connection's own time-out starts again with every byte that drips in.
    watchdog = threading.Timer(FETCH_S, _cut, [connection.sock])
    watchdog.daemon = True
    watchdog.start()
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", target, headers={"accept": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise IssuerUnavailable(f"the answer has status {response.status}")
        body = response.read(MAX_BYTES + 1)
    finally:
        watchdog.cancel()
    if len(body) > MAX_BYTES:
        raise IssuerUnavailable(f"the answer is larger than {MAX_BYTES:,} bytes")
    return body


def _cut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def read_keys(document: bytes) -> tuple[PublishedKey, ...]:
    """The keys we can use; others (encryption, symmetric, private, weak) are left out.

    Raises IssuerUnavailable for what is no JWKS. An empty one is one: the issuer has withdrawn all.
    """
    try:
        content = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise IssuerUnavailable("the answer is not JSON") from error
    entries = content.get("keys") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise IssuerUnavailable("the answer is not a JWKS")
    return tuple(key for entry in entries[:MAX_KEYS] if (key := _usable(entry)) is not None)


def _usable(entry: Any) -> PublishedKey | None:
    if not isinstance(entry, dict) or "d" in entry or entry.get("use", "sig") != "sig":
        return None
    operations = entry.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        return None
    kid = entry.get("kid")
    for algorithm, (kind, curve) in ALGORITHMS.items():
        if entry.get("kty") != kind or (curve and entry.get("crv") != curve):
            continue
        if entry.get("alg", algorithm) != algorithm or not isinstance(kid, str | None):
            return None
        try:
            key = jwt.PyJWK(entry, algorithm)
        except (jwt.PyJWTError, ValueError, TypeError):
            return None
        if kind == "RSA" and key.key.key_size < MIN_RSA_BITS:
            return None
        return PublishedKey(kid, algorithm, key)
    return None


class KeyCache:
    """The issuer's keys. Threads share it; one of them fetches at a time."""

    def __init__(
        self,
        url: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        fetcher: Callable[[str], bytes] = fetch,
    ) -> None:
        self._url = url
        self._clock = clock
        self._fetcher = fetcher
        self._fetching = threading.Lock()
        # The following change together, and only by the holder of `_fetching`.
        self._keys: tuple[PublishedKey, ...] = ()
        self._fetched_at: float | None = None
        self._is_failing = False
        self._next_fetch_at = clock()

    def find(self, kid: str | None, algorithm: str) -> jwt.PyJWK:
        """The published key of that id. Raises PinboxError: 401 no such key, 503 no way to know."""
        key = self._known(kid, algorithm)
        if key is not None:
            if self._age() >= FRESH_S:
                self._refresh_aside()
            return key
        # Waits when another thread is fetching: its answer may hold the key.
        with self._fetching:
            if self._clock() >= self._next_fetch_at:
                self._fetch()
        key = self._known(kid, algorithm)
        if key is not None:
            return key
        if self._is_failing or self._age() >= GRACE_S:
            raise PinboxError(
                "E_INTERNAL",
                "the issuer's keys cannot be fetched, so this token cannot be checked now",
                "Try again in a minute; the hub's log says what the issuer answered.",
                status=503,
            )
        raise PinboxError(
            "E_AUTH",
            "the token is signed by a key that its issuer does not publish",
            f"Sign in again; a new key is known within {REFETCH_S} seconds.",
        )

    def _known(self, kid: str | None, algorithm: str) -> jwt.PyJWK | None:
        if self._age() >= GRACE_S:
            return None
        fitting: Sequence[PublishedKey] = [
            key
            for key in self._keys
            if key.algorithm == algorithm and (kid is None or key.kid == kid)
        ]
        # A token without key id is only unambiguous when one key fits.
        return fitting[0].key if fitting and (kid is not None or len(fitting) == 1) else None

    def _age(self) -> float:
        """Seconds since the last good fetch."""
        fetched_at = self._fetched_at
        return float("inf") if fetched_at is None else self._clock() - fetched_at

    def _refresh_aside(self) -> None:
        """Fetch in a thread of its own: nobody waits for keys while we still have some."""
        if self._clock() < self._next_fetch_at or not self._fetching.acquire(blocking=False):
            return

        def run() -> None:
            try:
                if self._clock() >= self._next_fetch_at:
                    self._fetch()
            finally:
                self._fetching.release()

        threading.Thread(target=run, name="jwks", daemon=True).start()

    def _fetch(self) -> None:
        """Replace the keys by what the issuer publishes now, or keep them. Needs `_fetching`."""
        started = self._clock()
        self._next_fetch_at = started + REFETCH_S
        try:
            keys = read_keys(self._fetcher(self._url))
        except IssuerUnavailable as error:
            self._is_failing = True
            if self._age() >= GRACE_S:
                self._next_fetch_at = started + RETRY_S
            log.warning("the issuer's keys could not be fetched: %s", error)
            return
        self._keys, self._fetched_at, self._is_failing = keys, started, False
        if not keys:
            log.warning("the issuer publishes no key that can verify a token")


# --- tokens ---------------------------------------------------------------------------------------


class JwtVerifier:
    """Admits who brings a token of the configured issuer for the configured audience."""

    may_block = True

    def __init__(
        self,
        *,
        issuer: str,
        audience: str,
        jwks_url: str,
        leeway_s: int,
        keys: KeyCache | None = None,
    ) -> None:
        self._issuer = issuer
        self._audience = audience
        self._leeway_s = leeway_s
        self._keys = keys or KeyCache(jwks_url)

    def verify(self, credential: str | None) -> Caller:
        if not credential:
            raise refused("the bearer token is missing", "Sign in, or set PINBOX_TOKEN.")
        algorithm, kid = _header(credential)
        key = self._keys.find(kid, algorithm)
        try:
            claims = jwt.decode(
                credential,
                key,
                algorithms=[algorithm],
                audience=self._audience,
                issuer=self._issuer,
                leeway=self._leeway_s,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, ValueError, OverflowError, TypeError, RecursionError) as error:
            raise _refusal(error) from None
        return _caller(claims)


def refused(message: str, hint: str) -> PinboxError:
    return PinboxError("E_AUTH", message, hint)


def _header(credential: str) -> tuple[str, str | None]:
    """Algorithm and key id that the token claims for itself; both only choose among our own."""
    try:
        header = jwt.get_unverified_header(credential)
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise refused("the bearer token is not a JWT", "Sign in again.") from None
    algorithm, kid = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        names = ", ".join(ALGORITHMS)
        raise refused(
            "the token is signed with an algorithm that is not accepted", f"Accepted are {names}."
        )
    if "crit" in header or not isinstance(kid, str | None):
        raise refused("the token's header asks for what the hub does not know", "Sign in again.")
    return algorithm, kid


def _refusal(error: Exception) -> PinboxError:
    if isinstance(error, jwt.MissingRequiredClaimError):
        return refused(f"the token has no claim {error.claim}", "Change what the issuer puts in.")
    for kind, message, hint in _REASONS:
        if isinstance(error, kind):
            return refused(message, hint)
    return refused("the token's claims are not valid", "Sign in again.")


def _caller(claims: dict[str, Any]) -> Caller:
    subject = claims["sub"]
    if (
        not isinstance(subject, str)
        or not subject.strip()
        or not subject.isprintable()
        or len(subject) > MAX_SUBJECT
    ):
        message = f"the token's sub is not a name of 1 to {MAX_SUBJECT} printable characters"
        raise refused(message, "Change what the issuer puts in.")
    return Caller(_scope(claims), subject, _text(claims, "name"), _text(claims, "email"))


def _scope(claims: dict[str, Any]) -> str:
    """`pinbox_scope` is "full" or "page"; without it, a `scope` that lists `page` means a page.

    A token that says neither may do everything: whom to admit is the issuer's decision.
    """
    own = claims.get("pinbox_scope")
    if own is not None:
        if own not in ("full", "page"):
            raise refused("the token's pinbox_scope is neither full nor page", "Sign in again.")
        return str(own)
    words = claims.get("scope")
    return "page" if isinstance(words, str) and "page" in words.split() else "full"


def _text(claims: dict[str, Any], name: str) -> str | None:
    """A claim for display; one that is no short printable text counts as absent."""
    value = claims.get(name)
    if isinstance(value, str) and 0 < len(value) <= MAX_SUBJECT and value.isprintable():
        return value
    return None
