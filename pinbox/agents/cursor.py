"""Cursor: a project rule. See https://docs.cursor.com/context/rules.

Pins do not come to it by themselves; the rule says how to look. Without `alwaysApply` in the front
matter a rule is only read when its description seems to fit.
"""

from typing import Final

from pinbox.agents.pieces import Block, Piece, Place

NAME: Final = "cursor"
LABEL: Final = "Cursor"
PROGRAM: Final = ""
HOME: Final = None
FOLDER: Final = ".cursor"
METHOD: Final = "markers"
_HEAD: Final = """\
---
description: Pinbox pins, the feedback that people leave on this project's running app
globs:
alwaysApply: true
---

"""


def pieces(place: Place) -> tuple[Piece, ...]:
    """Nothing for all projects: Cursor keeps the user's own rules in its settings, in no file."""
    if place.user_scope:
        return ()
    return (Block(path=place.root / FOLDER / "rules" / "pinbox.mdc", head=_HEAD),)


def after(place: Place) -> str:
    return "Cursor reads the rule with its next conversation."
