"""Finding pins by their words: substring search, case-folded, on both databases. The one place that
knows how.

Every text of a pin is a row of `SearchText`. A query is split at white space; a pin matches when
each term stands somewhere in its texts. SQLite finds terms of three characters and more by an FTS5
trigram index, PostgreSQL by pg_trgm; shorter ones are looked for row by row. Nothing in a term is
syntax.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from . import statements
from .models import Pin, SearchText

_SEQ_BITS = 40
_TRIGRAM = 3
#: Characters of a term that are looked up in the index; the text itself is asked for a longer one.
#: A phrase of the index costs its length times the places where it may stand.
_INDEXED = 64
#: A query is cut to so many terms: each costs one look-up.
MAX_TERMS = 32


def fold(text: str) -> str:
    """The form in which texts are stored and terms are looked for."""
    return unicodedata.normalize("NFC", text).casefold()


def texts_of_pin(event_type: str, pin: Mapping[str, Any]) -> list[str]:
    """What an event adds to a pin's searchable texts."""
    if event_type == "pin.created":
        return [pin["text"], *_places(pin.get("target", {}))]
    if event_type == "pin.resolved":
        resolution = pin["resolution"]
        return [resolution[key] for key in ("note", "commit") if key in resolution]
    return []


def _places(target: Mapping[str, Any]) -> Iterable[str]:
    yield from (target[key] for key in ("selector", "url") if key in target)
    if file := target.get("source", {}).get("file"):
        yield file
    for extra in target.get("targets", []):
        yield from _places(extra)


def index(n: int, seq: int, texts: list[str]) -> None:
    """Remember the texts that event `seq` gave to pin number `n`. May be called twice."""
    if not texts:
        return
    statements.insert_search_text(n << _SEQ_BITS | seq, n, fold("\n".join(texts)))


def matching(pins: QuerySet[Pin], query: str) -> QuerySet[Pin]:
    """Those of `pins` that contain every term of `query`; none for a query without terms."""
    terms = list(dict.fromkeys(fold(query).split()))[:MAX_TERMS]
    if not terms:
        return pins.none()
    for term in terms:
        pins = pins.filter(n__in=_numbers(term))
    return pins


def _numbers(term: str) -> QuerySet[SearchText, int]:
    texts = SearchText.objects.values_list("n", flat=True)
    if connection.vendor == "sqlite" and len(term) >= _TRIGRAM:
        texts = texts.extra(
            where=["id IN (SELECT rowid FROM pins_search_index WHERE pins_search_index MATCH %s)"],
            params=['"' + term[:_INDEXED].replace('"', '""') + '"'],
        )
        if len(term) > _INDEXED:
            # Not LIKE, which refuses a pattern of more than 50,000 bytes.
            texts = texts.extra(where=["instr(body, %s) > 0"], params=[term])
        return texts
    return texts.filter(Q(body__contains=term))


def broken_index() -> int:
    """1 when the SQLite index disagrees with the texts it indexes, else 0."""
    if connection.vendor != "sqlite":
        return 0
    from django.db import DatabaseError

    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO pins_search_index(pins_search_index, rank)"
                " VALUES ('integrity-check', 1)"
            )
    except DatabaseError:
        return 1
    return 0
