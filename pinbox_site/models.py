"""Answers kept for a while, so that a write sent twice is done once."""

from django.db import models


class IdempotentAnswer(models.Model):
    """The answer to the first request that carried `key`. `fingerprint` tells the same request from
    another one.
    """

    key = models.CharField(primary_key=True, max_length=255)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    body = models.TextField()
    created_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.status}"
