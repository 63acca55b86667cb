"""The only two signals of the project. See docs/architecture.md, "Rooms and arrows"."""

from django.dispatch import Signal

#: Sent inside the appending transaction, and again, event by event, by a replay. Keyword arguments:
#: `event: Event`, `replayed: bool`. A receiver that raises aborts the write.
event_recorded = Signal()

#: Sent after commit, live only. Keyword arguments: `seq: int`. Receivers only wake something.
event_committed = Signal()
