"""GET /schema, and what drf-spectacular cannot see in the views: envelope, errors, tokens, keys,
pages, /health.
"""

from typing import Any, Final, cast

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from pinbox.contract import ERRORS, IDEMPOTENCY_HEADER, MAX_IDEMPOTENCY_KEY

from .paging import IdPages

#: Paths whose success is not in the envelope.
_BARE: Final = {"/schema", "/hooks/{agent}", "/media/{attachment_id}"}
#: Statuses any route may answer with.
_ANYWHERE: Final = {
    "400": "The request is wrong; `message` says where.",
    "401": "The bearer token is missing or wrong.",
    "403": "The token's scope does not reach here, or the Host or Origin is refused.",
    "404": "There is no such item.",
    "413": "The body is larger than the limit.",
    "500": "The hub failed; nothing was changed.",
    "503": "The database is busy or cannot be used; nothing was changed.",
}
_CONFLICT: Final = {"409": "The state of the item, or the key, does not allow it."}

_KEY_PARAMETER: Final = {
    "name": IDEMPOTENCY_HEADER,
    "in": "header",
    "required": False,
    "description": "The same key with the same request gets the first answer again.",
    "schema": {
        "type": "string",
        "pattern": "^[ -~]+$",
        "minLength": 1,
        "maxLength": MAX_IDEMPOTENCY_KEY,
    },
}


class Schema(SpectacularAPIView):
    """The OpenAPI document, bare: its readers do not know the envelope."""

    required_scope = "page"
    renderer_classes = [OpenApiJsonRenderer]

    @extend_schema(operation_id="schema", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return cast(Response, super().get(request, *args, **kwargs))  # type: ignore[no-untyped-call]


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "pinbox_site.auth.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """drf-spectacular's postprocessing hook: every operation as the wire really has it."""
    schemas = result["components"]["schemas"]
    schemas["Failure"] = _failure()
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation)
    result["paths"]["/health"] = {"get": _health()}
    return result


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    parameters = operation.setdefault("parameters", [])
    responses = operation["responses"]
    for response in responses.values() if path not in _BARE else ():
        answer = response["content"]["application/json"]
        if answer["schema"].get("type") == "array":
            parameters += IdPages().get_schema_operation_parameters(None)
        answer["schema"] = _envelope(answer["schema"])
    body = operation.get("requestBody")
    if body and "application/octet-stream" not in body["content"]:
        # The parser reads JSON under any content type; the document names the honest one.
        body["content"] = {"application/json": next(iter(body["content"].values()))}
    if method == "post":
        parameters.append(_KEY_PARAMETER)
    said = _ANYWHERE | (_CONFLICT if method == "post" else {})
    for status, text in said.items():
        failure = {"schema": {"$ref": "#/components/schemas/Failure"}}
        responses[status] = {"description": text, "content": {"application/json": failure}}


def _envelope(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["ok", "data"],
        "properties": {"ok": {"type": "boolean", "enum": [True]}, "data": data},
    }


def _failure() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "type": "object",
        "required": ["ok", "error"],
        "properties": {
            "ok": {"type": "boolean", "enum": [False]},
            "error": {
                "type": "object",
                "required": ["code", "message", "hint"],
                "properties": {
                    "code": {"type": "string", "enum": list(ERRORS)},
                    "message": text,
                    "hint": text,
                },
            },
        },
    }


def _health() -> dict[str, Any]:
    number = {"type": "integer"}
    data = {
        "type": "object",
        "required": ["version", "schemaVersion", "wsProtocol", "instance"],
        "properties": {
            "version": {"type": "string"},
            "schemaVersion": number,
            "wsProtocol": number,
            "instance": {"type": "string"},
        },
    }
    failure = {"schema": {"$ref": "#/components/schemas/Failure"}}
    return {
        "operationId": "health",
        "description": "Needs no token.",
        "security": [],
        "responses": {
            "200": {
                "description": "The hub is up.",
                "content": {"application/json": {"schema": _envelope(data)}},
            },
            "503": {
                "description": "Nobody can get in; `message` says why.",
                "content": {"application/json": failure},
            },
        },
    }
