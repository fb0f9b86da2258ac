import pytest

from agspec_tui.errors import EditError
from agspec_tui.forms.applier import land
from agspec_tui.forms.types import FileEdit, Hunk

FILE = (
    b"def total(items):\r\n    result = sum_of(items)\r\n    return result\r\n\r\n"
    b"def show(lines):\r\n    print(*lines)\r\n"
)


def edit(*old: str, new: tuple[str, ...]) -> list[FileEdit]:
    return [FileEdit("a.py", hunks=(Hunk(1, old, new),))]


NEAR = edit(
    "def total(item):", "    result = sum_of(item)", new=("def total(item):", "    result = 2")
)


def test_a_clearly_most_alike_place_is_taken_where_one_asks_and_marked():
    landing = land(NEAR, {"a.py": FILE}.get, fuzzy=True)
    assert landing.changes[0].after == FILE.replace(b"sum_of(items)", b"2")
    assert landing.doubtful == ("a.py, hunk 1: placed at line 2 by likeness only",)


def test_it_is_refused_where_nobody_asks():
    with pytest.raises(EditError, match="no such lines"):
        land(NEAR, {"a.py": FILE}.get)


@pytest.mark.parametrize(
    ("before", "edits"),
    [
        (FILE + FILE, NEAR),
        (b"| a | 1000000 |\n| b | 1000000 |\n", edit("| c | 1000000 |", new=("| c | 2 |",))),
        (FILE, edit("x = 1", new=("x = 2",))),
        (FILE, edit("def total(items):", "    return cache[items]", new=("def total(items):",))),
        (FILE, edit("    def total(item):", "result = sum_of(items)", new=("    y = 1",))),
    ],
    ids=["two places", "P18 a row of a table", "too short", "another line", "other indentation"],
)
def test_what_is_alike_in_several_places_or_not_enough_is_refused(before, edits):
    with pytest.raises(EditError, match="no such lines"):
        land(edits, {"a.py": before}.get, fuzzy=True)


def test_nothing_is_doubtful_about_a_place_that_is_sure():
    sure = edit("    return result", new=("    return 2",))
    assert land(sure, {"a.py": FILE}.get, fuzzy=True).doubtful == ()
