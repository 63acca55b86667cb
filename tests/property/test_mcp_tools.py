"""The tools of MCP under any argument: an answer always, no request but those that are meant, no
result that is too large."""

import json
import re

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinbox.contract import MAX_TEXT_BYTES, PIN_ID, PinboxError
from pinbox_site.mcp import size, tools

PIN = "pin_abcdefghij"
#: Everything a tool may ask of the hub.
ROUTES = re.compile(rf"(GET|POST) /(summary|pins|pins/{PIN_ID}(/(thread|resolve|verify))?)")

texts = st.one_of(
    st.text(max_size=50),
    st.sampled_from(
        ["-rf", "--help", "--as=human", "--", "", "\0", "\n", "\ud800", "../../x", PIN]
    ),
    st.sampled_from("é-\u202e").flatmap(lambda char: st.just(char * 66_000)),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
arguments = st.dictionaries(
    st.sampled_from(
        ["id", "text", "note", "status", "search", "before", "limit", "outcome", "--x"]
    ),
    values,
    max_size=4,
)
plausible = st.fixed_dictionaries({"id": st.just(PIN)}, optional={"text": texts, "note": texts})


class Hub:
    """Answers every request, and remembers it. `answers` by path, else a pin."""

    def __init__(self, answers=None, pin=None):
        self.asked = []
        self.answers = answers or {}
        self.pin = pin or {"id": PIN, "status": "open", "text": "x", "createdAt": "2026"}

    async def __call__(self, method, path, body=None, query=None):
        self.asked.append((method, path, body, query))
        if path in self.answers:
            answer = self.answers[path]
            if isinstance(answer, Exception):
                raise answer
            return answer
        if path == "/summary":
            return {"open": 1}
        if method == "GET" and path in ("/pins", f"/pins/{PIN}/thread"):
            return [self.pin] if path == "/pins" else []
        return dict(self.pin)


def call(name, given, hub, *, allow=True):
    caller = tools.Caller(hub, "client:mcp")
    return anyio.run(tools.call, tools.offered(allow_mutations=allow), name, given, caller)


@given(name=st.sampled_from([*tools.TOOLS, "x", "--help"]), given=arguments | plausible)
def test_any_argument_gets_an_answer_and_reaches_the_hub_as_a_value_only(name, given):
    hub = Hub()
    result = call(name, given, hub)
    text = result.content[0].text
    text.encode()  # it can be sent
    said = json.loads(text)
    if result.is_error:
        assert said["code"] in ("E_INVALID_INPUT", "E_NOT_FOUND")
    else:
        assert said == result.structured_content
    for method, path, body, query in hub.asked:
        assert ROUTES.fullmatch(f"{method} {path}")
        assert set(query or ()) <= {"status", "search", "before", "limit"}
        assert set(body or ()) <= {"role", "text", "origin", "by", "note", "outcome"}
        assert (body or {}).get("role", "agent") == "agent"
        assert (body or {}).get("by", "agent") == "agent"


@given(text=st.text(min_size=1).filter(lambda text: text.strip()))
def test_a_text_reaches_the_hub_as_it_is(text):
    hub = Hub()
    assert not call("pinbox_reply", {"id": PIN, "text": text}, hub).is_error
    ((_, path, body, _),) = hub.asked
    assert (path, body["text"]) == (f"/pins/{PIN}/thread", text)


@pytest.mark.parametrize("name", [name for name, tool in tools.TOOLS.items() if tool.changes])
def test_a_server_that_only_reads_asks_nothing_of_the_hub_for_a_change(name):
    hub = Hub()
    given = {"id": PIN, "text": "x", "outcome": "accepted"}
    assert call(name, given, hub, allow=False).is_error
    assert hub.asked == []


@pytest.mark.parametrize("error", [RuntimeError("secret words of a pin"), TimeoutError()])
def test_a_fault_of_ours_is_a_result_that_quotes_nothing(error):
    result = call("pinbox_summary", {}, Hub({"/summary": error}))
    assert result.is_error
    assert "secret" not in result.content[0].text


def test_a_hub_that_never_answers_is_not_waited_for(monkeypatch):
    async def never(*_, **__):
        await anyio.sleep_forever()

    monkeypatch.setattr(tools, "CALL_S", 0.05)
    result = call("pinbox_summary", {}, never)
    assert json.loads(result.content[0].text)["code"] == "E_HUB_UNREACHABLE"


def test_a_hub_s_error_comes_with_its_code_message_and_hint():
    error = PinboxError("E_HUB_UNREACHABLE", "no hub", "pinbox status")
    result = call("pinbox_summary", {}, Hub({"/summary": error}))
    assert json.loads(result.content[0].text) == {
        "code": "E_HUB_UNREACHABLE",
        "message": "no hub",
        "hint": "pinbox status",
    }


# --- size -----------------------------------------------------------------------------------------

big = st.text(alphabet='x\n"日\u202e', min_size=0, max_size=200).map(lambda text: text * 100)
pins = st.fixed_dictionaries(
    {"id": st.just(PIN), "status": st.just("open"), "text": big, "createdAt": st.just("2026")},
    optional={
        "n": st.just(7),
        "target": st.fixed_dictionaries(
            {"url": big, "selector": big},
            optional={
                "context": st.dictionaries(big, st.lists(big, max_size=3), max_size=3),
                "targets": st.lists(st.fixed_dictionaries({"url": big}), max_size=30),
            },
        ),
    },
)


@settings(max_examples=40)
@given(pins, st.lists(st.fixed_dictionaries({"id": st.just("msg"), "text": big}), max_size=60))
def test_a_pin_of_any_size_is_shown_within_the_budget(pin, thread):
    hub = Hub({f"/pins/{PIN}": pin, f"/pins/{PIN}/thread": thread})
    result = call("pinbox_show", {"id": PIN}, hub)
    data = result.structured_content
    assert len(result.content[0].text.encode()) <= size.BUDGET
    assert data["pin"]["id"] == PIN
    if "cut" not in data:
        assert (data["pin"], data["thread"]) == (pin, thread)


@settings(max_examples=40)
@given(st.lists(pins, min_size=1, max_size=40))
def test_a_list_is_within_the_budget_and_says_where_it_goes_on(found):
    found = [{**pin, "id": f"pin_{number:010}"} for number, pin in enumerate(found)]
    result = call("pinbox_list", {"limit": 30}, Hub({"/pins": found[:31]}))
    data = result.structured_content
    assert len(result.content[0].text.encode()) <= size.BUDGET
    ids = [row["id"] for row in data["pins"]]
    assert ids == [pin["id"] for pin in found[: len(ids)]]
    assert ids, "a page has a pin, or the next one would be this one again"
    assert ("next" in data) is (len(ids) < len(found))
    assert data.get("next", ids[-1]) == ids[-1]


def test_a_short_text_is_whole_and_a_cut_one_says_how_much_is_missing():
    assert size.cut("x" * 10, 10) == "x" * 10
    assert size.cut("x" * 1234, 10) == "x" * 10 + "… (1,224 characters more)"
    assert size.row({"id": PIN, "status": "open", "text": "x", "createdAt": "2026"}) == {
        "id": PIN,
        "status": "open",
        "text": "x",
        "createdAt": "2026",
    }


def test_the_newest_messages_of_a_long_thread_stay():
    thread = [{"id": str(number), "text": "y" * 500} for number in range(100)]
    pin = {"id": PIN, "status": "open", "text": "x", "createdAt": "2026"}
    fitted = size.fitted({"pin": pin, "thread": thread}, size.BUDGET)
    assert fitted["thread"][-1]["id"] == "99"
    assert len(fitted["thread"]) + fitted["messagesLeftOut"] == 100
    assert MAX_TEXT_BYTES > size.BUDGET
