"""One measured figure: ours and its floor, taken in turn in one run, and what becomes of them."""

import json
import os
import platform
import sqlite3
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"

Run = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`ours` and `floor` are samples in `unit`. The ratio is that of their medians.

    `target` is the largest good ratio, or, with `more_is_better`, the smallest; None: only told.
    """

    name: str
    what: str
    floor_is: str
    unit: str
    ours: list[float]
    floor: list[float]
    target: float | None = None
    more_is_better: bool = False
    note: str = ""

    @property
    def ratio(self) -> float:
        return statistics.median(self.ours) / statistics.median(self.floor)

    @property
    def is_met(self) -> bool | None:
        if self.target is None:
            return None
        return self.ratio >= self.target if self.more_is_better else self.ratio <= self.target

    def line(self) -> str:
        sign = {True: "ok ", False: "NO ", None: "   "}[self.is_met]
        goal = (
            ""
            if self.target is None
            else f"  ({'>=' if self.more_is_better else '<='} {self.target:g})"
        )
        ours, floor = statistics.median(self.ours), statistics.median(self.floor)
        return (
            f"{sign}{self.name:<28} {ours:10.2f} {self.unit:<5} floor {floor:10.2f}"
            f"   ratio {self.ratio:6.2f}{goal}"
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "what": self.what,
            "floorIs": self.floor_is,
            "unit": self.unit,
            "ours": _spread(self.ours),
            "floor": _spread(self.floor),
            "ratio": round(self.ratio, 3),
            "target": self.target,
            "moreIsBetter": self.more_is_better,
            "met": self.is_met,
            **({"note": self.note} if self.note else {}),
        }


def in_turn(
    ours: Run, floor: Run, *, runs: int, warm_up: int = 2
) -> tuple[list[float], list[float]]:
    """Milliseconds of `runs` calls of each, alternating, the order swapped every time."""
    for _ in range(warm_up):
        ours()
        floor()
    samples: tuple[list[float], list[float]] = ([], [])
    for number in range(runs):
        pair = ((ours, samples[0]), (floor, samples[1]))
        for run, kept in pair if number % 2 else reversed(pair):
            began = time.perf_counter()
            run()
            kept.append((time.perf_counter() - began) * 1000)
    return samples


def write(figures: list[Figure], script: str, *, keep: bool) -> Path:
    """The figures of one script as JSON, with the machine but without its name or folders.

    With `keep` in the file that git knows, else beside it in one that git ignores.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / (f"{script}.json" if keep else f"{script}.local.json")
    document = {"machine": machine(), "figures": [figure.as_json() for figure in figures]}
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return path


def machine() -> dict[str, Any]:
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next(
        (li.split(":", 1)[1].strip() for li in lines if li.startswith("model name")), "unknown"
    )


def _spread(samples: list[float]) -> dict[str, float | int]:
    ordered = sorted(samples)
    return {
        "median": round(statistics.median(ordered), 3),
        "p90": round(ordered[int(len(ordered) * 0.9)] if len(ordered) > 1 else ordered[0], 3),
        "min": round(ordered[0], 3),
        "runs": len(ordered),
    }
