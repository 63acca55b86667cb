"""Which adapters can reach a session now, in the order in which they are tried."""

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from typing import Final

from sessions_app.liveness import Presence, presence
from sessions_app.models import AgentSession

from . import configuration, turns
from .adapters import Adapter, Target
from .models import SilencedWebhook
from .retry import PULLS

#: Name -> module and class in `delivery.adapters`, in the order of `adapters.ORDER`.
ADAPTERS: Final = {
    "codex": "codex:CodexAdapter",
    "hooks": "hooks:HooksAdapter",
    "openclaw": "openclaw:OpenClawAdapter",
    "resume": "resume:ResumeAdapter",
    "webhook": "webhook:WebhookAdapter",
}


#: Agents that have both: a way to be pushed to, and a plugin of ours that asks.
_PLUGINS: Final = frozenset({"openclaw"})


@lru_cache
def adapter(name: str) -> Adapter:
    """The adapter of that name. Its module is imported at its first use: most hubs need only the
    pull.
    """
    module, _, kind = ADAPTERS[name].partition(":")
    made: Adapter = getattr(import_module(f"delivery.adapters.{module}"), kind)()
    return made


def target(session: AgentSession | None, *, now: datetime) -> Target | None:
    if session is None:
        return None
    return Target(
        id=session.id,
        agent=session.agent,
        key=session.key,
        cwd=session.cwd,
        presence=presence(session, now=now),
        # Of one whose process is not known, nobody can tell that it is still there.
        idle_since=turns.idle_since(session.id) if session.pid_is_ours else None,
    )


def is_asking(session: AgentSession | None, *, now: datetime) -> bool:
    """Whether a plugin of ours runs where a push would go: it asks at each turn, so the push has
    only to start one. Without a process no plugin has spoken of the session.
    """
    return (
        session is not None
        and session.agent in _PLUGINS
        and session.pid is not None
        and presence(session, now=now) is Presence.LIVE
    )


def reachable(session: AgentSession | None, *, now: datetime) -> Iterator[str]:
    """Lazily, because most often the first is wanted."""
    aim = target(session, now=now)
    if is_asking(session, now=now) and not adapter("openclaw").reaches(aim):
        yield "hooks"
    for name in ADAPTERS:
        if adapter(name).reaches(aim) and not (name == "webhook" and is_silenced()):
            yield name


def first(session: AgentSession | None, *, now: datetime) -> tuple[str, datetime | None]:
    """The adapter that gets a fresh row of the session, and when it is due. What waits for nobody
    yet, and has no other way, is not due at all.
    """
    name = next(reachable(session, now=now), "none")
    if name not in PULLS:
        return name, now
    return name, now + window() if session is not None else None


def window() -> timedelta:
    """How long a row waits for a pull, or an accepted push for a sign."""
    return configuration.escalate_after()


# --- a webhook that wants no more calls -----------------------------------------------------------


def is_silenced() -> bool:
    return SilencedWebhook.objects.filter(pk=_webhook_digest()).exists()


def silence_webhook(*, now: datetime) -> None:
    SilencedWebhook.objects.get_or_create(pk=_webhook_digest(), defaults={"at": now})


def call_webhook_again() -> None:
    SilencedWebhook.objects.filter(pk=_webhook_digest()).delete()


def _webhook_digest() -> str:
    return sha256(os.environ.get("PINBOX_WEBHOOK_URL", "").encode()).hexdigest()
