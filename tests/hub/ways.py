"""Adapters with a script, in the place of those that leave the machine: what each attempt saw is
said beforehand, and what went out is kept.
"""

from delivery.adapters import DeliveryFailed, Outcome, Presence


class Way:
    """One adapter. `script` is what the next attempts come to; then everything arrives."""

    PULLS = False

    def __init__(self, name, *, takes_many=False, needs=None):
        self.NAME = name
        self.TAKES_MANY = takes_many
        self.is_there = True
        self.script = []
        self.parcels = []
        self._needs = needs

    def timeout_s(self):
        return 1.0

    def reaches(self, target):
        return self.is_there and (self._needs is None or self._needs(target))

    def deliver(self, parcel, *, spawned, stop):
        self.parcels.append(parcel)
        step = self.script.pop(0) if self.script else Outcome(output="thanks")
        if callable(step):
            step = step(parcel, spawned)
        if isinstance(step, DeliveryFailed):
            raise step
        return step


def is_over(target):
    return target is not None and target.presence in (Presence.LEAVING, Presence.GONE)


def is_openclaw(target):
    return target is not None and target.agent == "openclaw"


def busy(message="the other side is busy", **more):
    return DeliveryFailed(message, reason="busy", **more)


def refused(message="no such session"):
    return DeliveryFailed(message, reason="refused")
