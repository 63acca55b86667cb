"""Shapes of deliveries on the wire."""

from typing import Any

from rest_framework import serializers

from pinbox.contract import iso
from sessions_app.serializers import Word

from .models import Attempt, Delivery


class DeliveryShape(serializers.Serializer[Any]):
    id = serializers.IntegerField(min_value=1)
    eventSeq = serializers.IntegerField(min_value=1)
    pinId = serializers.CharField()
    sessionId = serializers.CharField(allow_null=True)
    adapter = serializers.ChoiceField(["none", "codex", "hooks", "openclaw", "resume", "webhook"])
    status = serializers.ChoiceField(Delivery.Status.values)
    attempts = serializers.IntegerField(min_value=0)
    dueAt = serializers.CharField(allow_null=True)
    lastError = serializers.CharField(allow_null=True)
    updatedAt = serializers.CharField()
    handedOverAt = serializers.CharField(required=False)
    handedOverBy = serializers.CharField(required=False)
    acknowledgedAt = serializers.CharField(required=False)
    acknowledgedBy = serializers.CharField(required=False)
    claimedUntil = serializers.CharField(required=False, help_text="an attempt is under way")
    pushedAt = serializers.CharField(
        required=False, help_text="the other side took it; the session gave no sign yet"
    )


class AttemptShape(serializers.Serializer[Any]):
    id = serializers.IntegerField(min_value=1)
    adapter = serializers.CharField()
    sessionId = serializers.CharField(required=False)
    at = serializers.CharField()
    durationMs = serializers.IntegerField(min_value=0)
    outcome = serializers.ChoiceField(Attempt.Outcome.values)
    code = serializers.CharField(required=False)
    error = serializers.CharField(required=False)
    output = serializers.CharField(required=False, help_text="what the other side said")


class RebindInput(serializers.Serializer[Any]):
    sessionId = Word(help_text="the id of a session")


def delivery_document(row: Delivery) -> dict[str, Any]:
    """The row as the wire has it. What was not observed is absent."""
    document: dict[str, Any] = {
        "id": row.id,
        "eventSeq": row.event_seq,
        "pinId": row.pin_id,
        "sessionId": row.session_id,
        "adapter": row.adapter,
        "status": row.status,
        "attempts": row.attempts,
        "dueAt": iso(row.due_at) if row.due_at else None,
        "lastError": row.last_error,
        "updatedAt": iso(row.updated_at),
    }
    if row.handed_over_at:
        document["handedOverAt"] = iso(row.handed_over_at)
        document["handedOverBy"] = row.handed_over_by
    if row.acknowledged_at:
        document["acknowledgedAt"] = iso(row.acknowledged_at)
        document["acknowledgedBy"] = row.acknowledged_by
    if row.claimed_by and row.claimed_until:
        document["claimedUntil"] = iso(row.claimed_until)
    if row.pushed_at:
        document["pushedAt"] = iso(row.pushed_at)
    return document


def attempt_document(row: Attempt) -> dict[str, Any]:
    """The try as the wire has it; what is unknown is absent."""
    document: dict[str, Any] = {"id": row.id, "adapter": row.adapter}
    if row.session_id:
        document["sessionId"] = row.session_id
    document |= {"at": iso(row.at), "durationMs": row.duration_ms, "outcome": row.outcome}
    for name in ("code", "error", "output"):
        if value := getattr(row, name):
            document[name] = value
    return document
