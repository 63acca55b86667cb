"""Which pins a commit message fixes: a table of whole kinds, and what holds for any message."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinbox.trailers import pins_fixed_by

A, B, C = "pin_aaaaaaaaa1", "pin_bbbbbbbbb2", "pin_ccccccccc3"


def said(message: str) -> list[str]:
    """The ids fixed by `message`, in which A, B and C stand for pins."""
    for letter, pin in (("A", A), ("B", B), ("C", C)):
        message = message.replace(f"@{letter}", pin)
    return ["@" + pin[4].upper() for pin in pins_fixed_by(message)]


ALONE = [
    "Fixes @A",
    "fixes @A",
    "FIXES @A",
    "Fixes: @A",
    "fixes:@A",
    "Fixes : @A",
    "Fixes:\t@A",
    "Fixed @A",
    "Resolves @A",
    "Resolved: @A",
    "Closes @A",
    "closed @A",
    "Fixes pin @A",
    "Fixes Pin @A",
    "Fixes the pin @A",
    "Fixes @A.",
    "Fixes (@A)",
    "Fixes [@A]",
    "  Fixes @A  ",
    "- Fixes @A",
    "* fixes @A",
    "1. Fixes @A",
    "- [x] Fixes @A",
    "**Fixes** @A",
    "**Fixes:** @A",
    "Fixes **@A**",
    "_Fixes_ @A",
    "Subject\n\nFixes @A",
    "Subject\n\nBody of it.\n\nFixes: @A\nSigned-off-by: Ada <ada@example.org>",
    "Subject\r\n\r\nFixes @A\r\n",
    "Subject\n\nCo-authored-by: Bo <bo@example.org>\nFixes: @A",
    "Don't wrap the header\n\nFixes @A",
    "Don't wrap the header\nFixes @A",
    "Never show an empty toast.\nfixes @A",
    "Subject\n\n>quoted\n\nFixes @A",
    "Subject\n\n```\ncode\n```\nFixes @A",
    "Subject\n\n    code\n\nFixes @A",
    'Support 6" screens\n\nFixes @A\n\nTested on 7" screens',
    "squash! Subject\n\nFixes @A",
    "Fixes @A\n# ------------------------ >8 ------------------------\nmore",
    "Merge pull request #3 from ada/header\n\nFixes @A",
    "Subject\n\nFixes @A\n\n(cherry picked from commit 0123456789abcdef)",
    "This partially reverts commit 0123abc.\n\nFixes @A",
    "Revert the padding of the header\n\nFixes @A",
]

SENTENCES = [
    "Fixes @A: no overflow on narrow screens",
    "Fixes @A - no more overflow",
    "Fixes @A, half the header was hidden",
    "Fixes @A, mostly a matter of padding",
    "Not only fixes @A but looks better",
    "No doubt this fixes @A",
    ":bug: Fixes @A",
    "🐛 Fixes @A in the header",
    "[web] Fixes @A in the header",
    "The code block fixes @A",
    "Changes after review:\n- Fixes @A",
    "Never mind the padding.\n\nThis fixes @A",
    "Fixes @A (see @B)",
    "This fixes @A and updates the docs of @B",
    "日本語のヘッダー。Fixes @A",
    "Merge branch 'fix/header' into main\n\nWrap the header, closes @A",
    "This fixes @A",
    "This commit fixes @A.",
    "Wrap the header, fixes @A",
    "Wrap the header (fixes @A)",
    "Wrap the header (fixes: @A).",
    "Wrap the header: fixes @A",
    "Wrap the header - fixes @A",
    "Wrap the header — fixes @A",
    "Wrap the header; fixes @A",
    "Wrap the header fixes @A",
    "fix(ui): wrap the header, closes @A",
    "Use a grid, which resolves @A and looks better",
    "Use a grid. This also fixes @A, at last!",
    "The header now wraps and\nfixes\n@A in all its places.",
    "Don't wrap the header, fixes @A",
    "Do not wrap the header (fixes @A)",
    "Never wrap: fixes @A",
    "It does not wrap, but fixes @A",
    "No longer overflows; resolves @A",
    "Not pretty. Fixes @A though.",
    "Wrap when narrow, fixes @A",
    "Hopefully nicer. Fixes @A.",
    "We fixed @A by a grid",
    "It has resolved @A",
    "Wrap the header; closed @A",
    'Say "hello" in the title, fixes @A',
    "Use `flex` there, fixes @A",
    "Users' choice of don't-wrap: fixes @A",
    "Was it hard? Fixes @A. Was it?",
    "Fixes @A (the header)",
    "Fixes @A in the header",
    "Fixes @A: header overflow",
    "Fixes @A, but not @B",
    "Fixes @A but not @B",
    "Fixes @A, not @B",
    "Fixes @A. Does not fix @B.",
    "Fixes @A, @B is next",
    "Fixes @A and @B is still open",
    "Does not touch @B; fixes @A",
    "- Fixes @A\n- Does not fix @B",
    "Done:\n- Fixes @A",
]

SEVERAL = [
    "Fixes @A, @B",
    "Fixes @A and @B",
    "fixes: @A, @B and @C",
    "Fixes @A, @B, and @C",
    "Fixes @A & @B",
    "Fixes @A + @B",
    "Fixes @A/@B",
    "Fixes pin @A and pin @B",
    "Fixes pins @A and @B",
    "Fixes both @A and @B",
    "Fixes: @A @B @C",
    "Fixes: @A,\n  @B",
    "Fixes: @A,\n    @B",
    "Fixes: @A,\n\t@B",
    "Fixes: @A\nFixes: @B",
    "Fixes @A\nResolves @B\nCloses @C",
    "fixes @A\nfixes @B",
    "Fixes @A; resolves @B",
    "Fixes @A. Closes @B.",
    "Fixes @A, fixes @B",
    "Use a grid (fixes @A, @B)",
    "This fixes @A, @B and @C by a grid",
    "* Fixes @A\n\n* Fixes @B",
    "Fixes (@A), (@B)",
    "Fixes [@A], [@B]",
    "Fixes @A and @A and @B",
    "Fixes: @A; @B",
    "Fixes:\n- @A\n- @B",
    "Fixes these pins:\n\n* @A: the header\n* @B, the footer",
    "Resolves:\n1. @A\n2. [@B]",
    "Not only fixes @A but also closes @B",
]

DENIED = [
    "does not fix @A",
    "Doesn't fix @A",
    "never fixes @A",
    "This never really fixes @A",
    "never, ever, fixes @A",
    "This never\nfixes @A",
    "won't close @A",
    "Will not fix @A",
    "no longer fixes @A",
    "instead of fixing @A",
    "Nothing here fixes @A",
    "None of this fixes @A",
    "No commit fixes @A",
    "Neither fixes @A nor closes @B",
    "This in no way fixes @A",
    "I don't think this fixes @A",
    "I don’t think this fixes @A",
    "It is not true that this fixes @A",
    "Not because it fixes @A",
    "not: fixes @A",
    "NOT (fixes @A)",
    "has not fixed @A",
    "It hasn't yet resolved @A",
    "hardly fixes @A",
    "not (yet) fixes @A",
    "un-fixes @A",
    "unfixes @A",
    "Reverts the change that fixes @A",
    "Undo what fixes @A",
    "Reopens closed @A",
    "Reopen the closed @A",
    "partially fixes @A",
    "Partly fixes @A",
    "almost fixes @A",
    "Maybe fixes @A",
    "hopefully fixes @A",
    "Should this fixes @A",
    "See if this fixes @A",
    "Check whether it fixes @A",
    "Wait until something fixes @A",
    "The next commit fixes @A",
    "Another PR fixes @A",
    "Prepares the change which fixes @A",
    "TODO: fixes @A",
    "Fixes @A?",
    "Is this what fixes @A?",
    "Fixes @A? Not sure.",
    "Fixes @A partially",
    "Fixes @A (partly)",
    "Fixes @A, in part",
    "Fixes @A (not yet)",
    "Fixes @A: no",
    "Fixes @A - not",
    "Fixes part of @A",
    "Fixes half of @A",
    "Fixes all but @A",
    "Fixes everything except @A",
    "Fixes @A or @B",
    "half fixes @A",
    "WIP: fixes @A",
    "Draft: Fixes @A",
    "This fixes @A unless the header wraps",
    "Fixes @A if we are lucky",
    "Fixes:\n- [ ] @A",
    "Fixes:\n- nothing of @A",
    "Still open:\n- @A\n- Fixes @B",
    "Fixes next:\n- @A",
    "Depends on what fixes @A",
    "Not done:\n- Fixes @A\n- Fixes @B",
    "What this does not do:\n\n* Fixes @A",
    "- [ ] Fixes @A",
    "- [ ] Wrap the header,\n  fixes @A",
    "~~Fixes @A~~",
]

QUOTED = [
    "> Fixes @A",
    "  > Fixes @A",
    ">> Fixes @A",
    "Ada wrote:\n> and this one\n> fixes @A",
    'Say "Fixes @A" in the docs',
    "Say “fixes @A” in the docs",
    "Say „fixes @A“ in the docs",
    "Say «fixes @A» in the docs",
    "Say ‘fixes @A’ in the docs",
    "Say 'fixes @A' in the docs",
    "Say 'don't: fixes @A' in the docs",
    "Say `Fixes @A` in the docs",
    "Say ``Fixes @A`` in the docs",
    "Fixes `@A`",
    'Fixes "@A"',
    'Say "Fixes\n@A" in the docs',
    'The old message:\n"Subject\n\nFixes @A\n\nmore"',
    "```\nFixes @A\n```",
    "```text\nSubject\n\nFixes @A\n```\nmore",
    "~~~\nFixes @A\n~~~",
    "````\n```\nFixes @A\n```\nFixes @B\n````",
    "```\nFixes @A",
    "Text\n  ```\n  Fixes @A\n  ```",
    "- ```\n  Fixes @A\n  ```",
    "Text\n\n    Fixes @A",
    "Text\n\n    Subject\n\n    Fixes @A\n",
    "Text\n\n\tFixes @A",
    "The message was:\n    Fixes @A",
    "<!-- Fixes @A -->",
    "<!--\nFixes @A\n\n",
    "<code>Fixes @A</code>",
    "<pre>\nFixes @A\n</pre>",
    "<del>Fixes @A</del>",
    "<blockquote>Fixes @A</blockquote>",
    "Understand a trailer like Fixes @A",
    "Read trailers such as Fixes @A",
    "Document the syntax, e.g. Fixes @A",
    "For example: Fixes @A",
    "Remove Fixes @A from the changelog",
    "Parse fixes @A",
    "The old message said fixes @A",
    "Merge branch 'fixes @A'",
]

REVERTED = [
    'Revert "Fixes @A"',
    'Revert "Wrap the header (fixes @A)"\n\nThis reverts commit 0123456789abcdef.',
    'Revert "Wrap the header"\n\nThis reverts commit 0123456789abcdef.\n\nFixes @A',
    'Revert "Wrap the header"\n\nFixes @A',
    'Reapply "Fixes @A"\n\nThis reverts commit 0123456789abcdef.',
    "revert: wrap the header, fixes @A",
    "revert(ui): wrap the header\n\nFixes @A",
    "Revert 'Wrap the header'\n\nFixes @A",
    "Revert “Wrap the header”\n\nFixes @A",
    'Revert "Revert "Fixes @A""',
    'Back out "Wrap the header"\n\nFixes @A',
    "Wrap no more\n\nThis reverts commit 0123456789abcdef, reversing\nchanges.\n\nFixes @A",
    "Wrap no more\n\nThis reverts 0123456789abcdef.\n\nFixes @A",
    "fixup! Fixes @A",
    "squash! Wrap the header, fixes @A",
    "fixup! fixup! Fixes @A",
    "amend! Wrap the header\n\nWrap the header\n\nFixes @A",
]

CUT = [
    "# Fixes @A",
    "#Fixes @A",
    "Subject\n# On branch main\n# Fixes @A",
    "Subject\n# ------------------------ >8 ------------------------\nFixes @A",
    "Subject\n; ------------------------ >8 ------------------------\nFixes @A",
    "Subject\n\ndiff --git a/a b/a\n+Fixes @A\n\nFixes @A",
]

NO_CLAIM = [
    "",
    "@A",
    "Fix @A",
    "Fixing @A",
    "Fixes",
    "Fixes #12",
    "See @A",
    "prefixes @A",
    "fixes_@A",
    "bug-fixes @A",
    "auto-closes @A",
    "Fixes header @A",
    "Fixes https://example.org/@A",
    "Fixes a/@A",
    "Fixes @A_x",
    "Fixes @Ax",
    "Fixes @AX",
    "Fixes @A-header",
    "Fixes @A.png",
    "Fixes @A/header",
    "Fixes @A's colour",
    "Fixes x@A",
    "Fixes PIN_AAAAAAAAA1",
    "Fixes Pin_aaaaaaaaa1",
    "Fixes pin_aaaa",
    "Fixes pin-aaaaaaaaa1",
    "Fixes\n\n@A",
    "These are the fixes @A needs",
    "Two fixes @A and @B want",
    "Rename the fixed @A header",
    "The previously fixed @A",
    "Fixes @A is the wrong message",
    "Fixes @A was what it said",
]


@pytest.mark.parametrize("message", ALONE)
def test_a_line_of_its_own_counts(message):
    assert said(message) == ["@A"]


@pytest.mark.parametrize("message", SENTENCES)
def test_a_plain_positive_sentence_counts(message):
    assert said(message) == ["@A"]


@pytest.mark.parametrize("message", SEVERAL)
def test_every_pin_of_a_claim_counts_once_in_order(message):
    assert said(message) == [letter for letter in ("@A", "@B", "@C") if letter in message]


@pytest.mark.parametrize("message", DENIED)
def test_a_denied_or_hedged_claim_does_not_count(message):
    assert said(message) == []


@pytest.mark.parametrize("message", QUOTED)
def test_quoted_text_and_code_do_not_count(message):
    assert said(message) == []


@pytest.mark.parametrize("message", REVERTED)
def test_a_revert_and_a_quoted_subject_do_not_count(message):
    assert said(message) == []


@pytest.mark.parametrize("message", CUT)
def test_comments_and_what_is_cut_off_do_not_count(message):
    assert said(message) == []


@pytest.mark.parametrize("message", NO_CLAIM)
def test_what_is_no_claim_does_not_count(message):
    assert said(message) == []


words = st.lists(
    st.sampled_from(
        [
            "fixes",
            "Fixes:",
            "not",
            "never",
            A,
            B,
            "`",
            '"',
            "'",
            "```",
            ">",
            "#",
            "\n",
            "\n\n",
            "    ",
        ]
        + [
            "- ",
            "(",
            ")",
            ",",
            "and",
            ".",
            "?",
            "Revert",
            "*",
            "_",
            "~~",
            "<!--",
            "-->",
            "\t",
            "x",
            "é",
        ]
    ),
    max_size=40,
)


@given(words.map(" ".join) | words.map("".join) | st.text())
def test_any_message_gives_ids_that_it_names_each_once(message):
    found = pins_fixed_by(message)
    assert len(found) == len(set(found))
    assert all(pin in message for pin in found)


@given(words.map(" ".join))
def test_quoting_a_whole_message_silences_it(message):
    assert pins_fixed_by("\n".join("> " + line for line in message.splitlines())) == []
    assert pins_fixed_by("Subject\n\n" + "\n".join("    " + x for x in message.splitlines())) == []
    assert pins_fixed_by(f"Subject\n\n`````\n{message}\n") == []
    assert pins_fixed_by(f'Revert "x"\n\n{message}') == []


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=60))
def test_a_claim_in_a_paragraph_of_its_own_counts_after_any_plain_words(text):
    plain = "".join(ch for ch in text if ch.isalnum() or ch == " ").strip()
    assert pins_fixed_by(f"Subject {plain}\n\nFixes: {A}\n") == [A]


@pytest.mark.parametrize(
    "piece",
    [
        "`",
        '"',
        "'",
        "fixes ",
        "(",
        "not ",
        "never, ",
        "~~",
        "* ",
        "_",
        "“",
        "- ",
        "\n",
        f"fixes {A}, ",
        "a.b ",
        "if ",
    ]
    + [
        "<!--",
        "<code>",
        "‘",
        "    x\n",
        "> \n",
        "not (",
        "that, ",
        "Fixes: pin_aaaaaaaaaa ",
        "[",
        "pin ",
        "when a ",
    ],
)
def test_a_message_of_any_size_takes_little_time(piece):
    started = time.process_time()
    pins_fixed_by(piece * (100_000 // len(piece)))
    assert time.process_time() - started < 2
