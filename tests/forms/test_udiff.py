import pytest

from agspec_tui.errors import EditError, UsageError
from agspec_tui.forms.applier import land
from agspec_tui.forms.choose import NAMES, form

UDIFF = form("udiff")
OLD = 'import os\n\n\ndef main(args):\n    print("Hello")\n\n    return 0\n'
NEW = OLD.replace("Hello", "Goodbye")
PATH = "src/app.py"
HUNK = ' def main(args):\n-    print("Hello")\n+    print("Goodbye")\n\n     return 0\n'


def apply(reply: str, old: str = OLD, path: str = PATH, expected: tuple[str, ...] = ()) -> str:
    landing = land(UDIFF.parse(reply, expected), {path: old.encode()}.get)
    (change,) = landing.changes
    assert change.path == path
    return "" if change.after is None else change.after.decode()


def fenced(header: str, body: str = HUNK) -> str:
    return f"Sure:\n\n```diff\n{header}{body}```\n\nThat is all.\n"


HEAD = f"--- a/{PATH}\n+++ b/{PATH}\n"


@pytest.mark.parametrize(
    "header",
    [
        f"{HEAD}@@\n",
        f"{HEAD}@@ ... @@\n",
        f"{HEAD}@@ def main @@\n",
        f"{HEAD}@@ def main(args): @@\n",
        f"{HEAD}@@ -4,4 +4,4 @@ def main(args):\n",
        f"{HEAD}@@ -1,99 +7,2 @@\n",
        f"{HEAD}@@ -4 +4 @@\n",
        f"{HEAD}@@ -4,4 +4,4\n",
        HEAD,
        f"--- {PATH}\n+++ {PATH}\n@@ @@\n",
        f"--- {PATH}\n@@ @@\n",
        f"+++ b/{PATH}\n@@ @@\n",
        f"--- a/{PATH}\t2024-01-01 10:00:00\n+++ b/{PATH}\t2024-01-01 10:00:01.5 +0100\n@@\n",
        f"--- a/{PATH} 2024-01-01 10:00:00\n+++ b/{PATH} 2024-01-01 10:00:01\n@@\n",
        f'--- "a/{PATH}"\n+++ "b/{PATH}"\n@@\n',
        f"diff --git a/{PATH} b/{PATH}\nindex 12ab..34cd 100644\n{HEAD}@@\n",
        f"diff --git a/{PATH} b/{PATH}\nold mode 100644\nnew mode 100755\n{HEAD}@@\n",
    ],
)
def test_every_header_small_models_print_is_read(header):
    assert apply(fenced(header)) == NEW


@pytest.mark.parametrize("header", ["@@\n", "@@ def main @@\n", ""])
def test_headers_may_be_missing_where_one_file_is_expected(header):
    assert apply(fenced(header), expected=(PATH,)) == NEW


def test_headers_may_be_missing_where_the_path_stands_before_the_fence():
    assert apply(f"**{PATH}**\n```diff\n@@\n{HUNK}```\n") == NEW


@pytest.mark.parametrize("expected", [(), ("a.py", "b.py")])
def test_a_diff_without_a_file_is_refused(expected):
    with pytest.raises(EditError, match="names no file"):
        UDIFF.parse(fenced("@@\n"), expected)


def test_a_diff_needs_no_fence():
    assert apply(f"I change it:\n\n{HEAD}@@\n{HUNK}\nThat is all.\n- really\n") == NEW


@pytest.mark.parametrize("fence", ["```", "````", "~~~~", "`````"])
def test_fences_may_have_any_length(fence):
    assert apply(f"{fence}diff\n{HEAD}@@\n{HUNK}{fence}\n") == NEW


def test_context_that_lost_its_leading_space_is_context():
    body = 'def main(args):\n-    print("Hello")\n+    print("Goodbye")\n\n    return 0\n'
    assert apply(fenced(f"{HEAD}@@\n", body)) == NEW


def test_the_body_is_the_truth_not_the_counts():
    body = "".join(f"+line {i}\n" for i in range(4))
    (edit,) = UDIFF.parse(fenced("--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,2 @@\n", body))
    assert edit.create
    assert edit.whole == "line 0\nline 1\nline 2\nline 3\n"


def test_a_new_file_may_lack_its_plus_marks_throughout():
    (edit,) = UDIFF.parse(fenced("--- /dev/null\n+++ b/new.py\n@@\n", "def f():\n    return 1\n"))
    assert edit.whole == "def f():\n    return 1\n"


def test_a_new_file_with_some_plus_marks_is_refused():
    with pytest.raises(EditError, match="not marked"):
        UDIFF.parse(fenced("--- /dev/null\n+++ b/new.py\n@@\n", "+def f():\n    return 1\n"))


def test_dev_null_on_the_new_side_deletes():
    (edit,) = UDIFF.parse(fenced(f"--- a/{PATH}\n+++ /dev/null\n@@ -1 +0,0 @@\n", "-x\n"))
    assert (edit.path, edit.delete) == (PATH, True)


def test_hunks_without_a_change_are_dropped():
    body = f"@@ import os @@\n import os\n@@\n{HUNK}"
    assert apply(fenced(HEAD, body)) == NEW


@pytest.mark.parametrize("body", ["@@\n import os\n", "@@\n-import os\n+import os\n", ""])
def test_a_diff_that_changes_nothing_is_refused(body):
    with pytest.raises(EditError, match="changes nothing"):
        UDIFF.parse(fenced(HEAD, body))


def test_dashes_and_pluses_inside_a_hunk_are_content():
    old = "select 1;\n-- old note\n++ old\nselect 2;\n"
    body = " select 1;\n--- old note\n+-- new note\n-++ old\n+++ new\n select 2;\n"
    expected = "select 1;\n-- new note\n++ new\nselect 2;\n"
    assert apply(fenced(f"{HEAD}@@\n", body), old) == expected


def test_counts_tell_a_deleted_comment_from_a_header():
    old = "-- a\nx\ny\n"
    body = "@@ -1,1 +1,1 @@\n--- a\n+++ b\n@@ -3,1 +3,1 @@\n-y\n+z\n"
    assert apply(fenced(HEAD, body), old) == "++ b\nx\nz\n"


def test_a_second_file_begins_at_its_headers():
    second = "--- a/b.py\n+++ b/b.py\n@@\n-1\n+2\n"
    first, other = UDIFF.parse(fenced(f"{HEAD}@@\n{HUNK}{second}", ""))
    assert (first.path, other.path) == (PATH, "b.py")
    assert len(first.hunks) == len(other.hunks) == 1
    assert other.hunks[0].old == ("1",)


def test_two_blocks_for_one_file_are_one_edit():
    reply = fenced(f"{HEAD}@@\n-a\n+b\n", "") + fenced(f"{HEAD}@@\n-c\n+d\n", "")
    (edit,) = UDIFF.parse(reply)
    assert [hunk.number for hunk in edit.hunks] == [1, 2]


@pytest.mark.parametrize(
    ("spelled", "path"),
    [
        ("a/dir with space/file (1).py", "dir with space/file (1).py"),
        ('"a/d\\303\\251j\\303\\240 \\"vu\\".py"', 'déjà "vu".py'),
        ("a/dir\\Create (1).cpp", "dir/Create (1).cpp"),
        ("`src/app.py`", "src/app.py"),
    ],
)
def test_paths_may_hold_spaces_quotes_and_backslashes(spelled, path):
    new = spelled.replace("a/", "b/", 1)
    reply = fenced(f"--- {spelled}\n+++ {new}\n@@\n", "-1\n+2\n")
    assert apply(reply, "1\n", path) == "2\n"


def test_a_folder_called_a_is_kept_where_it_is_expected():
    reply = fenced("--- a/x.py\n+++ a/x.py\n@@\n", "-1\n+2\n")
    assert apply(reply, "1\n", "a/x.py", ("a/x.py",)) == "2\n"
    assert apply(reply, "1\n", "x.py") == "2\n"


def test_renames_are_refused():
    with pytest.raises(EditError, match="renames"):
        UDIFF.parse(fenced("--- a/one.py\n+++ b/two.py\n@@\n", "-1\n+2\n"))
    with pytest.raises(EditError, match="renames"):
        UDIFF.parse("```diff\ndiff --git a/x b/y\nrename from x\nrename to y\n```")


def test_left_out_lines_in_the_old_side_are_named():
    body = ' def main(args):\n ...\n-    print("Hello")\n+    print("Goodbye")\n'
    with pytest.raises(EditError, match="leaves lines out") as caught:
        apply(fenced(f"{HEAD}@@\n", body))
    assert "hunk 1" in caught.value.message


def test_an_ellipsis_that_the_file_has_is_code():
    old = "def f():\n    ...\n\nx = 1\n"
    body = " def f():\n     ...\n \n-x = 1\n+x = 2\n"
    assert apply(fenced(f"{HEAD}@@\n", body), old) == old.replace("1", "2")


@pytest.mark.parametrize(
    ("old", "marks", "expected"),
    [
        ("a\nb", "-b\n\\ No newline at end of file\n+b\n", "a\nb\n"),
        ("a\nb\n", "-b\n+b\n\\ No newline at end of file\n", "a\nb"),
        ("a\nb", "-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n", "a\nc"),
        ("a\nb", "-b\n+c\n", "a\nc"),
        ("a\nb", " b\n+c\n", "a\nb\nc"),
        ("a\nb\n", " b\n+c\n", "a\nb\nc\n"),
        ("a\nb", "-b\n", "a\n"),
    ],
)
def test_the_last_line_end_is_what_the_diff_says_or_what_it_was(old, marks, expected):
    assert apply(fenced(f"{HEAD}@@\n a\n", marks), old) == expected


def test_a_reply_that_ends_inside_a_diff_is_refused():
    with pytest.raises(EditError, match="ends inside a diff"):
        UDIFF.parse(f"```diff\n{HEAD}@@\n{HUNK}")


def test_a_reply_without_a_diff_is_refused():
    with pytest.raises(EditError, match="holds no diff"):
        UDIFF.parse("I would change the print.\n```python\nprint(1)\n```\n", (PATH,))


@pytest.mark.parametrize("body", ["+x = 1\n\n\n", " \n+x = 1\n", "+x = 1\n \n"])
def test_blank_lines_alone_are_no_context(body):
    with pytest.raises(EditError, match="blank ones to put them beside"):
        apply(fenced(f"{HEAD}@@\n", body), "a\n\nb\n")


def test_the_views_are_the_file_with_each_prefix_and_bare():
    views = UDIFF.index_views("a\r\n\r\nb")
    assert [(view.name, view.text) for view in views] == [
        ("space", " a\n \n b\n"),
        ("minus", "-a\n-\n-b\n"),
        ("raw", "a\n\nb"),
    ]


def test_the_example_of_the_instructions_can_be_read():
    (edit,) = UDIFF.parse(UDIFF.instructions())
    assert edit.path == "src/greet.py"
    assert edit.hunks[0].hint == "def greet"


def test_forms_are_found_by_name():
    assert [form(name).name for name in NAMES] == list(NAMES)
    with pytest.raises(UsageError, match="unknown edit form 'sr'") as caught:
        form("sr")
    assert "whole" in caught.value.hint
