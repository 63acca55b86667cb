"""Answers kept for a while, so that a write sent twice is done once; login links that wait."""

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


class AdminLink(models.Model):
    """A login link that was given out and not used yet, known by the SHA-256 of its token."""

    digest = models.CharField(primary_key=True, max_length=64)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"until {self.expires_at}"
