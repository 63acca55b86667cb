"""Agent sessions: facts of their own, not rebuilt from the log."""

from django.db import models


class AgentSession(models.Model):
    """One conversation of one agent program, known by the agent's own key."""

    id = models.CharField(primary_key=True, max_length=14)
    agent = models.TextField()
    key = models.TextField()
    cwd = models.TextField(null=True, blank=True)  # noqa: DJ001 - absent is not ""
    registered_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    #: How we know (`liveness.Farewell`); empty while it is not over.
    ended_by = models.CharField(max_length=8, blank=True)
    #: Process of the agent program, by its hook's parent: pid and start time tell a rotated id from
    #: a second session.
    pid = models.BigIntegerField(null=True, blank=True)
    pid_started = models.TextField(blank=True)
    #: This hub has seen that process run. Only then does its absence tell that the session is over:
    #: an agent on another machine or in a container is never in our process table.
    pid_is_ours = models.BooleanField(default=False)
    #: id of the session that took over when the agent changed its key (clear, compact).
    superseded_by = models.CharField(max_length=14, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["agent", "key"], name="session_agent_key"),)
        indexes = (
            models.Index(fields=["-last_seen_at", "-id"], name="session_seen"),
            models.Index(
                fields=["-last_seen_at"], condition=models.Q(ended_at=None), name="session_live"
            ),
        )

    def __str__(self) -> str:
        return f"{self.agent}/{self.key}"
