"""The ledger: one row for each event, every attempt to bring it somewhere, and what each session
was shown.
"""

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
    #: Why the last attempt came to nothing, or why the row was skipped.
    last_error = models.TextField(null=True, blank=True)  # noqa: DJ001
    updated_at = models.DateTimeField()
    handed_over_at = models.DateTimeField(null=True, blank=True)
    handed_over_by = models.CharField(max_length=16, blank=True)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=16, blank=True)
    #: The worker that has the row in hand, and until when it is nobody else's (a lease).
    claimed_by = models.CharField(max_length=255, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    #: Since when a push of it is under way, or accepted and not yet confirmed. Such a row is not
    #: told again by a pull.
    pushed_at = models.DateTimeField(null=True, blank=True)
    #: That push only wakes the session, which then asks: a pull still brings what is new.
    is_wake = models.BooleanField(default=False, db_default=False)

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
            # With the status, for SQLite prefers any index on which it can ask for equality.
            models.Index(
                fields=["status", "due_at"],
                condition=models.Q(status="pending"),
                name="delivery_due",
            ),
            models.Index(
                fields=["claimed_until"],
                condition=models.Q(claimed_until__isnull=False),
                name="delivery_claimed",
            ),
        )

    def __str__(self) -> str:
        return f"event {self.event_seq}: {self.status}"


class Attempt(models.Model):
    """One try of one adapter to bring one delivery somewhere. Written once, never changed."""

    class Outcome(models.TextChoices):
        #: In the agent's context, or answered by the receiver: seen.
        HANDED_OVER = "handed_over"
        #: Taken, but whether the agent has it was not seen.
        ACCEPTED = "accepted"
        FAILED = "failed"
        #: Final: no further attempt can help.
        REFUSED = "refused"
        #: The worker ended in the middle of it, so nobody saw how it went.
        LOST = "lost"
        #: Given up because the hub was leaving; costs nothing.
        RELEASED = "released"

    id = models.BigAutoField(primary_key=True)
    delivery = models.ForeignKey(Delivery, on_delete=models.PROTECT, related_name="tries")
    adapter = models.CharField(max_length=16)
    session_id = models.CharField(max_length=14, blank=True)
    at = models.DateTimeField()
    duration_ms = models.PositiveBigIntegerField()
    outcome = models.CharField(max_length=11, choices=Outcome.choices)
    code = models.CharField(max_length=32, blank=True)
    error = models.TextField(blank=True)
    #: What the other side said, at most `adapters.MAX_OUTPUT_BYTES`.
    output = models.TextField(blank=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.adapter}: {self.outcome}"


class SilencedWebhook(models.Model):
    """An address that answered 410: it wants no more calls. `pinbox retry` asks it again."""

    #: SHA-256 of the address, in hex: it may hold a secret.
    digest = models.CharField(primary_key=True, max_length=64)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.digest[:12]


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
