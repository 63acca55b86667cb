"""What a webhook's body and headers say, each signature made again by hand."""

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from delivery import configuration
from delivery.adapters.webhook import body_of, headers_of
from tests.hub.parcels import parcel, target

NOW = datetime(2026, 11, 30, 10, 11, 12, 345_678, tzinfo=UTC)
PLAIN = "a-secret-that-a-person-chose"
KEY = bytes(range(32))
STANDARD = "whsec_" + base64.b64encode(KEY).decode()


def test_the_body_holds_the_event_with_its_payload_as_it_is_stored():
    stored = '{"id":"pin_0123456789",  "n":3,"x":1.50,"text":"größer \\u0041 / </script>"}'
    body = body_of(parcel(payload=stored))
    assert f'"payload":{stored}}}'.encode() in body
    assert json.loads(body)["event"] == {
        "seq": 7,
        "type": "pin.created",
        "at": "2026-11-30T10:11:12.131Z",
        "payload": json.loads(stored),
    }


def test_the_body_names_the_session_by_id_agent_and_key():
    body = json.loads(body_of(parcel(target=target("codex", 'a "key"'))))
    assert body["session"] == {"id": "ses_0123456789", "agent": "codex", "key": 'a "key"'}


def test_without_a_session_the_body_has_none():
    assert set(json.loads(body_of(parcel()))) == {"event", "delivery"}


def test_the_body_and_the_id_are_the_same_on_every_retry():
    first = parcel(target=target())
    second = replace(first, attempt=2)
    assert body_of(first) == body_of(second)
    assert json.loads(body_of(first))["delivery"] == {"id": first.id}
    one, two = (headers_of(p, b"{}", [PLAIN], now=NOW) for p in (first, second))
    assert one["webhook-id"] == two["webhook-id"] == first.id
    assert (one["x-pinbox-attempt"], two["x-pinbox-attempt"]) == ("1", "2")


def test_the_signature_of_the_first_contract_covers_time_and_body():
    body = body_of(parcel())
    headers = headers_of(parcel(), body, [PLAIN], now=NOW)
    assert headers["content-type"] == "application/json"
    assert headers["x-pinbox-event"] == "pin.created"
    assert headers["x-pinbox-timestamp"] == "2026-11-30T10:11:12.345Z"
    signed = b"2026-11-30T10:11:12.345Z." + body
    expected = hmac.new(PLAIN.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["x-pinbox-signature"] == f"sha256={expected}"


def test_the_signature_of_the_first_contract_takes_every_secret_as_it_is_written():
    """Receivers of it know nothing of a prefix."""
    headers = headers_of(parcel(), b"{}", [STANDARD], now=NOW)
    signed = b"2026-11-30T10:11:12.345Z.{}"
    expected = hmac.new(STANDARD.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["x-pinbox-signature"] == f"sha256={expected}"


@pytest.mark.parametrize(("secret", "key"), [(PLAIN, PLAIN.encode()), (STANDARD, KEY)])
def test_the_standard_signature_covers_id_time_and_body(secret, key):
    body = body_of(parcel())
    headers = headers_of(parcel(), body, [secret], now=NOW)
    assert headers["webhook-timestamp"] == str(int(NOW.timestamp())) == "1796033472"
    signed = b"dlv_0123456789abcdef01234567.1796033472." + body
    expected = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"


def test_several_secrets_sign_side_by_side_and_the_first_one_signs_the_old_header():
    headers = headers_of(parcel(), b"{}", [STANDARD, PLAIN], now=NOW)
    alone = [headers_of(parcel(), b"{}", [one], now=NOW) for one in (STANDARD, PLAIN)]
    assert headers["webhook-signature"].split(" ") == [one["webhook-signature"] for one in alone]
    assert headers["x-pinbox-signature"] == alone[0]["x-pinbox-signature"]


@pytest.mark.parametrize("verifier", [Webhook(STANDARD), Webhook(PLAIN.encode())])
def test_the_library_of_the_standard_accepts_it_under_either_secret(verifier):
    body = body_of(parcel(target=target()))
    headers = headers_of(parcel(), body, [STANDARD, PLAIN], now=datetime.now(UTC))
    assert verifier.verify(body, headers) == json.loads(body)


@pytest.mark.parametrize(
    "changed",
    [
        {"webhook-id": "dlv_76543210fedcba9876543210"},
        {"webhook-timestamp": "1"},
        {"webhook-signature": "v1," + base64.b64encode(bytes(32)).decode()},
    ],
)
def test_the_library_of_the_standard_refuses_what_was_changed(changed):
    headers = headers_of(parcel(), b"{}", [STANDARD], now=datetime.now(UTC))
    Webhook(STANDARD).verify(b"{}", headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(STANDARD).verify(b"{}", {**headers, **changed})
    with pytest.raises(WebhookVerificationError):
        Webhook(STANDARD).verify(b"{ }", headers)


@pytest.mark.parametrize("length", [1, 2, 3, 24, 31, 32])
def test_a_secret_s_base64_needs_no_padding(length):
    key = bytes(range(length))
    written = "whsec_" + base64.b64encode(key).decode()
    assert configuration.signing_key(written) == key
    assert configuration.signing_key(written.rstrip("=")) == key
