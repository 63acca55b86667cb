"""A turn's two hooks in projects of ten, a thousand and ten thousand open pins."""

from collections.abc import Callable
from contextlib import ExitStack

from .commands import hook_payload
from .figures import Figure, in_turn
from .pins import pin_input
from .workplace import Workplace
from .workplace import spawn_and_wait as run

#: open pins -> how many of them no session has been given yet.
SIZES = {10: 3, 1_000: 300, 10_000: 3_000}
TARGET = 1.5


def turns(runs: int) -> list[Figure]:
    """inject (UserPromptSubmit) and gate (Stop), each time with one pin that is new."""
    figures = []
    with ExitStack() as stack:
        places = {size: stack.enter_context(Workplace()) for size in SIZES}
        for size, place in places.items():
            place.init()
            place.seed(open=size, pending=SIZES[size], sessions=1)
        for event, name in (("UserPromptSubmit", "inject"), ("Stop", "gate")):
            for size in list(SIZES)[1:]:
                for how, suffix, target in ((_command, "", TARGET), (_request, "-hub", None)):
                    ours, floor = _alternate(places[size], places[10], event, how, runs)
                    figures.append(
                        Figure(
                            name=f"{name}-{size}{suffix}",
                            what=f"{event} with {size} open, {SIZES[size]} pending and one new, "
                            + ("the hook command" if target else "the hub's part alone"),
                            floor_is="the same with 10 open, 3 pending and one new",
                            unit="ms",
                            ours=ours,
                            floor=floor,
                            target=target,
                        )
                    )
    return figures


def _alternate(
    large: Workplace,
    small: Workplace,
    event: str,
    how: Callable[[Workplace, str], bytes],
    runs: int,
) -> tuple[list[float], list[float]]:
    """Each sample has a pin that came since the last one; the one before it is resolved, so that
    the number of open pins stays what it is.
    """
    samples: tuple[list[float], list[float]] = ([], [])
    for number in range(runs + 2):
        new = [place.data("POST", "/pins", pin_input(number)) for place in (large, small)]
        said: list[bytes] = []
        ours, floor = in_turn(
            lambda said=said: said.append(how(large, event)),
            lambda said=said: said.append(how(small, event)),
            runs=1,
            warm_up=0,
        )
        for pin, place in zip(new, (large, small), strict=True):
            if not any(pin["id"].encode() in text for text in said):
                raise RuntimeError(f"{event} said nothing of the new pin: {said!r}")
            place.ask("POST", f"/pins/{pin['id']}/resolve", {"by": "agent"})
        if number >= 2:
            samples[0].extend(ours)
            samples[1].extend(floor)
    return samples


def _command(place: Workplace, event: str) -> bytes:
    environ = {**place.environ, "CLAUDE_PROJECT_DIR": str(place.project)}
    command = ["/bin/sh", "-c", place.hook_command(event)]
    return run(command, place.project, environ, _payload(place, event))


def _request(place: Workplace, event: str) -> bytes:
    return place.ask("POST", "/hooks/claude", _payload(place, event))


def _payload(place: Workplace, event: str) -> bytes:
    return hook_payload(place.project, event)
