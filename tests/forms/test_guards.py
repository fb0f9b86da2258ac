import pytest

from agspec_tui.errors import EditError
from agspec_tui.forms.applier import land
from agspec_tui.forms.guards import is_placeholder
from agspec_tui.forms.types import FileEdit, Hunk
from agspec_tui.session.output import left_out

LONG = "".join(f"line {i} = {i * i}\n" for i in range(40))


def landed(before: bytes, old: str, new: str) -> bytes | None:
    hunk = Hunk(1, (old,), tuple(new.splitlines()))
    return land([FileEdit("a.py", hunks=(hunk,))], {"a.py": before}.get).changes[0].after


def whole(before: bytes | None, text: str, **options) -> bytes | None:
    edit = FileEdit("a.py", whole=text)
    return land([edit], {"a.py": before}.get, **options).changes[0].after


PLACEHOLDERS = [
    "# ... rest of code unchanged ...",
    "# rest of the code remains the same",
    "// existing code",
    "// ... existing code ...",
    "    # ... (other methods)",
    "/* ... rest of the file ... */",
    "<!-- existing content here -->",
    "-- same as before",
    "...",
    "    ...",
    "…",
    "# ...",
    "[truncated]",
    "...[truncated]",
    "# ... rest of main() ...",
    "... (rest of the file unchanged)",
    "{/* ... existing code ... */}",
    "    # Keep the existing code",
    left_out(1234),
    f"x = 1  {left_out(7)}",
]


@pytest.mark.parametrize("line", PLACEHOLDERS)
def test_new_placeholders_are_refused_in_every_form(line):
    with pytest.raises(EditError, match="left out") as caught:
        landed(b"a = 1\nb = 2\n", "b = 2", line)
    assert "in full" in caught.value.hint
    with pytest.raises(EditError, match="left out"):
        whole(b"a = 1\nb = 2\n", f"a = 1\n{line}\n")
    with pytest.raises(EditError, match="left out"):
        whole(None, f"a = 1\n{line}\n")


@pytest.mark.parametrize("line", PLACEHOLDERS)
def test_placeholders_that_were_there_may_stay(line):
    assert whole(f"a = 1\n{line}\n".encode(), f"a = 2\n{line}\n") == f"a = 2\n{line}\n".encode()


@pytest.mark.parametrize(
    "line",
    [
        "# the rest",
        "# existing",
        "# remove the existing lock file first",
        'print("... rest of code ...")',
        "x = [...]",
        "def f(self) -> int: ...",
        "return (a, ...)",
        "# rest of the arguments go to pytest",
        "#",
        "--",
        "# other",
        "[1, 2]",
    ],
)
def test_code_is_no_placeholder(line):
    assert not is_placeholder(line)


def test_a_stub_is_code_where_all_of_it_is_new():
    stub = "class P:\n    def f(self):\n        ...\n"
    assert whole(None, stub) == stub.encode()
    assert landed(b"x = 1\n", "x = 1", f"x = 1\n{stub}") == f"x = 1\n{stub}".encode()
    with pytest.raises(EditError, match="left out"):
        whole(b"def f():\n    return 1\n\n\ny = 2\n", "def f():\n    ...\n\n\ny = 3\n")


def test_lost_characters_are_refused():
    with pytest.raises(EditError, match=r"U\+FFFD"):
        whole("x = 'ä'\ny = 1\n".encode(), "x = '\ufffd'\ny = 1\n")


def test_a_whole_file_that_loses_much_is_refused_unless_allowed():
    short = "".join(LONG.splitlines(keepends=True)[:20])
    with pytest.raises(EditError, match="drops 20 of 40 lines") as caught:
        whole(LONG.encode(), short)
    assert "every line" in caught.value.hint
    assert whole(LONG.encode(), short, allow_shrink=True) == short.encode()
    with pytest.raises(EditError, match="drops 2 of 2"):
        whole(b"a\nb\n", "")
    assert whole(b"a\nb\nc\n", "a\n") == b"a\n"
