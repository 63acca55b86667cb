"""A marked block in a text file of others: put in, renewed, taken out; all else stays. Pure.

Bytes in, bytes out, in the file's own line ends and behind its byte order mark. A file whose marks
are damaged is refused: nobody knows which part of it is ours.
"""

import re
from typing import Final

from pinbox.install.settings import Refused

START: Final = "<!-- PINBOX:START -->"
END: Final = "<!-- PINBOX:END -->"
_MARK: Final = re.compile(rb"<!--\s*PINBOX:(START|END)\s*-->", re.IGNORECASE)


def with_block(content: bytes | None, text: str, *, head: str = "") -> bytes:
    """The file with one block that says `text`. Raises Refused.

    A block that is there is renewed where it stands; a new file begins with `head`.
    """
    newline = b"\r\n" if content is not None and b"\r\n" in content else b"\n"
    block = f"{START}\n{text.strip()}\n{END}\n".encode().replace(b"\n", newline)
    if content is None:
        return head.encode() + block
    found = _span(content)
    if found is not None:
        start, end = found
        return content[:start] + block.removesuffix(newline) + content[end:]
    gap = b"" if not content else newline if content.endswith(b"\n") else newline * 2
    return content + gap + block


def without_block(content: bytes, *, head: str = "") -> bytes | None:
    """The file without our block, None when nothing but `head` is left. Raises Refused."""
    found = _span(content)
    if found is None:
        return content
    start, end = found
    newline = b"\r\n" if b"\r\n" in content else b"\n"
    before, after = content[:start], content[end:].removeprefix(newline)
    if before.endswith(newline * 2):  # the empty line that set it off
        before = before.removesuffix(newline)
    rest = before + after
    return None if rest.strip() in (b"", head.encode().strip()) else rest


def has_block(content: bytes) -> bool:
    """Whether a mark of ours is in there, damaged or not."""
    return _MARK.search(content) is not None


def _span(content: bytes) -> tuple[int, int] | None:
    """From the first mark to the end of the last; None without marks. Raises Refused."""
    marks = list(_MARK.finditer(content))
    if not marks:
        return None
    kinds = [mark[1].upper() for mark in marks]
    if kinds != [b"START", b"END"]:
        raise Refused(
            f"its pinbox marks are damaged ({', '.join(kind.decode() for kind in kinds)} instead "
            "of one START and one END); take out what is left of the block"
        )
    return marks[0].start(), marks[1].end()
