"""Where the tags in a piece of HTML are, and where text only looks like one.

Follows the tokenizer of the HTML standard as far as it takes to tell a tag from the inside of an
attribute, a comment, a script or a title. Text may come in pieces, as the texts of a template do
with variables and blocks between them; what stands between two pieces is taken to leave the state
as it was. Nothing here raises, whatever the text. Standard library only.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SPACE: Final = " \t\n\r\f"
_NAME: Final = re.compile(r"[^ \t\n\r\f/>]*")
_BEFORE_ATTRIBUTE: Final = re.compile(r"[ \t\n\r\f/]*")
_ATTRIBUTE: Final = re.compile(r"=?[^ \t\n\r\f/>=]*")
_UNQUOTED: Final = re.compile(r"[^ \t\n\r\f>]*")
#: Where text may end; another `<` is text.
_OPENING: Final = re.compile(r"<(?=[A-Za-z/!?]|\Z)")
#: A whole tag as people write them. One match is many times faster than a walk through its parts,
#: which it must agree with; what it does not match is walked through.
_WHOLE_TAG: Final = re.compile(
    r"<(/?)([A-Za-z][^ \t\n\r\f/>]*+)"
    r"(?:[ \t\n\r\f]++[^ \t\n\r\f/>\"'<=]++"
    r"(?:=(?:\"[^\"]*+\"|'[^']*+'|(?:[^ \t\n\r\f/>\"'<=`]|/(?!>))++(?=[ \t\n\r\f>])))?+)*+"
    r"[ \t\n\r\f]*+(/?)>"
)
_SPACES: Final = re.compile(r"[ \t\n\r\f]*")
_COMMENT_END: Final = re.compile(r"--!?>")
#: Inside a script, what can change whether `</script>` ends it.
_IN_SCRIPT: Final = re.compile(r"<!--|-->|<(/?)script(?=[ \t\n\r\f/>])", re.IGNORECASE)

#: Elements whose content is text, with scripting on.
RAW: Final = frozenset(
    ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript")
)
_FOREIGN: Final = frozenset(("svg", "math"))
_RAW_END: Final = {
    name: re.compile(rf"</{name}(?=[ \t\n\r\f/>])", re.IGNORECASE) for name in RAW - {"script"}
}


class State(NamedTuple):
    """Between which two characters of a page we are.

    `mode` is one of: data, lt (after `<`), name, tag (between attributes), before (a value),
    double, single, unquoted, comment, bogus (`<!doctype` and the like), cdata, raw, escaped and
    double-escaped (inside a script that has `<!--`), plaintext. `name` is that of the tag or raw
    element, in lower case.
    """

    mode: str = "data"
    name: str = ""
    is_end: bool = False
    in_foreign: bool = False


class Tag(NamedTuple):
    """`text[start]` is its `<`, `text[name_end]` the first character after its name."""

    start: int
    name_end: int
    name: str
    is_end: bool
    in_foreign: bool


START: Final = State()


def walk(text: str, state: State = START) -> tuple[list[Tag], State]:
    """The tags whose name ends within `text`, which begins in `state`; and the state at its end."""
    walker = _Walker(text, state)
    walker.run()
    return walker.tags, State(walker.mode, walker.name, walker.is_end, walker.in_foreign)


class _Walker:
    def __init__(self, text: str, state: State) -> None:
        self.text = text
        self.at = 0
        self.tags: list[Tag] = []
        self.mode, self.name, self.is_end, self.in_foreign = state
        self.closes_itself = False
        if self.mode == "lt":  # what follows `<` came from a variable
            self.mode = "name"
        elif self.mode == "before" and text[:1] not in ("", '"', "'"):
            self.mode = "unquoted"  # a variable gave the beginning of the value

    def run(self) -> None:
        steps = {
            "data": self._data,
            "name": self._rest_of_name,
            "tag": self._tag,
            "before": self._before_value,
            "double": self._quoted,
            "single": self._quoted,
            "unquoted": self._unquoted,
            "comment": self._comment,
            "bogus": self._bogus,
            "cdata": self._cdata,
            "raw": self._raw,
            "escaped": self._script,
            "double-escaped": self._script,
        }
        while self.at < len(self.text):
            step = steps.get(self.mode)
            if step is None:  # plaintext
                return
            step()

    def _skip_past(self, end: str) -> bool:
        found = self.text.find(end, self.at)
        self.at = len(self.text) if found < 0 else found + len(end)
        return found >= 0

    # --- text ---------------------------------------------------------------------------------

    def _data(self) -> None:
        text = self.text
        opening = _OPENING.search(text, self.at)
        while opening and (whole := _WHOLE_TAG.match(text, opening.start())):
            self.name, self.is_end = whole[2].lower(), bool(whole[1])
            self.tags.append(
                Tag(whole.start(), whole.end(2), self.name, self.is_end, self.in_foreign)
            )
            self.at = whole.end()
            self._close(closes_itself=bool(whole[3]))
            if self.mode != "data":
                return
            opening = _OPENING.search(text, self.at)
        if opening is None:
            self.at = len(text)
            return
        start = opening.start()
        after = text[start + 1 : start + 2]
        self.at = start + 1
        if after == "":
            self.mode, self.name, self.is_end = "lt", "", False
        elif after == "/":
            if text[start + 2 : start + 3].isascii() and text[start + 2 : start + 3].isalpha():
                self._open(start, start + 2, is_end=True)
            elif start + 2 == len(text):
                self.at = start + 2
                self.mode, self.name, self.is_end = "lt", "", True
            else:
                self.mode = "bogus"
        elif after.isascii() and after.isalpha():
            self._open(start, start + 1, is_end=False)
        elif text.startswith("!--", start + 1):
            self.at = start + 4
            self.mode = "comment"
            if text.startswith((">", "->"), self.at):  # `<!-->` is a whole comment
                self._skip_past(">")
                self.mode = "data"
        elif self.in_foreign and text.startswith("![CDATA[", start + 1):
            self.at = start + 9
            self.mode = "cdata"
        elif after in "!?":
            self.mode = "bogus"

    def _comment(self) -> None:
        found = _COMMENT_END.search(self.text, self.at)
        self.at = found.end() if found else len(self.text)
        if found:
            self.mode = "data"

    def _bogus(self) -> None:
        if self._skip_past(">"):
            self.mode = "data"

    def _cdata(self) -> None:
        if self._skip_past("]]>"):
            self.mode = "data"

    # --- tags ---------------------------------------------------------------------------------

    def _open(self, start: int, name_start: int, *, is_end: bool) -> None:
        end = self._end_of(_NAME, name_start)
        self.at = end
        self.name, self.is_end = self.text[name_start:end].lower(), is_end
        self.mode = "name" if end == len(self.text) else "tag"
        if self.mode == "tag":  # a name at the very end of the piece may go on
            self.tags.append(Tag(start, end, self.name, is_end, self.in_foreign))

    def _rest_of_name(self) -> None:
        end = self._end_of(_NAME, self.at)
        self.name += self.text[self.at : end].lower()
        self.at = end
        if end < len(self.text):
            self.mode = "tag"

    def _tag(self) -> None:
        """Between two attributes: to the next one's value, or to the end of the tag."""
        start = self.at
        self.at = self._end_of(_BEFORE_ATTRIBUTE, start)
        if self.at == len(self.text):
            return
        if self.text[self.at] == ">":
            closes_itself = self.text[start : self.at].endswith("/")
            self.at += 1
            self._close(closes_itself=closes_itself)
            return
        self.at = self._end_of(_ATTRIBUTE, self.at)
        after_spaces = self._end_of(_SPACES, self.at)
        if self.text.startswith("=", after_spaces):
            self.at = after_spaces + 1
            self.mode = "before"

    def _before_value(self) -> None:
        self.at = self._end_of(_SPACES, self.at)
        if self.at == len(self.text):
            return
        first = self.text[self.at]
        if first == '"':
            self.mode = "double"
        elif first == "'":
            self.mode = "single"
        else:
            self.mode = "unquoted"
            return
        self.at += 1

    def _quoted(self) -> None:
        if self._skip_past('"' if self.mode == "double" else "'"):
            self.mode = "tag"

    def _unquoted(self) -> None:
        self.at = self._end_of(_UNQUOTED, self.at)
        if self.at < len(self.text):
            self.mode = "tag"

    def _close(self, *, closes_itself: bool) -> None:
        self.mode = "data"
        if self.name in _FOREIGN:
            self.in_foreign = not (self.is_end or closes_itself)
        elif self.is_end:
            return
        elif self.name in RAW and not (self.in_foreign and closes_itself):
            self.mode = "raw"
        elif self.name == "plaintext" and not self.in_foreign:
            self.mode = "plaintext"

    # --- raw text -----------------------------------------------------------------------------

    def _raw(self) -> None:
        if self.name == "script":
            self._script()
            return
        found = _RAW_END[self.name].search(self.text, self.at)
        if found is None:
            self.at = len(self.text)
        else:
            self._open(found.start(), found.start() + 2, is_end=True)

    def _script(self) -> None:
        """After `<!--` a script may hold `<script>…</script>` without ending; `-->` ends that."""
        found = _IN_SCRIPT.search(self.text, self.at)
        if found is None:
            self.at = len(self.text)
            return
        self.at = found.end()
        what = found[0]
        if what == "<!--":
            if self.mode == "raw":
                self.mode = "escaped"
                self.at -= 2  # `<!-->` ends what it began
        elif what == "-->":
            self.mode = "raw"
        elif not found[1]:
            if self.mode == "escaped":
                self.mode = "double-escaped"
        elif self.mode == "double-escaped":
            self.mode = "escaped"
        else:
            self._open(found.start(), found.start() + 2, is_end=True)

    def _end_of(self, pattern: re.Pattern[str], at: int) -> int:
        found = pattern.match(self.text, at)
        return at if found is None else found.end()
