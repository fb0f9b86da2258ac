import pytest

from agspec_tui.errors import EditError
from agspec_tui.forms.applier import land
from agspec_tui.forms.grammars import grammar_of
from agspec_tui.forms.syntax import refuse_broken
from agspec_tui.forms.types import FileEdit, Hunk

BROKEN = [
    ("a.py", b"def f():\n    return 1\n", b"def f(:\n    return 1\n"),
    ("a.py", b"if x:\n    y()\n", b"if x:\ny()\n"),
    ("a.py", b"def f():\n    return 1\n", b"def f():\n      x = 1\n    return x\n"),
    ("a.js", b"f(1);\n", b"f(1;\n"),
    ("a.ts", b"let a: number = 1;\n", b"let a: number = ;\n"),
    ("a.tsx", b"let a = <b>x</b>;\n", b"let a = <b>x</c;\n"),
    ("a.go", b"package a\n", b"package a\nfunc f( {\n"),
    ("a.rs", b"fn f() {}\n", b"fn f( {}\n"),
    ("a.c", b"int x;\n", b"int f( {\n"),
    ("a.h", b"class A {};\n", b"class A {;\n"),
    ("a.cpp", b"int f() { return 1; }\n", b"int f() { return 1;\n"),
    ("A.java", b"class A {}\n", b"class A {\n"),
    ("a.sh", b"echo 1\n", b"if x; then\n"),
]


@pytest.mark.parametrize(("path", "before", "after"), BROKEN)
def test_a_file_that_parsed_and_does_not_any_more_is_refused_with_its_place(path, before, after):
    with pytest.raises(EditError, match=r"after the edit line \d+ is no valid ") as caught:
        refuse_broken(path, before, after)
    assert "the file after the edit:\n    1  " in caught.value.detail
    refuse_broken(path, before, before + before if not path.endswith((".go", ".h")) else before)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", b"def f(:\n", b"def g(:\n"),
        ("a.py", None, b"def g(:\n"),
        ("a.py", b"x = 1\n", None),
        ("a.txt", b"x = 1\n", b"x = (\n"),
        ("py", b"x = 1\n", b"x = (\n"),
    ],
)
def test_files_that_no_grammar_can_judge_are_left_alone(path, before, after):
    refuse_broken(path, before, after)


def test_p19_a_splice_that_breaks_the_file_is_refused_when_it_lands():
    edit = FileEdit("a.py", hunks=(Hunk(1, ("    x = 1",), ("    x = (1",)),))
    with pytest.raises(EditError, match=r"a\.py: after the edit line"):
        land([edit], {"a.py": b"def f():\n    x = 1\n    return x\n"}.get)


def test_encodings_do_not_hide_the_syntax():
    text = "s = 'é'\nx = 1\n"
    for encoding in ("utf-8-sig", "utf-16", "cp1252"):
        before, after = text.encode(encoding), text.replace("1", "(").encode(encoding)
        with pytest.raises(EditError, match="line 2"):
            refuse_broken("a.py", before, after)


@pytest.mark.parametrize(
    ("path", "grammar"), [("a/b.PY", "python"), ("x.tsx", "tsx"), ("Makefile", ""), ("a.md", "")]
)
def test_the_extension_tells_the_grammar(path, grammar):
    assert grammar_of(path) == grammar
