"""The whole hub behind its gate: tokens, scopes, order of checks, and what an attacker may try."""

import asyncio
import json
import logging
from concurrent.futures import Executor
from datetime import UTC, datetime

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.core.handlers.asgi import ASGIHandler
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client

from pinbox_site import admin_link, auth, runtime
from pinbox_site.bridge import Bridge
from pinbox_site.gate import Gate, GateSettings

from .asgi import Answer, request

FULL = "full-token-" + "f" * 24
PAGE = "page-token-" + "p" * 24
ORIGIN = "http://localhost:3000"
PIN = {"text": "Save button too small", "author": {"userId": "u"}}

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def hub(monkeypatch):
    """A local hub with its two tokens."""
    started = runtime.Runtime(
        project_dir=None, token=FULL, page_token=PAGE, instance="i-1", started_at=""
    )
    monkeypatch.setattr(runtime, "_current", started)
    auth.verifier.cache_clear()
    yield
    auth.verifier.cache_clear()


class LaneOfTheTest(Executor):
    """A lane that works in the thread of the test, which alone sees the test's transaction."""

    def submit(self, work, /, *args, **kwargs):
        loop = asyncio.get_running_loop()
        return asyncio.run_coroutine_threadsafe(sync_to_async(work)(*args, **kwargs), loop)


@pytest.fixture
def app(monkeypatch):
    """The hub as asgi.py builds it, but in the test's thread and transaction."""
    # The connection is inside the test's transaction, so it must not be tidied up.
    monkeypatch.setattr(BaseDatabaseWrapper, "close_if_unusable_or_obsolete", lambda self: None)
    bridge = Bridge(ASGIHandler(), sockets=ASGIHandler())  # the socket has tests of its own
    monkeypatch.setattr(bridge, "_reads", LaneOfTheTest())
    monkeypatch.setattr(bridge, "_writes", LaneOfTheTest())
    return Gate(bridge, GateSettings())


@pytest.fixture
def send(app):
    """`send(method, path, token=…, body=…)`: one request to the hub."""

    def call(method: str, path: str, *, token: str | None = FULL, body=None, headers=(), **more):
        sent = list(headers)
        if token is not None:
            sent.append(("authorization", f"Bearer {token}"))
        raw = (
            b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        return request(app, method, path, headers=sent, body=raw, **more)

    return call


def error_of(answer: Answer) -> dict[str, str]:
    assert answer.header("content-type") == "application/json"
    document = json.loads(answer.body)
    assert list(document) == ["ok", "error"]
    error: dict[str, str] = document["error"]
    assert list(error) == ["code", "message", "hint"]
    assert all(text and text.isprintable() for text in error.values())
    return error


def data_of(answer: Answer):
    document = json.loads(answer.body)
    assert document["ok"] is True, document
    return document["data"]


# --- tokens and routes ----------------------------------------------------------------------------

#: (method, path, the page's token may). Every route of the hub but /health and the admin's pages.
ROUTES = [
    ("GET", "/summary", True),
    ("GET", "/events", True),
    ("GET", "/pins", True),
    ("POST", "/pins", True),
    ("GET", "/pins/pin_aaaaaaaaaa", True),
    ("GET", "/pins/pin_aaaaaaaaaa/thread", True),
    ("POST", "/pins/pin_aaaaaaaaaa/thread", True),
    ("POST", "/pins/pin_aaaaaaaaaa/resolve", True),
    ("POST", "/pins/pin_aaaaaaaaaa/verify", True),
    ("GET", "/pins/pin_aaaaaaaaaa/events", True),
    ("POST", "/attachments", True),
    ("GET", "/media/att_aaaaaaaaaa", True),
    ("GET", "/schema", True),
    ("POST", "/sessions", False),
    ("DELETE", "/sessions/ses_aaaaaaaaaa", False),
    ("POST", "/sessions/ses_aaaaaaaaaa/inject", False),
    ("GET", "/sessions/ses_aaaaaaaaaa/pending", False),
    ("POST", "/hooks/claude", False),
    ("POST", "/admin-link", False),
]


@pytest.mark.parametrize(("method", "path"), [row[:2] for row in ROUTES])
@pytest.mark.parametrize("token", [None, "wrong", FULL + "x", PAGE.upper()])
def test_no_route_answers_without_a_token_of_ours(send, method, path, token):
    answer = send(method, path, token=token, body=PIN)
    assert answer.status == 401
    assert error_of(answer)["code"] == "E_INVALID_INPUT"


@pytest.mark.parametrize(("method", "path", "page_may"), ROUTES)
def test_the_page_token_reaches_what_a_page_needs_and_nothing_else(send, method, path, page_may):
    answer = send(method, path, token=PAGE, body={})
    if page_may:
        assert answer.status not in {401, 403}
    else:
        assert answer.status == 403
        assert error_of(answer)["code"] == "E_AUTH"


@pytest.mark.parametrize(("method", "path"), [row[:2] for row in ROUTES])
def test_the_full_token_reaches_every_route(send, method, path):
    assert send(method, path, body={}).status not in {401, 403}


@pytest.mark.parametrize("path", ["/nope", "/pins/", "/Pins", "//pins", "/ws/x", "/"])
def test_an_unknown_path_is_401_without_a_token_and_404_with_one(send, path):
    assert send("GET", path, token=None).status == 401
    answer = send("GET", path)
    assert answer.status == 404
    assert error_of(answer)["code"] == "E_NOT_FOUND"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/pins"),
        ("DELETE", "/pins"),
        ("PATCH", "/pins/pin_aaaaaaaaaa"),
        ("POST", "/summary"),
        ("GET", "/pins/pin_aaaaaaaaaa/resolve"),
        ("TRACE", "/pins"),
        ("OPTIONS", "/pins"),
        ("FOO", "/pins"),
        ("POST", "/health"),
        ("GET", "/health/"),
    ],
)
def test_a_wrong_method_is_404_with_a_token_and_401_without(send, method, path):
    assert send(method, path, token=None).status == 401
    answer = send(method, path)
    assert answer.status == 404
    assert error_of(answer)["code"] == "E_NOT_FOUND"


def test_a_page_learns_why_it_was_refused(send):
    answer = send("GET", "/pins", token=None, headers=[("origin", ORIGIN)])
    assert answer.status == 401
    assert answer.header("access-control-allow-origin") == ORIGIN
    assert answer.header("vary") == "origin"


def test_a_token_in_the_query_opens_nothing(send):
    assert send("GET", "/pins", token=None, query=f"token={FULL}".encode()).status == 401


def test_a_cookie_opens_nothing(send):
    cookies = [("cookie", f"token={FULL}; authorization=Bearer {FULL}")]
    assert send("GET", "/pins", token=None, headers=cookies).status == 401


@pytest.mark.parametrize("second", [FULL, "wrong"])
def test_two_tokens_are_none(send, second):
    headers = [("authorization", f"Bearer {second}")]
    assert send("GET", "/pins", headers=headers).status == 401


def test_a_method_override_does_not_count(send):
    answer = send("POST", "/pins", body={}, headers=[("x-http-method-override", "DELETE")])
    assert answer.status == 400


# --- who writes -----------------------------------------------------------------------------------


def test_a_page_cannot_aim_a_pin_at_a_session(send):
    body = {**PIN, "agentSession": {"agent": "claude", "key": "somebody-elses", "cwd": "/"}}
    answer = send("POST", "/pins", token=PAGE, body=body)
    assert answer.status == 403
    assert error_of(answer)["code"] == "E_AUTH"
    assert send("POST", "/pins", token=FULL, body=body).status == 201


@pytest.mark.parametrize("token", [FULL, PAGE])
def test_nobody_can_make_an_agent_open_a_file(send, token):
    files = [{"id": "att_aaaaaaaaaa", "kind": "file", "path": "/home/somebody/.ssh/id_ed25519"}]
    for path, body in (("/pins", PIN), (None, {"role": "human", "text": "look"})):
        path = path or f"/pins/{data_of(send('POST', '/pins', body=PIN))['id']}/thread"
        answer = send("POST", path, token=token, body={**body, "attachments": files})
        assert answer.status == 400
        assert error_of(answer)["message"].startswith("attachments.0.id: ")


def test_a_signed_address_is_good_for_a_page_of_the_app_and_for_no_script_of_another_site(send):
    made = send("POST", "/attachments", token=PAGE, query=b"kind=file", body=b"a note")
    url = data_of(made)["attachment"]["url"]
    path, _, query = url.partition("?")
    fetch = {"token": None, "query": query.encode()}
    crossed = ("sec-fetch-site", "cross-site")

    # `<img crossorigin>` on the app's page: another host, so "cross-site", and it says its Origin.
    answer = send("GET", path, **fetch, headers=[crossed, ("origin", ORIGIN)])
    assert (answer.status, answer.body) == (200, b"a note")
    assert answer.header("access-control-allow-origin") == ORIGIN
    # A link on it: to the browser a page under localhost is of another site than 127.0.0.1.
    assert send("GET", path, **fetch, headers=[crossed]).status == 200
    assert send("GET", path, token=None, headers=[crossed]).status == 403
    foreign = ("origin", "https://evil.example")
    assert send("GET", path, **fetch, headers=[foreign]).status == 403
    assert send("POST", path, **fetch).status == 401
    assert send("GET", "/pins", **fetch).status == 401


@pytest.mark.parametrize("key", ["-x", "--dangerous", ""])
def test_a_session_key_cannot_become_an_option(send, key):
    answer = send("POST", "/sessions", body={"agent": "claude", "key": key})
    assert answer.status == 400
    assert error_of(answer)["message"].startswith("key: ")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("thread", {"role": "agent", "text": "done"}),
        ("thread", {"role": "mirror", "text": "done"}),
        ("resolve", {"by": "agent"}),
    ],
)
def test_a_page_cannot_speak_as_an_agent_or_a_mirror(send, path, body):
    pin = data_of(send("POST", "/pins", body=PIN))
    answer = send("POST", f"/pins/{pin['id']}/{path}", token=PAGE, body=body)
    assert answer.status == 403
    assert error_of(answer)["code"] == "E_AUTH"


# --- hostile input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [b"a\\u0000b", b"\\ud83d", b"\\udc00x"], ids=["NUL", "high", "low"]
)
@pytest.mark.parametrize("path", ["/pins", "/pins/pin_aaaaaaaaaa/thread", "/sessions"])
def test_what_a_database_cannot_hold_is_refused_before_it(send, text, path):
    answer = send("POST", path, body=b'{"text":"' + text + b'"}')
    assert answer.status == 400
    assert error_of(answer)["message"].startswith("text: ")


@pytest.mark.parametrize("query", [b"search=%00", b"search=a%00b"])
def test_a_search_for_nul_is_refused(send, query):
    answer = send("GET", "/pins", query=query)
    assert answer.status == 400
    assert error_of(answer)["message"].startswith("search: ")


def test_a_search_for_half_a_pair_finds_nothing(send):
    assert data_of(send("GET", "/pins", query=b"search=%ED%A0%BD")) == []


@pytest.mark.parametrize(
    "path",
    ["/pins/%00", "/pins/\x00", "/pins/pin_\u202e", "/pins/../admin", "/hooks/\x1b[2J", "/\xff"],
)
def test_a_hostile_path_is_unknown(send, path):
    answer = send("GET", path)
    assert answer.status == 404
    error_of(answer)


@pytest.mark.parametrize(
    "query", [b"limit=0", b"limit=-1", b"limit=1e9", b"limit=1001", b"limit=x", b"limit=%00"]
)
def test_a_silly_limit_is_refused_with_the_range(send, query):
    answer = send("GET", "/pins", query=query)
    assert answer.status == 400
    assert "1000" in error_of(answer)["message"].replace(",", "")


@pytest.mark.parametrize(
    "query", [b"after=x", b"before=%00", b"after=%F0%9F%92%A9", b"before=" + b"9" * 500]
)
@pytest.mark.parametrize("path", ["/pins", "/events", "/deliveries", "/sessions"])
def test_a_cursor_that_is_none_is_refused(send, path, query):
    answer = send("GET", path, query=query)
    assert answer.status in {200, 400}
    if answer.status == 400:
        error_of(answer)


@pytest.mark.parametrize("key", ["", "x" * 256, "\xe9", "a\tb"])
def test_an_idempotency_key_that_is_none_is_refused(send, key):
    answer = send("POST", "/pins", body=PIN, headers=[("idempotency-key", key)])
    assert answer.status == 400
    error_of(answer)


@pytest.mark.parametrize("session", ["", "claude", "/", "claude/", "claude/\xff", "x" * 9000])
def test_a_session_header_that_names_none_does_no_harm(send, session):
    pin = data_of(send("POST", "/pins", body=PIN))
    answer = send("GET", f"/pins/{pin['id']}", headers=[("pinbox-session", session)])
    assert answer.status == 200


def test_a_whole_pin_of_the_widest_allowed_shape_is_not_refused_by_the_parser(send):
    target = {"context": {"textRuns": ["x"] * 1000, "styles": {f"k{i}": "v" for i in range(1000)}}}
    assert send("POST", "/pins", body={**PIN, "target": target}).status == 201


# --- a wrong set-up -------------------------------------------------------------------------------


def test_a_misconfigured_hub_is_closed_everywhere_and_says_why_in_health(send, monkeypatch):
    monkeypatch.setenv("PINBOX_AUTH", "none")
    auth.verifier.cache_clear()
    for method, path, _ in ROUTES:
        answer = send(method, path, body={})
        assert answer.status == 500
        assert error_of(answer)["code"] == "E_INTERNAL"
    answer = send("GET", "/health", token=None)
    assert answer.status == 503
    assert "PINBOX_AUTH=none" in error_of(answer)["message"]


# --- the admin ------------------------------------------------------------------------------------


@pytest.fixture
def admin():
    """Cookies of a person who is logged in to the admin."""
    user = get_user_model().objects.create_superuser("owner", "", "password")
    client = Client()
    client.force_login(user)
    return client.cookies


def cookie_header(cookies) -> tuple[str, str]:
    return "cookie", "; ".join(f"{name}={morsel.value}" for name, morsel in cookies.items())


def test_the_admin_is_a_page_without_a_token(send):
    answer = send("GET", "/admin/", token=None)
    assert answer.status == 302
    assert (answer.header("location") or "").startswith("/admin/login/")
    assert answer.header("x-frame-options") == "DENY"


def test_the_hubs_tokens_are_no_login_to_the_admin(send):
    assert send("GET", "/admin/", token=FULL).status == 302


def test_a_logged_in_person_sees_the_admin(send, admin):
    assert send("GET", "/admin/", token=None, headers=[cookie_header(admin)]).status == 200


@pytest.mark.parametrize(
    "origin", [ORIGIN, "http://localhost:4000", "http://127.0.0.1:4001", "https://127.0.0.1:4000"]
)
def test_a_page_on_another_port_cannot_act_in_the_admin(send, admin, origin):
    before = Session.objects.count()
    headers = [
        cookie_header(admin),
        ("origin", origin),
        ("content-type", "application/x-www-form-urlencoded"),
    ]
    answer = send("POST", "/admin/logout/", token=None, headers=headers, body=b"a=b")
    assert answer.status == 403
    assert Session.objects.count() == before


def test_the_admins_cookies_stay_with_the_admin():
    client = Client()
    token, _ = admin_link.make_link(datetime.now(UTC))
    client.get("/admin/login-link", {"token": token})
    client.post("/admin/login-link", {"token": token})
    assert len(client.cookies) == 2
    for name, cookie in client.cookies.items():
        assert name.startswith("pinbox_"), "an application on another port has a sessionid too"
        assert (cookie["path"], cookie["samesite"], cookie["httponly"]) == (
            "/admin/",
            "Strict",
            True,
        )


def test_the_admin_session_opens_no_route_of_the_api(send, admin):
    assert send("GET", "/pins", token=None, headers=[cookie_header(admin)]).status == 401


# --- logs -----------------------------------------------------------------------------------------


def test_neither_tokens_nor_pins_reach_the_log(send, caplog):
    caplog.set_level(logging.INFO)
    secret = "quoted-pin-text"
    pin = data_of(send("POST", "/pins", body={**PIN, "text": secret}))
    send("POST", f"/pins/{pin['id']}/thread", body={"role": "human", "text": secret})
    send("POST", "/pins", body={**PIN, "text": secret, "kind": secret})
    send("POST", "/pins", body=b'{"text":"' + secret.encode())
    send("GET", "/pins", query=f"search={secret}&token={FULL}".encode())
    send("GET", "/nope", query=f"token={PAGE}".encode())
    send("GET", "/pins", token="wrong-" + FULL)
    send("POST", "/hooks/claude", body={"hook_event_name": "UserPromptSubmit", "prompt": secret})
    send("POST", f"/pins/{pin['id']}/resolve", body={"by": "human", "note": secret})
    for record in caplog.records:
        text = record.getMessage() + str(record.exc_text or record.exc_info or "")
        for hidden in (secret, FULL, PAGE):
            assert hidden not in text, record
