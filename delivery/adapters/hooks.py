"""Hooks: the session's own program comes and takes. Nothing is sent."""

import threading
from collections.abc import Callable
from typing import Final

from pinbox.agents import AGENTS
from sessions_app.liveness import Process

from . import DeliveryFailed, Outcome, Parcel, Presence, Target

#: Agents whose hooks ask for what is new. OpenClaw's plugin asks too, but it can be woken first.
HOOK_AGENTS: Final = frozenset(AGENTS) - {"openclaw"}


class HooksAdapter:
    NAME = "hooks"
    TAKES_MANY = False
    PULLS = True

    def timeout_s(self) -> float:
        return 0.0

    def reaches(self, target: Target | None) -> bool:
        """A session that nothing was heard of may well ask again."""
        return (
            target is not None
            and target.agent in HOOK_AGENTS
            and target.presence in (Presence.LIVE, Presence.QUIET)
        )

    def deliver(
        self, parcel: Parcel, *, spawned: Callable[[Process], None], stop: threading.Event
    ) -> Outcome:
        raise DeliveryFailed("hooks take what waits for them; nothing is sent", reason="answer")
