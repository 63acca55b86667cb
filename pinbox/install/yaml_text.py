"""An item of ours in a list of a YAML file of others, put in and taken out on the text itself.

Pure. Bytes in, bytes out; every other byte of the file stays. This is no YAML parser: it follows
block mappings to the list and knows what else may stand around them (quoted texts over several
lines, block scalars, flow collections). A file in which it could be wrong is refused.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from pinbox.agents.pieces import YamlItem
from pinbox.install.settings import MAX_BYTES, Refused

_BOM: Final = "\ufeff"
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
#: What YAML 1.1 takes for the end of a line besides LF and CRLF.
_ODD_BREAK: Final = re.compile("\r(?!\n)|[\x85\u2028\u2029]")
_DASHES: Final = re.compile(r"(?:- +)*(?:-(?= *$))?")
_KEY: Final = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|(?![#&*!|>%@`"'{}\[\],?]|[-?:] )"""
    r"""(?:[^:# ]|:(?! |$)|(?<! )\#| +(?![ :#]))+) *:(?: +|$)"""
)
_MARKS: Final = re.compile(r"(?:[&!][^ ]* *(?: |$))*")
_SCALAR: Final = re.compile(r"[|>][-+0-9]{0,2} *(?:#.*)?$")
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_WORDS: Final = re.compile(r"(?i:true|false|yes|no|on|off|null|y|n)")
_ITEM: Final = re.compile(
    r"""("(?:[^"\\])*"|'(?:[^'])*'|[^\s"'#&*!|>%@`{}\[\],?:-](?:[^:#\n]|:(?! |$)|(?<! )\#)*?)"""
    r""" *(?: \#.*)?$"""
)
_FLOW_ITEM: Final = re.compile(
    r""" *("[^"\\]*"|'[^']*'|[^\s"'#&*!|>%@`{}\[\],?:-][^"'#&*{}\[\],:]*?) *(,|(?=\]))"""
)
_END: Final = re.compile(r" *(?: #.*)?$")


@dataclass(frozen=True, slots=True)
class _Line:
    """`kind`: `blank` (or a comment), `text` (inside a scalar or a flow collection that began
    before), or `code`. `body` has no line end.
    """

    body: str
    kind: str

    @property
    def indent(self) -> int:
        return len(self.body) - len(self.body.lstrip(" "))


@dataclass(frozen=True, slots=True)
class _Entry:
    """A key and the lines from its own to the last that belongs to it."""

    key: str
    first: int
    last: int
    value: str
    #: where the value stands in its line
    at: int


@dataclass(slots=True)
class _File:
    lines: list[_Line]
    newline: str
    bom: str
    #: whether the last line has an end
    is_ended: bool

    def encode(self) -> bytes:
        text = self.newline.join(line.body for line in self.lines)
        return (self.bom + text + (self.newline if self.is_ended and self.lines else "")).encode()


def with_item(content: bytes | None, piece: YamlItem) -> bytes:
    """The file with the item in the list. Raises Refused."""
    file = _read(content or b"")
    entry, depth = _walk(file, piece.keys)
    if entry is not None and depth == len(piece.keys):
        if _put(file, entry, piece.item) or content is None:
            return file.encode()
        return content
    _grow(file, entry, piece.keys[depth:], piece.item)
    return file.encode()


def without_item(content: bytes, piece: YamlItem) -> bytes | None:
    """The file without it, and without what only held it; None when nothing is left of it. Raises
    Refused.
    """
    if piece.item.encode() not in content:
        return content  # whatever else it is
    file = _read(content)
    for depth in range(len(piece.keys), 0, -1):
        entry, found = _walk(file, piece.keys[:depth])
        if entry is None or found < depth:
            return content
        if depth == len(piece.keys):
            if not _take(file, entry, piece.item):
                return content
            entry = _walk(file, piece.keys)[0] or entry  # as it is now
        if entry.value or entry.last > entry.first:
            break
        del file.lines[entry.first]
    return file.encode() if any(line.body.strip() for line in file.lines) else None


# --- reading --------------------------------------------------------------------------------------


def _read(content: bytes) -> _File:
    if len(content) > MAX_BYTES:
        raise Refused(f"it is larger than {MAX_BYTES} bytes")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise Refused(f"it is not UTF-8 (byte {error.start})") from None
    bom, text = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    if _ODD_BREAK.search(text) or ("\r\n" in text and re.search(r"(?<!\r)\n", text)):
        raise Refused("its lines do not all end alike")
    bodies = [line.rstrip("\r\n") for line in _LINE.findall(text)]
    newline = "\r\n" if "\r\n" in text else "\n"
    return _File(list(_scanned(bodies)), newline, bom, not text or text.endswith("\n"))


def _scanned(bodies: list[str]) -> Iterator[_Line]:
    """What each line is. Raises Refused where only a parser could tell."""
    scalar: int | None = None  # a block scalar goes on in lines further in than this
    still_open = ""  # quotes and brackets that are not closed yet
    begun = False
    for number, body in enumerate(bodies, 1):
        indent = len(body) - len(body.lstrip(" "))
        rest = body[indent:]
        if scalar is not None and (not rest or indent > scalar):
            yield _Line(body, "text")
            continue
        scalar = None
        if still_open:
            if rest and not indent:
                raise _odd(number, "goes on with what began before")
            still_open = _open_after(body, still_open)
            yield _Line(body, "text")
            continue
        if not rest or rest[0] == "#":
            yield _Line(body, "blank")
            continue
        if "\t" in re.split(r"[^\s:-]", rest)[0] or re.search(r":\t", rest):
            raise _odd(number, "has a tab")
        if not indent and re.match(r"(?:---|\.\.\.)(?: |$)|%", rest):
            if begun or _END.fullmatch(rest[3:]) is None or rest[:3] != "---":
                raise _odd(number, "belongs to one of several documents")
            begun = True
            yield _Line(body, "blank")
            continue
        begun = True
        yield _Line(body, "code")
        scalar, still_open = _left_open(body, indent, number)
    if still_open:
        raise _odd(len(bodies), "does not close what began before")


def _left_open(body: str, indent: int, number: int) -> tuple[int | None, str]:
    """The column of a block scalar that begins at the end of this line, or what is not closed."""
    dashes = _DASHES.match(body, indent)
    start = dashes.end() if dashes else indent
    column = body.rfind("-", indent, start) if start > indent else None
    if key := _KEY.match(body, start):
        column, start = start, key.end()
    marks = _MARKS.match(body, start)
    start = marks.end() if marks else start
    if _SCALAR.match(body, start):
        if column is None:
            raise _odd(number, "is nothing but the mark of a block scalar")
        return column, ""
    if body[start : start + 2] == "? ":
        raise _odd(number, "has a complex key")
    if body[start : start + 1] in ('"', "'", "[", "{"):
        return None, _open_after(body[start + 1 :], body[start])
    return None, ""


def _open_after(text: str, still_open: str) -> str:
    """The quotes and brackets that are open at the end of `text`, outermost first."""
    at, before = 0, ","  # the last character that is no blank: a quote opens only behind these
    while still_open and at < len(text):
        char = text[at]
        inner = still_open[-1]
        if inner == '"' and char == "\\" or inner == "'" and text.startswith("''", at):
            at += 1
        elif inner in "\"'":
            still_open = still_open[:-1] if char == inner else still_open
        elif char in "]}":
            still_open = still_open[:-1]
        elif char in "[{" or (char in "\"'" and before in "[{,:"):
            still_open += char
        elif char == "#" and (at == 0 or text[at - 1] == " "):
            break
        before = char if char != " " else before
        at += 1
    return still_open


def _odd(number: int, what: str) -> Refused:
    return Refused(f"its line {number} {what}, which Pinbox does not edit")


# --- the way to the list --------------------------------------------------------------------------


def _walk(file: _File, keys: tuple[str, ...]) -> tuple[_Entry | None, int]:
    """The entry that the keys lead to, as far as they are there, and how many of them are. Raises
    Refused where they lead through something else than block mappings.
    """
    entry = None
    for depth, key in enumerate(keys):
        if entry is not None and entry.value:
            if entry.value in ("{}", "null", "~"):
                return entry, depth
            raise Refused(
                f'its "{".".join(keys[:depth])}" is written in a way that Pinbox does not edit'
            )
        found = [one for one in _entries(file, entry) if one.key == key]
        if len(found) > 1:
            raise Refused(f'it has the key "{key}" twice')
        if not found:
            return entry, depth
        entry = found[0]
    return entry, len(keys)


def _entries(file: _File, parent: _Entry | None) -> list[_Entry]:
    """The keys of the mapping below `parent`, or of the document."""
    first, last = (parent.first + 1, parent.last) if parent else (0, len(file.lines) - 1)
    code = [number for number in range(first, last + 1) if file.lines[number].kind == "code"]
    if not code:
        return []
    column = file.lines[code[0]].indent
    if not parent and column:
        raise _odd(code[0] + 1, "is indented")
    found: list[_Entry] = []
    for number in range(first, last + 1):
        line = file.lines[number]
        if line.kind == "blank":
            continue
        if line.kind == "code" and line.indent <= column:
            is_item = re.match(r"-(?: |$)", line.body[line.indent :])
            if line.indent == column and is_item and found and not found[-1].value:
                pass  # a list may stand no further in than its key
            else:
                found.append(_entry(line, column, number))
        if found:
            found[-1] = replace(found[-1], last=number)
    return found


def _entry(line: _Line, column: int, number: int) -> _Entry:
    match = _KEY.match(line.body, column)
    if line.indent != column or match is None or match[1] == "<<":
        raise _odd(number + 1, "is no plain key of a mapping")
    key = match[1]
    if key[0] in "\"'":
        if "\\" in key or "''" in key:
            raise _odd(number + 1, "has a key that is spelled oddly")
        key = key[1:-1]
    value = line.body[match.end() :]
    bare = "" if value.startswith("#") else re.split(r" +#", value, maxsplit=1)[0].rstrip(" ")
    return _Entry(key, number, number, bare, match.end())


# --- the list -------------------------------------------------------------------------------------


def _put(file: _File, entry: _Entry, item: str) -> bool:
    """Add `item` to the list of `entry`; False if it is there."""
    if entry.value.startswith("["):
        items = _flow(file, entry)
        if item in [text for text, _, _ in items]:
            return False
        line = file.lines[entry.first].body
        end = items[-1][2] if items else entry.at + 1
        new = f", {_spelled(item)}" if items else _spelled(item)
        _replace(file, entry.first, line[:end] + new + line[end:])
        return True
    if entry.value in ("null", "~"):
        _replace(file, entry.first, _without_value(file, entry))
    elif entry.value:
        raise Refused(f'its "{entry.key}" is no list that Pinbox can edit')
    items_of = _block(file, entry)
    if item in [text for text, _ in items_of]:
        return False
    if items_of:
        number = items_of[-1][1]
        body = file.lines[number].body
        dash = re.match(r" *- *", body)
        _insert(file, number + 1, (dash[0] if dash else "- ") + _spelled(item))
        return True
    indent = file.lines[entry.first].indent
    _insert(file, entry.first + 1, f"{' ' * (indent + _step(file))}- {_spelled(item)}")
    return True


def _take(file: _File, entry: _Entry, item: str) -> bool:
    """Take `item` out of the list of `entry`; False if it is not there."""
    if entry.value.startswith("["):
        items = _flow(file, entry)
        index = next((n for n, one in enumerate(items) if one[0] == item), None)
        if index is None:
            return False
        line = file.lines[entry.first].body
        if len(items) == 1:
            _replace(file, entry.first, _without_value(file, entry))
        elif index:
            _replace(file, entry.first, line[: items[index - 1][2]] + line[items[index][2] :])
        else:
            _replace(file, entry.first, line[: items[0][1]] + line[items[1][1] :])
        return True
    if entry.value:
        return False
    for text, number in _block(file, entry):
        if text == item:
            del file.lines[number]
            return True
    return False


def _block(file: _File, entry: _Entry) -> list[tuple[str, int]]:
    """The items of a block list and their lines. Raises Refused for items that are more than a
    word or a text on one line.
    """
    found = []
    numbers = range(entry.first + 1, entry.last + 1)
    code = [number for number in numbers if file.lines[number].kind != "blank"]
    for number in code:
        line = file.lines[number]
        match = re.match(r" *- +", line.body)
        scalar = _ITEM.match(line.body, match.end()) if match else None
        if line.kind != "code" or line.indent != file.lines[code[0]].indent or scalar is None:
            raise _odd(number + 1, "is no plain item of a list")
        found.append((_unquoted(scalar[1]), number))
    return found


def _flow(file: _File, entry: _Entry) -> list[tuple[str, int, int]]:
    """The items of a list in brackets on one line, each with its place in the line. Raises Refused
    for any other value.
    """
    line = file.lines[entry.first].body
    at, found = entry.at + 1, []
    while match := _FLOW_ITEM.match(line, at):
        found.append((_unquoted(match[1]), match.start(1), match.end(1)))
        at = match.end()
    end = re.compile(r" *\]").match(line, at)
    if end is None or _END.match(line, end.end()) is None or entry.last > entry.first:
        raise Refused(f'its "{entry.key}" is no list that Pinbox can edit')
    return found


def _unquoted(text: str) -> str:
    return text[1:-1] if text[0] in "\"'" else text


def _spelled(item: str) -> str:
    is_plain = _PLAIN.fullmatch(item) and not _WORDS.fullmatch(item)
    return item if is_plain else json.dumps(item)


# --- writing --------------------------------------------------------------------------------------


def _grow(file: _File, entry: _Entry | None, keys: tuple[str, ...], item: str) -> None:
    """Add the keys that are missing, with a list of `item`, below `entry` or to the document."""
    step, column = _step(file), 0
    if entry is None:
        if not file.is_ended and file.lines[-1].kind == "text":
            raise Refused("its last line has no end, and would read otherwise with one")
        at = len(file.lines)
    else:
        if entry.value:
            _replace(file, entry.first, _without_value(file, entry))
        below = [one for one in file.lines[entry.first + 1 : entry.last + 1] if one.kind == "code"]
        column = below[0].indent if below else file.lines[entry.first].indent + step
        at = entry.first + 1
    bodies = [f"{' ' * (column + step * n)}{_spelled(key)}:" for n, key in enumerate(keys)]
    bodies.append(f"{' ' * (column + step * len(keys))}- {_spelled(item)}")
    for body in reversed(bodies):
        _insert(file, at, body)


def _insert(file: _File, at: int, body: str) -> None:
    file.lines.insert(at, _Line(body, "code"))


def _replace(file: _File, number: int, body: str) -> None:
    file.lines[number] = _Line(body, "code")


def _without_value(file: _File, entry: _Entry) -> str:
    """The line of `entry` with nothing behind its key but the comment that is there."""
    body = file.lines[entry.first].body
    return body[: entry.at].rstrip(" ") + body[entry.at :].replace(entry.value, "", 1).rstrip(" ")


def _step(file: _File) -> int:
    """The file's own indentation, two where it has none."""
    indents = [line.indent for line in file.lines if line.kind == "code" and line.indent]
    return min(indents, default=2)
