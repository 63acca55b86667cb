"""Which pins a commit message says it fixes. Pure: text in, ids out.

`Fixes: pin_…` on a line of its own counts, and so does a plain positive sentence. A message may
also deny ("no longer fixes"), hedge ("partly fixes"), quote, revert or merely talk about such a
line. The rule for doubt: a pin left open is seen and costs a word, a pin closed by mistake is
lost; so doubt means no.
"""

import re
from collections.abc import Iterator
from typing import Final

#: what is read of a message; longer ones are made by machines
MAX_CHARS: Final = 100_000
#: how far before a claim its clause can begin, and how far after it a hedge can stand
MAX_CLAUSE_CHARS: Final = 400
MAX_HEDGE_CHARS: Final = 80

_OBJECT = "\N{OBJECT REPLACEMENT CHARACTER}"  # stands where a quotation was: no word, no blank

# --- The words ------------------------------------------------------------------------------------

_ID = r"[(\[<]?(?-i:pin_[a-z0-9]{10})(?!\w|[-.'’]\w|/(?!pin_))[)\]>]?"
_ITEM = rf"(?:pins?\s+)?{_ID}"
_KEYWORD = (
    r"(?<![\w-])(?P<word>fix(?:es|ed)|resolve[sd]|close[sd])(?:\s*:\s*|\s+)(?:the\s+|both\s+)?"
)
_JOINT = r"(?:\s*(?:,|&|\+|/)\s*(?:(?:and|plus)\s+)?|\s+(?:and|plus)\s+)"

_CLAIM = re.compile(rf"{_KEYWORD}(?P<ids>{_ITEM}(?:{_JOINT}{_ITEM})*)", re.I)
#: nothing on the line but the claim; here ids may also stand side by side
_CLAIM_ALONE = re.compile(
    rf"\s*{_KEYWORD}(?P<ids>{_ITEM}(?:(?:{_JOINT}|\s*;\s*|\s+){_ITEM})*)\s*[.;!]?\s*", re.I
)
_CLAIM_START = re.compile(rf"\s*{_KEYWORD}{_ITEM}", re.I)
_PIN = re.compile(r"pin_[a-z0-9]{10}")

_BEARER = r"(?:commit|change|patch|pr|mr|pull\s+request|merge\s+request|branch|one|release|version)"
_DENIAL = (
    # negations
    r"not|\w+n['’]t|cannot|never|nor?|neither|none|nothing|nobody|nowhere|hardly|barely|scarcely|"
    r"false|untrue|wrongly|mistakenly|incorrectly|"
    # taking it back
    r"revert\w*|undo\w*|undid|reopen\w*|"
    # less than the whole, less than sure, less than now
    r"partial(?:ly)?|partly|almost|nearly|half\s*$|maybe|perhaps|possibly|probably|hopefully|"
    r"supposed(?:ly)?|alleged(?:ly)?|might|may|could|would|should|will|todo|fixme|wip|draft|"
    r"attempts?|tries|tried|trying|claims?|claimed|claiming|pretends?|"
    r"(?:if|whether|unless|until|till|once|when|before|after)(?:\s+\S+){0,3}\s*$|"
    # somebody else's doing
    rf"(?:next|later|another|other|separate|future|follow-?up|upcoming|subsequent|previous|earlier|"
    rf"last|parent)\s+{_BEARER}|prepar\w+|depends?|depending|await\w*|waits?|waiting|blocks|blocked"
)
_DENIED = re.compile(rf"(?<![\w-])(?:{_DENIAL})(?![\w-])", re.I)
_CLAUSE_END = (
    r"[,;:()\[\]—–]|\s-+\s|\b(?:but|yet|though|although|so|because|since|hence|thus|and\s+now)\b"
)
_CLAUSE_ENDS = re.compile(_CLAUSE_END, re.I)
#: "never, ever, fixes" and "not: fixes": such a comma or colon ends nothing
_DENIED_BEFORE_PAUSE = re.compile(
    rf"(?<![\w-])({_DENIAL})\s*(?:{_CLAUSE_END})(?:[^,;:()]*,(?=[^,]*$))?", re.I
)
#: they look like denials and are none
_AFFIRMED = re.compile(r"\bnot\s+(?:only|just|merely|simply)\b|\b(?:no|without)\s+doubt\b", re.I)
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
#: "the fixes pin_x needs", "reopens closed pin_x": a noun or an adjective, no verb
_NOUN_BEFORE = re.compile(
    r"(?<![\w-])(?:the|an?|these|those|some|more|other|further|several|many|two|three|few|all|any|such|of|for|"
    r"with|my|our|your|their|its|his|her|previous|earlier|old|known|\d+)\s+$",
    re.I,
)
#: a past form is a verb at the start of a clause or after one of these; elsewhere it may describe
_VERB_BEFORE = re.compile(
    r"(?:^|(?<![\w-])(?:this|it|commit|change|patch|we|i|also|and|has|have|now|finally))\s*$", re.I
)
#: a line talked about: "a trailer like Fixes pin_x"
_MENTION_BEFORE = re.compile(
    r"(?<![\w-])(?:like|such\s+as|e\.g\.?|i\.e\.?|examples?|instance|says?|saying|said|writes?|writing|wrote|reads|"
    r"reading|trailers?|keywords?|syntax|phrase|"
    r"(?:remove|delete|add|parse|accept|ignore|mention|understand|recogni[sz]e)[sd]?)[\s:,]*$",
    re.I,
)
#: what makes the last id of a claim the subject of something else: "fixes pin_a, pin_b is next"
_OWN_STORY = re.compile(
    r"\s+(?:is|are|was|were|remains?|stays?|still|needs?|will|has|have|does|do|did|can|cannot|comes?|follows?|"
    r"should|must|may|might|would|could|not|or|next|later|\w+n['’]t)\b",
    re.I,
)
_IN_PART = r"(?:partial(?:ly)?|partly|in\s+part|halfway|for\s+the\s+most\s+part|mostly)"
_STOP = r"\s*(?:[.!?,;)\]]|$)"
_HEDGED_AFTER = re.compile(
    rf"\s+{_IN_PART}\b|\s*[,(—–-]\s*{_IN_PART}{_STOP}|"
    r"\s*\(?not\s+(?:yet|really|quite|fully|completely|entirely)\b|"
    rf"\s*[:=(—–-]+\s*(?:no|not|false|maybe|todo){_STOP}|"
    r"\s*[,(]?\s*(?:if|unless|provided|assuming|once|as\s+soon\s+as)\b|\s*\?",
    re.I,
)
#: "Fixes:" above a list of ids
_CLAIM_HEADING = re.compile(
    r"(?P<word>fix(?:es|ed)|resolve[sd]|close[sd])(?:\s+the)?(?:\s+(?:these\s+)?pins?)?\s*:", re.I
)
_CLAIM_ITEM = re.compile(rf"\s*{_ITEM}", re.I)
#: "Not done:" above a list of claims
_DENYING_HEADING = re.compile(
    r"\b(?:not|\w+n['’]t|cannot|never|nor?|none|nothing|without|todo|fixme|remaining|left|missing|still|later|"
    r"next|follow-?ups?|future|open|known|plan(?:ned)?|out\s+of\s+scope)\b",
    re.I,
)

# --- The shape of a message -----------------------------------------------------------------------

_SCISSORS = re.compile(r"^\S{0,8}\s?-{8,}\s?>8\s?-{8,}\s*$|^diff --git ", re.M)
_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<tag>del|s|strike|code|pre|blockquote|q)\b[^>]*>.*?(?:</(?P=tag)>|\Z)",
    re.S | re.I,
)
_REVERT = re.compile(
    r"\A\s*(?:revert|reapply|back(?:ed|s|ing)?\s*out|roll\s?back)\b\s*(?:\([^)\n]*\)\s*)?!?\s*"
    r"[:\"“”„'‘«`#]"
    r"|^[ \t]*(?:this|these)\s+(?:commits?\s+)?reverts?\s+"
    r"(?:the\s+)?(?:commits?|merge|[0-9a-f]{7,})\b",
    re.I | re.M,
)
_AUTOSQUASH = re.compile(r"\A\s*(?:fixup|squash|amend)! [^\n]*")
_FENCE = re.compile(r"\s*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})")
_BULLET = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+(?:\[(?P<box>[ xX])\]\s+)?")
_TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]*\s?: ")
_EMPHASIS = re.compile(r"\*+|(?<!\w)_+(?=\w)|(?<=[^\W_])_+(?!\w)")
_QUOTATIONS = (
    re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)\1(?!`)", re.S),
    re.compile(r"(?<![^\s(\[])\"(?=\S)[^\"]*(?<=\S)\"(?!\w)"),  # may span paragraphs
    re.compile(r"\"(?:(?!\n[ \t]*\n)[^\"])*\""),
    re.compile(r"[“„‟][^“”„‟]*[”“]|«[^«»]*»|»[^«»]*«|‹[^‹›]*›|「[^「」]*」"),
    re.compile(r"[‘‚](?:[^‘’]|(?<=\w)’(?=\w))*’(?!\w)"),
    re.compile(r"(?<!\w)'(?:(?!\n[ \t]*\n)[^']|(?<=\w)'(?=\w))+'(?!\w)"),
    re.compile(r"~~(?:(?!\n[ \t]*\n).)+?~~", re.S),
)
_SENTENCE_END = re.compile(
    r"(?<=[.!?;…])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bcf\.)(?<!\bvs\.)\s+|(?<=[.!?;][)\]])\s+", re.I
)


def pins_fixed_by(message: str) -> list[str]:
    """Ids of the pins that the message says are fixed, each once, in the order it names them."""
    message = message.replace("\r\n", "\n").replace("\r", "\n")[:MAX_CHARS]
    message = _HIDDEN.sub(_OBJECT, _SCISSORS.split(message, maxsplit=1)[0])
    if _REVERT.search(message) or message.lstrip().startswith("amend! "):
        return []  # a revert takes a fix back; amend! carries a copy of another commit's message
    text = _prose(_AUTOSQUASH.sub("", message))
    found: dict[str, None] = {}
    for passage in _passages(text):
        alone = _CLAIM_ALONE.fullmatch(passage)
        if alone:
            found.update(dict.fromkeys(_PIN.findall(alone["ids"])))
            continue
        for sentence in _SENTENCE_END.split(passage):
            found.update(dict.fromkeys(_claimed(sentence)))
    return list(found)


def _prose(message: str) -> str:
    """The message without quotations; comments, quoted lines and code become blank lines."""
    kept: list[str] = []
    fence = ""
    code = False
    for line in message.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            kept.append("")
            continue
        if mark and not (mark[1][0] == "`" and "`" in line[mark.end() :]):
            fence = mark[1]
            kept.append("")
            continue
        previous = kept[-1].rstrip() if kept else ""
        indented = line.startswith(("    ", "\t")) or line[:4].lstrip(" ").startswith("\t")
        code = bool(line.strip()) and indented and (code or not previous or previous.endswith(":"))
        if code or line.startswith("#") or line.lstrip().startswith((">", "＞")):
            kept.append("")
        else:
            kept.append(line)
    text = "\n".join(kept)
    for quotation in _QUOTATIONS:
        text = quotation.sub(_OBJECT, text)
    return text


def _passages(text: str) -> Iterator[str]:
    """Paragraphs, list items and claims alone on a line, without what a list's heading denies."""
    block: list[str] = []
    heading = ""  # a passage that ended in a colon, for the list items that follow it
    in_list = dropped = False

    def finished() -> Iterator[str]:
        nonlocal heading, dropped
        passage = _EMPHASIS.sub("", "\n".join(block)).strip()
        block.clear()
        if not passage:
            return
        if not in_list:
            heading = passage if passage.endswith(":") else ""
        if in_list and not dropped and _CLAIM_ITEM.match(passage):
            claim = _CLAIM_HEADING.fullmatch(heading)
            if claim:
                passage = f"{claim['word']} {passage}"
        if not dropped and not (in_list and _DENYING_HEADING.search(heading)):
            yield passage
        dropped = False

    for line in text.split("\n"):
        bullet = _BULLET.match(line)
        if bullet:
            yield from finished()
            in_list, dropped = True, bullet["box"] == " "
            line = line[bullet.end() :]
        elif not line.strip():
            yield from finished()
            continue
        else:
            plain = _EMPHASIS.sub("", line)
            claim = _CLAIM_START.match(plain)
            lone = claim and (":" in claim[0] or claim["word"][0].isupper() or _ends(block))
            if lone or _TRAILER.match(line) or (not block and not line[0].isspace()):
                yield from finished()
                in_list = in_list and line[0].isspace()
        block.append(line)
        if _CLAIM_ALONE.fullmatch(_EMPHASIS.sub("", line)) and len(block) == 1:
            yield from finished()
    yield from finished()


def _ends(block: list[str]) -> bool:
    return not block or block[-1].rstrip().endswith((".", "!", "?", ":", ";", ")"))


def _claimed(sentence: str) -> Iterator[str]:
    """Ids that this sentence says, plainly and positively, are fixed."""
    if sentence.rstrip(" \n)]").endswith("?"):
        return
    for claim in _CLAIM.finditer(sentence):
        before = sentence[max(0, claim.start() - MAX_CLAUSE_CHARS) : claim.start()]
        after = sentence[claim.end() : claim.end() + MAX_HEDGE_CHARS]
        clause = _clause(before)
        if _DENIED.search(clause) or _NOUN_BEFORE.search(clause) or _HEDGED_AFTER.match(after):
            continue
        if _MENTION_BEFORE.search(before):
            continue
        if claim["word"].lower().endswith("d") and not _VERB_BEFORE.search(clause):
            continue
        ids = _PIN.findall(claim["ids"])
        yield from ids[:-1] if _OWN_STORY.match(after) else ids


def _clause(before: str) -> str:
    """The end of `before` that belongs to the verb after it."""
    before = _AFFIRMED.sub("", _ASIDE.sub(" ", before))
    before = _DENIED_BEFORE_PAUSE.sub(r"\1 ", before)
    return _CLAUSE_ENDS.split(before)[-1].lstrip()
