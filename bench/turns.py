"""The hub's part of a turn, in projects of ten, a thousand and ten thousand open pins."""

import json
from contextlib import ExitStack
from typing import Any

from .commands import SESSION
from .figures import Figure, in_turn
from .pins import pin_input
from .workplace import Workplace

#: open pins -> how many of them no session has been given yet.
SIZES = {10: 3, 1_000: 300, 10_000: 3_000}
TARGET = 1.5


def turns(runs: int) -> list[Figure]:
    """inject (UserPromptSubmit) and gate (Stop), each time with one pin that is new."""
    figures = []
    with ExitStack() as stack:
        places = {size: stack.enter_context(Workplace()) for size in SIZES}
        for size, place in places.items():
            place.seed(open=size, pending=SIZES[size], sessions=1)
        for event, name in (("UserPromptSubmit", "inject"), ("Stop", "gate")):
            for size in list(SIZES)[1:]:
                ours, floor = _alternate(places[size], places[10], event, runs)
                figures.append(
                    Figure(
                        name=f"{name}-{size}",
                        what=f"POST /hooks/claude, {event}, {size} open, {SIZES[size]} pending",
                        floor_is="the same at 10 open, 3 pending",
                        unit="ms",
                        ours=ours,
                        floor=floor,
                        target=TARGET,
                    )
                )
    return figures


def _alternate(
    large: Workplace, small: Workplace, event: str, runs: int
) -> tuple[list[float], list[float]]:
    samples: tuple[list[float], list[float]] = ([], [])
    for number in range(runs + 2):
        for place in (large, small):
            place.ask("POST", "/pins", pin_input(number))
        ours, floor = in_turn(
            lambda: _hook(large, event), lambda: _hook(small, event), runs=1, warm_up=0
        )
        if number >= 2:
            samples[0].extend(ours)
            samples[1].extend(floor)
    return samples


def _hook(place: Workplace, event: str) -> None:
    payload: dict[str, Any] = {
        "session_id": SESSION,
        "cwd": str(place.project),
        "hook_event_name": event,
    }
    payload |= {"prompt": "Go on."} if event == "UserPromptSubmit" else {"stop_hook_active": False}
    said = place.ask("POST", "/hooks/claude", json.dumps(payload).encode())
    if b"additionalContext" not in said:
        raise RuntimeError(f"{event} said nothing of a new pin: {said!r}")
