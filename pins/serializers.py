"""What may arrive. Unknown keys are dropped at every level, `null` is refused where a field is
optional, nothing is coerced.
"""

import math
from typing import Any

from rest_framework import serializers

from pinbox.contract import MAX_ARRAY_ITEMS, MAX_OBJECT_KEYS, MAX_TEXT_BYTES


class Text(serializers.CharField):
    """A string as it is, not trimmed, not made from a number. At most MAX_TEXT_BYTES of UTF-8."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("allow_blank", True)
        kwargs.setdefault("max_length", MAX_TEXT_BYTES)
        if not kwargs["allow_blank"]:
            kwargs["min_length"] = 1  # said for the OpenAPI document
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a string")
        if len(data.encode()) > MAX_TEXT_BYTES:
            raise serializers.ValidationError(f"must be at most {MAX_TEXT_BYTES} bytes of UTF-8")
        return data


class Number(serializers.FloatField):
    """A finite number, kept as it was written: 12 stays 12."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, bool) or not isinstance(data, int | float):
            raise serializers.ValidationError("must be a number")
        try:
            if not math.isfinite(data):
                raise serializers.ValidationError("must be finite")
        except OverflowError:
            raise serializers.ValidationError("must be finite") from None
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class Whole(serializers.IntegerField):
    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            raise serializers.ValidationError("must be a whole number")
        return data


class Flag(serializers.BooleanField):
    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError("must be true or false")
        return data


def one_of(*choices: str, **kwargs: Any) -> serializers.ChoiceField:
    """A string out of a closed set. The refusal names the set."""
    # Given as an argument: a serializer makes its fields anew from their arguments.
    kwargs["error_messages"] = {"invalid_choice": f"must be one of: {', '.join(choices)}"}
    return serializers.ChoiceField(choices=choices, **kwargs)


def texts(**kwargs: Any) -> serializers.ListField:
    return serializers.ListField(child=Text(), max_length=MAX_ARRAY_ITEMS, **kwargs)


def items(serializer: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """An optional array of objects."""
    # The stubs know the arguments of one serializer only, not those of a list of them.
    more: dict[str, Any] = {"max_length": MAX_ARRAY_ITEMS}
    return serializer(many=True, required=False, **more)


class TextMap(serializers.DictField):
    child = Text()

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and len(data) > MAX_OBJECT_KEYS:
            raise serializers.ValidationError(f"must have at most {MAX_OBJECT_KEYS} keys")
        return super().to_internal_value(data)


class RectInput(serializers.Serializer[Any]):
    x = Number()
    y = Number()
    width = Number()
    height = Number()


class MoveInput(serializers.Serializer[Any]):
    to = RectInput()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # `from` is a word of the language.
        return {"from": RectInput(), **super().get_fields()}


class SpotInput(serializers.Serializer[Any]):
    x = Number()
    y = Number()


class SourceInput(serializers.Serializer[Any]):
    file = Text()
    line = Number(required=False)
    via = one_of("plugin", "framework", "none")


class ContextInput(serializers.Serializer[Any]):
    classes = texts(required=False)
    styles = TextMap(required=False)
    aria = TextMap(required=False)
    nearbyText = Text(required=False)
    selectedText = Text(required=False)
    textRuns = texts(required=False)
    failedRequests = texts(required=False)
    consoleErrors = texts(required=False)


class TargetBaseInput(serializers.Serializer[Any]):
    url = Text(required=False)
    selector = Text(required=False)
    tag = Text(required=False)
    rect = RectInput(required=False)
    spot = SpotInput(required=False)
    fixed = Flag(required=False)
    anchor = Text(required=False)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # `source` and `context` are attributes of every serializer field.
        return {
            **super().get_fields(),
            "source": SourceInput(required=False),
            "context": ContextInput(required=False),
        }


class TargetInput(TargetBaseInput):
    targets = items(TargetBaseInput)


class ViewportInput(serializers.Serializer[Any]):
    w = Number()
    h = Number()
    dpr = Number()


class EnvInput(serializers.Serializer[Any]):
    viewport = ViewportInput(required=False)
    browser = Text(required=False)
    os = Text(required=False)
    colorScheme = one_of("light", "dark", required=False)
    branch = Text(required=False)
    commit = Text(required=False)


class AuthorInput(serializers.Serializer[Any]):
    userId = Text()
    name = Text(required=False)
    email = Text(required=False)


class SessionRefInput(serializers.Serializer[Any]):
    agent = Text()
    key = Text()
    cwd = Text(required=False)


class AttachmentInput(serializers.Serializer[Any]):
    """An upload, by its id. The rest is the hub's own: it may be sent back and is not looked at."""

    id = Text()
    kind = one_of("screenshot", "file", required=False)
    path = Text(required=False)
    url = Text(required=False)
    contentType = Text(required=False)
    width = Whole(required=False)
    height = Whole(required=False)


class PinInput(serializers.Serializer[Any]):
    text = Text(allow_blank=False)
    kind = one_of("note", "move", default="note")
    target = TargetInput(required=False)
    move = MoveInput(required=False)
    env = EnvInput(required=False)
    author = AuthorInput()
    agentSession = SessionRefInput(required=False)
    attachments = items(AttachmentInput)


class EditInput(serializers.Serializer[Any]):
    selector = Text()
    texts = texts()


class MessageInput(serializers.Serializer[Any]):
    role = one_of("human", "agent", "mirror")
    origin = Text(required=False)
    text = Text(allow_blank=False)
    edit = EditInput(required=False)
    attachments = items(AttachmentInput)


class ResolveInput(serializers.Serializer[Any]):
    by = one_of("human", "agent")
    note = Text(required=False)
    commit = Text(required=False)


class VerifyInput(serializers.Serializer[Any]):
    outcome = one_of("accepted", "reopened")
