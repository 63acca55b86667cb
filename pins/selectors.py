"""Reads that span rows. Documents come as the stored text wherever they go out unchanged."""

import json
import re
from typing import Any, cast

from django.db.models import F, QuerySet, TextField, Value
from django.db.models.functions import Coalesce, Concat

from pinbox.contract import PIN_ID, PinboxError

from .events import PinPayload
from .models import Pin, Tally

_PIN_ID = re.compile(PIN_ID)


def document() -> Concat:
    """A pin's JSON as an expression: its halves, with the binding between them."""
    text = TextField()
    return Concat(
        Value("{", text),
        F("head"),
        Coalesce(F("binding__json"), F("bound"), output_field=text),
        F("tail"),
        Value("}", text),
        output_field=text,
    )


def pins_of(*, status: str | None = None) -> QuerySet[Pin]:
    pins = Pin.objects.order_by("-n")
    return pins.filter(status=status) if status else pins


def require_pin(pin_id: str) -> int:
    """The pin's number. Raises E_NOT_FOUND."""
    known = Pin.objects.filter(pk=pin_id).values_list("n", flat=True)
    # PostgreSQL cannot even be asked for an id with a NUL in it.
    n = known.first() if _PIN_ID.fullmatch(pin_id) else None
    if n is None:
        raise unknown_pin(pin_id)
    return n


def unknown_pin(pin_id: str) -> PinboxError:
    named = pin_id if _PIN_ID.fullmatch(pin_id) else "of that id"
    return PinboxError(
        "E_NOT_FOUND",
        f"there is no pin {named}",
        "pinbox list shows the full ids",
    )


def pin_text(pin_id: str) -> str:
    """The pin's JSON. Raises E_NOT_FOUND."""
    found = Pin.objects.filter(pk=pin_id).annotate(doc=document()).values_list("doc", flat=True)
    text = found.first() if _PIN_ID.fullmatch(pin_id) else None
    if text is None:
        raise unknown_pin(pin_id)
    return cast(str, text)


def pin_document(pin_id: str) -> PinPayload:
    """The pin, parsed. Raises E_NOT_FOUND."""
    return cast(PinPayload, json.loads(pin_text(pin_id)))


def with_document(pins: QuerySet[Pin]) -> QuerySet[Any]:
    """Rows of (id, JSON)."""
    return pins.annotate(doc=document()).values_list("id", "doc")


def event_text(row: tuple[int, str, str, str]) -> str:
    """The wire form of an event (seq, type, at, payload) around its stored payload."""
    seq, kind, at, payload = row
    return f'{{"seq":{seq},"type":"{kind}","at":"{at}","payload":{payload}}}'


def tally() -> dict[str, int]:
    """How many pins are open and resolved."""
    counts = dict(Tally.objects.values_list("status", "pins"))
    return {status: counts.get(status, 0) for status in Pin.Status.values}
