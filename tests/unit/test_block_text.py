"""The marked block: put in once, renewed in place, taken out whole; damaged marks are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinbox.install.block_text import END, START, has_block, with_block, without_block
from pinbox.install.settings import Refused

TEXT = "one\ntwo"
HEAD = "---\nalwaysApply: true\n---\n\n"
files = st.text(alphabet="ab\n<!- #", max_size=60).map(str.encode)


def test_a_new_file_is_the_head_and_the_block():
    assert with_block(None, TEXT, head=HEAD) == f"{HEAD}{START}\none\ntwo\n{END}\n".encode()


def test_a_file_of_others_gets_the_block_behind_its_own_words_and_no_head():
    assert with_block(b"mine", TEXT, head=HEAD) == f"mine\n\n{START}\none\ntwo\n{END}\n".encode()


@given(files, files)
def test_whatever_stands_around_the_block_stays(before, after):
    made = with_block(before, TEXT) + after
    renewed = with_block(made, "three")
    assert renewed.startswith(before)
    assert renewed.endswith(after)
    assert renewed.count(START.encode()) == renewed.count(END.encode()) == 1
    assert b"two" not in renewed.removeprefix(before).removesuffix(after)
    assert with_block(renewed, "three") == renewed
    rest = without_block(renewed)
    assert not has_block(rest or b"")
    assert (rest or b"").split() == (before + b" " + after).split()


@given(files)
def test_a_file_that_ended_in_a_line_break_comes_back_byte_for_byte(before):
    before = before + b"x\n"
    assert without_block(with_block(before, TEXT)) == before


def test_only_the_head_left_is_no_file():
    assert without_block(with_block(None, TEXT, head=HEAD), head=HEAD) is None


def test_dos_line_ends_are_kept():
    made = with_block(b"mine\r\n", TEXT)
    assert b"\n" not in made.replace(b"\r\n", b"")
    assert without_block(made) == b"mine\r\n"


@pytest.mark.parametrize(
    "damaged",
    [START, END, f"{END}\n{START}", f"{START}\n{START}\n{END}", f"{START}{END}\n{START}{END}"],
)
def test_damaged_marks_are_refused(damaged):
    with pytest.raises(Refused, match="marks are damaged"):
        with_block(damaged.encode(), TEXT)
    with pytest.raises(Refused):
        without_block(damaged.encode())
