"""`python -m bench [--only NAME …] [--runs N] [--keep] [--list]`: measure, tell, keep."""

import argparse
import sys
import time
from collections.abc import Callable

from . import commands, loop, reading, sockets, turns, writing
from .figures import Figure, write

#: name -> (what measures it, how many samples of each side a run takes)
SCRIPTS: dict[str, tuple[Callable[[int], list[Figure]], int]] = {
    "hook": (commands.hook, 40),
    "command": (commands.command, 20),
    "cold": (commands.cold, 7),
    "memory": (commands.memory, 3),
    "turns": (turns.turns, 25),
    "list": (reading.pins, 15),
    "pages": (reading.pages, 60),
    "post": (writing.post_pins, 7),
    "append": (writing.append_rate, 7),
    "fan-out": (sockets.fan_out, 30),
    "catch-up": (sockets.catch_up, 3),
    "loop": (loop.loop, 20),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SCRIPTS, default=list(SCRIPTS))
    parser.add_argument("--runs", type=int, help="samples of each side, instead of the usual")
    parser.add_argument("--keep", action="store_true", help="write the results that git keeps")
    parser.add_argument("--list", action="store_true", help="say what can be measured")
    args = parser.parse_args()
    if args.list:
        for name, (measure, runs) in SCRIPTS.items():
            print(f"{name:<10} {runs:>3} runs  {(measure.__doc__ or '').splitlines()[0]}")
        return 0
    missed = []
    for name in args.only:
        measure, usual = SCRIPTS[name]
        began = time.monotonic()
        figures = measure(args.runs or usual)
        print(f"\n{name} ({time.monotonic() - began:.0f} s)")
        for figure in figures:
            print("  " + figure.line(), flush=True)
        missed += [figure.name for figure in figures if figure.is_met is False]
        write(figures, name, keep=args.keep)
    print("\nevery target is met" if not missed else f"\nmissed: {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
