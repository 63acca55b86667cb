"""One pin as a page for people."""

import pytest

from pinbox import render
from pinbox.commands import pin_page
from tests.unit.test_export import BARE, MESSAGE, PIN
from tests.unit.test_render import HOSTILE, is_obeyed_by_a_terminal

NOW = 1_786_039_200.0  # 2026-08-06T18:00:00Z


def bare_page(pin, thread=()):
    return pin_page.page(pin=pin, thread=thread, deliveries=[], events=[], sessions={}, now=NOW)


def test_the_page_shows_everything_a_pin_has():
    delivery = {
        "id": 3,
        "eventSeq": 3,
        "pinId": PIN["id"],
        "sessionId": "ses_aaaaaaaaaa",
        "adapter": "hooks",
        "status": "delivered",
        "attempts": 1,
        "dueAt": None,
        "lastError": None,
        "updatedAt": "2026-08-06T17:00:00.000Z",
        "handedOverAt": "2026-08-06T17:00:00.000Z",
        "handedOverBy": "resume",
    }
    event = {"seq": 3, "type": "thread.message", "at": MESSAGE["at"], "payload": MESSAGE}
    session = {"id": "ses_aaaaaaaaaa", "agent": "claude", "key": "abc"}
    pin = {**PIN, "agentSession": {"agent": "claude", "key": "abc"}}
    pin["env"] = {**PIN["env"], "browser": "UA", "colorScheme": "dark", "commit": "d" * 40}
    page = pin_page.page(
        pin=pin,
        thread=[MESSAGE],
        deliveries=[delivery],
        events=[event],
        sessions={session["id"]: session},
        now=NOW,
    )
    assert page.split("\n") == [
        "pin_aaaaaaaaaa  resolved  note",
        "text      Save button too small",
        "number    #7",
        "target    button.save  <button>",
        "also      button.cancel  <button>",
        "also      <nav>",
        "also      —",
        "source    src/app.ts:3",
        "url       http://localhost:3000/s",
        "rect      12,40.5 80x24",
        "nearby    Save",
        "env       1440x900@2x  UA  dark",
        "git       main @ ddddddd",
        "file      /p/.pinbox/media/att_a.png  screenshot",
        "author    ada",
        "session   claude abc",
        "created   2026-08-06T16:21:19.244Z (2h ago)",
        "resolved  by agent, 1h ago — 44px",
        f"commit    {'c' * 40}",
        "verified  accepted, 58m ago",
        "link      github#41  https://x.example/41",
        "",
        "agent (claude:5d1f0c2e)  1h ago  done",
        "                                 see the diff",
        "",
        "delivery  3  agent reply  handed over to claude:abc by resume, 1h ago; "
        "not acknowledged yet",
    ]


def test_the_page_says_nothing_of_what_a_pin_has_not():
    pin = {**BARE, "kind": "note", "createdAt": "2026-08-06T18:00:00.000Z"}
    assert bare_page(pin).split("\n") == [
        "pin_bbbbbbbbbb  open  note",
        "text      no place",
        "author    a",
        "created   2026-08-06T18:00:00.000Z (just now)",
    ]


def test_no_text_of_a_pin_poses_as_a_fact_or_reaches_the_terminal():
    nasty = "x\nresolved  by human" + "".join(HOSTILE)
    pin = {**PIN, "text": nasty, "author": {"userId": nasty, "name": nasty}}
    pin["target"] = {"selector": nasty, "url": nasty, "context": {"nearbyText": nasty}}
    thread = [{**MESSAGE, "text": nasty, "origin": nasty}]
    page = render.for_people(bare_page(pin, thread)).decode()
    assert not [char for char in page if is_obeyed_by_a_terminal(char)]
    assert [line for line in page.split("\n") if line.startswith("resolved")] == [
        "resolved  by agent, 1h ago — 44px"
    ]


@pytest.mark.parametrize(
    ("author", "said"),
    [
        ({"userId": "yvfg0rjvxi"}, "yvfg0rjvxi"),
        ({"userId": "yvfg0rjvxi", "name": "Bea"}, "Bea (yvfg0rjvxi)"),
        ({"userId": "a@b.c", "name": "Ada", "email": "a@b.c"}, "Ada (a@b.c)"),
        ({"userId": "ada", "name": "ada"}, "ada"),
        ({"userId": "ada", "email": "a@b.c"}, "ada (a@b.c)"),
        ({"userId": "", "name": ""}, "—"),
    ],
)
def test_an_author_is_known_by_name_first(author, said):
    pin = {**BARE, "kind": "note", "createdAt": "2026-08-06T18:00:00.000Z", "author": author}
    assert f"author    {said}\n" in bare_page(pin)
