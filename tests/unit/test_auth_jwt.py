"""The strategy `jwt` against a real issuer: an HTTP server on loopback that publishes real keys."""

import base64
import hmac
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from pinbox.contract import Caller, PinboxError
from pinbox_site import jwks
from pinbox_site.jwks import FRESH_S, GRACE_S, REFETCH_S, RETRY_S, JwtVerifier, KeyCache
from tests.wait import wait_until

AUDIENCE = "pinbox"
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
RSA_WEAK = rsa.generate_private_key(public_exponent=65537, key_size=1024)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()
OTHER_ED_KEY = ed25519.Ed25519PrivateKey.generate()


def published(key: Any, kid: str | None, **more: Any) -> dict[str, Any]:
    """The JWK of a key's public half."""
    match key:
        case rsa.RSAPrivateKey():
            entry = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        case ec.EllipticCurvePrivateKey():
            entry = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
        case _:
            entry = jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)
    entry.pop("key_ops", None)
    return {**entry, **({"kid": kid} if kid is not None else {}), **more}


class Issuer:
    """An identity provider that publishes `keys`; `answer` makes it a broken one."""

    def __init__(self) -> None:
        self.keys: list[dict[str, Any]] = [published(ED_KEY, "ed")]
        self.answer: Any = None
        self.fetches = 0
        self.hold = threading.Event()
        self.hold.set()
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.fetches += 1
                issuer.hold.wait(30)
                if issuer.answer is not None:
                    issuer.answer(self)
                    return
                body = json.dumps({"keys": issuer.keys}).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/jwks.json"

    def fail(self, status: int = 500) -> None:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            handler.send_header("location", self.url)
            handler.send_header("content-length", "0")
            handler.end_headers()

        self.answer = answer

    def close(self) -> None:
        self.hold.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(10)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def issuer():
    with closing(Issuer()) as made:
        yield made


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def verifier(issuer, clock):
    return JwtVerifier(
        issuer="https://issuer.example",
        audience=AUDIENCE,
        jwks_url=issuer.url,
        leeway_s=10,
        keys=KeyCache(issuer.url, clock=clock),
    )


def token(key: Any = ED_KEY, kid: str | None = "ed", alg: str = "EdDSA", **claims: Any) -> str:
    """A token that is right in every respect but the given claims; a claim of None is left out."""
    body = {
        "iss": "https://issuer.example",
        "aud": AUDIENCE,
        "sub": "user-1",
        "iat": int(time.time()),
        "exp": int(time.time()) + 300,
    }
    body.update(claims)
    kept = {name: value for name, value in body.items() if value is not None}
    # PyJWT itself refuses to issue what we must refuse to accept, so the claims are encoded here.
    payload = json.dumps(kept).encode()
    headers = {"kid": kid} if kid is not None else {}
    return jwt.api_jws.encode(payload, key, algorithm=alg, headers=headers)


def segment(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def refusal(verifier: JwtVerifier, credential: str | None) -> PinboxError:
    with pytest.raises(PinboxError) as caught:
        verifier.verify(credential)
    error = caught.value
    assert error.hint
    assert not credential or credential not in error.message
    return error


# --- tokens ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "alg"), [(ED_KEY, "EdDSA"), (RSA_KEY, "RS256"), (EC_KEY, "ES256")])
def test_a_token_of_each_accepted_algorithm_is_admitted(issuer, verifier, key, alg):
    issuer.keys = [published(key, "k")]
    caller = verifier.verify(token(key, "k", alg, name="Ada", email="ada@example.org"))
    assert caller == Caller("full", "user-1", "Ada", "ada@example.org")


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"iss": "https://other.example"}, "another issuer"),
        ({"iss": "https://issuer.example/"}, "another issuer"),
        ({"iss": None}, "no claim iss"),
        ({"aud": "other"}, "another audience"),
        ({"aud": ["a", "b"]}, "another audience"),
        ({"aud": None}, "no claim aud"),
        ({"exp": None}, "no claim exp"),
        ({"exp": "soon"}, "not valid"),
        ({"exp": 1_700_000_000}, "expired"),
        ({"sub": None}, "no claim sub"),
        ({"sub": ""}, "sub"),
        ({"sub": "  "}, "sub"),
        ({"sub": 7}, "not valid"),
        ({"sub": "a\nb"}, "sub"),
        ({"sub": "x" * 256}, "sub"),
        ({"nbf": 4_000_000_000}, "not valid yet"),
        ({"iat": "x"}, "not valid"),
        ({"pinbox_scope": "admin"}, "pinbox_scope"),
    ],
)
def test_a_token_with_a_wrong_claim_is_refused_with_the_reason(verifier, claims, message):
    error = refusal(verifier, token(**claims))
    assert (error.code, error.status) == ("E_AUTH", 401)
    assert message in error.message


def test_a_list_of_audiences_that_holds_ours_is_enough(verifier):
    assert verifier.verify(token(aud=["other", AUDIENCE])).subject == "user-1"


def test_a_token_issued_three_seconds_ahead_of_our_clock_is_admitted(verifier):
    assert verifier.verify(token(iat=int(time.time()) + 3)).subject == "user-1"


def test_a_token_issued_ten_minutes_ahead_is_refused_with_the_reason(verifier):
    error = refusal(verifier, token(iat=int(time.time()) + 600))
    assert (error.code, error.status) == ("E_AUTH", 401)
    assert "not valid yet" in error.message


def test_a_token_that_expired_within_the_leeway_is_admitted(verifier):
    assert verifier.verify(token(exp=int(time.time()) - 3)).subject == "user-1"


@pytest.mark.parametrize(
    ("claims", "scope"),
    [
        ({}, "full"),
        ({"pinbox_scope": "full"}, "full"),
        ({"pinbox_scope": "page"}, "page"),
        ({"scope": "openid page"}, "page"),
        ({"scope": "openid pages"}, "full"),
        ({"scope": "page", "pinbox_scope": "full"}, "full"),
    ],
)
def test_the_scope_comes_from_the_token(verifier, claims, scope):
    assert verifier.verify(token(**claims)).scope == scope


def test_a_name_that_is_no_short_text_counts_as_absent(verifier):
    caller = verifier.verify(token(name=["Ada"], email="a\x1b[2Jb@example.org"))
    assert (caller.name, caller.email) == (None, None)


def test_no_token_is_refused(verifier, issuer):
    assert refusal(verifier, None).status == 401
    assert issuer.fetches == 0


@pytest.mark.parametrize(
    "credential",
    ["x", "a.b", "a.b.c", "....", "é.é.é", "\ud800", "A" * 8000, segment([1]) + ".e30.x"],
)
def test_what_is_no_jwt_is_refused_without_asking_the_issuer(verifier, issuer, credential):
    assert refusal(verifier, credential).status == 401
    assert issuer.fetches == 0


def test_a_header_of_a_thousand_levels_is_refused(verifier):
    deep = base64.urlsafe_b64encode(b'{"a":' * 6000).rstrip(b"=").decode()
    assert refusal(verifier, f"{deep}.e30.AA").status == 401


# --- algorithms -----------------------------------------------------------------------------------


def test_an_unsigned_token_is_refused(verifier, issuer):
    claims = token().split(".")[1]
    for name in ("none", "None", "NONE", ""):
        header = segment({"alg": name, "typ": "JWT", "kid": "ed"})
        error = refusal(verifier, f"{header}.{claims}.")
        assert (error.code, error.status) == ("E_AUTH", 401)
    assert issuer.fetches == 0


@pytest.mark.parametrize("form", ["pem", "jwk", "raw"])
def test_a_published_key_never_verifies_an_hmac(verifier, issuer, form):
    public = ED_KEY.public_key()
    secret = {
        "pem": public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "raw": public.public_bytes(Encoding.Raw, PublicFormat.Raw),
        "jwk": json.dumps(issuer.keys[0]).encode(),
    }[form]
    claims = token().split(".")[1]
    signed = f"{segment({'alg': 'HS256', 'typ': 'JWT', 'kid': 'ed'})}.{claims}"
    mac = hmac.new(secret, signed.encode(), sha256).digest()
    credential = f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"
    assert refusal(verifier, credential).status == 401


def test_a_symmetric_key_in_the_jwks_is_not_used(verifier, issuer):
    issuer.keys = [{"kty": "oct", "kid": "s", "alg": "HS256", "k": segment("secret")}]
    assert refusal(verifier, token("secret" * 8, "s", "HS256")).status == 401


def test_a_key_verifies_only_its_own_algorithm(verifier, issuer):
    issuer.keys = [published(RSA_KEY, "k"), published(EC_KEY, "e", alg="ES384")]
    for credential in (
        token(ED_KEY, "k"),
        token(EC_KEY, "k", "ES256"),
        token(EC_KEY, "e", "ES256"),
    ):
        assert refusal(verifier, credential).status == 401


@pytest.mark.parametrize("alg", ["RS512", "PS256", "RS384"])
def test_an_algorithm_that_is_not_on_the_list_is_refused(verifier, issuer, alg):
    issuer.keys = [published(RSA_KEY, "k")]
    assert "algorithm" in refusal(verifier, token(RSA_KEY, "k", alg)).message


@pytest.mark.parametrize(
    "entry",
    [
        published(ED_KEY, "ed", use="enc"),
        published(ED_KEY, "ed", key_ops=["sign"]),
        published(ED_KEY, "ed", alg="ES256"),
        published(ED_KEY, "ed", d="AAAA"),
        published(ED_KEY, "ed", x="AAAA"),
        published(ED_KEY, "ed", crv="Ed448"),
        {"kty": "OKP", "kid": "ed"},
        "text",
        None,
    ],
    ids=["enc", "sign", "alg", "private", "short", "curve", "empty", "text", "null"],
)
def test_a_key_that_is_not_for_verifying_is_left_out(verifier, issuer, entry):
    issuer.keys = [entry, published(OTHER_ED_KEY, "other")]
    assert refusal(verifier, token()).status == 401
    assert verifier.verify(token(OTHER_ED_KEY, "other")).subject == "user-1"


def test_a_weak_rsa_key_is_left_out(verifier, issuer):
    issuer.keys = [published(RSA_WEAK, "weak")]
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        credential = token(RSA_WEAK, "weak", "RS256")
    assert refusal(verifier, credential).status == 401


def test_a_key_that_the_token_brings_itself_is_ignored(verifier):
    own = published(OTHER_ED_KEY, "ed")
    headers = {"kid": "ed", "jwk": own, "jku": "http://127.0.0.1:1/", "x5u": "http://127.0.0.1:1/"}
    claims = json.loads(base64.urlsafe_b64decode(token().split(".")[1] + "=="))
    credential = jwt.encode(claims, OTHER_ED_KEY, algorithm="EdDSA", headers=headers)
    assert "signature" in refusal(verifier, credential).message


def test_a_critical_header_is_refused(verifier):
    credential = jwt.api_jws.encode(
        b"{}", ED_KEY, algorithm="EdDSA", headers={"kid": "ed", "crit": ["exp"], "exp": 1}
    )
    assert refusal(verifier, credential).status == 401


def test_a_changed_claim_breaks_the_signature(verifier):
    header, _, signature = token().split(".")
    assert (
        "signature"
        in refusal(verifier, f"{header}.{token(sub='x').split('.')[1]}.{signature}").message
    )


def test_a_token_without_key_id_needs_a_single_fitting_key(verifier, issuer, clock):
    assert verifier.verify(token(kid=None)).subject == "user-1"
    issuer.keys.append(published(OTHER_ED_KEY, "second"))
    clock.now += FRESH_S
    wait_until(lambda: verifier.verify(token()) and issuer.fetches == 2)
    wait_until(lambda: "does not publish" in _message(verifier, token(kid=None)))


def _message(verifier: JwtVerifier, credential: str) -> str:
    try:
        verifier.verify(credential)
    except PinboxError as error:
        return error.message
    return ""


# --- the keys' cache ------------------------------------------------------------------------------


def test_a_thousand_requests_ask_the_issuer_once(verifier, issuer):
    credential = token()
    for _ in range(100):
        verifier.verify(credential)
    assert issuer.fetches == 1


def test_a_new_key_is_found_when_a_token_names_it(verifier, issuer, clock):
    verifier.verify(token())
    issuer.keys = [published(OTHER_ED_KEY, "new")]
    clock.now += REFETCH_S
    assert verifier.verify(token(OTHER_ED_KEY, "new")).subject == "user-1"
    assert issuer.fetches == 2


def test_a_withdrawn_key_is_refused_after_the_next_fetch(verifier, issuer, clock):
    verifier.verify(token())
    issuer.keys = []
    clock.now += FRESH_S
    wait_until(lambda: "does not publish" in _message(verifier, token()))
    assert refusal(verifier, token()).status == 401


def test_invented_key_ids_cause_one_fetch_a_minute(verifier, issuer, clock):
    verifier.verify(token())
    clock.now += REFETCH_S
    for index in range(200):
        assert refusal(verifier, token(kid=f"invented-{index}")).status == 401
    assert issuer.fetches == 2
    clock.now += REFETCH_S - 1
    refusal(verifier, token(kid="invented"))
    assert issuer.fetches == 2
    clock.now += 1
    refusal(verifier, token(kid="invented"))
    assert issuer.fetches == 3


def test_threads_that_need_the_same_key_share_one_fetch(verifier, issuer):
    issuer.hold.clear()
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(verifier.verify, token()) for _ in range(8)]
        wait_until(lambda: issuer.fetches == 1)
        issuer.hold.set()
        assert {each.result(10).subject for each in waiting} == {"user-1"}
    assert issuer.fetches == 1


def test_keys_outlive_an_outage_for_a_day(verifier, issuer, clock):
    verifier.verify(token())
    issuer.fail(500)
    for hours in range(1, 24):
        clock.now = 1000 + hours * 3600
        # Each request may find the fetch of the hour before still under way.
        wait_until(
            lambda hours=hours: (
                verifier.verify(token()).subject == "user-1" and issuer.fetches == 1 + hours
            )
        )
    clock.now = 1000 + GRACE_S
    wait_until(lambda: _message(verifier, token()))
    error = refusal(verifier, token())
    assert (error.code, error.status) == ("E_INTERNAL", 503)


def test_nobody_waits_for_a_slow_issuer_while_there_are_keys(verifier, issuer, clock):
    verifier.verify(token())
    clock.now += FRESH_S
    issuer.hold.clear()
    for _ in range(5):
        assert verifier.verify(token()).subject == "user-1"
    wait_until(lambda: issuer.fetches == 2)


def test_an_unknown_key_during_an_outage_is_no_verdict_on_the_token(verifier, issuer, clock):
    verifier.verify(token())
    issuer.fail(503)
    clock.now += REFETCH_S
    assert refusal(verifier, token(OTHER_ED_KEY, "new")).status == 503


def test_without_any_key_the_hub_says_so_and_recovers_soon(verifier, issuer, clock):
    issuer.fail(500)
    assert refusal(verifier, token()).status == 503
    assert refusal(verifier, token()).status == 503
    assert issuer.fetches == 1
    issuer.answer = None
    clock.now += RETRY_S
    assert verifier.verify(token()).subject == "user-1"


def _send(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(body)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b'{"keys":{}}', b"\xff", b"[" * 100_000, b" " * (jwks.MAX_BYTES + 1)],
    ids=["empty", "html", "list", "dict", "bytes", "deep", "large"],
)
def test_an_answer_that_is_no_jwks_changes_nothing(verifier, issuer, clock, body):
    verifier.verify(token())
    issuer.answer = lambda handler: _send(handler, body)
    clock.now += FRESH_S
    assert verifier.verify(token()).subject == "user-1"
    wait_until(lambda: issuer.fetches == 2)
    clock.now += REFETCH_S
    assert verifier.verify(token()).subject == "user-1"


def test_a_redirect_is_not_followed(verifier, issuer):
    issuer.fail(302)
    assert refusal(verifier, token()).status == 503
    assert issuer.fetches == 1


def test_an_issuer_that_drips_is_cut_off(issuer, monkeypatch):
    monkeypatch.setattr(jwks, "FETCH_S", 0.3)
    done = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            while not done.wait(0.05):
                handler.wfile.write(b" ")
                handler.wfile.flush()
        except OSError:
            pass

    issuer.answer = drip
    started = time.monotonic()
    try:
        body = jwks.fetch(issuer.url)
        assert set(body) <= {0x20}, "cut in the middle"
    except jwks.IssuerUnavailable:
        pass
    finally:
        done.set()
    assert time.monotonic() - started < 5


def test_an_issuer_that_is_not_there_is_unavailable():
    with pytest.raises(jwks.IssuerUnavailable):
        jwks.fetch("http://127.0.0.1:1/jwks.json")
