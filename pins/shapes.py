"""What leaves, for the OpenAPI document. The answers themselves are stored text, so these shapes
never run on them.
"""

from typing import Any

from rest_framework import serializers

from pinbox.contract import ATTACHMENT_ID

from .serializers import (
    MessageInput,
    PinInput,
    ResolveInput,
    VerifyInput,
    one_of,
)


class LinkShape(serializers.Serializer[Any]):
    connector = serializers.CharField()
    ref = serializers.CharField()
    url = serializers.CharField()


class ResolutionShape(ResolveInput):
    at = serializers.CharField()


class VerificationShape(VerifyInput):
    at = serializers.CharField()


class AttachmentShape(serializers.Serializer[Any]):
    id = serializers.RegexField(rf"^{ATTACHMENT_ID}$")
    kind = one_of("screenshot", "file")
    path = serializers.CharField(required=False)
    url = serializers.CharField()
    contentType = serializers.CharField()
    width = serializers.IntegerField(required=False, min_value=1)
    height = serializers.IntegerField(required=False, min_value=1)


class UploadShape(serializers.Serializer[Any]):
    attachment = AttachmentShape()


class PinShape(PinInput):
    attachments = AttachmentShape(many=True, required=False)
    kind = one_of("note", "move")
    id = serializers.RegexField(r"^pin_[a-z0-9]{10}$")
    n = serializers.IntegerField(min_value=1)
    schemaVersion = serializers.IntegerField(min_value=1, max_value=1)
    status = one_of("open", "resolved")
    createdAt = serializers.CharField()
    resolution = ResolutionShape(required=False)
    verification = VerificationShape(required=False)
    links = LinkShape(many=True, required=False)


class MessageShape(MessageInput):
    id = serializers.CharField()
    pinId = serializers.CharField()
    attachments = AttachmentShape(many=True, required=False)
    at = serializers.CharField()


class EventShape(serializers.Serializer[Any]):
    seq = serializers.IntegerField(min_value=1)
    type = one_of("pin.created", "pin.resolved", "thread.message", "pin.verified", "pin.linked")
    at = serializers.CharField()
    payload = serializers.DictField()
