"""Everything that arrives as JSON is read here, everything leaves as the one envelope.

Success is `{"ok":true,"data":…}`, failure `{"ok":false,"error":{"code","message","hint"}}`. Which
fields an object must have is the serializers' business; who may ask is `pinbox_site.auth`'s.
"""

import json
import logging
import re
import secrets
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from pinbox.contract import (
    MAX_ARRAY_ITEMS,
    MAX_BODY_BYTES,
    MAX_JSON_DEPTH,
    MAX_OBJECT_KEYS,
    MAX_TEXT_BYTES,
    PinboxError,
)
from pinbox.faults import place_of

log = logging.getLogger(__name__)

#: Characters of an error's message or hint that leave the hub.
MAX_MESSAGE: Final = 500
#: Characters of a caller's own word (a key, a path) inside a message.
MAX_QUOTED: Final = 80

#: What to do next, for an error whose author named nothing better. Every error body has a hint.
HINTS: Final[dict[str, str]] = {
    "E_INTERNAL": "Look into the hub's log; `pinbox status` says where it is.",
    "E_INVALID_INPUT": "Correct the request and send it again; GET /schema describes every route.",
    "E_NOT_FOUND": "Ids are complete and exact; `pinbox list` shows them.",
    "E_CONFLICT": "Read the object again; it has changed since.",
    "E_HUB_UNREACHABLE": "Run `pinbox status`.",
    "E_SESSION_GONE": "Run `pinbox session list`.",
    "E_DELIVERY": "Run `pinbox deliveries`.",
    "E_WS_PROTOCOL": "Send one hello frame of protocol 1.",
    "E_ATTACHMENT": "Send a smaller file.",
    "E_CONNECTOR": "Check the tracker's credentials.",
    "E_AUTH": "Send a token with the needed scope.",
}

_TOO_DEEP: Final = f"is nested deeper than {MAX_JSON_DEPTH} levels"
_NOT_JSON: Final = "the body is not valid JSON"
_JSON_HINT: Final = "Send one JSON object, encoded as UTF-8."
#: NUL and surrogates can only come as escapes: raw, they are not JSON or not UTF-8.
_SUSPECT_ESCAPE: Final = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_UNPAIRED: Final = re.compile("[\ud800-\udfff]")
#: Characters that fit into MAX_TEXT_BYTES whichever they are.
_SURELY_SHORT: Final = MAX_TEXT_BYTES // 4
_LARGEST: Final = sys.float_info.max
_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_$-]{1,40}\Z")


def plain(text: str, limit: int = MAX_MESSAGE) -> str:
    """`text` on one line, without control or bidi characters, at most `limit` characters long."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    if cut.isprintable():
        return cut
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in cut)


# --- out ------------------------------------------------------------------------------------------


class ErrorBody(dict[str, Any]):
    """A whole failure envelope; the renderer does not wrap it again."""


def error_envelope(error: PinboxError) -> ErrorBody:
    hint = error.hint or HINTS[error.code]
    return ErrorBody(
        ok=False,
        error={"code": error.code, "message": plain(error.message), "hint": plain(hint)},
    )


def to_json(value: object) -> bytes:
    """Compact UTF-8 JSON. NaN and infinities raise ValueError: no field of ours may hold one."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Only foreign rows can hold a lone surrogate; it must not make a whole list unreadable.
        return _UNPAIRED.sub("\N{REPLACEMENT CHARACTER}", text).encode()


def error_body(error: PinboxError) -> bytes:
    """The failure envelope as bytes, for the edges outside DRF."""
    return to_json(error_envelope(error))


class EnvelopeRenderer(BaseRenderer):
    """Wraps a view's data into the envelope. Leaving out what is absent is the view's business."""

    media_type = "application/json"
    format = "json"
    charset = None
    render_style = "binary"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        if isinstance(data, ErrorBody):
            return to_json(data)
        response = (renderer_context or {}).get("response")
        if data is None and response is not None and response.status_code == 204:
            return b""
        return to_json({"ok": True, "data": data})


class OneRenderer(BaseContentNegotiation):
    """One way in and one way out, whatever Accept and Content-Type say: never a 406 or 415."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        return next(iter(parsers), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type or "application/json"


# --- in -------------------------------------------------------------------------------------------


class StrictJSONParser(BaseParser):
    """The request's body as a JSON object within our limits, whatever its content type.

    A view that may be called without a body sets `body_optional = True` and then reads `{}`.
    """

    media_type = "*/*"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        view = (parser_context or {}).get("view")
        # One byte over the cap is enough to know; the gate has refused such a body already.
        raw = b"" if stream is None else stream.read(MAX_BODY_BYTES + 1)
        return parse_object(raw, optional=getattr(view, "body_optional", False))


def parse_object(raw: bytes, *, optional: bool = False) -> dict[str, Any]:
    """A JSON object that both databases and every peer can hold. Raises E_INVALID_INPUT."""
    if len(raw) > MAX_BODY_BYTES:
        raise body_too_large(MAX_BODY_BYTES)
    if not raw.strip():
        if optional:
            return {}
        raise PinboxError("E_INVALID_INPUT", "the body is empty", _JSON_HINT)
    value = _decode(raw)
    if not isinstance(value, dict):
        raise PinboxError("E_INVALID_INPUT", "the body must be a JSON object", _JSON_HINT)
    _check_shape(value, strings=_SUSPECT_ESCAPE.search(raw) is not None)
    return value


def body_too_large(limit: int, code: str = "E_INVALID_INPUT") -> PinboxError:
    return PinboxError(
        code,
        f"the body is larger than {limit:,} bytes",
        "Send less in one request.",
        status=413,
    )


def _decode(raw: bytes) -> object:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PinboxError(
            "E_INVALID_INPUT", f"the body is not UTF-8 (byte {error.start})", _JSON_HINT
        ) from None
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise PinboxError(
            "E_INVALID_INPUT",
            f"{_NOT_JSON} (line {error.lineno}, column {error.colno})",
            _JSON_HINT,
        ) from None
    except RecursionError:
        raise PinboxError("E_INVALID_INPUT", f"the body {_TOO_DEEP}", _JSON_HINT) from None
    except ValueError:
        # An integer with more digits than Python converts (4,300).
        raise PinboxError("E_INVALID_INPUT", "the body holds a number out of range") from None


def _refuse_constant(name: str) -> NoReturn:
    raise PinboxError("E_INVALID_INPUT", f"{_NOT_JSON}: {name} is not a JSON number", _JSON_HINT)


def _check_shape(root: dict[str, Any], *, strings: bool) -> None:
    """Refuse what is too deep, too wide, too long or not storable, naming the place. No recursion.

    `strings` says that the raw body holds an escape of NUL or of a surrogate, so that each string
    must be looked at.
    """
    stack: list[tuple[Any, tuple[str | int, ...]]] = [(root, ())]
    while stack:
        value, path = stack.pop()
        if len(path) >= MAX_JSON_DEPTH:
            _refuse(path, _TOO_DEEP)
        items: Iterable[tuple[str | int, Any]]
        if type(value) is dict:
            if len(value) > MAX_OBJECT_KEYS:
                _refuse(path, f"has more than {MAX_OBJECT_KEYS:,} keys")
            for key in value:
                if strings or len(key) > _SURELY_SHORT:
                    _check_string(key, path, "has a key that ")
            items = value.items()
        else:
            if len(value) > MAX_ARRAY_ITEMS:
                _refuse(path, f"has more than {MAX_ARRAY_ITEMS:,} items")
            items = enumerate(value)
        for at, item in items:
            kind = type(item)
            if kind is str:
                if strings or len(item) > _SURELY_SHORT:
                    _check_string(item, (*path, at))
            elif kind is dict or kind is list:
                stack.append((item, (*path, at)))
            elif kind is not bool and item is not None and not -_LARGEST <= item <= _LARGEST:
                # Also an integer that no double holds: peers read every JSON number as one.
                _refuse((*path, at), "is a number out of range")


def _check_string(text: str, path: tuple[str | int, ...], which: str = "") -> None:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES:
        _refuse(path, f"{which}is longer than {MAX_TEXT_BYTES:,} bytes")
    if "\0" in text:
        _refuse(path, f"{which}holds a NUL character")
    if _UNPAIRED.search(text):
        _refuse(path, f"{which}holds half of a surrogate pair")


def _refuse(path: tuple[str | int, ...], text: str) -> NoReturn:
    raise PinboxError("E_INVALID_INPUT", f"{dotted(path) or 'the body'}: {text}")


def dotted(path: Iterable[str | int]) -> str:
    """`targets.0.rect.x`. A caller's key that is not an ordinary name is shown as `?`."""
    return ".".join(
        str(part) if isinstance(part, int) or _PLAIN_KEY.match(part) else "?" for part in path
    )


# --- errors ---------------------------------------------------------------------------------------


def response_to(error: Exception, request: HttpRequest) -> HttpResponse:
    """The answer to any exception outside DRF's views."""
    failure = as_pinbox_error(error, _where({"request": request}))
    response = HttpResponse(
        error_body(failure), status=failure.status, content_type="application/json"
    )
    if failure.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def answer_to_error(error: Exception, context: Mapping[str, Any]) -> Response:
    """DRF's exception handler: any exception of a request as our envelope."""
    failure = as_pinbox_error(error, _where(context))
    response = Response(error_envelope(failure), status=failure.status)
    if failure.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def as_pinbox_error(error: Exception, where: str) -> PinboxError:
    """What a caller may know about `error`; what is our own fault is logged with `where`."""
    match error:
        case PinboxError():
            return error
        case exceptions.ValidationError():
            path, text = _first_issue(error.detail)
            return PinboxError("E_INVALID_INPUT", f"{dotted(path) or 'the body'}: {text}")
        case Http404() | exceptions.NotFound() | exceptions.MethodNotAllowed():
            return PinboxError(
                "E_NOT_FOUND", f"there is no {where}", "GET /schema lists every route."
            )
        case exceptions.ParseError():
            return PinboxError("E_INVALID_INPUT", _NOT_JSON, _JSON_HINT)
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return PinboxError("E_AUTH", "this request needs a valid bearer token")
        case exceptions.PermissionDenied() | DjangoPermissionDenied():
            return PinboxError("E_AUTH", f"this token may not use {where}", status=403)
        case RequestDataTooBig():
            return body_too_large(MAX_BODY_BYTES)
        case SuspiciousOperation():
            return PinboxError("E_INVALID_INPUT", "the request is malformed")
        case exceptions.APIException() if error.status_code < 500:
            return PinboxError("E_INVALID_INPUT", f"{where} was refused", status=error.status_code)
        case OperationalError():
            return _database_error(error, where)
    incident = log_incident(error, where)
    return PinboxError(
        "E_INTERNAL",
        f"Pinbox failed on this request (incident {incident})",
        f"Look for {incident} in the hub's log; `pinbox status` says where it is.",
    )


def log_incident(error: BaseException, where: str) -> str:
    """Log an unexpected exception and return the id that finds it there.

    An exception's own text may quote a pin, so above DEBUG only its type and its place are written.
    """
    incident = secrets.token_hex(4)
    kind, place = type(error).__qualname__, place_of(error)
    log.error("incident %s: %s in %s, at %s", incident, kind, where, place)
    log.debug("incident %s", incident, exc_info=error)
    return incident


def _database_error(error: OperationalError, where: str) -> PinboxError:
    """The database is there to be used again in a moment, so 503 and not 500."""
    text = str(error).lower()
    incident = log_incident(error, where)
    if "locked" in text or "busy" in text or "deadlock" in text or "could not serialize" in text:
        message, hint = "the database is busy", "Nothing was changed; send the request again."
    elif "full" in text or "no space" in text:
        message, hint = "the disk of the hub is full", "Make room on it and send the request again."
    else:
        message, hint = "the database cannot be used", f"Look for {incident} in the hub's log."
    return PinboxError("E_INTERNAL", f"{message} (incident {incident})", hint, status=503)


def _where(context: Mapping[str, Any]) -> str:
    """`GET /pins/pin_x`: method and path, never the query, in which a token may be."""
    request = context.get("request")
    if request is not None:
        return plain(f"{request.method} {request.path}", MAX_QUOTED)
    return "request"


def _first_issue(detail: object) -> tuple[tuple[str | int, ...], str]:
    """The place and the text of the first issue in a DRF error structure, depth first."""
    path: list[str | int] = []
    while isinstance(detail, dict | list | tuple):
        items = detail.items() if isinstance(detail, dict) else enumerate(detail)
        # A list serializer has an empty entry for each item that is right.
        key, found = next(((key, item) for key, item in items if item), ("non_field_errors", ""))
        if key != "non_field_errors" and (isinstance(detail, dict) or isinstance(found, dict)):
            path.append(key)
        detail = found
    return tuple(path), plain(str(detail) or "is not valid", MAX_MESSAGE // 2)
