"""The way into the admin: one link, one login, five minutes, no password."""

import logging
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from pinbox_site import admin_link
from pinbox_site.models import AdminLink, IdempotentAnswer

pytestmark = pytest.mark.django_db

NOW = datetime.now(UTC)


@pytest.fixture
def browser():
    """A browser that obeys CSRF."""
    return Client(enforce_csrf_checks=True)


def address_of(hub):
    status, link = hub.post("/admin-link")
    assert status == 200
    return link["url"].removeprefix("http://testserver")


def fields(page):
    """The hidden fields of the page's form."""
    found = re.findall(r'name="(\w+)" value="([^"]+)"', page.content.decode())
    return dict(found)


def press(browser, page, **headers):
    form = {key: value for key, value in fields(page).items() if key in TAKEN}
    return browser.post("/admin/login-link", form, headers=headers)


TAKEN = {"csrfmiddlewaretoken", "token"}


def test_the_link_names_the_hub_as_the_caller_reached_it(hub):
    status, link = hub.post("/admin-link", headers={"Host": "127.0.0.1:4242"})
    assert status == 200
    assert re.fullmatch(r"http://127\.0\.0\.1:4242/admin/login-link\?token=[\w-]{43}", link["url"])
    assert list(link) == ["url", "expiresAt"]
    expires = datetime.fromisoformat(link["expiresAt"])
    assert timedelta(minutes=4) < expires - datetime.now(UTC) <= timedelta(minutes=5)


def test_a_page_s_token_makes_no_link(page):
    status, error = page.post("/admin-link")
    assert (status, error["code"]) == (403, "E_AUTH")
    assert not AdminLink.objects.exists()


def test_the_button_behind_the_link_logs_in(hub, browser):
    shown = browser.get(address_of(hub))
    answer = press(browser, shown)
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")
    assert browser.get("/admin/").status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1:4242", "localhost:4242", "[::1]:4242"])
def test_the_button_works_under_each_name_of_this_machine(hub, browser, host):
    shown = browser.get(address_of(hub), headers={"Host": host})
    answer = press(browser, shown, Host=host, Origin=f"http://{host}")
    assert answer.status_code == 302


@pytest.mark.parametrize("origin", ["http://127.0.0.1:4243", "https://evil.example", "null"])
def test_a_page_of_another_origin_cannot_press_the_button(hub, browser, origin):
    shown = browser.get(address_of(hub), headers={"Host": "127.0.0.1:4242"})
    answer = press(browser, shown, Host="127.0.0.1:4242", Origin=origin)
    assert answer.status_code == 403
    assert not Session.objects.exists()
    assert AdminLink.objects.count() == 1


def test_a_login_without_the_page_s_own_csrf_token_is_refused(hub, browser):
    token = fields(browser.get(address_of(hub)))["token"]
    assert browser.post("/admin/login-link", {"token": token}).status_code == 403
    assert not Session.objects.exists()


def test_looking_at_the_link_does_not_use_it_up(hub, browser):
    address = address_of(hub)
    for _ in range(3):
        assert Client().get(address).status_code == 200
        assert Client().head(address).status_code == 200
    assert press(browser, browser.get(address)).status_code == 302


def test_a_link_works_once(hub, browser):
    address = address_of(hub)
    shown = browser.get(address)
    second = Client()
    kept = second.get(address)
    assert press(browser, shown).status_code == 302
    late = press(second, kept)
    assert late.status_code == 410
    assert "pinbox admin" in late.content.decode()
    assert "sessionid" not in str(late.cookies)
    assert Session.objects.count() == 1
    assert Client().get(address).status_code == 410


def test_a_link_expires(hub, browser):
    address = address_of(hub)
    shown = browser.get(address)
    AdminLink.objects.update(expires_at=datetime.now(UTC) - timedelta(seconds=1))
    assert press(browser, shown).status_code == 410
    assert Client().get(address).status_code == 410
    assert not Session.objects.exists()


@pytest.mark.parametrize(
    "query", ["", "?token=", "?token=x", "?token=%00%ff", "?token=" + "a" * 9000]
)
def test_a_link_that_was_never_given_out_says_how_to_get_one(browser, query):
    answer = browser.get("/admin/login-link" + query)
    assert answer.status_code == 410
    assert "pinbox admin" in answer.content.decode()


def test_only_one_of_two_logins_at_once_gets_in():
    token, _ = admin_link.make_link(NOW)
    assert [admin_link.use_up(token, NOW) for _ in range(2)] == [True, False]


def test_a_link_is_good_until_its_last_instant_and_not_after():
    token, expires_at = admin_link.make_link(NOW)
    assert expires_at - NOW == admin_link.VALID_FOR == timedelta(minutes=5)
    assert admin_link.is_good(token, expires_at - timedelta(milliseconds=1))
    assert not admin_link.is_good(token, expires_at)
    assert not admin_link.use_up(token, expires_at)


def test_the_token_is_stored_as_a_digest_only(hub):
    address = address_of(hub)
    token = address.partition("token=")[2]
    (row,) = AdminLink.objects.all()
    assert token not in row.digest


def test_an_idempotency_key_does_not_make_the_hub_keep_the_token(hub):
    key = {"Idempotency-Key": "once"}
    answers = [hub.post("/admin-link", headers=key) for _ in range(2)]
    assert [status for status, _ in answers] == [200, 200]
    assert not IdempotentAnswer.objects.exists()


def test_the_token_reaches_no_log(hub, browser, caplog):
    caplog.set_level(logging.DEBUG)
    address = address_of(hub)
    press(browser, browser.get(address))
    browser.get(address)
    assert address.partition("token=")[2] not in caplog.text


def test_dead_links_and_sessions_do_not_pile_up(hub, browser):
    AdminLink.objects.create(digest="old", expires_at=NOW - timedelta(days=1))
    Session.objects.create(session_key="old", session_data="", expire_date=NOW - timedelta(days=1))
    press(browser, browser.get(address_of(hub)))
    assert not AdminLink.objects.exists()
    assert Session.objects.count() == 1


def test_the_link_s_page_leaks_nothing_to_where_one_goes_from_it(hub, browser):
    answer = browser.get(address_of(hub))
    # `no-referrer` would make the browser send `Origin: null`, and the button would not work.
    assert answer["Referrer-Policy"] == "strict-origin"
    assert answer["Cache-Control"] == "no-store"
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    assert answer["X-Frame-Options"] == "DENY"


def test_the_user_of_the_admin_has_no_password_and_no_rights(hub, browser):
    press(browser, browser.get(address_of(hub)))
    (user,) = User.objects.all()
    assert (user.username, user.is_staff, user.is_superuser) == ("pinbox", True, False)
    assert not user.has_usable_password()
    assert not user.get_all_permissions()


def test_a_password_somebody_gave_that_user_is_taken_away_again(hub, browser):
    User.objects.create_user("pinbox", password="known", is_staff=True)
    press(browser, browser.get(address_of(hub)))
    assert not User.objects.get().has_usable_password()


@pytest.mark.parametrize("method", ["get", "post"])
def test_the_login_page_asks_for_no_password_and_says_what_to_run(browser, method):
    User.objects.create_superuser("owner", password="known")
    asked = {"username": "owner", "password": "known"}
    answer = getattr(Client(), method)("/admin/login/", asked)
    assert answer.status_code == 200
    assert "pinbox admin" in answer.content.decode()
    assert "<input" not in answer.content.decode()
    assert not Session.objects.exists()


def test_logging_out_ends_the_session(hub, browser):
    press(browser, browser.get(address_of(hub)))
    token = fields(browser.get("/admin/"))["csrfmiddlewaretoken"]
    answer = browser.post("/admin/logout/", {"csrfmiddlewaretoken": token})
    assert answer.status_code == 200
    assert not Session.objects.exists()
    assert browser.get("/admin/").status_code == 302
