import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.tui.diff import FileChange, parse

DIFF = """\
--- a/one.py
+++ b/one.py
@@ -1,3 +1,3 @@
 a
-b
+c
 d
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+x
\\ No newline at end of file
--- a/old.py
+++ /dev/null
@@ -1 +0,0 @@
-y
"""


def test_each_file_is_named_with_its_counts():
    assert parse(DIFF)[1] == [
        FileChange("one.py", 1, 1, ""),
        FileChange("new.py", 1, 0, "new"),
        FileChange("old.py", 0, 1, "deleted"),
    ]


def test_lines_that_look_like_headers_are_lines_inside_a_hunk():
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n z\n"
    lines, files = parse(diff)
    assert [item.kind for item in lines] == ["meta", "file", "hunk", "removed", "added", "context"]
    assert [file.path for file in files] == ["x"]


@pytest.mark.parametrize("diff", ["", "no diff at all", "@@ @@", "+++ ", "\x00\n\n"])
def test_anything_can_be_parsed(diff):
    assert "\n".join(item.text for item in parse(diff)[0]) == diff.removesuffix("\n")


TEXTS = st.lists(st.sampled_from(["a", "b", "++ x", "-- y", "@@ -1 +1 @@", ""]), max_size=12)


@settings(max_examples=100)
@given(TEXTS, TEXTS)
def test_counts_are_those_of_the_change(old, new):
    diff = "".join(
        difflib.unified_diff([f"{t}\n" for t in old], [f"{t}\n" for t in new], "a/f", "b/f")
    )
    matcher = difflib.SequenceMatcher(None, old, new)
    gone = sum(i2 - i1 for tag, i1, i2, _, _ in matcher.get_opcodes() if tag != "equal")
    come = sum(j2 - j1 for tag, _, _, j1, j2 in matcher.get_opcodes() if tag != "equal")
    files = parse(diff)[1]
    assert [(file.n_removed, file.n_added) for file in files] == ([(gone, come)] if diff else [])
