"""The wire of pins, threads and events, through the whole of Django."""

import json

import pytest

from pins.models import Event

pytestmark = pytest.mark.django_db

PIN = {"text": "Save button too small", "author": {"userId": "k3j9x0a1bz"}}


def names(pins):
    return [pin["text"] for pin in pins]


def test_a_created_pin_comes_back_whole(hub):
    status, pin = hub.post(
        "/pins", {**PIN, "target": {"selector": "button.save", "junk": 1}, "x": 1}
    )
    assert status == 201
    assert pin["n"] == 1
    assert pin["status"] == "open"
    assert pin["kind"] == "note"
    assert pin["env"] == {} or set(pin["env"]) == {"branch", "commit"}
    assert pin["target"] == {"selector": "button.save"}
    assert "x" not in pin
    assert hub.get(f"/pins/{pin['id']}") == (200, pin)


def test_a_pin_carries_the_trouble_that_a_person_attached(hub):
    context = {"failedRequests": ["500 /api/cart"], "consoleErrors": ["TypeError: x is null"]}
    assert hub.post("/pins", {**PIN, "target": {"context": context}})[1]["target"] == {
        "context": context
    }


def test_numbers_and_texts_are_kept_as_they_were_written(hub):
    target = {"rect": {"x": 12, "y": 40.5, "width": 80, "height": 24}, "spot": {"x": 0, "y": 1e-3}}
    raw = hub.raw("POST", "/pins", json.dumps({**PIN, "text": " \n ", "target": target}).encode())
    assert b'"rect":{"x":12,"y":40.5,"width":80,"height":24}' in raw.content
    assert json.loads(raw.content)["data"]["text"] == " \n "


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"text": ""}, "text"),
        ({"text": None}, "text"),
        ({"text": 7}, "text"),
        ({"kind": "other"}, "kind"),
        ({"author": {}}, "author.userId"),
        ({"author": None}, "author"),
        ({"target": {"rect": {"x": 1, "y": 2, "width": 3}}}, "target.rect.height"),
        ({"target": {"rect": {"x": "1", "y": 2, "width": 3, "height": 4}}}, "target.rect.x"),
        ({"target": {"rect": {"x": True, "y": 2, "width": 3, "height": 4}}}, "target.rect.x"),
        ({"target": {"fixed": "true"}}, "target.fixed"),
        ({"target": {"source": {"file": "a", "via": "magic"}}}, "target.source.via"),
        ({"target": {"context": {"classes": "a"}}}, "target.context.classes"),
        ({"target": {"targets": [{}, {"tag": 1}]}}, "target.targets.1.tag"),
        ({"env": {"colorScheme": "blue"}}, "env.colorScheme"),
        ({"env": {"viewport": {"w": 1, "h": 2}}}, "env.viewport.dpr"),
        ({"attachments": [{"id": "a", "kind": "movie"}]}, "attachments.0.kind"),
        ({"agentSession": {"agent": "claude"}}, "agentSession.key"),
        ({"move": {"from": {"x": 1, "y": 1, "width": 1, "height": 1}}}, "move.to"),
        ({"text": "x" * 65_537}, "text"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_refused_by_its_path_and_nothing_is_written(hub, change, path):
    status, error = hub.post("/pins", {**PIN, **change})
    assert status == 400
    assert error["code"] == "E_INVALID_INPUT"
    assert error["message"].startswith(f"{path}: ")
    assert error["hint"]
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    ("path", "body", "allowed"),
    [
        ("/pins", {**PIN, "kind": "x"}, "note, move"),
        ("/pins", {**PIN, "env": {"colorScheme": "x"}}, "light, dark"),
        ("/pins/pin_aaaaaaaaaa/thread", {"role": "x", "text": "t"}, "human, agent, mirror"),
        ("/pins/pin_aaaaaaaaaa/resolve", {"by": "x"}, "human, agent"),
        ("/pins/pin_aaaaaaaaaa/verify", {"outcome": 1}, "accepted, reopened"),
    ],
)  # fmt: skip
def test_a_word_out_of_a_closed_set_is_refused_with_the_set(hub, path, body, allowed):
    status, error = hub.post(path, body)
    assert status == 400
    assert error["message"].endswith(f"must be one of: {allowed}")


@pytest.mark.parametrize("width", ["12", 12.0, 1.5, True])
def test_a_whole_number_is_not_made_from_anything_else(hub, width):
    attachment = {"id": "a", "kind": "file", "width": width}
    status, error = hub.post("/pins", {**PIN, "attachments": [attachment]})
    assert (status, error["message"]) == (400, "attachments.0.width: must be a whole number")


def test_pins_are_listed_newest_first_and_filtered(hub):
    first, second, third = (
        hub.post("/pins", {**PIN, "text": t})[1] for t in ("one", "two", "one two")
    )
    hub.post(f"/pins/{first['id']}/resolve", {"by": "human"})
    assert names(hub.get("/pins")[1]) == ["one two", "two", "one"]
    assert names(hub.get("/pins?status=open")[1]) == ["one two", "two"]
    assert names(hub.get("/pins?search=one&status=resolved")[1]) == ["one"]
    assert names(hub.get("/pins?search=ONE")[1]) == ["one two", "one"]
    assert hub.get("/pins?search=")[1] == []
    assert hub.get("/pins?status=")[0] == 400
    assert hub.get("/pins?status=closed")[1]["code"] == "E_INVALID_INPUT"


def test_pages_walk_the_list_both_ways_and_say_where_to_go_on(hub):
    ids = [hub.post("/pins", PIN)[1]["id"] for _ in range(5)][::-1]
    page = hub.raw("GET", "/pins?limit=2")
    assert [pin["id"] for pin in page.json()["data"]] == ids[:2]
    assert page.headers["Link"] == f'</pins?limit=2&before={ids[1]}>; rel="next"'
    page = hub.raw("GET", f"/pins?limit=2&before={ids[1]}")
    assert [pin["id"] for pin in page.json()["data"]] == ids[2:4]
    assert f'after={ids[2]}>; rel="prev"' in page.headers["Link"]
    assert f'before={ids[3]}>; rel="next"' in page.headers["Link"]
    page = hub.raw("GET", f"/pins?limit=2&after={ids[2]}")
    assert [pin["id"] for pin in page.json()["data"]] == ids[:2]
    assert 'rel="prev"' not in page.headers["Link"]
    page = hub.raw("GET", f"/pins?limit=2&before={ids[3]}")
    assert [pin["id"] for pin in page.json()["data"]] == ids[4:]
    assert 'rel="next"' not in page.headers["Link"]


@pytest.mark.parametrize("limit", ["0", "-1", "1000000000", "x", "", "1.5", "٣"])
def test_a_silly_limit_is_refused_with_the_range(hub, limit):
    status, error = hub.get(f"/pins?limit={limit}")
    assert status == 400
    assert "1 to 1000" in error["message"]


def test_events_follow_a_cursor_however_it_is_written(hub):
    pin = hub.post("/pins", PIN)[1]
    hub.post(f"/pins/{pin['id']}/thread", {"role": "human", "text": "and the colour"})
    events = hub.get("/events")[1]
    assert [event["seq"] for event in events] == [1, 2]
    assert list(events[0]) == ["seq", "type", "at", "payload"]
    assert events[0]["payload"] == pin
    assert hub.get("/events?after=")[1] == events
    assert hub.get("/events?after=1")[1] == events[1:]
    assert hub.get("/events?after=%201%20")[1] == events[1:]
    assert hub.get("/events?after=1e0")[1] == events[1:]
    assert hub.get("/events?before=2&limit=1")[1] == events[:1]
    for bad in ("-1", "x", "1.5", "nan", "inf", "99999999999999999999"):
        assert hub.get(f"/events?after={bad}")[0] == 400


def test_the_body_is_judged_before_the_pin_is_looked_for(hub):
    for path, body in (("thread", {"role": "cat"}), ("resolve", {}), ("verify", {"outcome": "x"})):
        assert hub.post(f"/pins/pin_aaaaaaaaaa/{path}", body)[0] == 400
    assert hub.post("/pins/pin_aaaaaaaaaa/resolve", {"by": "human"})[0] == 404


def test_the_life_of_a_pin(hub):
    pin = hub.post("/pins", PIN)[1]
    path = f"/pins/{pin['id']}"
    status, message = hub.post(
        f"{path}/thread", {"role": "agent", "origin": "claude:mac", "text": "done"}
    )
    assert status == 201
    assert list(message) == ["id", "pinId", "role", "origin", "text", "at"]
    assert hub.get(f"{path}/thread")[1] == [message]
    assert hub.post(f"{path}/verify", {"outcome": "accepted"})[1]["code"] == "E_CONFLICT"
    status, resolved = hub.post(
        f"{path}/resolve", {"by": "agent", "note": "44px", "commit": "a" * 40}
    )
    assert (status, resolved["status"]) == (200, "resolved")
    assert list(resolved["resolution"]) == ["by", "note", "commit", "at"]
    assert hub.post(f"{path}/resolve", {"by": "agent"})[0] == 409
    assert hub.post(f"{path}/verify", {"outcome": "reopened"})[1]["status"] == "open"
    assert "verification" not in hub.post(f"{path}/resolve", {"by": "agent"})[1]
    assert (
        hub.post(f"{path}/verify", {"outcome": "accepted"})[1]["verification"]["outcome"]
        == "accepted"
    )
    kinds = [event["type"].partition(".")[2] for event in hub.get(f"{path}/events")[1]]
    assert kinds == ["created", "message", "resolved", "verified", "resolved", "verified"]


def test_what_a_page_sends_late_opens_no_pin_again(hub, page):
    """A page that was offline sends its queue, twice, after the pin was resolved elsewhere."""
    pin = hub.post("/pins", PIN)[1]
    path = f"/pins/{pin['id']}"
    resolved = hub.post(f"{path}/resolve", {"by": "agent", "note": "fixed"})[1]
    for _ in range(2):
        key = {"Idempotency-Key": "late-words"}
        assert page.post(f"{path}/thread", {"role": "human", "text": "wider"}, key)[0] == 201
        key = {"Idempotency-Key": "late-resolve"}
        assert page.post(f"{path}/resolve", {"by": "human"}, key)[0] == 409
    assert hub.get(path)[1] == resolved
    assert [message["text"] for message in hub.get(f"{path}/thread")[1]] == ["wider"]
    kinds = [event["type"] for event in hub.get("/events")[1]]
    assert kinds == ["pin.created", "pin.resolved", "thread.message"]


def test_a_page_speaks_as_a_human_only(page):
    pin = page.post("/pins", PIN)[1]
    path = f"/pins/{pin['id']}"
    for suffix, body in (("thread", {"role": "agent", "text": "x"}), ("resolve", {"by": "agent"})):
        status, error = page.post(f"{path}/{suffix}", body)
        assert (status, error["code"]) == (403, "E_AUTH")
    assert page.post(f"{path}/thread", {"role": "human", "text": "x"})[0] == 201
    assert page.get("/sessions")[0] == 403


def test_the_same_key_with_the_same_body_is_one_write(hub):
    key = {"Idempotency-Key": "k1"}
    first = hub.raw("POST", "/pins", json.dumps(PIN).encode(), key)
    again = hub.raw("POST", "/pins", json.dumps(PIN).encode(), key)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert Event.objects.count() == 1
    other = hub.raw("POST", "/pins", json.dumps({**PIN, "text": "other"}).encode(), key)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "E_CONFLICT")
    assert Event.objects.count() == 1


def test_a_refused_write_leaves_its_key_free(hub):
    key = {"Idempotency-Key": "k2"}
    assert hub.raw("POST", "/pins", b"{}", key).status_code == 400
    assert hub.raw("POST", "/pins", json.dumps(PIN).encode(), key).status_code == 201


@pytest.mark.parametrize(
    "path", ["/pins/", "/nothing", "/events/", "/pins/pin_aaaaaaaaaa/nothing", "/Pins"]
)
def test_an_unknown_route_is_not_found_and_never_a_redirect(hub, path):
    status, error = hub.get(path)
    assert (status, error["code"]) == (404, "E_NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/pins"), ("DELETE", "/pins"), ("POST", "/events"), ("PATCH", "/summary")],
)
def test_a_wrong_method_is_not_found(hub, method, path):
    assert hub.raw(method, path, b"{}").status_code == 404


def test_summary_counts(hub):
    pin = hub.post("/pins", PIN)[1]
    hub.post("/pins", PIN)
    hub.post(f"/pins/{pin['id']}/resolve", {"by": "human"})
    assert hub.get("/summary")[1] == {
        "open": 1, "resolved": 1, "lastEventSeq": 3, "sessions": 0, "connectedToolbars": 0,
        "agents": [],
    }  # fmt: skip


def test_a_nul_is_refused_alike_everywhere(hub):
    assert (
        hub.raw("POST", "/pins", b'{"text":"a\\u0000b","author":{"userId":"u"}}').status_code == 400
    )
    assert hub.get("/pins?search=%00")[0] == 400


@pytest.mark.parametrize("cursor", ["msg_aaaaaaaaaa", "%00", "msg_%00", "x" * 300, "-1"])
def test_a_cursor_that_names_no_message_is_refused_alike_on_both_databases(hub, cursor):
    pin = hub.post("/pins", PIN)[1]
    for side in ("before", "after"):
        status, error = hub.get(f"/pins/{pin['id']}/thread?limit=1&{side}={cursor}")
        assert (status, error["code"]) == (400, "E_INVALID_INPUT")
