"""How long another machine may ask us to wait, and what of its answer is kept."""

from datetime import UTC, datetime

import pytest

from delivery.adapters import MAX_OUTPUT_BYTES
from delivery.adapters.exchange import MAX_RETRY_AFTER_S, Answer, place, retry_after_s

NOW = datetime(2026, 11, 30, 10, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("7", 7),
        (" 90 ", 90),
        ("3600", MAX_RETRY_AFTER_S),
        ("86400", MAX_RETRY_AFTER_S),
        ("9" * 5000, MAX_RETRY_AFTER_S),
        ("Mon, 30 Nov 2026 10:01:30 GMT", 90),
        ("Monday, 30-Nov-26 10:01:30 GMT", 90),
        ("Mon Nov 30 10:01:30 2026", 90),
        ("Mon, 30 Nov 2026 12:01:30 +0200", 90),
        ("Mon, 30 Nov 2026 09:00:00 GMT", 0),
        ("Fri, 30 Nov 9999 09:00:00 GMT", MAX_RETRY_AFTER_S),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("²", None),
        ("Mon, 99 Nov 2026 09:00:00 GMT", None),
        ("Mon, 30 Nov 999999999 09:00:00 GMT", None),
    ],
)
def test_a_wait_is_read_as_seconds_or_as_a_date_and_has_a_bound(value, seconds):
    assert retry_after_s(value, now=NOW) == seconds


def test_what_is_kept_of_an_answer_is_text_that_any_database_takes():
    answer = Answer(status=200, headers={}, body=b"a\0b\xff\xc3\xbc")
    assert answer.text == "a\ufffdb\ufffdü"


def test_what_is_kept_of_an_answer_has_its_bound_in_bytes():
    answer = Answer(status=200, headers={}, body=b"\xff" * MAX_OUTPUT_BYTES)
    assert len(answer.text.encode()) in range(MAX_OUTPUT_BYTES - 2, MAX_OUTPUT_BYTES + 1)


def test_nothing_is_kept_of_an_answer_that_came_packed():
    answer = Answer(status=200, headers={"content-encoding": "gzip"}, body=b"\x1f\x8b\x08")
    assert answer.text == ""


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://person:hidden@app.example/hidden?hidden#hidden", "app.example"),
        ("http://127.0.0.1:3000/hidden", "127.0.0.1:3000"),
        ("http://[::1]:3000/hidden", "[::1]:3000"),
    ],
)
def test_of_an_address_only_the_host_and_the_port_are_shown(url, shown):
    assert place(url) == shown
