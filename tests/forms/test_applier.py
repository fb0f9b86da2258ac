import pytest

from agspec_tui.errors import EditError
from agspec_tui.forms.applier import land
from agspec_tui.forms.choose import form
from agspec_tui.forms.types import FileEdit, Hunk, Landing

CODE = (
    "import os\n\n\nclass A:\n    def run(self):\n        return 1\n\n\n"
    "class B:\n    def run(self):\n        return 1\n"
)
LONG = "".join(f"line {i} = {i * i}\n" for i in range(40))


def hunk(old: str, new: str, number: int = 1, hint: str = "", line: int = 0) -> Hunk:
    def lines(text: str) -> tuple[str, ...]:
        return tuple(text.split("\n")[:-1]) if text else ()

    return Hunk(number, lines(old), lines(new), hint, line)


def landed(before: bytes | None, *hunks: Hunk, path: str = "a.py") -> bytes | None:
    return landing(before, *hunks, path=path).changes[0].after


def landing(before: bytes | None, *hunks: Hunk, path: str = "a.py") -> Landing:
    return land([FileEdit(path, hunks=hunks)], {path: before}.get)


def whole(before: bytes | None, text: str, path: str = "a.py", **options) -> bytes | None:
    return land([FileEdit(path, whole=text)], {path: before}.get, **options).changes[0].after


@pytest.mark.parametrize(
    ("rule", "before", "old", "new", "after"),
    [
        ("exact", "a\nb\nc\n", "a\nb\n", "a\nB\n", "a\nB\nc\n"),
        ("trailing blanks", "a \nb\t\nc\n", "a\nb\n", "a\nB\n", "a \nB\nc\n"),
        (
            "indentation",
            "if x:\n    def f():\n        return 1\n",
            "def f():\n    return 1\n",
            "def f():\n    y = 2\n    return y\n",
            "if x:\n    def f():\n        y = 2\n        return y\n",
        ),
        (
            "indentation",
            "def f():\n    return 1\n",
            "    def f():\n        return 1\n",
            "    def f():\n        return 2\n",
            "def f():\n    return 2\n",
        ),
        (
            "indentation",
            "def f():\n\tif x:\n\t\treturn 1\n",
            "    if x:\n        return 1\n",
            "    if x:\n        if y:\n            return 2\n",
            "def f():\n\tif x:\n\t\tif y:\n\t\t\treturn 2\n",
        ),
        (
            "indentation",
            "def f():\n    return 1\n",
            "def f():\n\treturn 1\n",
            "def f():\n\tif y:\n\t\treturn 2\n",
            "def f():\n    if y:\n        return 2\n",
        ),
        (
            "blank lines",
            "a = 1\n\n\nb = 2\n",
            "a = 1\nb = 2\n",
            "a = 1\nb = 3\n",
            "a = 1\n\n\nb = 3\n",
        ),
        ("blank lines", "a = 1\nb = 2\n", "a = 1\n\nb = 2\n", "a = 1\n\nb = 3\n", "a = 1\nb = 3\n"),
        (
            "unicode",
            "s = “x” — y\nt = 1\n",
            's = "x" - y\nt = 1\n',
            's = "x" - y\nt = 2\n',
            "s = “x” — y\nt = 2\n",
        ),
        (
            "context",
            "a = 1\nvalue = compute(a)\nb = 2\n",
            "wrong = 1\nvalue = compute(a)\nb = 2\n",
            "wrong = 1\nvalue = compute(b)\nb = 2\n",
            "a = 1\nvalue = compute(b)\nb = 2\n",
        ),
    ],
)
def test_the_first_rule_that_fits_lands_the_hunk(rule, before, old, new, after):
    result = landing(before.encode(), hunk(old, new))
    assert result.changes[0].after == after.encode()
    assert {placement.rule for placement in result.placements} == {rule}


@pytest.mark.parametrize(
    ("before", "old", "new"),
    [
        ("a = 1\nb = 2\n", "x = 1\nb = 2\n", "x = 1\nb = 3\n"),  # too little to know it by
        ("a\n    b\nc\n", "    a\nb\n", "    a\nB\n"),  # not uniform
        ("total = compute(1)\ntotal = compute(2)\n", "q\ntotal = compute(1)\n", "q\nx\n"),  # rival
        ("a\nb\n", "q\nb\n", "q\nnew line of some length\nb\n"),  # nothing goes
        ("a\nb\n", "a\nb\nc\n", "a\nB\nc\n"),
        ("a long line of prose here\n", "long line of prose\n", "short line of prose\n"),
    ],
)
def test_a_hunk_that_fits_nowhere_is_refused(before, old, new):
    with pytest.raises(EditError, match="hunk 1: the file has no such lines"):
        landed(before.encode(), hunk(old, new))


@pytest.mark.parametrize(
    ("hint", "line"), [("class B", 0), ("class B:", 3), ("", 10), ("", 11), ("B", 0)]
)
def test_hints_choose_among_equal_places(hint, line):
    one = hunk("    def run(self):\n        return 1\n", "    def run(self):\n        return 2\n")
    result = landed(
        CODE.encode(),
        hunk("\n".join(one.old) + "\n", "\n".join(one.new) + "\n", hint=hint, line=line),
    )
    assert result == (CODE[: CODE.rindex("1")] + "2\n").encode()


@pytest.mark.parametrize(
    ("hint", "line"), [("", 0), ("import os", 0), ("class C", 0), ("", 7), ("def run", 0)]
)
def test_equal_places_that_nothing_tells_apart_are_refused(hint, line):
    with pytest.raises(EditError, match=r"not unique, it fits at lines 6, 11") as caught:
        landed(CODE.encode(), hunk("        return 1\n", "        return 2\n", 1, hint, line))
    assert "@@" in caught.value.hint


def test_the_order_of_hunks_chooses_among_equal_places():
    first = hunk("class B:\n", "class C:\n")
    second = hunk("        return 1\n", "        return 2\n", 2)
    result = landed(CODE.encode(), first, second)
    assert result == CODE.replace("B", "C")[::-1].replace("1", "2", 1)[::-1].encode()


def test_equal_hunks_take_equal_places_in_order():
    twins = [hunk("        return 1\n", "        return 2\n", n) for n in (1, 2)]
    assert landed(CODE.encode(), *twins) == CODE.replace("1", "2").encode()
    with pytest.raises(EditError, match="not unique"):
        landed(CODE.encode(), *twins, hunk("        return 1\n", "        return 3\n", 3))


def test_hunks_that_change_the_same_line_are_refused():
    with pytest.raises(EditError, match="hunks 1 and 2: both change line 2"):
        landed(b"a\nb\nc\n", hunk("a\nb\n", "a\nB\n"), hunk("b\nc\n", "Q\nc\n", 2))


def test_the_context_of_two_hunks_may_overlap():
    assert (
        landed(b"a\nb\nc\n", hunk("a\nb\n", "A\nb\n"), hunk("b\nc\n", "b\nC\n", 2)) == b"A\nb\nC\n"
    )


def test_new_lines_without_context_go_to_the_end_only():
    assert landed(b"a\n", hunk("", "b\n")) == b"a\nb\n"
    assert landed(b"a", hunk("", "b\n", line=1)) == b"a\nb"
    for hint, line in (("def f", 0), ("", 1)):
        with pytest.raises(EditError, match="no line to put them beside"):
            landed(b"a\nb\n", hunk("", "c\n", hint=hint, line=line))


def test_new_lines_of_a_missing_file_create_it():
    assert landed(None, hunk("", "b\n")) == b"b\n"
    with pytest.raises(EditError, match="there is no such file"):
        landed(None, hunk("a\n", "b\n"))


def test_a_refusal_names_the_first_wrong_line_and_the_nearest_real_ones():
    wrong = hunk("line 7 = 49\nline 8 = 65\n", "line 7 = 49\nx\n", 1)
    with pytest.raises(EditError) as caught:
        landed(LONG.encode(), wrong, path="dir/a.py")
    error = caught.value
    assert error.message.startswith("dir/a.py, hunk 1:")
    assert "line 2 of its old side" in error.message
    assert "'line 8 = 65'" in error.message
    assert "    9  line 8 = 64" in error.detail
    assert "\n" not in error.message
    assert len(error.report().splitlines()) <= 20


def test_all_refusals_of_a_turn_are_listed_and_nothing_lands():
    files = {"a.py": b"a\n", "b.py": b"b\n", "c.py": b"c\n"}
    edits = [
        FileEdit("a.py", hunks=(hunk("a\n", "A\n"),)),
        FileEdit("b.py", hunks=(hunk("no such line\n", "B\n"),)),
        FileEdit("c.py", hunks=(hunk("neither this\n", "C\n"),)),
    ]
    with pytest.raises(EditError, match=r"^b.py, hunk 1.*\(and 1 more\)") as caught:
        land(edits, files.get)
    assert "also: c.py, hunk 1" in caught.value.detail


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
@pytest.mark.parametrize("end", [b"\r\n", b"\n", b"\r"])
def test_marks_and_line_ends_stay(mark, end):
    before = mark + end.join([b"a", b"b", b"c", b""])
    after = mark + end.join([b"a", b"B", b"B2", b"c", b""])
    assert landed(before, hunk("a\nb\n", "a\nB\nB2\n")) == after
    assert whole(before, "a\nB\nB2\nc\n") == after


def test_untouched_lines_of_a_mixed_file_keep_their_ends():
    before = b"a\r\nb\nc\rd\r\ne"
    assert whole(before, "a\nb\nX\nd\ne\n") == b"a\r\nb\nX\rd\r\ne"
    assert whole(before, "a\nb\nc\nnew\nd\ne\n") == b"a\r\nb\nc\rnew\rd\r\ne"
    assert whole(before, "a\nb\nc\nd\ne\nf\n") == b"a\r\nb\nc\rd\r\ne\r\nf"
    assert whole(before, "a\nb\nc\nd\n") == b"a\r\nb\nc\rd"
    assert landed(before, hunk("d\ne\n", "d\n")) == b"a\r\nb\nc\rd\r\n"


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (b"a\n", "b\n", b"b\n"),
        (b"a", "b\n", b"b"),
        (b"", "b\n", b"b\n"),
        (b"a\n\n", "a\n", b"a\n"),
        (b"a", "a\nb\n", b"a\nb"),
        (b"a\nb", "a\n", b"a"),
        (b"a\r\nb", "x\na\n", b"x\r\na"),
    ],
)
def test_a_whole_file_ends_as_the_old_one_did(before, text, after):
    assert whole(before, text) == after


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-8-sig", "latin-1", "cp1252", "gbk"])
def test_bytes_outside_the_edit_stay_in_any_encoding(encoding):
    text = {"gbk": "# 你好，世界\nx = 1\n# 再见\n"}.get(encoding, "# déjà vu\nx = 1\n# naïve\n")
    before = text.encode(encoding)
    after = text.replace("x = 1", "x = 2").encode(encoding)
    assert landed(before, hunk("x = 1\n", "x = 2\n")) == after


def test_bytes_of_no_encoding_stay():
    before = b"\xff\xfa broken\nx = 1\n\x80\x81\n"
    assert landed(before, hunk("x = 1\n", "x = 2\n")) == before.replace(b"1\n", b"2\n")


@pytest.mark.parametrize("new", ["x = '€'\n", "x = 'ü'\n", "x = '你'\n"])
def test_characters_an_unknown_encoding_may_lack_are_refused(new):
    with pytest.raises(EditError, match="not UTF-8"):
        landed("# café\nx = 1\n".encode("latin-1"), hunk("x = 1\n", new))


def test_characters_a_file_of_unknown_encoding_has_are_written_as_it_does():
    before = "# café\nx = 1\n".encode("latin-1")
    assert landed(before, hunk("x = 1\n", "x = 'café'\n")) == "# café\nx = 'café'\n".encode(
        "latin-1"
    )


def test_binary_files_are_refused():
    with pytest.raises(EditError, match=r"a.py: the file is binary"):
        landed(b"a\0b\nx\n", hunk("x\n", "y\n"))


@pytest.mark.parametrize("text", ["$& $1 $$", r"\1 \g<0> \n \\", "%s {0} {{}}"])
def test_new_text_is_literal(text):
    assert landed(b"x == = 1\n", hunk("x == = 1\n", f"{text}\n")) == f"{text}\n".encode()
    assert whole(b"x == = 1\n", f"{text}\n") == f"{text}\n".encode()


@pytest.mark.parametrize("text", ["a\nb\n", "a\r\nb\r\n", "\ufeffa\nb\n"])
def test_an_unchanged_result_is_refused(text):
    for before in (b"a\nb\n", b"a\r\nb\r\n"):
        with pytest.raises(EditError, match="no change"):
            whole(before, text)


def test_an_unchanged_file_beside_a_changed_one_is_left_out():
    files = {"a.py": b"a\n", "b.py": b"b\n"}
    edits = [FileEdit("a.py", whole="a\n"), FileEdit("b.py", whole="c\n")]
    assert [change.path for change in land(edits, files.get).changes] == ["b.py"]


def test_creating_over_a_file_is_refused_unless_it_is_empty():
    edit = FileEdit("a.py", whole="x\n", create=True)
    assert land([edit], {"a.py": b""}.get).changes[0].after == b"x\n"
    with pytest.raises(EditError, match="exists and is not empty"):
        land([edit], {"a.py": b"y\n"}.get)


def test_a_deletion_needs_the_file():
    edit = FileEdit("a.py", delete=True)
    (change,) = land([edit], {"a.py": b"y\n"}.get).changes
    assert (change.before, change.after) == (b"y\n", None)
    with pytest.raises(EditError, match="no such file to delete"):
        land([edit], {}.get)


def test_a_new_file_cannot_lie_below_a_file():
    with pytest.raises(EditError, match=r"a.py is a file"):
        land([FileEdit("a.py/b.py", whole="x\n")], {"a.py": b""}.get)


def test_a_sentence_is_not_created_as_a_file():
    with pytest.raises(EditError, match=r"but src/a.py is"):
        land([FileEdit("Patching src/a.py", whole="x\n")], {"src/a.py": b"1\n"}.get)


def test_two_whole_texts_of_one_file_are_refused():
    edits = [FileEdit("a.py", whole="x\n"), FileEdit("./a.py", whole="y\n")]
    with pytest.raises(EditError, match="twice"):
        land(edits, {"a.py": b"1\n"}.get)


def test_no_edits_at_all_are_refused():
    with pytest.raises(EditError, match="no edit"):
        land([], {}.get)


@pytest.mark.parametrize(
    ("path", "old", "long"),
    [
        ("README.md", b"# Use\n", True),
        ("a.txt", b'"""\n```\ncode\n```\n"""\n', True),
        ("a.py", b"x = 1\n", False),
    ],
)
def test_two_readings_of_the_fences_are_settled_by_the_file(path, old, long):
    inside = "x = 2\n"
    reply = f"{path}\n```\n{inside}```\nrun\n```\ncmd\n```\n"
    (change,) = land(form("whole").parse(reply), {path: old}.get).changes
    text = f"{inside}```\nrun\n```\ncmd\n" if long else inside
    assert change.after == text.encode()


def test_a_first_comment_that_the_file_has_stays():
    reply = "```python\n# src/a.py\nx = 2\n```\n"
    edits = form("whole").parse(reply)
    assert land(edits, {"src/a.py": b"# src/a.py\nx = 1\n"}.get).changes[0].after == (
        b"# src/a.py\nx = 2\n"
    )
    assert land(edits, {"src/a.py": b"x = 1\n"}.get).changes[0].after == b"x = 2\n"


def test_placements_tell_file_hunk_rule_line_and_bytes():
    before = "é\n\nx = 1\ny = 2\n".encode()
    result = landing(before, hunk("x = 1\n", "x = 10\n"), hunk("y = 2\n", "", 2))
    got = [(p.path, p.hunk, p.rule, p.line, p.start, p.end, p.size) for p in result.placements]
    assert got == [("a.py", 1, "exact", 3, 4, 10, 7), ("a.py", 2, "exact", 4, 10, 16, 0)]
    assert "-x = 1\n-y = 2\n+x = 10\n" in result.diff
