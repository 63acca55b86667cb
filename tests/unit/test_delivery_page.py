"""What became of deliveries, in words."""

import pytest

from pinbox.commands import delivery_page as page

NOW = 1_786_039_200.0  # 2026-08-06T18:00:00Z
SESSIONS = {
    "ses_aaaaaaaaaa": {"id": "ses_aaaaaaaaaa", "agent": "claude", "key": "0b4e6a1c-5d1f0c2e"},
    "ses_bbbbbbbbbb": {
        "id": "ses_bbbbbbbbbb",
        "agent": "codex",
        "key": "019",
        "endedAt": "2026-08-06T17:00:00.000Z",
    },
}


def row(**more):
    return {
        "id": 12,
        "eventSeq": 14,
        "pinId": "pin_aaaaaaaaaa",
        "sessionId": "ses_aaaaaaaaaa",
        "adapter": "hooks",
        "status": "pending",
        "attempts": 0,
        "dueAt": None,
        "lastError": None,
        "updatedAt": "2026-08-06T17:57:00.000Z",
        **more,
    }


def at(clock):
    return f"2026-08-06T{clock}.000Z"


HANDED_OVER = {"status": "delivered", "handedOverAt": at("17:58:00"), "handedOverBy": "resume"}

CASES = {
    "unassigned": (
        row(sessionId=None, adapter="none"),
        ["queued", "unassigned", "—", "3m ago", ""],
        "queued for the next session",
    ),
    "waits for hooks": (
        row(dueAt=at("18:09:00")),
        ["queued", "claude:5d1f0c2e", "hooks", "3m ago", "seeks another way in 9m"],
        "queued for claude:5d1f0c2e, whose hooks collect it; seeks another way in 9m",
    ),
    "waits for its next attempt": (
        row(
            adapter="resume",
            sessionId="ses_bbbbbbbbbb",
            attempts=2,
            dueAt=at("18:00:30"),
            lastError="E_DELIVERY: rate limit",
        ),
        ["queued", "codex:019", "resume", "3m ago", "attempt 3 in 30s: E_DELIVERY: rate limit"],
        "queued for codex:019 (ended), by resume; attempt 3 in 30s; "
        "last error: E_DELIVERY: rate limit",
    ),
    "is due": (
        row(adapter="webhook", sessionId=None, dueAt=at("17:00:00")),
        ["queued", "—", "webhook", "3m ago", "attempt 1 now"],
        "queued for webhook; attempt 1 now",
    ),
    "nothing reaches it": (
        row(adapter="none"),
        ["queued", "claude:5d1f0c2e", "—", "3m ago", ""],
        "queued for claude:5d1f0c2e; no way reaches it now",
    ),
    "under way": (
        row(
            adapter="resume",
            claimedUntil=at("18:10:00"),
            pushedAt=at("17:59:00"),
            attempts=1,
            dueAt=at("18:10:00"),
            lastError="E_DELIVERY: rate limit",
        ),
        ["in flight", "claude:5d1f0c2e", "resume", "1m ago", ""],
        "in flight to claude:5d1f0c2e by resume, attempt 2",
    ),
    "taken and not confirmed": (
        row(adapter="openclaw", pushedAt=at("17:59:00"), dueAt=at("18:09:00")),
        ["accepted", "claude:5d1f0c2e", "openclaw", "1m ago", "seeks another way in 9m"],
        "accepted by openclaw for claude:5d1f0c2e, 1m ago; no sign of the session yet; "
        "seeks another way in 9m",
    ),
    "handed over": (
        row(**HANDED_OVER),
        ["handed over", "claude:5d1f0c2e", "resume", "2m ago", ""],
        "handed over to claude:5d1f0c2e by resume, 2m ago; not acknowledged yet",
    ),
    "handed over to a webhook": (
        row(**{**HANDED_OVER, "handedOverBy": "webhook"}, sessionId=None, adapter="webhook"),
        ["handed over", "—", "webhook", "2m ago", ""],
        "handed over by webhook, 2m ago",
    ),
    "acknowledged": (
        row(**HANDED_OVER, acknowledgedAt=at("17:59:00"), acknowledgedBy="reply"),
        ["acknowledged", "claude:5d1f0c2e", "resume", "1m ago", ""],
        "acknowledged by claude:5d1f0c2e (reply), 1m ago; handed over by resume, 2m ago",
    ),
    "acknowledged by looking": (
        row(
            **{**HANDED_OVER, "handedOverBy": "show"},
            acknowledgedAt=at("17:58:00"),
            acknowledgedBy="show",
        ),
        ["acknowledged", "claude:5d1f0c2e", "show", "2m ago", ""],
        "acknowledged by claude:5d1f0c2e (show), 2m ago",
    ),
    "failed": (
        row(status="failed", adapter="webhook", attempts=5, lastError="E_DELIVERY: 500"),
        ["failed", "claude:5d1f0c2e", "webhook", "3m ago", "E_DELIVERY: 500 (5 attempts)"],
        "failed for claude:5d1f0c2e by webhook, 3m ago: E_DELIVERY: 500 (5 attempts)",
    ),
    "skipped": (
        row(status="skipped", sessionId=None, adapter="none", lastError="an agent wrote it"),
        ["skipped", "—", "—", "3m ago", "an agent wrote it"],
        "skipped: an agent wrote it",
    ),
    "a session that is not known": (
        row(sessionId="ses_cccccccccc"),
        ["queued", "ses_cccccccccc", "hooks", "3m ago", ""],
        "queued for ses_cccccccccc, whose hooks collect it",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_delivery_is_said_in_columns_and_in_a_sentence(name):
    delivery, cells, sentence = CASES[name]
    assert page.cells(delivery, SESSIONS, now=NOW) == ["12", "pin_aaaaaaaaaa", *cells]
    assert page.sentence(delivery, SESSIONS, now=NOW) == sentence


def test_only_what_failed_has_a_command_that_tries_again():
    commands = {name: page.retry_command(delivery) for name, (delivery, *_) in CASES.items()}
    assert {name for name, command in commands.items() if command} == {"failed"}
    assert commands["failed"] == "pinbox retry 12"
