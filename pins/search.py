"""Finding pins by their words: substring search, case-folded, on both databases. The one place that
knows how.

Every text of a pin is a row of `SearchText`. A query is split at white space; a pin matches when
each term stands somewhere in its texts. The rarest term, if it is rare, is found by an index
(SQLite: FTS5 trigrams, PostgreSQL: pg_trgm); every other one is looked for in the texts of the pins
that are left, newest first, so that a page of a common word is full long before all pins that have
it were read. Nothing in a term is syntax.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import DatabaseError, connection
from django.db.models import Exists, OuterRef, QuerySet, Value
from django.db.models.functions import StrIndex

from . import statements
from .models import Pin, SearchText

_SEQ_BITS = 40
_TRIGRAM = 3
#: Characters of a term that are looked up in the index; the text itself is asked for a longer one.
#: A phrase of the index costs its length times the places where it may stand.
_INDEXED = 64
#: A query is cut to so many terms: each costs one look-up.
MAX_TERMS = 32
#: A term in fewer texts than this is rare: all its pins are found before any is read.
_RARE = 1000


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
    # No index knows a term shorter than a trigram.
    found = {term: _numbers_by_index(term) for term in terms if len(term) >= _TRIGRAM}
    rarest = min(found, key=lambda term: len(found[term]), default=None)
    if rarest is not None and len(found[rarest]) < _RARE:
        pins = pins.filter(n__in=set(found[rarest]))
        if len(rarest) <= _INDEXED:
            terms.remove(rarest)
    first = OuterRef("n") * Value(1 << _SEQ_BITS)
    own = SearchText.objects.filter(id__gte=first, id__lt=first + Value(1 << _SEQ_BITS))
    for term in terms:
        if rarest is None and not _is_in_many_of_the_newest(term):
            pins = pins.filter(n__in=_texts_with(term))
            continue
        pins = pins.filter(Exists(own.annotate(at=StrIndex("body", Value(term))).filter(at__gt=0)))
    return pins


def _numbers_by_index(term: str) -> list[int]:
    """The pin's number of each text that contains the beginning of `term`, which is all of it up to
    `_INDEXED` characters. At most `_RARE` of them.
    """
    if connection.vendor != "sqlite":
        return list(_texts_with(term)[:_RARE])
    # Of the index alone, which stops at the limit; any join would read the term's texts all.
    rows = statements.fetch(
        "SELECT rowid FROM pins_search_index WHERE pins_search_index MATCH %s LIMIT %s",
        [_phrase(term), _RARE],
    )
    return [rowid >> _SEQ_BITS for (rowid,) in rows]


def _is_in_many_of_the_newest(term: str) -> bool:
    """Whether pins with a term that no index knows are likely to be met soon, newest first."""
    newest = SearchText.objects.order_by("-id").values("body")[:_RARE]
    found = newest.annotate(at=StrIndex("body", Value(term))).values_list("at", flat=True)
    return sum(at > 0 for at in found) >= _RARE // 20


def _texts_with(term: str) -> QuerySet[SearchText, int]:
    """Numbers of the pins of the texts that contain `term`, for what SQLite's index cannot tell."""
    return SearchText.objects.filter(body__contains=term).values_list("n", flat=True)


def _phrase(term: str) -> str:
    """The beginning of `term` as FTS5 takes it literally."""
    return '"' + term[:_INDEXED].replace('"', '""') + '"'


def broken_index() -> int:
    """1 when the SQLite index disagrees with the texts it indexes, else 0."""
    if connection.vendor != "sqlite":
        return 0
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO pins_search_index(pins_search_index, rank)"
                " VALUES ('integrity-check', 1)"
            )
    except DatabaseError:
        return 1
    return 0
