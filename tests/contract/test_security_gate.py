"""The gate: who may talk to the hub at all, judged from headers, before any token is looked at."""

import json

import pytest

from pinbox.contract import MAX_BODY_BYTES, MAX_HOOK_BODY_BYTES
from pinbox_site import auth, runtime
from pinbox_site.gate import AnswerCut, Gate, GateSettings

from .asgi import handshake, request

PAGE = "http://localhost:3000"
TOKEN = "t" * 32


@pytest.fixture(autouse=True)
def hub(monkeypatch):
    """A hub with tokens, whatever the environment of the run says."""
    monkeypatch.setattr(
        runtime,
        "_current",
        runtime.Runtime(
            project_dir=None, token=TOKEN, page_token="p" * 32, instance="i-1", started_at=""
        ),
    )
    auth.verifier.cache_clear()
    yield
    auth.verifier.cache_clear()


class Inner:
    """The application behind the gate: remembers what reached it and answers with what it read."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        self.headers: dict[bytes, bytes] = {}
        self.body = b""
        self.answer_headers = [(b"content-type", b"text/plain"), (b"vary", b"Cookie")]

    async def __call__(self, scope, receive, send):
        self.reached.append(scope["path"])
        self.headers = dict(scope["headers"])
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            return
        more = True
        self.body = b""
        while more:
            message = await receive()
            self.body += message.get("body", b"")
            more = message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200, "headers": self.answer_headers})
        await send({"type": "http.response.body", "body": b"secret pins"})


@pytest.fixture
def inner():
    return Inner()


@pytest.fixture
def gate(inner):
    return Gate(inner, GateSettings())


def error_of(answer):
    assert answer.header("content-type") == "application/json"
    document = json.loads(answer.body)
    assert document["ok"] is False
    assert set(document["error"]) == {"code", "message", "hint"}
    assert all(document["error"].values())
    return document["error"]


# --- Host -----------------------------------------------------------------------------------------

GOOD_HOSTS = [
    "localhost",
    "localhost:4000",
    "LOCALHOST:4000",
    "127.0.0.1",
    "127.0.0.1:4000",
    "127.0.0.1:65535",
    "[::1]",
    "[::1]:4000",
]
BAD_HOSTS = [
    None,
    "",
    " ",
    "evil.example",
    "evil.example:4000",
    "localhost.evil.example",
    "127.0.0.1.nip.io",
    "127.0.0.1.nip.io:4000",
    "evil-localhost",
    "localhost.",
    "localhost.:4000",
    "127.0.0.1.",
    "app.localhost",
    "localhost:",
    "localhost:evil",
    "localhost:4000:4000",
    "localhost:-1",
    "localhost:123456",
    "localhost:4000 ",
    " localhost",
    "localhost\t",
    "localhost\n",
    "localhost, evil.example",
    "localhost/evil.example",
    "evil.example#localhost",
    "evil.example?localhost",
    "user@localhost",
    "user:localhost@evil.example",
    "localhost@evil.example",
    "http://localhost",
    "0.0.0.0",
    "0.0.0.0:4000",
    "0",
    "127.1",
    "127.0.0.2",
    "127.0.0.1.1",
    "127x0x0x1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "127.000.000.001",
    "::1",
    "[::1",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::1]evil.example",
    "[::1%25lo]",
    "ip6-localhost",
    "169.254.169.254",
    "localhost\x00",
    "\xe9",
    "*",
]


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_a_loopback_host_is_let_through(gate, inner, host):
    assert request(gate, host=host).status == 200
    assert request(gate, path="/health", host=host).status == 200
    assert handshake(gate, host=host) == "websocket.accept"


@pytest.mark.parametrize("host", BAD_HOSTS)
@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/pins"), ("POST", "/pins"), ("GET", "/health"), ("GET", "/admin/"), ("OPTIONS", "/")],
)
@pytest.mark.parametrize("origin", [None, PAGE], ids=["direct", "page"])
def test_another_host_is_refused_on_every_route(gate, inner, host, method, path, origin):
    headers = [("authorization", f"Bearer {TOKEN}")]
    if origin:
        headers.append(("origin", origin))
    answer = request(gate, method, path, host=host, headers=headers)
    assert answer.status == 403
    assert error_of(answer)["code"] == "E_AUTH"
    assert answer.cors == []
    assert inner.reached == []


@pytest.mark.parametrize("host", [host for host in BAD_HOSTS if host is None or host.isascii()])
def test_another_host_is_refused_on_the_socket(gate, inner, host):
    assert handshake(gate, host=host) == "websocket.close"
    assert inner.reached == []


def test_two_hosts_are_refused_even_when_both_are_ours(gate, inner):
    answer = request(gate, headers=[("host", "127.0.0.1:4000")])
    assert answer.status == 403
    assert inner.reached == []


def test_a_forwarded_host_does_not_count(gate):
    forwarded = [("x-forwarded-host", "localhost"), ("forwarded", "host=localhost")]
    assert request(gate, host="evil.example", headers=forwarded).status == 403


def test_a_refused_host_is_not_echoed(gate):
    answer = request(gate, host="evil\x1b[2J.example")
    assert b"evil" not in answer.body


# --- Origin ---------------------------------------------------------------------------------------

GOOD_ORIGINS = [
    PAGE,
    "http://127.0.0.1:5173",
    "https://localhost",
    "http://[::1]:3000",
    "http://localhost",
    "https://127.0.0.1:8443",
    "vite+dev://localhost:1",
    "HTTP://LOCALHOST:3000",
]
BAD_ORIGINS = [
    "",
    "null",
    "http://evil.example",
    "https://evil.example:3000",
    "http://app.localhost",
    "http://app.localhost:3000",
    "http://localhost.evil.example",
    "http://127.0.0.1.nip.io",
    "http://127.0.0.1.nip.io:3000",
    "http://localhost.",
    "http://127.0.0.2",
    "http://0.0.0.0:3000",
    "http://2130706433",
    "http://[::ffff:127.0.0.1]",
    "http://[::1]evil.example",
    "http://user@localhost",
    "http://localhost@evil.example",
    "http://localhost:3000@evil.example",
    "http://evil.example#localhost",
    "http://localhost:3000/",
    "http://localhost:3000/path",
    "http://localhost:3000, http://evil.example",
    "http://localhost:3000 http://evil.example",
    "localhost:3000",
    "//localhost:3000",
    "://localhost",
    "file://",
    "chrome-extension://abcdef",
    "http://localhost\r\nx-evil: 1",
    "http://localhost\n",
    "http://localhost:",
]


@pytest.mark.parametrize("origin", GOOD_ORIGINS)
def test_a_loopback_page_may_call_and_read(gate, origin):
    answer = request(gate, headers=[("origin", origin)])
    assert answer.status == 200
    assert answer.header("access-control-allow-origin") == origin
    assert answer.header("vary") == "Cookie, origin"
    assert answer.header("access-control-allow-credentials") is None


@pytest.mark.parametrize("origin", GOOD_ORIGINS)
def test_the_preflight_of_a_loopback_page_is_answered(gate, inner, origin):
    answer = request(gate, "OPTIONS", "/pins", headers=[("origin", origin)])
    assert answer.status == 204
    assert answer.body == b""
    assert {name.decode(): value.decode() for name, value in answer.headers} == {
        "access-control-allow-origin": origin,
        "access-control-allow-methods": "GET, POST, OPTIONS",
        "access-control-allow-headers": "authorization, content-type",
        "access-control-max-age": "600",
        "vary": "origin",
    }
    assert inner.reached == []


@pytest.mark.parametrize("origin", BAD_ORIGINS)
@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/pins"), ("POST", "/pins"), ("GET", "/health"), ("OPTIONS", "/pins")],
)
def test_any_other_page_gets_an_empty_403(gate, inner, origin, method, path):
    answer = request(
        gate, method, path, headers=[("origin", origin), ("authorization", f"Bearer {TOKEN}")]
    )
    assert (answer.status, answer.body, answer.cors) == (403, b"", [])
    assert inner.reached == []


@pytest.mark.parametrize("origin", BAD_ORIGINS)
def test_any_other_page_gets_no_socket(gate, inner, origin):
    assert handshake(gate, headers=[("origin", origin)]) == "websocket.close"
    assert inner.reached == []


def test_a_loopback_page_of_any_port_gets_a_socket(gate):
    assert handshake(gate, headers=[("origin", PAGE)]) == "websocket.accept"


def test_a_client_without_origin_gets_a_socket(gate):
    assert handshake(gate) == "websocket.accept"


def test_two_origins_are_refused(gate):
    assert request(gate, headers=[("origin", PAGE), ("origin", PAGE)]).status == 403


def test_without_origin_there_are_no_cors_headers(gate):
    answer = request(gate)
    assert answer.cors == []
    assert answer.header("vary") == "Cookie"


def test_options_without_origin_goes_on_to_authentication(gate, inner):
    request(gate, "OPTIONS", "/pins")
    assert inner.reached == ["/pins"]


def test_a_preflight_that_asks_for_the_idempotency_key_gets_it(gate):
    asked = [("origin", PAGE), ("access-control-request-headers", "content-type,Idempotency-Key")]
    answer = request(gate, "OPTIONS", headers=asked)
    allowed = answer.header("access-control-allow-headers")
    assert allowed == "authorization, content-type, idempotency-key"


def test_a_preflight_that_asks_for_anything_else_does_not_get_it(gate):
    asked = [("origin", PAGE), ("access-control-request-headers", "x-evil, pinbox-session")]
    answer = request(gate, "OPTIONS", headers=asked)
    assert answer.header("access-control-allow-headers") == "authorization, content-type"


def test_the_old_private_network_preflight_is_answered(gate):
    asked = [("origin", PAGE), ("access-control-request-private-network", "true")]
    answer = request(gate, "OPTIONS", headers=asked)
    assert answer.header("access-control-allow-private-network") == "true"


@pytest.mark.parametrize("path", ["/pins", "/health", "/admin/", "/static/x.js"])
@pytest.mark.parametrize("mode", ["no-cors", "navigate", "websocket"])
def test_a_load_by_a_page_of_another_site_is_refused(gate, inner, path, mode):
    headers = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", mode)]
    answer = request(gate, path=path, headers=headers)
    assert answer.status == 403
    assert error_of(answer)["code"] == "E_AUTH"
    assert inner.reached == []


def test_an_address_that_was_signed_is_looked_at_wherever_the_link_stands(gate, inner):
    headers = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]
    path = "/media/att_aaaaaaaaaa"
    assert request(gate, path=path, headers=headers).status == 403
    assert inner.reached == []
    signed = request(gate, path=path, headers=headers, query=b"expires=1&signature=a")
    assert (signed.status, inner.reached) == (200, [path])


@pytest.mark.parametrize("site", ["none", "same-origin", "same-site"])
def test_a_load_by_the_person_or_a_page_of_ours_is_let_through(gate, site):
    assert request(gate, path="/admin/", headers=[("sec-fetch-site", site)]).status == 200


def test_a_loopback_page_by_another_name_is_cross_site_but_named_by_its_origin(gate):
    headers = [("origin", PAGE), ("sec-fetch-site", "cross-site")]
    assert request(gate, headers=headers).status == 200


# --- a team's hub ---------------------------------------------------------------------------------


@pytest.fixture
def team(inner):
    settings = GateSettings.from_environ(
        {
            "PINBOX_ALLOWED_HOSTS": "pinbox.example, Hub.Example",
            "PINBOX_ALLOWED_ORIGINS": "https://app.example,http://localhost:3000",
        }
    )
    return Gate(inner, settings)


@pytest.mark.parametrize("host", ["pinbox.example", "PINBOX.example:443", "hub.example", "[::1]"])
def test_a_team_hub_answers_to_its_names(team, host):
    assert request(team, host=host).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "x.pinbox.example", "pinboxxexample", "pinbox.example.evil.example"]
)
def test_a_team_hub_answers_to_no_other_name(team, host):
    assert request(team, host=host).status == 403


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://app.example", 200),
        ("https://pinbox.example", 200),
        ("http://localhost:3000", 200),
        ("http://localhost:3001", 403),
        ("https://hub.example", 403),
        ("https://app.example:444", 403),
        ("https://x.app.example", 403),
        ("null", 403),
        ("pinbox.example", 403),
    ],
)
def test_a_team_hub_is_called_by_its_own_pages_and_those_it_names(team, origin, status):
    answer = request(team, host="pinbox.example", headers=[("origin", origin)])
    assert answer.status == status
    assert (handshake(team, host="pinbox.example", headers=[("origin", origin)])) == (
        "websocket.accept" if status == 200 else "websocket.close"
    )


@pytest.mark.parametrize("entry", ["*", "*.example", "https://a.example", "a.example:443", "a b"])
def test_a_host_that_is_no_name_opens_nothing(inner, entry):
    settings = GateSettings(hosts=(entry,))
    assert [problem.id for problem in settings.problems()] == ["pinbox.E008"]
    assert request(Gate(inner, settings), host="evil.example").status == 403
    assert request(Gate(inner, settings), host=entry).status == 403


@pytest.mark.parametrize("entry", ["*", "null", "app.example", "https://app.example/", "https://*"])
def test_an_origin_that_is_none_is_reported(entry):
    settings = GateSettings(hosts=("a.example",), origins=(entry,))
    assert [problem.id for problem in settings.problems()] == ["pinbox.E009"]


# --- bodies ---------------------------------------------------------------------------------------


def test_a_body_of_exactly_the_limit_arrives(gate, inner):
    assert request(gate, "POST", body=b"x" * MAX_BODY_BYTES).status == 200
    assert len(inner.body) == MAX_BODY_BYTES


@pytest.mark.parametrize(
    ("path", "limit"), [("/pins", MAX_BODY_BYTES), ("/hooks/claude", MAX_HOOK_BODY_BYTES)]
)
@pytest.mark.parametrize("how", ["declared", "chunks", "lying"])
def test_a_body_over_the_limit_is_refused(gate, inner, path, limit, how):
    if how == "declared":
        answer = request(gate, "POST", path, headers=[("content-length", str(limit + 1))])
    elif how == "chunks":
        answer = request(gate, "POST", path, body=[b"x" * limit, b"x"])
    else:
        answer = request(
            gate, "POST", path, headers=[("content-length", "2")], body=b"x" * (limit + 1)
        )
    assert answer.status == 413
    error = error_of(answer)
    assert error["code"] == "E_INVALID_INPUT"
    assert f"{limit:,} bytes" in error["message"]
    assert inner.reached == []


def test_a_hooks_body_may_be_larger_than_others(gate, inner):
    request(gate, "POST", "/hooks/claude", body=b"x" * (MAX_BODY_BYTES + 1))
    assert len(inner.body) == MAX_BODY_BYTES + 1


@pytest.mark.parametrize("length", ["-1", "1.5", "x", "+3", "0x10", "1,1", "\xb2", "9" * 5000])
def test_a_length_that_is_none_is_refused(gate, inner, length):
    answer = request(gate, "POST", headers=[("content-length", length)])
    assert answer.status in {400, 413}
    error_of(answer)
    assert inner.reached == []


def test_a_body_in_chunks_arrives_with_its_length(gate, inner):
    request(gate, "POST", body=[b'{"text":', b'"x"}', b""])
    assert inner.body == b'{"text":"x"}'
    assert inner.headers[b"content-length"] == b"12"
    assert b"transfer-encoding" not in inner.headers


def test_a_refused_body_is_readable_by_the_page(gate):
    answer = request(gate, "POST", headers=[("origin", PAGE), ("content-length", "999999999")])
    assert answer.status == 413
    assert answer.header("access-control-allow-origin") == PAGE


def test_a_caller_cannot_move_the_routes(inner):
    seen = []

    async def watching(scope, receive, send):
        seen.append(scope["root_path"])
        await inner(scope, receive, send)

    inner_gate = Gate(watching, GateSettings())

    async def outside(scope, receive, send):
        await inner_gate({**scope, "root_path": "/admin"}, receive, send)

    request(outside)
    assert seen == [""]


# --- answers --------------------------------------------------------------------------------------


def test_health_is_answered_without_a_token_and_without_the_application(gate, inner):
    answer = request(gate, path="/health", headers=[("origin", PAGE)])
    assert answer.status == 200
    assert json.loads(answer.body)["data"].keys() == {
        "version",
        "schemaVersion",
        "wsProtocol",
        "instance",
    }
    assert answer.header("access-control-allow-origin") == PAGE
    assert inner.reached == []


@pytest.mark.parametrize(("method", "path"), [("POST", "/health"), ("GET", "/health/")])
def test_only_get_health_is_health(gate, inner, method, path):
    request(gate, method, path)
    assert inner.reached == [path]


def test_an_exception_behind_the_gate_is_an_envelope_without_its_text(caplog):
    async def broken(scope, receive, send):
        raise RuntimeError("pin text and token")

    answer = request(Gate(broken, GateSettings()), headers=[("origin", PAGE)])
    assert answer.status == 500
    error = error_of(answer)
    assert error["code"] == "E_INTERNAL"
    assert "pin text" not in answer.body.decode()
    incident = error["message"].rpartition("incident ")[2].rstrip(")")
    assert incident in caplog.text
    assert answer.header("access-control-allow-origin") == PAGE


def test_an_exception_after_the_answer_began_cuts_the_connection(caplog):
    async def broken(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("-".join(("quoted", "pin")))  # the log shows lines of code

    with pytest.raises(AnswerCut) as caught:
        request(Gate(broken, GateSettings()))
    assert caught.value.__suppress_context__, "the server logs what it gets, with its context"
    assert "quoted-pin" not in str(caught.value) + caplog.text
    assert "the answer to GET /pins" in caplog.text


def test_no_answer_is_sniffed_or_stored(gate, inner):
    answer = request(gate)
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("cache-control") == "no-store"
    inner.answer_headers = [(b"Cache-Control", b"max-age=60")]
    assert request(gate).header("cache-control") == "max-age=60"
