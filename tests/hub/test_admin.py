"""The admin's pages, through the real routes: what they show, and that nothing can be changed."""

import html
import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from delivery.models import Delivery
from pins import services
from pins.admin import visible
from pins.models import Event, Pin
from sessions_app.models import AgentSession

from . import loop

pytestmark = pytest.mark.django_db

LISTS = {
    "pins": "/admin/pins/pin/",
    "events": "/admin/pins/event/",
    "deliveries": "/admin/delivery/delivery/",
    "sessions": "/admin/agent_sessions/agentsession/",
}
HOSTILE = "</td><script>alert(1)</script> \u202egnp.exe \u2066x \u200b\u0007 &amp;"
#: Session and user, then the list itself.
LIST_QUERIES = 3


@pytest.fixture
def admin():
    """A browser that is in."""
    user = User.objects.create_user("pinbox", is_staff=True)
    client = Client()
    client.force_login(user)
    return client


def shown(admin, url, **query):
    """The page without its tags, as a person reads it."""
    answer = admin.get(url, query)
    assert answer.status_code == 200, answer
    text = re.sub(r"<[^>]*>", " ", answer.content.decode().partition("<main")[2])
    return " ".join(html.unescape(text).split())


def detail(name, key):
    return reverse(f"admin:{name}_change", args=[key.replace("_", "_5F")])


def rows(admin, url, **query):
    answer = admin.get(url, query)
    assert answer.status_code == 200, answer
    return [row.pk for row in answer.context["cl"].result_list]


def give_everything_a_row():
    loop.start("k1")
    pin = loop.drop("Total is wrong", target={"source": {"file": "a.py", "line": 3, "via": "none"}})
    loop.say(pin, "which total?", "agent")
    loop.resolve(pin, note="rounded", commit="c0ffee")
    return pin


# --- who may look ---------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["/admin/", *LISTS.values()])
def test_who_is_not_in_is_sent_to_the_page_that_says_how(url):
    answer = Client().get(url)
    assert (answer.status_code, answer["Location"]) == (302, f"/admin/login/?next={url}")


def test_a_user_who_is_not_staff_sees_nothing():
    client = Client()
    client.force_login(User.objects.create_user("other"))
    assert all(client.get(url).status_code == 302 for url in LISTS.values())


@pytest.mark.parametrize("is_superuser", [False, True])
def test_nothing_can_be_added_changed_or_deleted_by_anybody(is_superuser):
    give_everything_a_row()
    client = Client()
    client.force_login(User.objects.create_user("x", is_staff=True, is_superuser=is_superuser))
    before = [list(model.objects.values()) for model in (Pin, Event, Delivery, AgentSession)]
    for url, model in zip(LISTS.values(), (Pin, Event, Delivery, AgentSession), strict=True):
        key = str(model.objects.first().pk).replace("_", "_5F")
        for path in (f"{url}add/", f"{url}{key}/delete/"):
            assert client.get(path).status_code == 403
            assert client.post(path, {"post": "yes"}).status_code == 403
        assert client.post(f"{url}{key}/change/", {"status": "open"}).status_code == 403
        chosen = {"action": "delete_selected", "_selected_action": [key], "post": "yes"}
        client.post(url, chosen)
    after = [list(model.objects.values()) for model in (Pin, Event, Delivery, AgentSession)]
    assert after == before


def test_looking_changes_nothing(admin, django_assert_max_num_queries):
    pin = give_everything_a_row()
    admin.get("/admin/")
    with django_assert_max_num_queries(200) as seen:
        for url in ("/admin/", *LISTS.values(), detail("pins_pin", pin["id"])):
            assert admin.get(url).status_code == 200
    asked = {query["sql"].split()[0] for query in seen.captured_queries}
    assert asked == {"SELECT"}


def test_users_groups_and_passwords_have_no_page(admin):
    for path in ("auth/user/", "auth/group/", "password_change/", "autocomplete/", "pins/binding/"):
        assert admin.get(f"/admin/{path}").status_code == 404


def test_every_page_forbids_scripts_that_are_not_ours(admin):
    pin = give_everything_a_row()
    answers = [
        Client().get("/admin/login/"),
        *map(admin.get, ("/admin/", *LISTS.values(), detail("pins_pin", pin["id"]))),
    ]
    for answer in answers:
        assert "script-src 'self';" in answer["Content-Security-Policy"]
        assert answer["Cache-Control"] == "no-store"
        page = answer.content.decode()
        assert not re.search(r"<script(?![^>]*\ssrc=)", page)
        assert not re.search(r"<[^>]+\s(style|on\w+)=", page)
        assert "<style" not in page


# --- lists ----------------------------------------------------------------------------------------


def test_the_first_page_counts_what_there_is(admin):
    give_everything_a_row()
    loop.drop("another")
    page = shown(admin, "/admin/")
    for figure in ("1 open pins", "1 resolved pins", "1 live sessions", "4 events in the log"):
        assert figure in page


def test_each_list_shows_its_rows_newest_first(admin):
    pin = give_everything_a_row()
    other = loop.drop("another")
    assert rows(admin, LISTS["pins"]) == [other["id"], pin["id"]]
    assert rows(admin, LISTS["events"]) == [4, 3, 2, 1]
    assert len(rows(admin, LISTS["deliveries"])) == 4
    assert len(rows(admin, LISTS["sessions"])) == 1
    assert "Total is wrong a.py:3" in shown(admin, LISTS["pins"])
    assert "by agent: rounded" in shown(admin, LISTS["events"])


def test_a_state_is_a_word_with_its_glyph(admin):
    loop.resolve(loop.drop("Total is wrong"))
    loop.drop("another")
    assert "✓ resolved" in shown(admin, LISTS["pins"])
    assert "○ open" in shown(admin, LISTS["pins"])


def test_a_session_is_named_in_the_list_of_pins_as_everywhere_else(admin):
    """By the end of its key: the beginning may be the time of day."""
    loop.start("20261130_163022_6bc6d8")
    loop.drop("a")
    assert "claude:2_6bc6d8" in shown(admin, LISTS["pins"])
    assert "claude 20261130" not in shown(admin, LISTS["pins"])


def test_pins_are_filtered_by_status(admin):
    done, left = loop.drop("a"), loop.drop("b")
    loop.resolve(done)
    assert rows(admin, LISTS["pins"], status="open") == [left["id"]]
    assert rows(admin, LISTS["pins"], status="resolved") == [done["id"]]
    assert rows(admin, LISTS["pins"], status="nonsense") == []


@pytest.mark.parametrize(
    "query", ["wrong total", "POL-358", "日本語", "a.py", "which", "#1", "c0ffee"]
)
def test_pins_are_found_by_every_word_of_theirs(admin, query):
    pin = loop.drop("Total is wrong POL-358 日本語", target={"selector": "a.py"})
    loop.say(pin, "which one?")
    loop.resolve(pin, commit="c0ffee")
    loop.drop("x")
    assert rows(admin, LISTS["pins"], q=query) == [pin["id"]]
    assert rows(admin, LISTS["pins"], q=query, status="open") == []


@pytest.mark.parametrize("query", ["\0", "'", '"', "NEAR(", "%", "#999999999999999999", "x" * 5000])
def test_no_search_fails(admin, query):
    give_everything_a_row()
    for url in LISTS.values():
        assert admin.get(url, {"q": query}).status_code == 200


def test_a_pin_is_found_by_its_id(admin):
    pin = give_everything_a_row()
    loop.drop("other")
    assert rows(admin, LISTS["pins"], q=pin["id"]) == [pin["id"]]
    assert rows(admin, LISTS["events"], q=pin["id"]) == [3, 2, 1]
    assert len(rows(admin, LISTS["deliveries"], q=pin["id"])) == 3


def test_events_are_filtered_by_type(admin):
    give_everything_a_row()
    assert rows(admin, LISTS["events"], type="thread.message") == [2]


def test_sessions_are_live_or_ended(admin):
    loop.start("k1")
    loop.start("k2")
    loop.end("k2")
    live, ended = (AgentSession.objects.get(key=key).pk for key in ("k1", "k2"))
    assert rows(admin, LISTS["sessions"], state="live") == [live]
    assert rows(admin, LISTS["sessions"], state="ended") == [ended]
    assert rows(admin, LISTS["sessions"], q="k2") == [ended]


def test_deliveries_are_filtered_by_what_became_of_them(admin):
    loop.start("k1")
    pin = loop.drop("first")
    loop.prompt("k1")
    loop.drop("second")
    first, second = Delivery.objects.order_by("id")
    assert rows(admin, LISTS["deliveries"], status="delivered") == [first.pk]
    assert rows(admin, LISTS["deliveries"], status="pending") == [second.pk]
    assert rows(admin, LISTS["deliveries"], adapter=first.adapter)
    assert rows(admin, LISTS["deliveries"], acknowledged="yes") == []
    Delivery.objects.filter(pk=first.pk).update(
        acknowledged_at=datetime.now(UTC), acknowledged_by="reply"
    )
    assert rows(admin, LISTS["deliveries"], acknowledged="yes") == [first.pk]
    assert rows(admin, LISTS["deliveries"], acknowledged="no") == [second.pk]
    assert "✓ acknowledged" in shown(admin, LISTS["deliveries"])
    assert rows(admin, LISTS["deliveries"], q=pin["id"]) == [first.pk]


@pytest.mark.parametrize("name", LISTS)
def test_a_list_does_not_obey_a_look_up_that_it_does_not_offer(admin, name):
    assert admin.get(LISTS[name], {"id__contains": "a"}).status_code == 400
    assert admin.get(LISTS[name], {"payload__contains": "a"}).status_code == 400


def test_the_order_of_a_list_is_not_for_the_address_to_say(admin):
    first, second = loop.drop("a"), loop.drop("b")
    assert rows(admin, LISTS["pins"], o="1") == [second["id"], first["id"]]


# --- pages ----------------------------------------------------------------------------------------


def walk(admin, url, link):
    """The rows of each page from `url` on, following `link` ("older" or "newer")."""
    pages = []
    while url:
        answer = admin.get(url)
        assert answer.status_code == 200
        found = answer.context["cl"]
        pages.append([row.pk for row in found.result_list])
        last, beside = url, getattr(found, link)
        url = url.partition("?")[0] + beside if beside else None
    return pages, last


@pytest.fixture
def many(monkeypatch):
    """12 pins with their events and deliveries, and 12 sessions, many seen at the same instant;
    pages of 5.
    """
    for inspected in site._registry.values():
        monkeypatch.setattr(inspected, "list_per_page", 5)
    for number in range(12):
        loop.drop(f"pin {number}")
    at = datetime(2026, 1, 1, tzinfo=UTC)
    AgentSession.objects.bulk_create(
        AgentSession(
            id=f"ses_{number:010d}",
            agent="claude",
            key=str(number),
            registered_at=at,
            last_seen_at=at.replace(minute=number % 3),
        )
        for number in range(12)
    )


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("name", LISTS)
def test_pages_show_every_row_once_in_both_directions(admin, name):
    there, last = walk(admin, LISTS[name], "older")
    assert [len(page) for page in there] == [5, 5, 2]
    assert len({key for page in there for key in page}) == 12
    back, first = walk(admin, last, "newer")
    assert [key for page in back for key in page][:2] == there[2]
    assert sorted(key for page in back for key in page) == sorted(
        key for page in there for key in page
    )
    assert admin.get(first).context["cl"].newer is None


@pytest.mark.usefixtures("many")
def test_a_filter_and_a_search_stay_on_the_next_page(admin):
    services.resolve_pin(pin_id=Pin.objects.get(n=6).pk, data={"by": "human"}, caller=loop.FULL)
    there, _ = walk(admin, LISTS["pins"] + "?status=open&q=pin", "older")
    assert [len(page) for page in there] == [5, 5, 1]


@pytest.mark.parametrize("place", ["before.", "before.nope", "after.\0", "7", "before.1.2", "last"])
def test_a_page_that_nobody_was_linked_to_is_the_first_or_refused(admin, place):
    loop.drop("a")
    for url in LISTS.values():
        answer = admin.get(url, {"p": place}, follow=True)
        assert answer.status_code == 200


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("name", LISTS)
def test_a_list_asks_the_database_a_fixed_number_of_questions(
    admin, name, django_assert_max_num_queries
):
    url = LISTS[name]
    with django_assert_max_num_queries(LIST_QUERIES):
        admin.get(url)
    older = url + admin.get(url).context["cl"].older
    with django_assert_max_num_queries(LIST_QUERIES + 1):  # and where the page begins
        admin.get(older)


@pytest.mark.usefixtures("many")
def test_the_first_page_asks_a_fixed_number_of_questions(admin, django_assert_max_num_queries):
    with django_assert_max_num_queries(8):
        admin.get("/admin/")


# --- one thing ------------------------------------------------------------------------------------


def test_a_pin_s_page_shows_its_thread_history_and_deliveries(admin):
    pin = give_everything_a_row()
    page = shown(admin, detail("pins_pin", pin["id"]))
    for text in (
        "Pin #1", "Total is wrong", "✓ resolved", "resolved by agent", "commit c0ffee",
        "note rounded", "a.py:3", "claude k1", "which total?", "thread.message", "Deliveries",
    ):  # fmt: skip
        assert text in page, text
    answer = admin.get(detail("pins_pin", pin["id"])).content.decode()
    for url in (
        detail("pins_event", "3"),
        f"{LISTS['events']}?q={pin['id']}",
        detail("delivery_delivery", str(Delivery.objects.get(event_seq=1).pk)),
        f"{LISTS['deliveries']}?q={pin['id']}",
        detail("agent_sessions_agentsession", AgentSession.objects.get().pk),
    ):
        assert f'href="{url}"' in answer, url


def test_a_thread_is_read_from_its_first_message_to_its_last(admin):
    pin = loop.drop("a")
    for number in range(3):
        loop.say(pin, f"message {number}")
    page = shown(admin, detail("pins_pin", pin["id"])).partition("History")[0]
    assert page.index("message 0") < page.index("message 1") < page.index("message 2")


def test_a_long_thread_does_not_make_a_long_page(admin, monkeypatch, django_assert_max_num_queries):
    monkeypatch.setattr("pins.admin.THREAD_ROWS", 10)
    monkeypatch.setattr("pins.admin.SECTION_ROWS", 10)
    pin = loop.drop("a")
    for number in range(12):
        loop.say(pin, f"message {number}.")
    # Session, user, pin, thread, events, deliveries; Django's content type once a process.
    with django_assert_max_num_queries(8):
        page = shown(admin, detail("pins_pin", pin["id"]))
    thread = page.partition("History")[0]
    assert "message 2." in thread
    assert "message 1." not in thread
    assert "Only the newest 10 messages" in page
    assert "All of its events, also older ones" in page


def test_an_event_s_page_shows_its_payload(admin):
    pin = give_everything_a_row()
    page = shown(admin, detail("pins_event", "1"))
    assert '"text": "Total is wrong"' in page
    assert pin["id"] in page


def test_a_session_s_page_shows_what_is_bound_to_it_and_waits_for_it(admin):
    pin = give_everything_a_row()
    waiting = loop.drop("another")
    page = shown(admin, detail("agent_sessions_agentsession", AgentSession.objects.get().pk))
    assert pin["id"] in page
    assert waiting["id"] in page
    assert "… pending" in page


def test_what_is_skipped_waits_for_nobody_and_what_is_queued_may_wait_for_anyone(admin):
    pin = loop.drop("a")
    loop.resolve(pin)
    queued, skipped = Delivery.objects.order_by("id")
    assert "Session: unassigned" in shown(admin, detail("delivery_delivery", str(queued.pk)))
    assert "Session: –" in shown(admin, detail("delivery_delivery", str(skipped.pk)))


def test_a_delivery_s_page_says_when_it_was_handed_over(admin):
    loop.start("k1")
    loop.drop("a")
    loop.prompt("k1")
    delivery = Delivery.objects.get()
    page = shown(admin, detail("delivery_delivery", str(delivery.pk)))
    assert "→ delivered" in page
    assert re.search(r"Handed over: .* by \w+", page)


@pytest.mark.parametrize(
    "path", ["pins/pin/pin_5Fnothere000/change/", "pins/event/99/change/", "nowhere/", "pins/pin/x"]
)
def test_what_is_not_there_is_not_found(admin, path):
    answer = admin.get(f"/admin/{path}")
    assert answer.status_code == 404
    assert "There is nothing here" in answer.content.decode()


def test_a_rebuild_in_between_leaves_every_page_standing(admin):
    pin = give_everything_a_row()
    Pin.objects.all().delete()
    assert admin.get(LISTS["deliveries"]).status_code == 200
    assert admin.get(detail("pins_pin", pin["id"])).status_code == 404


# --- foreign text ---------------------------------------------------------------------------------


def test_hostile_text_is_text_on_every_page(admin):
    AgentSession.objects.create(
        id="ses_aaaaaaaaaa", agent=HOSTILE, key=HOSTILE, cwd=HOSTILE,
        registered_at=datetime.now(UTC), last_seen_at=datetime.now(UTC),
    )  # fmt: skip
    pin = loop.drop(
        HOSTILE,
        author={"userId": HOSTILE, "name": HOSTILE + "x"},
        target={"url": HOSTILE, "selector": HOSTILE, "source": {"file": HOSTILE, "via": "none"}},
        env={"browser": HOSTILE, "os": HOSTILE, "branch": HOSTILE},
    )
    loop.say(pin, HOSTILE, "mirror", origin=HOSTILE, edit={"selector": HOSTILE, "texts": [HOSTILE]})
    loop.resolve(pin, note=HOSTILE, commit=HOSTILE)
    Delivery.objects.update(last_error=HOSTILE)
    urls = [
        *LISTS.values(),
        detail("pins_pin", pin["id"]),
        *(detail("pins_event", str(seq)) for seq in (1, 2, 3)),
        detail("delivery_delivery", str(Delivery.objects.first().pk)),
        detail("agent_sessions_agentsession", "ses_aaaaaaaaaa"),
    ]
    for url in [*urls, f"{LISTS['pins']}?q=%3Cscript%3Ealert(1)%3C/script%3E"]:
        page = admin.get(url).content.decode()
        assert "<script>alert" not in page, url
        assert "</td><script" not in page, url
        if "agentsession" not in url and "q=" not in url:
            assert not re.search("[\u202e\u2066\u200b\x07]", page), url
            assert "[U+202E]" in page, url


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain", "plain"),
        ("日本語 🎯 é", "日本語 🎯 é"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("a\r\nb", "a\nb"),
        ("a\u202eb", "a[U+202E]b"),
        ("\x1b[31m", "[U+001B][31m"),
        ("a\u2028b", "a[U+2028]b"),
        ("zero\u200bwidth\ufeff", "zero[U+200B]width[U+FEFF]"),
        ("👩\u200d💻", "👩\u200d💻"),
    ],
)
def test_what_cannot_be_seen_is_made_visible(text, seen):
    assert visible(text) == seen


def test_a_long_text_is_cut_in_lists_and_whole_on_its_page(admin):
    pin = loop.drop("word " * 2000 + "end")
    assert "end" not in shown(admin, LISTS["pins"])
    assert "…" in shown(admin, LISTS["pins"])
    assert "word end" in shown(admin, detail("pins_pin", pin["id"]))


def test_a_management_command_does_not_wait_for_the_api_to_load():
    script = "import django, sys; django.setup(); print('rest_framework.views' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    assert done.stdout == "False\n"


# --- deliveries -----------------------------------------------------------------------------------


def a_refused_resume(text="conversation <b>unknown</b> \u202e"):
    """A pin whose session is over, and what its agent said when it was resumed."""
    loop.start("k1")
    pin = loop.drop("first")
    loop.end("k1")
    row = Delivery.objects.get()
    row.tries.create(
        adapter="resume",
        session_id=row.session_id,
        at=datetime.now(UTC),
        duration_ms=1500,
        outcome="refused",
        code="E_SESSION_GONE",
        error="there is no such conversation",
        output=text,
    )
    Delivery.objects.update(
        status="failed", adapter="resume", last_error="E_SESSION_GONE: gone", due_at=None
    )
    return pin, Delivery.objects.get()


def test_a_delivery_s_page_shows_every_attempt_and_what_the_agent_said(admin):
    _, row = a_refused_resume(HOSTILE)
    page = shown(admin, f"/admin/delivery/delivery/{row.pk}/change/")
    assert "✕ refused" in page
    assert "1.5 s there is no such conversation" in page
    assert "[U+202E]gnp.exe" in page
    assert (
        "<script>alert"
        not in admin.get(f"/admin/delivery/delivery/{row.pk}/change/").content.decode()
    )


def test_a_failed_delivery_is_retried_by_a_button_and_a_delivered_one_has_none(admin):
    _, row = a_refused_resume()
    url = f"/admin/delivery/delivery/{row.pk}/retry"
    assert url in admin.get(f"/admin/delivery/delivery/{row.pk}/change/").content.decode()
    answer = admin.post(url, follow=True)
    assert "It is due now." in answer.content.decode()
    row.refresh_from_db()
    assert (row.status, row.attempts) == ("pending", 0)
    assert row.due_at <= datetime.now(UTC)
    Delivery.objects.update(status="delivered")
    assert url not in admin.get(f"/admin/delivery/delivery/{row.pk}/change/").content.decode()
    assert "nothing to retry" in admin.post(url, follow=True).content.decode()


def test_a_pin_is_bound_to_another_session_by_a_button_and_what_failed_goes_along(admin):
    pin, row = a_refused_resume()
    loop.start("k2")
    other = AgentSession.objects.get(key="k2")
    page = admin.get(detail("pins_pin", pin["id"])).content.decode()
    assert f'<option value="{other.pk}">claude …k2, live, /p/app</option>' in page
    answer = admin.post(
        f"/admin/delivery/delivery/rebind/{pin['id']}", {"choice": other.pk}, follow=True
    )
    assert "1 delivery goes along" in answer.content.decode()
    row.refresh_from_db()
    assert (row.session_id, row.status, row.adapter) == (other.pk, "pending", "hooks")


@pytest.mark.parametrize("choice", ["", "ses_0000000000", "\0", "x" * 5000])
def test_a_session_that_is_not_there_binds_nothing(admin, choice):
    pin, row = a_refused_resume()
    url = f"/admin/delivery/delivery/rebind/{pin['id']}"
    assert "no session" in admin.post(url, {"choice": choice}, follow=True).content.decode()
    row.refresh_from_db()
    assert row.status == "failed"


def test_a_button_works_only_for_who_is_in_by_post_and_with_the_page_s_own_token(admin):
    pin, row = a_refused_resume()
    for url in (
        f"/admin/delivery/delivery/{row.pk}/retry",
        f"/admin/delivery/delivery/rebind/{pin['id']}",
    ):
        assert admin.get(url).status_code == 405
        assert Client().post(url).status_code == 302
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(User.objects.get())
        assert strict.post(url).status_code == 403
    assert admin.post("/admin/delivery/delivery/999/retry", follow=True).status_code == 404
    row.refresh_from_db()
    assert row.status == "failed"
