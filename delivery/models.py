"""The ledger: one row for each event, what became of it, and what each session was shown."""

from django.db import models


class Delivery(models.Model):
    """What becomes of one event. The row is born in the event's own transaction
    (`delivery.ledger`).
    """

    class Status(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        FAILED = "failed"
        SKIPPED = "skipped"

    id = models.BigAutoField(primary_key=True)
    event_seq = models.BigIntegerField(unique=True)
    pin_id = models.CharField(max_length=14)
    session_id = models.CharField(max_length=14, null=True, blank=True)  # noqa: DJ001 - null: unassigned
    adapter = models.CharField(max_length=16, default="none")
    status = models.CharField(max_length=9, choices=Status.choices)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(null=True, blank=True)
    #: Why it failed, or why it was skipped.
    last_error = models.TextField(null=True, blank=True)  # noqa: DJ001
    updated_at = models.DateTimeField()
    handed_over_at = models.DateTimeField(null=True, blank=True)
    handed_over_by = models.CharField(max_length=16, blank=True)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=16, blank=True)

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "deliveries"
        indexes = (
            models.Index(fields=["pin_id", "-id"], name="delivery_pin"),
            models.Index(fields=["status", "-id"], name="delivery_status"),
            models.Index(fields=["adapter", "-id"], name="delivery_adapter"),
            models.Index(
                fields=["session_id", "-event_seq"],
                condition=models.Q(status="pending"),
                name="delivery_pending",
            ),
        )

    def __str__(self) -> str:
        return f"event {self.event_seq}: {self.status}"


class Showing(models.Model):
    """What one session has seen of one pin: up to which event, and how often a stop was held for
    it.
    """

    session_id = models.CharField(max_length=14)
    pin_id = models.CharField(max_length=14)
    seen_seq = models.BigIntegerField(default=0)
    holds = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["session_id", "pin_id"], name="showing_session_pin"),
        )

    def __str__(self) -> str:
        return f"{self.pin_id} in {self.session_id}"
