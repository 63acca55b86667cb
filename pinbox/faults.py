"""What a log may say of an exception above DEBUG: kind and place, in words that quote nothing."""

import logging
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parent
#: Of a checkout, beside this package; installed, they are in its folder `_hub`.
_ROOMS: Final = frozenset(("pinbox", "pinbox_site", "pins", "sessions_app", "delivery"))
#: Lines told, the innermost ones.
_LINES: Final = 4


def place_of(error: BaseException) -> str:
    """Where it was raised, and the last lines of our own code before that, innermost first:
    `psycopg/cursor.py:117, pins/api.py:78`. "nowhere" for one that never was raised.
    """
    ours: list[str] = []
    innermost = ""
    step = error.__traceback__
    while step is not None:
        path = Path(step.tb_frame.f_code.co_filename)
        innermost = f"{path.parent.name}/{path.name}:{step.tb_lineno}"
        if path.is_relative_to(_PACKAGE.parent):
            inside = path.relative_to(_PACKAGE.parent)
            if inside.parts[0] in _ROOMS:
                innermost = f"{inside.as_posix().removeprefix('pinbox/_hub/')}:{step.tb_lineno}"
                ours.append(innermost)
        step = step.tb_next
    if innermost and ours[-1:] != [innermost]:
        ours.append(innermost)
    return ", ".join(ours[: -_LINES - 1 : -1]) or "nowhere"


class Outage:
    """Something is gone for a while: the log hears of it once, and once that it is back."""

    def __init__(self, log: logging.Logger, lost: str, back: str) -> None:
        self._log = log
        self._lost = lost
        self._back = back
        self._is_on = False

    def begins(self, error: Exception) -> None:
        if not self._is_on:
            self._log.warning("%s: %s", self._lost, type(error).__name__)
        self._is_on = True

    def ends(self) -> None:
        if self._is_on:
            self._log.info("%s", self._back)
        self._is_on = False
