import subprocess
from pathlib import Path

import pytest

from agspec_tui.forms.diff import unified
from agspec_tui.forms.linediff import changes
from agspec_tui.forms.types import FileChange

TEN = b"".join(b"line %d\n" % n for n in range(40))

CASES = [
    ("a.py", b"a\nb\n", b"a\nc\n"),
    ("a.py", None, b"new\nfile\n"),
    ("a.py", None, b"no end"),
    ("a.py", b"gone\n", None),
    ("a.py", b"gone", None),
    ("a.py", b"a", b"a\n"),
    ("a.py", b"a\n", b"a"),
    ("a.py", b"a\r\nb\r\n", b"a\r\nc\r\nd\r\n"),
    ("a.py", b"a\r\nb\nc\r\n", b"a\r\nB\nc\r\n"),
    ("a.py", b"", b"x\n"),
    ("a.py", b"x\n", b""),
    ("a.py", None, b""),
    ("a.py", b"", None),
    ("dir with space/a (1).py", b"a\n", b"b\n"),
    ('a"q\\b.py', b"a\n", b"b\n"),
    ("dir/déjà.py", "é\n".encode(), "è\n".encode()),
    ("a.sql", b"x\n-- a\n++ b\ny\n", b"x\n-- c\n++ d\ny\n"),
    ("a.py", TEN, TEN.replace(b"line 3\n", b"").replace(b"line 30\n", b"line 30\nmore\n")),
    ("a.py", TEN, b"top\n" + TEN + b"end\n"),
    ("a.py", b"\x0cform\x0bfeed\x1c\xe2\x80\xa8\n", b"\x0cform\x0bfeed\x1c\n"),
]


def git_apply(folder: Path, path: str, before: bytes | None, text: str) -> bytes | None:
    target = folder / path
    if before is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(before)
    subprocess.run(
        ["git", "apply", "-"], input=text.encode(), cwd=folder, check=True, capture_output=True
    )
    return target.read_bytes() if target.exists() else None


@pytest.mark.parametrize(("path", "before", "after"), CASES)
def test_git_apply_makes_after_from_before(path, before, after, tmp_path):
    text = unified([FileChange(path, before, after)])
    assert git_apply(tmp_path, path, before, text) == after


def test_nothing_is_said_of_equal_files():
    assert unified([FileChange("a.py", b"x", b"x")]) == ""


def test_binary_files_get_one_line():
    text = unified([FileChange("a.bin", b"\0\1", b"\0\2")])
    assert text == "diff --git a/a.bin b/a.bin\nBinary files a/a.bin and b/a.bin differ\n"
    assert "/dev/null and b/a.bin differ" in unified([FileChange("a.bin", None, b"\0")])


def test_bytes_outside_utf_8_are_shown_escaped():
    text = unified([FileChange("a.txt", b"caf\xe9\n", b"caf\xe9s\n")])
    assert "-caf\\xe9\n+caf\\xe9s\n" in text


def test_utf_16_is_shown_as_text():
    text = unified([FileChange("a.txt", "é\n".encode("utf-16"), "è\n".encode("utf-16"))])
    assert "-é\n+è\n" in text


def test_far_changes_get_hunks_of_their_own():
    text = unified([FileChange("a.py", TEN, TEN.replace(b" 3\n", b" x\n").replace(b" 30", b" y"))])
    assert text.count("@@ -") == 2
    assert "@@ -1,7 +1,7 @@\n" in text


def test_changes_turn_the_old_sequence_into_the_new():
    old, new = list("abcdefxyz"), list("abXdefyzQ")
    out, at = [], 0
    for run in changes(old, new):
        out += old[at : run.i1] + new[run.j1 : run.j2]
        at = run.i2
    assert out + old[at:] == new
    assert changes(old, old) == []
