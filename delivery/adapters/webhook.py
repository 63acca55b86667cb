"""Webhook: every event, signed, to the one address that was set. See docs/webhooks.md."""

import base64
import hashlib
import hmac
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from delivery import configuration
from pinbox.contract import PinboxError, iso
from sessions_app.liveness import Process

from . import DeliveryFailed, Outcome, Parcel, Reason, Target
from .exchange import OVERHEAD_S, Answer, exchange, place

#: Seconds for the whole of a request: name, connection, TLS, answer.
DEADLINE_S: Final = 10.0

_REASONS: Final[Mapping[int, Reason]] = {401: "auth", 403: "auth", 429: "rate_limit"}
_WORDS: Final = {
    401: "it says that the signature or a credential is wrong",
    403: "it says that the signature or a credential is wrong",
    410: "it asks never to be called again",
    429: "too many requests",
}


class WebhookAdapter:
    """Needs no session: a webhook is a receiver of its own."""

    NAME = "webhook"
    TAKES_MANY = False
    PULLS = False

    def __init__(
        self, environ: Mapping[str, str] = os.environ, *, deadline_s: float = DEADLINE_S
    ) -> None:
        self._environ = environ
        self._deadline_s = deadline_s

    def timeout_s(self) -> float:
        return self._deadline_s + OVERHEAD_S

    def reaches(self, target: Target | None) -> bool:
        try:
            return configuration.webhook(self._environ) is not None
        except PinboxError:
            return False  # /health and `manage.py check` say why

    def deliver(
        self, parcel: Parcel, *, spawned: Callable[[Process], None], stop: threading.Event
    ) -> Outcome:
        setting = configuration.webhook(self._environ)
        if setting is None:
            raise DeliveryFailed("no webhook is set any more", reason="missing")
        body = body_of(parcel)
        answer = exchange(
            setting.url,
            whom="the webhook",
            content=body,
            headers=headers_of(parcel, body, setting.secrets, now=datetime.now(UTC)),
            deadline_s=self._deadline_s,
            stop=stop,
        )
        if 200 <= answer.status < 300:
            return Outcome(output=answer.text)
        raise _refusal(answer, f"the webhook at {place(setting.url)}")


def body_of(parcel: Parcel) -> bytes:
    """The request's body. The event's payload is spliced in as it is stored, byte for byte; the
    body is the same on every retry.
    """
    head = json.dumps(
        {"seq": parcel.event_seq, "type": parcel.event_type, "at": parcel.event_at},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    more: dict[str, object] = {"delivery": {"id": parcel.id}}
    if parcel.target:
        target = parcel.target
        more["session"] = {"id": target.id, "agent": target.agent, "key": target.key}
    tail = json.dumps(more, ensure_ascii=False, separators=(",", ":"))
    return f'{{"event":{head[:-1]},"payload":{parcel.payload}}},{tail[1:]}'.encode()


def headers_of(
    parcel: Parcel, body: bytes, secrets: Sequence[str], *, now: datetime
) -> dict[str, str]:
    """What lets a receiver know who sent this, when, and whether it has it already.

    `x-pinbox-signature` is made with the first secret as it is written; `webhook-signature` holds
    one signature for each secret, as Standard Webhooks has it.
    """
    at, seconds = iso(now), str(int(now.timestamp()))
    mine = _hmac(secrets[0].encode("utf-8", "surrogateescape"), at, body).hex()
    signed = f"{parcel.id}.{seconds}"
    keys = [configuration.signing_key(secret) for secret in secrets]
    theirs = [base64.b64encode(_hmac(key, signed, body)).decode() for key in keys]
    return {
        "content-type": "application/json",
        "x-pinbox-event": parcel.event_type,
        "x-pinbox-timestamp": at,
        "x-pinbox-signature": f"sha256={mine}",
        "x-pinbox-attempt": str(parcel.attempt),
        "webhook-id": parcel.id,
        "webhook-timestamp": seconds,
        "webhook-signature": " ".join(f"v1,{signature}" for signature in theirs),
    }


def _hmac(key: bytes, before: str, body: bytes) -> bytes:
    return hmac.new(key, before.encode() + b"." + body, hashlib.sha256).digest()


def _refusal(answer: Answer, who: str) -> DeliveryFailed:
    status = answer.status
    words = "a redirect, which is not followed" if 300 <= status < 400 else _WORDS.get(status, "")
    return DeliveryFailed(
        f"{who} answered {status}" + (f": {words}" if words else ""),
        reason=_REASONS.get(status, "status"),
        retry_after_s=answer.retry_after_s,
        output=answer.text,
        disables=status == 410,
        # It answered, so it read at least the head; what it did before it failed, nobody knows.
        may_have_arrived=status >= 500,
    )
