"""GitHub Copilot: a block in the repository's instructions.

See https://docs.github.com/en/copilot/how-tos/custom-instructions. Pins do not come to it by
themselves; the block says how to look. This file takes no front matter.
"""

from typing import Final

from pinbox.agents.pieces import Block, Piece, Place

NAME: Final = "copilot"
LABEL: Final = "GitHub Copilot"
PROGRAM: Final = ""
HOME: Final = None
FOLDER: Final = ".github"
METHOD: Final = "markers"


def pieces(place: Place) -> tuple[Piece, ...]:
    """Nothing for all projects: the instructions belong to a repository."""
    if place.user_scope:
        return ()
    return (Block(path=place.root / FOLDER / "copilot-instructions.md"),)


def after(place: Place) -> str:
    return "Copilot reads the instructions with its next conversation."
