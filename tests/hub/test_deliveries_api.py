"""Deliveries over HTTP: one of them, its attempts, another try, another session."""

from datetime import UTC, datetime, timedelta

import pytest

from delivery.models import Attempt, Delivery
from sessions_app.models import AgentSession
from tests.hub.loop import drop, say, start

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 8, 6, 18, tzinfo=UTC)
UNKNOWN_PIN = "pin_zzzzzzzzzz"
UNKNOWN_SESSION = "ses_zzzzzzzzzz"

#: What clients have always known of a delivery, beside the pin's id.
WIRE_NAMES = [
    "id",
    "eventSeq",
    "pinId",
    "sessionId",
    "adapter",
    "status",
    "attempts",
    "dueAt",
    "lastError",
    "updatedAt",
]


def delivery_of(pin):
    return Delivery.objects.get(pin_id=pin["id"])


def change(row, **fields):
    Delivery.objects.filter(pk=row.pk).update(**fields)


def session(key):
    return AgentSession.objects.get(key=key)


def attempt(row, **fields):
    return Attempt.objects.create(
        delivery=row,
        **{
            "adapter": "resume",
            "at": NOW,
            "duration_ms": 1200,
            "outcome": Attempt.Outcome.FAILED,
            **fields,
        },
    )


# --- one delivery ---------------------------------------------------------------------------------


def test_a_delivery_is_read_by_its_id_as_the_lists_have_it(hub):
    pin = drop()
    ((_, [listed]), (_, [of_pin])) = (
        hub.get("/deliveries"),
        hub.get(f"/pins/{pin['id']}/deliveries"),
    )
    assert hub.get(f"/deliveries/{listed['id']}") == (200, listed)
    assert of_pin == listed
    assert list(listed) == WIRE_NAMES


def test_that_an_attempt_is_under_way_or_was_accepted_is_told_while_it_is_so(hub):
    row = delivery_of(drop())

    def more():
        return {k: v for k, v in hub.get(f"/deliveries/{row.id}")[1].items() if k not in WIRE_NAMES}

    assert more() == {}
    change(row, claimed_by="w", claimed_until=NOW + timedelta(minutes=1), pushed_at=NOW)
    assert more() == {
        "claimedUntil": "2026-08-06T18:01:00.000Z",
        "pushedAt": "2026-08-06T18:00:00.000Z",
    }
    change(row, claimed_by="", claimed_until=None)
    assert more() == {"pushedAt": "2026-08-06T18:00:00.000Z"}


NO_DELIVERY = ["0", "999999", "9" * 19, "9" * 25, "9" * 5000, "abc", "-1", "1.0", "%00", "dlv_1"]


@pytest.mark.parametrize("delivery_id", NO_DELIVERY)
@pytest.mark.parametrize(
    ("method", "rest"), [("GET", ""), ("GET", "/attempts"), ("POST", "/retry")]
)
def test_a_delivery_that_is_not_there_is_not_found(hub, method, rest, delivery_id):
    status, error = hub.request(method, f"/deliveries/{delivery_id}{rest}")
    assert (status, error["code"]) == (404, "E_NOT_FOUND")


# --- attempts -------------------------------------------------------------------------------------


def test_attempts_are_listed_oldest_first_with_what_is_known_of_each(hub):
    row = delivery_of(drop())
    first = attempt(
        row,
        session_id="ses_aaaaaaaaaa",
        code="E_DELIVERY",
        error="the agent hit a rate limit",
        output="429",
    )
    second = attempt(
        row, adapter="webhook", outcome=Attempt.Outcome.HANDED_OVER, at=NOW + timedelta(seconds=30)
    )
    attempt(delivery_of(drop()))
    assert hub.get(f"/deliveries/{row.id}/attempts") == (
        200,
        [
            {
                "id": first.id,
                "adapter": "resume",
                "sessionId": "ses_aaaaaaaaaa",
                "at": "2026-08-06T18:00:00.000Z",
                "durationMs": 1200,
                "outcome": "failed",
                "code": "E_DELIVERY",
                "error": "the agent hit a rate limit",
                "output": "429",
            },
            {
                "id": second.id,
                "adapter": "webhook",
                "at": "2026-08-06T18:00:30.000Z",
                "durationMs": 1200,
                "outcome": "handed_over",
            },
        ],
    )
    _, page = hub.get(f"/deliveries/{row.id}/attempts?limit=1&after={first.id}")
    assert [one["id"] for one in page] == [second.id]


def test_a_delivery_that_nobody_tried_has_no_attempts(hub):
    assert hub.get(f"/deliveries/{delivery_of(drop()).id}/attempts") == (200, [])


# --- retry ----------------------------------------------------------------------------------------


def test_a_failed_delivery_starts_over_and_is_due_now(hub):
    start("s1")
    row = delivery_of(drop())
    change(row, status="failed", attempts=5, last_error="E_DELIVERY: no luck", due_at=None)
    before = datetime.now(UTC)
    status, data = hub.post(f"/deliveries/{row.id}/retry")
    assert status == 200
    assert (data["status"], data["attempts"], data["lastError"]) == ("pending", 0, None)
    assert before - timedelta(seconds=1) <= datetime.fromisoformat(data["dueAt"])
    assert datetime.fromisoformat(data["dueAt"]) <= datetime.now(UTC)
    assert hub.get(f"/deliveries/{row.id}") == (200, data)


def test_a_delivery_that_waits_for_its_next_attempt_is_due_now(hub):
    start("s1")
    row = delivery_of(drop())
    change(row, due_at=datetime.now(UTC) + timedelta(minutes=15), attempts=3)
    status, data = hub.post(f"/deliveries/{row.id}/retry")
    assert (status, data["attempts"]) == (200, 3)
    assert datetime.fromisoformat(data["dueAt"]) <= datetime.now(UTC)


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "delivered", "handed_over_at": NOW, "handed_over_by": "hooks"},
        {"status": "skipped", "last_error": "an agent wrote it"},
        {"claimed_by": "a worker", "claimed_until": NOW},
    ],
    ids=["delivered", "skipped", "under way"],
)
def test_what_is_over_or_under_way_is_not_retried(hub, fields):
    row = delivery_of(drop())
    change(row, **fields)
    before = hub.get(f"/deliveries/{row.id}")
    status, error = hub.post(f"/deliveries/{row.id}/retry")
    assert (status, error["code"]) == (409, "E_CONFLICT")
    assert str(row.id) in error["message"]
    assert error["hint"].startswith("pinbox ")
    assert hub.get(f"/deliveries/{row.id}") == before


# --- rebind ---------------------------------------------------------------------------------------


def test_what_waits_of_a_pin_and_what_failed_goes_to_the_other_session(hub):
    start("s1")
    pin = drop()
    for words in ("two", "three"):
        say(pin, words)
    say(pin, "an agent's word", role="agent")
    rows = list(Delivery.objects.filter(pin_id=pin["id"]).order_by("id"))
    change(rows[0], status="delivered", handed_over_at=NOW, handed_over_by="hooks")
    change(rows[1], status="failed", attempts=5, last_error="E_SESSION_GONE: gone")
    other = drop("another pin")
    start("s2")
    status, data = hub.post(f"/pins/{pin['id']}/rebind", {"sessionId": session("s2").id})
    assert status == 200
    assert (data["id"], data["agentSession"]["key"]) == (pin["id"], "s2")
    assert hub.get(f"/pins/{pin['id']}") == (200, data)
    after = Delivery.objects.filter(pin_id=pin["id"]).order_by("id")
    assert [(row.status, row.session_id) for row in after] == [
        ("delivered", session("s1").id),
        ("pending", session("s2").id),
        ("pending", session("s2").id),
        ("skipped", None),
    ]
    assert after[1].attempts == 0
    assert delivery_of(other).session_id == session("s1").id


def test_a_session_that_went_on_under_another_key_stands_for_its_successor(hub):
    start("s1")
    pin = drop()
    start("s2")
    start("s3")
    AgentSession.objects.filter(key="s2").update(superseded_by=session("s3").id)
    status, data = hub.post(f"/pins/{pin['id']}/rebind", {"sessionId": session("s2").id})
    assert (status, data["agentSession"]["key"]) == (200, "s3")
    assert delivery_of(pin).session_id == session("s3").id


def test_a_pin_or_a_session_that_is_not_there_is_not_found(hub):
    start("s1")
    pin = drop()
    for path, body in (
        (f"/pins/{UNKNOWN_PIN}/rebind", {"sessionId": session("s1").id}),
        (f"/pins/{pin['id']}/rebind", {"sessionId": UNKNOWN_SESSION}),
        (f"/pins/{pin['id']}/rebind", {"sessionId": "../s1"}),
        (f"/pins/{pin['id']}/rebind", {"sessionId": "-s1"}),
    ):
        status, error = hub.post(path, body)
        assert (status, error["code"]) == (404, "E_NOT_FOUND")
    assert delivery_of(pin).session_id == session("s1").id


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"sessionId": None},
        {"sessionId": 7},
        {"sessionId": ["ses_aaaaaaaaaa"]},
        {"sessionId": ""},
        {"sessionId": "ses_\0aaaaaaaaa"},
        {"sessionId": "x" * 70_000},
    ],
    ids=["nothing", "null", "a number", "a list", "empty", "NUL", "too long"],
)
def test_a_session_that_cannot_be_one_is_refused(hub, body):
    status, error = hub.post(f"/pins/{drop()['id']}/rebind", body)
    assert (status, error["code"]) == (400, "E_INVALID_INPUT")
    assert "sessionId" in error["message"]


# --- who may --------------------------------------------------------------------------------------


def test_a_page_s_token_reaches_none_of_the_rest(page):
    start("s1")
    pin = drop()
    row = delivery_of(pin)
    change(row, status="failed", attempts=5, last_error="E_DELIVERY: no luck")
    before = Delivery.objects.values().get(pk=row.pk)
    for method, path, body in (
        ("GET", f"/deliveries/{row.id}", None),
        ("GET", f"/deliveries/{row.id}/attempts", None),
        ("POST", f"/pins/{pin['id']}/rebind", {"sessionId": session("s1").id}),
    ):
        status, error = page.request(method, path, body)
        assert (status, error["code"]) == (403, "E_AUTH"), path
    assert Delivery.objects.values().get(pk=row.pk) == before


def test_a_page_s_token_may_have_a_failed_delivery_tried_again(page):
    start("s1")
    row = delivery_of(drop())
    change(row, status="failed", attempts=5, last_error="E_DELIVERY: no luck")
    status, data = page.post(f"/deliveries/{row.id}/retry")
    assert (status, data["status"], data["attempts"]) == (200, "pending", 0)


def test_a_page_s_token_sees_what_became_of_pins_and_who_is_there(page):
    start("s1")
    pin = drop()
    status, rows = page.get("/deliveries")
    assert (status, [row["pinId"] for row in rows]) == (200, [pin["id"]])
    assert page.get(f"/pins/{pin['id']}/deliveries") == (200, rows)
    assert page.get("/summary")[1]["agents"] == ["claude"]
