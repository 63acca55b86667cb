"""Shape of a session on the wire."""

from typing import Any

from rest_framework import serializers

from pinbox.contract import iso

from .models import AgentSession


class Word(serializers.CharField):
    """A string as it is: not trimmed, not made from a number."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("must be a string")
        return data


class RegisterInput(serializers.Serializer[Any]):
    """What a word may be is checked by `services.check_identity`, for hooks as well."""

    agent = Word(allow_blank=True, help_text="1 to 64 bytes, no slash")
    key = Word(allow_blank=True, help_text="1 to 255 bytes, no leading dash")
    cwd = Word(allow_blank=True, required=False, help_text="an absolute path")


class SessionShape(serializers.Serializer[Any]):
    id = serializers.RegexField(r"^ses_[a-z0-9]{10}$")
    agent = serializers.CharField()
    key = serializers.CharField()
    cwd = serializers.CharField(required=False)
    registeredAt = serializers.CharField()
    lastSeenAt = serializers.CharField()
    endedAt = serializers.CharField(required=False)
    supersededBy = serializers.CharField(required=False)


def session_document(session: AgentSession) -> dict[str, str]:
    """The session as the wire has it; what is unset is absent."""
    document = {"id": session.id, "agent": session.agent, "key": session.key}
    if session.cwd is not None:
        document["cwd"] = session.cwd
    document["registeredAt"] = iso(session.registered_at)
    document["lastSeenAt"] = iso(session.last_seen_at)
    if session.ended_at is not None:
        document["endedAt"] = iso(session.ended_at)
    if session.superseded_by:
        document["supersededBy"] = session.superseded_by
    return document
