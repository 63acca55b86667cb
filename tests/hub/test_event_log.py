"""The log, its projections and what is rebuilt."""

import time

import pytest

from pinbox.contract import Caller, PinboxError
from pins import event_log, projections, search, selectors, services
from pins.models import Event, Pin, SearchText, Tally, ThreadMessage

pytestmark = pytest.mark.django_db

FULL = Caller(scope="full")


def make_pin(text="Save button too small", **more):
    data = {"text": text, "kind": "note", "author": {"userId": "u"}, **more}
    return services.create_pin(data=data, caller=FULL, git={})


def reply(pin, text="done", role="agent"):
    return services.post_message(pin_id=pin["id"], data={"role": role, "text": text}, caller=FULL)


def test_a_pin_s_keys_are_in_the_order_of_the_wire():
    pin = make_pin(target={"url": "http://x/"}, attachments=[])
    stored = selectors.pin_document(pin["id"])
    assert list(stored) == [
        "text", "kind", "target", "env", "author", "attachments", "id", "n",
        "schemaVersion", "status", "createdAt",
    ]  # fmt: skip
    assert stored == pin


def test_a_binding_stands_at_the_place_of_agent_session():
    pin = make_pin(attachments=[])
    services.bind_pin(pin_id=pin["id"], agent="claude", key="abc", cwd="/p")
    bound = selectors.pin_document(pin["id"])
    assert bound["agentSession"] == {"agent": "claude", "key": "abc", "cwd": "/p"}
    assert list(bound).index("agentSession") == list(bound).index("author") + 1


def test_the_seq_has_no_gap_after_a_refused_write():
    pin = make_pin()
    with pytest.raises(PinboxError):
        services.verify_pin(pin_id=pin["id"], outcome="accepted")
    reply(pin)
    assert [event.seq for event in event_log.tail(0, 10)] == [1, 2]


def test_a_second_resolve_is_a_conflict_and_no_event():
    pin = make_pin()
    services.resolve_pin(pin_id=pin["id"], data={"by": "agent"}, caller=FULL)
    with pytest.raises(PinboxError) as refused:
        services.resolve_pin(pin_id=pin["id"], data={"by": "agent"}, caller=FULL)
    assert refused.value.code == "E_CONFLICT"
    assert event_log.last_seq() == 2


def test_a_new_resolve_clears_the_old_verification():
    pin = make_pin()
    services.resolve_pin(pin_id=pin["id"], data={"by": "agent"}, caller=FULL)
    services.verify_pin(pin_id=pin["id"], outcome="reopened")
    again = services.resolve_pin(pin_id=pin["id"], data={"by": "agent"}, caller=FULL)
    assert "verification" not in again


def test_a_rebuild_after_every_kind_of_event_changes_nothing():
    pin = make_pin("日本語 C++ POL-358")
    services.bind_pin(pin_id=pin["id"], agent="claude", key="abc")
    reply(pin)
    services.resolve_pin(pin_id=pin["id"], data={"by": "agent", "note": "44px"}, caller=FULL)
    services.verify_pin(pin_id=pin["id"], outcome="reopened")
    make_pin("another")
    assert projections.check() == {}
    assert projections.rebuild() == 5
    assert projections.check() == {}
    assert selectors.tally() == {"open": 2, "resolved": 0}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda: Pin.objects.update(status="resolved"),
        lambda: ThreadMessage.objects.all().delete(),
        lambda: SearchText.objects.filter(n=1).update(body="x"),
        lambda: Tally.objects.update(pins=7),
    ],
)
def test_a_check_sees_any_projection_that_drifted_and_repairs_nothing(spoil):
    reply(make_pin())
    spoil()
    assert projections.check() != {}
    assert projections.check() != {}
    projections.rebuild()
    assert projections.check() == {}


def test_applying_an_event_twice_changes_nothing():
    pin = make_pin()
    reply(pin)
    services.resolve_pin(pin_id=pin["id"], data={"by": "human"}, caller=FULL)
    for event in Event.objects.all():
        projections.apply(event)
    assert projections.check() == {}


@pytest.mark.parametrize(
    "term", ["POL-358", "pol-358", "C++", "38.101", "日本語", "本", "-foo", '"', 'foo"bar',
             "a:b", "NEAR(", "AND", "*", "(", "Straße", "STRASSE", "%", "_", "\\", "'"],
)  # fmt: skip
def test_a_search_finds_what_contains_the_literal_term(term):
    pin = make_pin(f"before {term} after")
    make_pin("something else entirely")
    found = search.matching(Pin.objects.all(), term).values_list("id", flat=True)
    assert pin["id"] in found


@pytest.mark.parametrize(
    "term", ["zzz", "%%", "__", "NEAR", "a*b", "x" * 10_000, " ".join("abcdef" * 400)]
)
def test_a_search_finds_nothing_else_and_never_errors(term):
    make_pin("a plain text")
    assert not search.matching(Pin.objects.all(), term).exists()


@pytest.mark.parametrize(
    "term", ["a" * 10_240, "日本語" * 1_200, "ab%_\\'\"" * 1_500], ids=["same", "wide", "signs"]
)
def test_a_term_of_ten_kilobytes_is_found_whole_and_soon(term):
    pin = make_pin(f"before {term} after")
    make_pin(f"before {term[:-1]}x after")
    started = time.thread_time()
    found = search.matching(Pin.objects.all(), term).values_list("id", flat=True)
    assert list(found) == [pin["id"]]
    assert time.thread_time() - started < 1.0


def test_a_search_combines_terms_over_a_pin_s_texts():
    pin = make_pin("the header is crooked", target={"selector": "nav.top"})
    reply(pin, "fixed in the stylesheet")
    make_pin("the header is fine")
    assert search.matching(Pin.objects.all(), "header stylesheet nav.top").count() == 1
