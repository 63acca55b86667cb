"""Tables of the log and of what is rebuilt from it; `Binding` alone is a fact the log does not
hold.
"""

from django.db import models


class Event(models.Model):
    """One immutable row of the log. `at` and `payload` are text because they are sent verbatim."""

    seq = models.BigIntegerField(primary_key=True)
    type = models.CharField(max_length=32)
    at = models.CharField(max_length=24)
    #: id of what the event is about (the pin), so that one history is read without the others.
    subject = models.CharField(max_length=14)
    payload = models.TextField()

    class Meta:
        ordering = ("seq",)
        indexes = (
            models.Index(fields=["subject", "seq"], name="event_subject_seq"),
            # The admin's filter: a rare type is found without reading every payload.
            models.Index(fields=["type", "seq"], name="event_type_seq"),
        )

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"


class Pin(models.Model):
    """Projection: the pin's JSON in two halves, with the place of `agentSession` between them.

    The whole document is `{` head bound tail `}`: `head` and `bound` end in a comma (or are empty).
    A `Binding` row, where there is one, stands in for `bound`.
    """

    class Status(models.TextChoices):
        OPEN = "open"
        RESOLVED = "resolved"

    id = models.CharField(primary_key=True, max_length=14)
    n = models.BigIntegerField(unique=True)
    status = models.CharField(max_length=8, choices=Status.choices)
    #: seq of the last event applied.
    seq = models.BigIntegerField()
    created_at = models.CharField(max_length=24)
    head = models.TextField()
    bound = models.TextField(blank=True)
    tail = models.TextField()

    class Meta:
        ordering = ("-n",)
        indexes = (models.Index(fields=["status", "-n"], name="pin_status_n"),)

    def __str__(self) -> str:
        return self.id


class ThreadMessage(models.Model):
    """Projection: one message, its JSON whole. Thread order is `seq`."""

    id = models.CharField(primary_key=True, max_length=14)
    pin_id = models.CharField(max_length=14)
    seq = models.BigIntegerField(unique=True)
    role = models.CharField(max_length=8)
    json = models.TextField()

    class Meta:
        ordering = ("seq",)
        indexes = (models.Index(fields=["pin_id", "seq"], name="message_pin_seq"),)

    def __str__(self) -> str:
        return self.id


class SearchText(models.Model):
    """Projection: one searchable text, case-folded. `id` = n << 40 | seq, so newest pins have the
    highest ids.
    """

    id = models.BigIntegerField(primary_key=True)
    n = models.BigIntegerField()
    body = models.TextField()

    def __str__(self) -> str:
        return f"#{self.n}"


class Tally(models.Model):
    """Projection: how many pins have a status, kept so that no count reads the pins."""

    status = models.CharField(primary_key=True, max_length=8)
    pins = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.pins} {self.status}"


class Attachment(models.Model):
    """Ledger: an upload. Its bytes are a file of the same id; no event holds it, so a rebuild keeps
    it.
    """

    class Kind(models.TextChoices):
        SCREENSHOT = "screenshot"
        FILE = "file"

    id = models.CharField(primary_key=True, max_length=14)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    #: What the bytes are, whatever the uploader called them.
    content_type = models.CharField(max_length=32)
    width = models.PositiveIntegerField(null=True)
    height = models.PositiveIntegerField(null=True)
    #: A pin or a message refers to it. What nothing refers to is swept after a day.
    is_used = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    class Meta:
        indexes = (models.Index(fields=["is_used", "created_at"], name="attachment_used_created"),)

    def __str__(self) -> str:
        return self.id


class Binding(models.Model):
    """Ledger: the agent session a pin is stuck to. No event holds it, so a rebuild keeps it.

    The relation exists for joins only: no constraint, nothing cascades, the pin's row may be
    absent.
    """

    pin = models.OneToOneField(
        Pin, primary_key=True, db_constraint=False, on_delete=models.DO_NOTHING
    )
    agent = models.TextField()
    key = models.TextField()
    #: `"agentSession":{…},` ready to stand between a pin's halves.
    json = models.TextField()

    class Meta:
        indexes = (models.Index(fields=["agent", "key"], name="binding_agent_key"),)

    def __str__(self) -> str:
        return f"{self.pin_id} -> {self.agent}"
