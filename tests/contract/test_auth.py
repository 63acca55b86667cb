"""Who gets in: the strategies, the scopes, and a hub that closes when it is set up wrongly."""

import builtins
import json
import os

import pytest
from django.core import checks
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from pinbox.contract import Caller, PinboxError
from pinbox_site import auth, runtime
from pinbox_site.auth import AuthSettings, build, problems

FULL = "f" * 32
PAGE = "p" * 32
TEAM = {"PINBOX_ALLOWED_HOSTS": "pinbox.example"}
JWT = {
    "PINBOX_AUTH": "jwt",
    "PINBOX_JWT_ISSUER": "https://issuer.example",
    "PINBOX_JWT_JWKS_URL": "https://issuer.example/jwks.json",
    "PINBOX_JWT_AUDIENCE": "pinbox",
}


def start(monkeypatch, token=FULL, page_token=PAGE):
    started = runtime.Runtime(
        project_dir=None, token=token, page_token=page_token, instance="i-1", started_at=""
    )
    monkeypatch.setattr(runtime, "_current", started)


@pytest.fixture(autouse=True)
def hub(monkeypatch):
    """A local hub with its two tokens and nothing in its environment."""
    for name in [name for name in os.environ if name.startswith("PINBOX_")]:
        monkeypatch.delenv(name)
    start(monkeypatch)
    auth.verifier.cache_clear()
    yield
    auth.verifier.cache_clear()


@pytest.fixture
def environ(monkeypatch):
    """Sets the hub's environment, as before its start."""

    def set_all(values):
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        auth.verifier.cache_clear()

    return set_all


def run_checks():
    """What `manage.py check` says of the host; the other checks need the whole hub."""
    return checks.run_checks(tags=["security"])


def refusal(call, *args):
    with pytest.raises(PinboxError) as caught:
        call(*args)
    assert caught.value.hint
    return caught.value


def authenticate(header):
    return auth.check(auth.bearer(header))


# --- tokens ---------------------------------------------------------------------------------------


def test_each_token_has_its_scope():
    assert authenticate(f"Bearer {FULL}") == Caller("full")
    assert authenticate(f"Bearer {PAGE}") == Caller("page")


@pytest.mark.parametrize("header", [f"bearer {FULL}", f"BEARER {FULL}", f"Bearer  {FULL} "])
def test_the_scheme_may_be_written_in_any_case(header):
    assert authenticate(header).scope == "full"


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        FULL,
        f"Basic {FULL}",
        f"Token {FULL}",
        f"Bearer {FULL}x",
        f"Bearer {FULL[:-1]}",
        f"Bearer {FULL.upper()}",
        f"Bearer {FULL},Bearer {FULL}",
        f"Bearer {FULL} {FULL}",
        f"Bearer{FULL}",
        "Bearer \xe9",
        "Bearer \ud800",
        "Bearer " + "x" * 100_000,
    ],
)
def test_anything_else_is_refused_in_the_words_local_clients_know(header):
    error = refusal(authenticate, header)
    assert (error.status, error.code) == (401, "E_INVALID_INPUT")
    assert FULL not in error.message + (error.hint or "")


@pytest.mark.parametrize("credential", [None, "", " "])
def test_a_hub_without_tokens_admits_nobody(monkeypatch, credential):
    start(monkeypatch, token="", page_token="")
    assert refusal(auth.check, credential).status == 401


def test_a_hub_without_tokens_says_so_in_health(monkeypatch):
    start(monkeypatch, token="", page_token="")
    status, body = auth.health_document()
    assert status == 503
    assert json.loads(body)["error"]["code"] == "E_INTERNAL"


def test_an_empty_page_token_admits_nobody(monkeypatch):
    start(monkeypatch, page_token="")
    assert refusal(auth.check, "").status == 401


def test_tokens_of_a_later_start_are_used_at_once(monkeypatch):
    auth.check(FULL)
    start(monkeypatch, token="n" * 32)
    assert auth.check("n" * 32).scope == "full"
    assert refusal(auth.check, FULL).status == 401


def test_a_team_hub_takes_its_token_from_the_environment(monkeypatch, environ):
    start(monkeypatch, token="", page_token="")
    environ({**TEAM, "PINBOX_TOKEN": "team-" * 8, "PINBOX_PAGE_TOKEN": "page-" * 8})
    assert auth.check("team-" * 8).scope == "full"
    assert auth.check("page-" * 8).scope == "page"
    error = refusal(auth.check, FULL)
    assert (error.status, error.code) == (401, "E_AUTH")


# --- scopes ---------------------------------------------------------------------------------------


class PageView(APIView):
    required_scope = "page"

    def get(self, request):
        return Response({"scope": request.user.scope})


class FullView(PageView):
    required_scope = "full"


class SilentView(APIView):
    get = PageView.get


class MisspeltView(PageView):
    required_scope = "pages"


def get(view, token):
    request = APIRequestFactory().get("/x", HTTP_AUTHORIZATION=f"Bearer {token}")
    response = view.as_view()(request)
    response.render()
    return response.status_code, json.loads(response.content)


@pytest.mark.parametrize("view", [PageView, FullView, SilentView, MisspeltView])
def test_the_full_token_opens_every_view(view):
    assert get(view, FULL) == (200, {"ok": True, "data": {"scope": "full"}})


def test_the_page_token_opens_a_page_view():
    assert get(PageView, PAGE)[0] == 200


@pytest.mark.parametrize("view", [FullView, SilentView, MisspeltView])
def test_the_page_token_is_refused_everywhere_else(view):
    status, document = get(view, PAGE)
    assert (status, document["error"]["code"]) == (403, "E_AUTH")
    assert "full token" in document["error"]["hint"]


def test_a_view_trusts_the_caller_the_bridge_found():
    request = APIRequestFactory().get("/x")
    request.pinbox_caller = Caller("page", "user-1")
    assert PageView.as_view()(request).data == {"scope": "page"}


def test_a_view_reached_without_the_bridge_asks_itself():
    response = PageView.as_view()(APIRequestFactory().get("/x"))
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"


# --- none -----------------------------------------------------------------------------------------


def test_none_with_its_second_opt_in_admits_everyone(environ):
    environ({"PINBOX_AUTH": "none", "PINBOX_ALLOW_UNAUTHENTICATED": "1"})
    assert auth.check(None).scope == "full"
    assert auth.health_document()[0] == 200


@pytest.mark.parametrize("second", ["", "0", "true", "yes", "no"])
def test_none_without_its_second_opt_in_admits_nobody(environ, second):
    environ({"PINBOX_AUTH": "none", "PINBOX_ALLOW_UNAUTHENTICATED": second})
    assert refusal(auth.check, None).status == 500
    assert refusal(auth.check, FULL).status == 500


# --- wrong set-ups --------------------------------------------------------------------------------

WRONG = [
    ({"PINBOX_AUTH": "basic"}, "pinbox.E001"),
    ({"PINBOX_AUTH": "token,none"}, "pinbox.E001"),
    (TEAM, "pinbox.E002"),
    ({**TEAM, "PINBOX_TOKEN": "short"}, "pinbox.E002"),
    ({"PINBOX_AUTH": "jwt"}, "pinbox.E003"),
    *[({**JWT, name: ""}, "pinbox.E003") for name in JWT if name != "PINBOX_AUTH"],
    ({**JWT, "PINBOX_JWT_JWKS_URL": "http://issuer.example/jwks.json"}, "pinbox.E004"),
    ({**JWT, "PINBOX_JWT_JWKS_URL": "file:///etc/passwd"}, "pinbox.E004"),
    ({**JWT, "PINBOX_JWT_JWKS_URL": "https://user:pw@issuer.example/"}, "pinbox.E004"),
    ({**JWT, "PINBOX_JWT_JWKS_URL": "https://issuer.example:x/"}, "pinbox.E004"),
    ({**JWT, "PINBOX_JWT_JWKS_URL": "http://localhost.evil.example/"}, "pinbox.E004"),
    ({**JWT, "PINBOX_JWT_JWKS_URL": "https:///jwks"}, "pinbox.E004"),
    ({**JWT, "PINBOX_JWT_LEEWAY_S": "-1"}, "pinbox.E005"),
    ({**JWT, "PINBOX_JWT_LEEWAY_S": "301"}, "pinbox.E005"),
    ({**JWT, "PINBOX_JWT_LEEWAY_S": "ten"}, "pinbox.E005"),
    ({**JWT, "PINBOX_JWT_LEEWAY_S": "²"}, "pinbox.E005"),
    ({**JWT, "PINBOX_JWT_LEEWAY_S": "9" * 5000}, "pinbox.E005"),
    ({"PINBOX_AUTH": "none"}, "pinbox.E007"),
    ({"PINBOX_WEBHOOK_URL": "https://app.example"}, "pinbox.E010"),
    ({"PINBOX_WEBHOOK_SECRET": "secret-without-an-address"}, "pinbox.E010"),
    ({"PINBOX_OPENCLAW_URL": "http://127.0.0.1:18789"}, "pinbox.E011"),
]


@pytest.mark.parametrize(("values", "check_id"), WRONG)
def test_a_wrong_set_up_closes_the_hub_and_says_why(environ, values, check_id):
    environ(values)
    for credential in (None, FULL, PAGE, "anything"):
        error = refusal(auth.check, credential)
        assert (error.status, error.code) == (500, "E_INTERNAL")
    status, body = auth.health_document()
    assert status == 503
    document = json.loads(body)
    assert document["error"]["code"] == "E_INTERNAL"
    assert "misconfigured" in document["error"]["message"]
    messages = [message for message in run_checks() if message.id == check_id]
    assert messages, [message.id for message in run_checks()]
    assert messages[0].hint


@pytest.mark.parametrize(("values", "check_id"), WRONG)
def test_a_wrong_set_up_is_explained_without_its_values(values, check_id):
    settings = AuthSettings.from_environ(values)
    for problem in problems(settings):
        text = problem.message + problem.hint
        for value in ("basic", "short", "pw", "passwd", "evil.example"):
            assert value not in text


def test_the_reason_says_which_part_of_the_hub_it_is_about(environ):
    environ({"PINBOX_WEBHOOK_URL": "https://app.example"})
    message = json.loads(auth.health_document()[1])["error"]["message"]
    assert message.startswith("delivery is misconfigured: PINBOX_WEBHOOK_URL is set without")


def test_a_missing_setting_is_named():
    settings = AuthSettings.from_environ({**JWT, "PINBOX_JWT_AUDIENCE": " "})
    assert "PINBOX_JWT_AUDIENCE" in problems(settings)[0].message


def test_jwt_without_cryptography_closes_the_hub_and_names_the_package(monkeypatch, environ):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.partition(".")[0] == "cryptography":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    environ(JWT)
    monkeypatch.setattr(builtins, "__import__", without)
    error = refusal(auth.check, "x")
    assert error.status == 500
    assert "pinbox[team]" in (error.hint or "")


@pytest.mark.parametrize(
    "values",
    [
        {},
        {**TEAM, "PINBOX_TOKEN": "x" * 24},
        JWT,
        {**JWT, "PINBOX_JWT_LEEWAY_S": "0"},
        {"PINBOX_WEBHOOK_URL": "https://app.example", "PINBOX_WEBHOOK_SECRET": "a-secret"},
    ],
)
def test_a_right_set_up_raises_no_check(environ, values):
    environ(values)
    assert [m for m in run_checks() if str(m.id).startswith("pinbox.")] == []


def test_strategy_none_deserves_a_warning(environ):
    environ({"PINBOX_AUTH": "none", "PINBOX_ALLOW_UNAUTHENTICATED": "1"})
    assert "pinbox.W001" in [message.id for message in run_checks()]


def test_a_loopback_issuer_may_be_plain_http():
    values = {**JWT, "PINBOX_JWT_JWKS_URL": "http://127.0.0.1:8080/jwks.json"}
    assert problems(AuthSettings.from_environ(values)) == []


def test_only_a_jwt_hub_may_wait_for_the_network():
    assert build(AuthSettings.from_environ(JWT)).may_block
    assert not build(AuthSettings.from_environ({})).may_block


def test_the_verifier_of_a_jwt_hub_is_built_once(environ):
    environ(JWT)
    assert auth.verifier() is auth.verifier()
    assert refusal(auth.check, None).code == "E_AUTH"
