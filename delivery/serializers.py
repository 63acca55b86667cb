"""Shapes of deliveries on the wire."""

from typing import Any

from rest_framework import serializers

from pinbox.contract import iso

from .models import Delivery


class DeliveryShape(serializers.Serializer[Any]):
    id = serializers.IntegerField(min_value=1)
    eventSeq = serializers.IntegerField(min_value=1)
    pinId = serializers.CharField()
    sessionId = serializers.CharField(allow_null=True)
    adapter = serializers.ChoiceField(["none", "hooks", "openclaw", "resume", "webhook"])
    status = serializers.ChoiceField(Delivery.Status.values)
    attempts = serializers.IntegerField(min_value=0)
    dueAt = serializers.CharField(allow_null=True)
    lastError = serializers.CharField(allow_null=True)
    updatedAt = serializers.CharField()
    handedOverAt = serializers.CharField(required=False)
    handedOverBy = serializers.CharField(required=False)
    acknowledgedAt = serializers.CharField(required=False)
    acknowledgedBy = serializers.CharField(required=False)


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
    return document
