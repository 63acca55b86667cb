"""Every way to fail has the same shape: a code, a message about this input, a hint."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import IntegrityError, OperationalError
from django.http import Http404
from hypothesis import given
from hypothesis import strategies as st
from rest_framework import exceptions, serializers
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from pinbox.contract import (
    ERRORS,
    MAX_ARRAY_ITEMS,
    MAX_BODY_BYTES,
    MAX_JSON_DEPTH,
    MAX_OBJECT_KEYS,
    MAX_TEXT_BYTES,
    PinboxError,
)
from pinbox_site import envelope
from pinbox_site.envelope import HINTS, error_body, parse_object, plain, response_to

HOSTILE = "\x1b[2J\u202e\x9b\r\nsecret-pin-text"


class Rect(serializers.Serializer[Any]):
    x = serializers.FloatField()


class Target(serializers.Serializer[Any]):
    rect = Rect()
    kind = serializers.ChoiceField(choices=["note", "move"], required=False)


class Body(serializers.Serializer[Any]):
    text = serializers.CharField()
    targets = Target(many=True, required=False)
    runs = serializers.ListField(child=serializers.CharField(), required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["text"] == "bad":
            raise serializers.ValidationError("text and kind do not fit")
        return attrs


class Open(APIView):
    authentication_classes = ()
    permission_classes = ()


class Echo(Open):
    """Validates a body and answers with what it read."""

    def post(self, request):
        body = Body(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(body.validated_data, status=201)


class Anything(Open):
    def post(self, request):
        return Response(request.data)


class Optional(Anything):
    body_optional = True


def call(view, body: Any = b"", method: str = "POST", content_type: str = "application/json"):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = APIRequestFactory().generic(method, "/x", raw, content_type=content_type)
    response = view.as_view()(request)
    response.render()
    return response.status_code, json.loads(response.content)


def failure(document: Mapping[str, Any]) -> dict[str, str]:
    """The error of a failure envelope, after a look at its shape."""
    assert list(document) == ["ok", "error"]
    assert document["ok"] is False
    error = document["error"]
    assert list(error) == ["code", "message", "hint"]
    assert error["code"] in ERRORS
    for text in (error["message"], error["hint"]):
        assert text
        assert text.isprintable()
        assert len(text) <= envelope.MAX_MESSAGE
    return error


def raising(error: Exception):
    class Raising(Open):
        def get(self, request):
            raise error

    return call(Raising, method="GET")


# --- answers --------------------------------------------------------------------------------------


def test_success_is_compact_and_not_escaped():
    request = APIRequestFactory().generic("POST", "/x", '{"text":"é日本"}'.encode())
    response = Echo.as_view()(request)
    response.render()
    assert response.content == '{"ok":true,"data":{"text":"é日本"}}'.encode()
    assert response["Content-Type"] == "application/json"


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/*;q=0", "nonsense", ""])
def test_the_answer_is_json_whatever_is_accepted(accept):
    request = APIRequestFactory().post("/x", {"text": "x"}, format="json", HTTP_ACCEPT=accept)
    response = Echo.as_view()(request)
    response.render()
    assert response.status_code == 201
    assert response["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x", "a/b; ="],
)
def test_the_body_is_json_whatever_it_is_called(content_type):
    assert call(Echo, {"text": "x"}, content_type=content_type)[0] == 201


def test_a_lone_surrogate_from_an_old_row_does_not_break_an_answer():
    assert envelope.to_json({"text": "a\ud83d"}) == '{"text":"a\ufffd"}'.encode()


# --- bodies ---------------------------------------------------------------------------------------


def nested(depth: int, opening: str = '{"a":', closing: str = "}") -> bytes:
    return (opening * depth + "1" + closing * depth).encode()


BAD_BODIES = [
    ("whitespace", b" \n ", "empty"),
    ("words", b"text", "not valid JSON"),
    ("cut", b'{"text":"x', "not valid JSON"),
    ("two", b'{"text":"x"} {}', "not valid JSON"),
    ("comma", b'{"text":"x",}', "not valid JSON"),
    ("single quotes", b"{'text':'x'}", "not valid JSON"),
    ("raw control character", b'{"text":"a\x01"}', "not valid JSON"),
    ("raw NUL", b'{"text":"a\x00"}', "not valid JSON"),
    ("latin-1", b'{"text":"\xe9"}', "not UTF-8"),
    ("overlong", b'{"text":"\xc0\x80"}', "not UTF-8"),
    ("raw surrogate", b'{"text":"\xed\xa0\xbd"}', "not UTF-8"),
    ("utf-16", '{"text":"x"}'.encode("utf-16"), "not UTF-8"),
    ("list", b"[]", "must be a JSON object"),
    ("string", b'"x"', "must be a JSON object"),
    ("null", b"null", "must be a JSON object"),
    ("number", b"1", "must be a JSON object"),
    ("NaN", b'{"text":NaN}', "NaN"),
    ("Infinity", b'{"text":-Infinity}', "-Infinity"),
    ("huge float", b'{"a":[1,{"b":1e999}]}', "a.1.b: is a number out of range"),
    ("huge negative float", b'{"a":-1e999}', "a: is a number out of range"),
    ("huge integer", b'{"a":1' + b"0" * 400 + b"}", "a: is a number out of range"),
    ("endless integer", b'{"a":1' + b"0" * 10_000 + b"}", "number out of range"),
    ("NUL", b'{"a":["b\\u0000"]}', "a.0: holds a NUL"),
    ("NUL in a key", b'{"a":{"b\\u0000":1}}', "a: has a key that holds a NUL"),
    ("high surrogate", b'{"text":"\\ud83d"}', "text: holds half of a surrogate"),
    ("low surrogate", b'{"text":"\\uDe00x"}', "text: holds half of a surrogate"),
    ("swapped pair", b'{"text":"\\ude00\\ud83d"}', "text: holds half of a surrogate"),
    ("surrogate in a key", b'{"\\ud83d":1}', "the body: has a key that holds half of"),
    ("deep objects", nested(MAX_JSON_DEPTH + 1), "deeper than"),
    ("deep lists", b'{"a":' + nested(MAX_JSON_DEPTH, "[", "]") + b"}", "deeper than"),
    ("very deep", b'{"a":' + b"[" * 200_000, "deeper than"),
    ("long string", b'{"a":"' + b"x" * (MAX_TEXT_BYTES + 1) + b'"}', "a: is longer than"),
    ("long unicode", ('{"a":"' + "語" * 21_846 + '"}').encode(), "a: is longer than"),
    ("long key", b'{"' + b"x" * (MAX_TEXT_BYTES + 1) + b'":1}', "key that is longer than"),
    ("long list", json.dumps({"a": [0] * (MAX_ARRAY_ITEMS + 1)}).encode(), "a: has more than"),
    (
        "wide object",
        json.dumps(dict.fromkeys(map(str, range(MAX_OBJECT_KEYS + 1)), 0)).encode(),
        "the body: has more than",
    ),
]


@pytest.mark.parametrize(
    ("raw", "message"), [row[1:] for row in BAD_BODIES], ids=[row[0] for row in BAD_BODIES]
)
def test_a_bad_body_is_refused_with_its_reason(raw, message):
    status, document = call(Anything, raw)
    error = failure(document)
    assert (status, error["code"]) == (400, "E_INVALID_INPUT")
    assert message in error["message"]


@pytest.mark.parametrize(
    "raw",
    [
        nested(MAX_JSON_DEPTH),
        b'\xef\xbb\xbf{"text":"x"}',
        b'{"a":"\\ud83d\\ude00 \\\\u0000 \\u0001"}',
        b'{"a":1e308,"b":-0.0,"c":123456789012345678901234567890}',
        json.dumps({"a": [0] * MAX_ARRAY_ITEMS, "b": "x" * MAX_TEXT_BYTES}).encode(),
    ],
    ids=["depth", "bom", "escapes", "numbers", "sizes"],
)
def test_a_body_at_its_limits_is_read(raw):
    assert call(Anything, raw)[0] == 200


def test_a_body_over_the_cap_is_refused_also_without_the_gate():
    status, document = call(Anything, b" " * (MAX_BODY_BYTES + 1))
    assert status == 413
    failure(document)


def test_an_empty_body_of_a_view_that_needs_one_is_refused():
    status, document = call(Echo)
    assert status == 400
    assert failure(document)["message"].startswith("text: ")


@pytest.mark.parametrize("raw", [b"", b"  "])
def test_an_empty_body_of_a_view_that_needs_none_is_an_empty_object(raw):
    assert call(Optional, raw) == (200, {"ok": True, "data": {}})


def test_a_key_that_is_not_an_ordinary_name_is_not_echoed():
    raw = json.dumps({HOSTILE: {"x" * 200: [1, {"<b>": "x" * (MAX_TEXT_BYTES + 1)}]}}).encode()
    message = failure(call(Anything, raw)[1])["message"]
    assert message.startswith("?.?.1.?: is longer")


@given(st.binary(max_size=200))
def test_no_bytes_at_all_break_the_reader(raw):
    try:
        assert isinstance(parse_object(raw), dict)
    except PinboxError as error:
        failure(json.loads(error_body(error)))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_what_the_reader_accepts_can_be_stored_and_sent(value):
    try:
        read = parse_object(json.dumps(value).encode())
    except PinboxError:
        return
    stored = envelope.to_json(read).decode()
    assert "\\u0000" not in stored
    assert json.loads(stored) == read


# --- validation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "text: This field is required."),
        ({"text": None}, "text: This field may not be null."),
        ({"text": "x", "targets": [{"rect": {"x": 1}}, {}]}, "targets.1.rect: This field"),
        ({"text": "x", "targets": [{"rect": {"x": "q"}}]}, "targets.0.rect.x: A valid number"),
        ({"text": "x", "targets": {}}, "targets: Expected a list"),
        ({"text": "x", "targets": [1]}, "targets.0: Invalid data"),
        ({"text": "x", "runs": ["a", []]}, "runs.1: Not a valid string"),
        ({"text": [], "targets": 3}, "text: Not a valid string"),
        ({"text": "bad"}, "the body: text and kind do not fit"),
    ],
)
def test_only_the_first_issue_is_told_with_its_place(body, message):
    status, document = call(Echo, body)
    error = failure(document)
    assert (status, error["code"]) == (400, "E_INVALID_INPUT")
    assert error["message"].startswith(message)
    assert "\n" not in error["message"]


def test_a_value_that_a_validator_quotes_loses_its_control_characters_and_its_length():
    kind = HOSTILE + "x" * 5000
    target = {"rect": {"x": 1}, "kind": kind}
    message = failure(call(Echo, {"text": "x", "targets": [target]})[1])["message"]
    assert message.startswith("targets.0.kind: ")
    assert len(message) < 400


# --- exceptions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ERRORS)
def test_each_code_has_its_status_and_a_hint_of_its_own(code):
    status, document = raising(PinboxError(code, "this input"))
    assert status == ERRORS[code][0]
    assert failure(document) == {"code": code, "message": "this input", "hint": HINTS[code]}


def test_an_error_may_name_its_own_hint_and_status():
    status, document = raising(PinboxError("E_AUTH", "no", "do that", status=403))
    assert (status, failure(document)["hint"]) == (403, "do that")


def test_an_errors_own_text_leaves_on_one_printable_line():
    failure(raising(PinboxError("E_CONFLICT", HOSTILE * 100, HOSTILE * 100))[1])


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Http404("No Pin matches " + HOSTILE), 404, "E_NOT_FOUND"),
        (exceptions.NotFound(HOSTILE), 404, "E_NOT_FOUND"),
        (exceptions.MethodNotAllowed("GET"), 404, "E_NOT_FOUND"),
        (exceptions.ParseError(HOSTILE), 400, "E_INVALID_INPUT"),
        (exceptions.UnsupportedMediaType(HOSTILE), 415, "E_INVALID_INPUT"),
        (exceptions.Throttled(3), 429, "E_INVALID_INPUT"),
        (exceptions.PermissionDenied(HOSTILE), 403, "E_AUTH"),
        (PermissionDenied(HOSTILE), 403, "E_AUTH"),
        (SuspiciousOperation(HOSTILE), 400, "E_INVALID_INPUT"),
        (RequestDataTooBig(HOSTILE), 413, "E_INVALID_INPUT"),
        (exceptions.APIException(HOSTILE), 500, "E_INTERNAL"),
        (OperationalError("database is locked"), 503, "E_INTERNAL"),
        (OperationalError("deadlock detected"), 503, "E_INTERNAL"),
        (OperationalError("database or disk is full"), 503, "E_INTERNAL"),
        (OperationalError("server closed the connection " + HOSTILE), 503, "E_INTERNAL"),
        (IntegrityError("Key (text)=(" + HOSTILE), 500, "E_INTERNAL"),
        (sqlite3.Error(HOSTILE), 500, "E_INTERNAL"),
        (KeyError(HOSTILE), 500, "E_INTERNAL"),
        (RuntimeError(HOSTILE), 500, "E_INTERNAL"),
        (RecursionError(HOSTILE), 500, "E_INTERNAL"),
        (UnicodeEncodeError("utf-8", HOSTILE, 0, 1, HOSTILE), 500, "E_INTERNAL"),
        (MemoryError(), 500, "E_INTERNAL"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_no_exception_tells_its_own_text(error, status, code, caplog):
    given_status, document = raising(error)
    told = failure(document)
    assert (given_status, told["code"]) == (status, code)
    assert "secret-pin-text" not in json.dumps(document)
    assert "secret-pin-text" not in caplog.text

    outside = response_to(error, APIRequestFactory().get("/x"))
    assert outside.status_code == status
    assert failure(json.loads(outside.content))["code"] == code


def test_an_unexpected_failure_is_found_in_the_log_by_its_incident(caplog):
    document = raising(RuntimeError(HOSTILE))[1]
    incident = failure(document)["message"].rpartition("incident ")[2].rstrip(")")
    assert f"incident {incident}: RuntimeError in GET /x" in caplog.text
    assert "test_errors.py" in caplog.text, "the log has the lines of code"


def test_a_busy_database_asks_to_try_again():
    status, document = raising(OperationalError("database is locked"))
    assert (status, "again" in failure(document)["hint"]) == (503, True)


def test_a_wrong_method_is_unknown_and_not_forbidden():
    status, document = call(Echo, method="PUT")
    assert (status, failure(document)["code"]) == (404, "E_NOT_FOUND")
    assert "PUT /x" in document["error"]["message"]


def test_a_refused_credential_is_challenged():
    response = response_to(PinboxError("E_AUTH", "no"), APIRequestFactory().get("/x"))
    assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")


@given(st.text(st.characters()))
def test_no_text_leaves_with_invisible_characters(text):
    shown = plain(text)
    assert shown.isprintable() or shown == ""
    assert len(shown) <= envelope.MAX_MESSAGE
