"""Answers made of stored JSON text, put into the envelope as it is: never parsed, never encoded
again.
"""

from collections.abc import Iterable, Iterator, Mapping

from django.http import HttpResponse, StreamingHttpResponse

_JSON = "application/json"
#: Characters gathered into one piece of a streamed list.
_PIECE = 256 * 1024


def verbatim(
    text: str, status: int = 200, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """`{"ok":true,"data":<text>}`."""
    return HttpResponse(
        ('{"ok":true,"data":' + text + "}").encode(),
        content_type=_JSON,
        status=status,
        headers=dict(headers or {}),
    )


def verbatim_list(
    texts: Iterable[str],
    headers: Mapping[str, str] | None = None,
    *,
    around: tuple[str, str] = ("", ""),
) -> HttpResponse | StreamingHttpResponse:
    """`{"ok":true,"data":[…]}`. A list (a page) goes out in one piece, anything else streams in
    bounded memory. `around` is JSON before and after the list, where that is a member of the data.
    """
    opening, closing = around[0] + "[", "]" + around[1]
    if isinstance(texts, list):
        return verbatim(opening + ",".join(texts) + closing, headers=headers)
    pieces = _pieces(texts, opening, closing)
    return StreamingHttpResponse(pieces, content_type=_JSON, headers=dict(headers or {}))


def _pieces(texts: Iterable[str], opening: str, closing: str) -> Iterator[bytes]:
    piece, size, comma = ['{"ok":true,"data":' + opening], 0, ""
    for text in texts:
        piece.append(comma + text)
        comma = ","
        size += len(text)
        if size >= _PIECE:
            yield "".join(piece).encode()
            piece, size = [], 0
    piece.append(closing + "}")
    yield "".join(piece).encode()
