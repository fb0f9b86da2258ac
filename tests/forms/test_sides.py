import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agspec_tui.errors import EditError
from agspec_tui.forms.diff import unified
from agspec_tui.forms.sides import chosen, sides_of
from agspec_tui.forms.types import FileChange

TEN = b"".join(b"line %d\n" % n for n in range(40))
TWO = TEN.replace(b" 3\n", b" x\n").replace(b" 30", b" y")
LINE = st.sampled_from([b"a", b"b", b"", b"\xff", b"\\xff", "é".encode(), b"a\r", b"-- x"])
FILE = st.builds(
    lambda lines, end: b"\n".join(lines) + end,
    st.lists(LINE, max_size=40),
    st.sampled_from([b"", b"\n", b"\r\n"]),
)


def patched(before, text, kept):
    """The old lines with some hunks of a diff in place, by the numbers in its headers."""
    old = before.split(b"\n")
    old = [line + b"\n" for line in old[:-1]] + [old[-1]] * bool(old[-1])
    hunks = re.split(r"^@@ -(\d+)(?:,(\d+))? \+\S+ @@\n", text, flags=re.MULTILINE)[1:]
    for number in reversed(range(len(hunks) // 3)):
        start, count, body = hunks[3 * number : 3 * number + 3]
        count = int(count) if count is not None else 1
        at = int(start) - (count > 0)
        lines = re.findall(r"([ +-])(.*\n)(\\ No newline at end of file\n)?", body)
        new = [line[: -1 if end else None].encode() for mark, line, end in lines if mark in " +"]
        if number in kept:
            old[at : at + count] = new
    return b"".join(old)


@given(FILE, FILE, st.sets(st.integers(0, 12)))
def test_a_choice_of_hunks_is_the_old_file_with_those_in_place(before, after, kept):
    change = FileChange("a.txt", before, after)
    n_hunks = unified([change]).count("\n@@ -")
    left_out = set(range(n_hunks)) - kept
    found = chosen(change, left_out).after
    if b"\xff" not in before + after:  # escaped in a diff
        assert found == patched(before, unified([change]), kept)
    if not left_out:
        assert found == after
    if len(left_out) == n_hunks:
        assert found == before


def test_line_ends_and_bytes_outside_utf_8_stay():
    before = b"caf\xe9\r\n" + TEN.replace(b"\n", b"\r\n")
    after = before.replace(b" 3\r", b" x\r").replace(b" 30", b" y")
    found = chosen(FileChange("a.txt", before, after), {1}).after
    assert found == before.replace(b" 3\r", b" x\r")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_chosen_from_too(codec):
    bom = "\ufeff".encode(codec)
    before, after = (bom + text.decode().encode(codec) for text in (TEN, TWO))
    found = chosen(FileChange("a.txt", before, after), {0}).after
    assert found == bom + TEN.replace(b" 30", b" y").decode().encode(codec)


@pytest.mark.parametrize("before", [b"\xff\xfea", b"\0\1", "é\n".encode("utf-16")])
def test_what_cannot_be_turned_back_into_bytes_is_left_as_a_whole(before):
    change = FileChange("a.txt", before, TWO)
    assert chosen(change, {0}).after == before
    assert chosen(change, set()).after == TWO


def test_a_new_file_that_is_left_out_is_not_made_and_a_deleted_one_stays():
    assert chosen(FileChange("a.txt", None, b"a\n"), {0}).after is None
    assert chosen(FileChange("a.txt", b"a\n", None), {0}).after == b"a\n"
    assert chosen(FileChange("a.txt", b"a\n", None), set()).after is None


def test_a_hunk_can_be_written_otherwise():
    change = FileChange("a.txt", TEN, TWO)
    text = "line 27\nline 28\nline 29\nmine\nline 31\nline 32\nline 33\n"
    found = chosen(change, {0}, {1: text}).after
    assert found == TEN.replace(b" 30", b" 30").replace(b"line 30\n", b"mine\n")


def test_what_is_written_gets_the_line_ends_of_the_file():
    before = b"a\r\nb\r\nc"
    change = FileChange("a.txt", before, before.replace(b"b", b"B"))
    assert chosen(change, set(), {0: "a\nx\ny\nc\n"}).after == b"a\r\nx\r\ny\r\nc"
    assert chosen(change, set(), {0: ""}).after == b""


@pytest.mark.parametrize(
    "before", [b"a\r\nb\r\nc\r\n", b"caf\xe9\nb\nc\n", b"caf\\xe9\nb\nc", "é\r\nb\r\nc".encode()]
)
def test_the_text_of_a_diff_written_back_is_the_file_again(before):
    change = FileChange("a.txt", before, before.replace(b"b", b"B"))
    body = unified([change]).split("@@\n")[1].split("\n")
    text = "\n".join(line[1:] for line in body if line[:1] in (" ", "+")) + "\n"
    assert chosen(change, set(), {0: text}).after == change.after
    crlf = text.replace("\r", "").replace("\n", "\r\n")
    assert chosen(change, set(), {0: crlf}).after == change.after


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (b"a\x0cb\nb\n", "a\nB\n"),
        (b"a\rb\nb\n", "a\nB\n"),
        (b"caf\xe9\nb\n", "caf\\xe9\nü\n"),
        (b"\0\nb\n", "B\n"),
        (b"caf\xe9\ncaf\\xe9\nb\n", "caf\\xe9\nB\n"),
    ],
)
def test_lines_that_cannot_be_written_exactly_are_refused(before, text):
    change = FileChange("a.txt", before, before.replace(b"b\n", b"B\n"))
    with pytest.raises(EditError, match="exactly"):
        chosen(change, set(), {0: text})


def test_half_a_character_of_utf_16_is_shown_escaped():
    half = "\ufeffa\ud800\n".encode("utf-16-le", "surrogatepass")
    change = FileChange("a.txt", half, half.replace(b"a", b"b"))
    assert "+b\\ud800\n" in unified([change])
    assert chosen(change, {0}).after == half


def test_hunks_are_those_of_the_diff():
    sides = sides_of(FileChange("a.txt", TEN, TWO))
    assert [(hunk.i1, hunk.i2) for hunk in sides.hunks()] == [(0, 7), (27, 34)]
