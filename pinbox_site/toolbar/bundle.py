"""Makes `web/toolbar.iife.js` out of the modules beside it: `python -m pinbox_site.toolbar.bundle`.

The modules in the order of their imports, in one function, without comments and indentation. No
name is changed; that is why two modules may not have the same name at their top level. With
`--check` nothing is written: exit 1 when the file is not what the modules make.
"""

import re
import sys
from pathlib import Path
from typing import Final

from . import FOLDER

ENTRY: Final = "toolbar.js"
OUTPUT: Final = FOLDER / "toolbar.iife.js"
_IMPORT: Final = re.compile(
    r'^import \{(?P<names>[^}]*)\} from "\./(?P<file>[a-z-]+\.js)";\n', re.MULTILINE
)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)
_TOP: Final = re.compile(
    r"^(?:export )?(?:async )?(?:function\*?|class|const|let) ([A-Za-z_$][\w$]*)", re.MULTILINE
)
#: After one of these a `/` begins a regular expression.
_BEFORE_REGEX: Final = frozenset("(,=:[!&|?{};+-*%~^<>\n")
_GLOBAL: Final = "globalThis.Pinbox = { init, defineToolbarElement, PinboxToolbarElement };"


class BundleError(Exception):
    """The modules cannot be put into one scope as they are."""


def order(folder: Path = FOLDER, entry: str = ENTRY) -> list[str]:
    """File names, each after all that it imports."""
    done: list[str] = []
    path: list[str] = []

    def visit(name: str) -> None:
        if name in done:
            return
        if name in path:
            raise BundleError(f"a circle of imports: {' -> '.join([*path, name])}")
        path.append(name)
        for found in _IMPORT.finditer((folder / name).read_text()):
            visit(found["file"])
        path.pop()
        done.append(name)

    visit(entry)
    return done


def bundle(folder: Path = FOLDER, entry: str = ENTRY) -> str:
    """The text of the one file. Raises BundleError."""
    known: dict[str, str] = {}
    pieces = []
    for name in order(folder, entry):
        source = (folder / name).read_text()
        for top in _TOP.findall(source):
            if top in known:
                raise BundleError(f"{top} is in {known[top]} and in {name}")
            known[top] = name
        for found in _IMPORT.finditer(source):
            for imported in filter(None, (part.strip() for part in found["names"].split(","))):
                if known.get(imported) != found["file"]:
                    raise BundleError(f"{name} imports {imported}, not in {found['file']}")
        text = _EXPORT.sub("", _IMPORT.sub("", source)).replace("import.meta.url", '""')
        text = plain(text)
        left = re.search(r"^(?:import|export)\b.*", text, re.MULTILINE)
        if left:
            raise BundleError(f"{name} has a line that is not understood: {left[0]}")
        pieces.append(text)
    return f'(() => {{\n"use strict";\n{"".join(pieces)}{_GLOBAL}\n}})();\n'


def plain(source: str) -> str:
    """The source without comments, indentation and empty lines; strings stay as they are."""
    out: list[str] = []
    at = 0
    last = "\n"
    while at < len(source):
        end, is_code = _token(source, at, last)
        text = source[at:end]
        if is_code:
            out.append(text)
            last = text.rstrip()[-1:] or (text[-1:] if text.strip(" ") else last)
        at = end
    return _squeezed(out)


def _token(source: str, at: int, last: str) -> tuple[int, bool]:
    """Where the piece that begins at `at` ends, and whether it is more than a comment."""
    pair = source[at : at + 2]
    if pair == "//":
        end = source.find("\n", at)
        return (len(source) if end < 0 else end), False
    if pair == "/*":
        return source.index("*/", at) + 2, False
    first = source[at]
    if first in "\"'":
        return _quoted_end(source, at, first), True
    if first == "`":
        return _template_end(source, at), True
    if first == "/" and last in _BEFORE_REGEX:
        return _regex_end(source, at), True
    return at + 1, True


def _quoted_end(source: str, at: int, quote: str) -> int:
    at += 1
    while source[at] != quote:
        at += 2 if source[at] == "\\" else 1
    return at + 1


def _template_end(source: str, at: int) -> int:
    at += 1
    while source[at] != "`":
        if source.startswith("${", at):
            at = _hole_end(source, at + 2)
        else:
            at += 2 if source[at] == "\\" else 1
    return at + 1


def _hole_end(source: str, at: int) -> int:
    """Past the brace that closes what stands in a template."""
    depth, last = 1, "{"
    while depth:
        end, is_code = _token(source, at, last)
        text = source[at:end]
        if is_code:
            depth += {"{": 1, "}": -1}.get(text, 0)
            last = text.strip()[-1:] or last
        at = end
    return at


def _regex_end(source: str, at: int) -> int:
    at += 1
    in_class = False
    while source[at] != "/" or in_class:
        if source[at] == "\\":
            at += 1
        elif source[at] in "[]":
            in_class = source[at] == "["
        at += 1
    return at + 1


def _squeezed(pieces: list[str]) -> str:
    """Joined, without the white space at the beginnings and ends of lines of code."""
    text = ""
    line: list[str] = []
    for piece in pieces:
        if piece != "\n":
            line.append(piece)
            continue
        text += _line(line)
        line = []
    return text + _line(line)


def _line(pieces: list[str]) -> str:
    while pieces and pieces[0].isspace():
        del pieces[0]
    while pieces and pieces[-1].isspace():
        del pieces[-1]
    return "".join(pieces) + "\n" if pieces else ""


def main(arguments: list[str]) -> int:
    made = bundle()
    if "--check" in arguments:
        is_same = OUTPUT.exists() and OUTPUT.read_text() == made
        if not is_same:
            print(f"{OUTPUT.name} is not what the modules make: run `make toolbar`")
        return 0 if is_same else 1
    OUTPUT.write_text(made)
    print(f"{OUTPUT.name}: {len(made.encode()):,} bytes from {len(order())} modules")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
