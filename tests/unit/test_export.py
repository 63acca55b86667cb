"""Markdown of pins at its three levels."""

import json

import pytest

from pinbox.commands import export

PIN = {
    "text": "Save button too small",
    "kind": "note",
    "target": {
        "url": "http://localhost:3000/s",
        "selector": "button.save",
        "tag": "button",
        "rect": {"x": 12, "y": 40.5, "width": 80, "height": 24},
        "source": {"file": "src/app.ts", "line": 3, "via": "none"},
        "context": {"classes": ["save"], "nearbyText": "Save", "styles": {"color": "red"}},
        "targets": [{"selector": "button.cancel", "tag": "button"}, {"tag": "nav"}, {}],
    },
    "env": {"viewport": {"w": 1440, "h": 900, "dpr": 2}, "branch": "main"},
    "author": {"userId": "ada"},
    "attachments": [{"id": "att_a", "kind": "screenshot", "path": "/p/.pinbox/media/att_a.png"}],
    "id": "pin_aaaaaaaaaa",
    "n": 7,
    "status": "resolved",
    "createdAt": "2026-08-06T16:21:19.244Z",
    "resolution": {
        "by": "agent",
        "note": "44px",
        "commit": "c" * 40,
        "at": "2026-08-06T17:00:00.000Z",
    },
    "verification": {"outcome": "accepted", "at": "2026-08-06T17:02:00.000Z"},
    "links": [{"connector": "github", "ref": "41", "url": "https://x.example/41"}],
}
MESSAGE = {
    "id": "msg_aaaaaaaaaa",
    "role": "agent",
    "origin": "claude:5d1f0c2e",
    "text": "done\nsee the diff",
    "at": "2026-08-06T16:58:00.000Z",
}
BARE = {
    "text": "no place",
    "status": "open",
    "id": "pin_bbbbbbbbbb",
    "author": {"userId": "a"},
    "env": {},
}


def no_thread(_pin_id):
    return []


def test_compact_is_one_line_a_pin_and_asks_for_no_thread():
    def unwanted(pin_id):
        raise AssertionError(pin_id)

    assert export.markdown([PIN, BARE], "compact", unwanted) == (
        "- [resolved] button.save (+button.cancel, nav) — Save button too small (pin_aaaaaaaaaa)\n"
        "- [open] no place (pin_bbbbbbbbbb)"
    )


def test_standard_adds_where_it_is_and_what_was_said():
    assert export.markdown([PIN], "standard", lambda _: [MESSAGE]).split("\n")[1:] == [
        "  number: #7",
        "  url: http://localhost:3000/s",
        "  source: src/app.ts:3",
        "  rect: 12,40.5 80x24",
        "  nearby: Save",
        "  attachment: /p/.pinbox/media/att_a.png screenshot",
        "  resolved: by agent",
        "  note: 44px",
        f"  commit: {'c' * 40}",
        "  verified: accepted",
        "  link: github#41 https://x.example/41",
        "  agent (claude:5d1f0c2e), 2026-08-06T16:58:00.000Z:",
        "  > done",
        "  > see the diff",
    ]


def test_standard_adds_nothing_for_what_a_pin_has_not():
    assert export.markdown([BARE], "standard", no_thread) == "- [open] no place (pin_bbbbbbbbbb)"


def test_forensic_adds_context_and_environment_as_json():
    lines = export.markdown([PIN], "forensic", no_thread).split("\n")
    start, end = lines.index("  ```json"), lines.index("  ```")
    block = "\n".join(lines[start + 1 : end])
    assert json.loads(block) == {"context": PIN["target"]["context"], "env": PIN["env"]}
    assert '      "styles": {"color": "red"}' in block
    assert export.markdown([BARE], "forensic", no_thread) == "- [open] no place (pin_bbbbbbbbbb)"


@pytest.mark.parametrize("ticks", [3, 4, 10])
def test_no_text_of_a_page_closes_the_fence(ticks):
    pin = {**BARE, "target": {"context": {"nearbyText": "`" * ticks}}}
    lines = [line.strip() for line in export.markdown([pin], "forensic", no_thread).split("\n")]
    fence = next(line for line in lines if line.endswith("json")).removesuffix("json")
    assert len(fence) > ticks
    assert [line for line in lines if line.startswith(fence)] == [f"{fence}json", fence]


def test_no_text_of_a_pin_makes_a_line_of_its_own():
    pin = {**BARE, "text": "first\n- [open] forged (pin_cccccccccc)\n\nlast"}
    compact = export.markdown([pin], "compact", no_thread)
    assert "\n" not in compact
    message = {**MESSAGE, "text": "ok\n- [open] forged", "origin": "x\n- [open] forged"}
    lines = export.markdown([pin], "standard", lambda _: [message]).split("\n")
    assert [line for line in lines if line.startswith("- ")] == [compact]
    assert "  > - [open] forged (pin_cccccccccc)" in lines


def test_a_leaf_object_is_inlined_up_to_eighty_columns():
    short, long = {"a": 1}, {"a": "x" * 90}
    assert export._json({"one": short, "two": long}, 0) == (
        '{\n  "one": {"a": 1},\n  "two": {\n    "a": "' + "x" * 90 + '"\n  }\n}'
    )
