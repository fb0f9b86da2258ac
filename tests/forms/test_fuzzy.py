import pytest

from agspec_tui.errors import EditError
from agspec_tui.forms.applier import land
from agspec_tui.forms.linediff import line_before
from agspec_tui.forms.types import FileEdit, Hunk, percent

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
    assert landing.doubtful == ("a.py, hunk 1: placed at line 2 by likeness only, 97 % alike",)


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


def test_a_place_found_by_likeness_does_not_settle_which_of_equal_places_another_hunk_means():
    before = FILE + b"    x = 1\r\n    y = 2\r\n    x = 1\r\n"
    twice = Hunk(2, ("    x = 1",), ("    x = 3",))
    between = Hunk(1, ("def show(lines):", "    printed(*line)"), ("def show(lines):", "    pass"))
    for hunks in ((between, twice), (twice, between)):
        with pytest.raises(EditError, match="not unique"):
            land([FileEdit("a.py", hunks=hunks)], {"a.py": before}.get, fuzzy=True)


def test_the_likeness_is_handed_on_with_the_place_and_is_1_for_every_sure_one():
    sure = FileEdit("b.py", hunks=(Hunk(1, ("x = 1",), ("x = 2",)),))
    landing = land([*NEAR, sure], {"a.py": FILE, "b.py": b"x = 1\n"}.get, fuzzy=True)
    assert [(one.path, one.rule) for one in landing.placements] == [
        ("a.py", "fuzzy"),
        ("b.py", "exact"),
    ]
    near, exact = (one.likeness for one in landing.placements)
    assert 0.97 <= near < 0.98
    assert exact == 1.0


@pytest.mark.parametrize(("likeness", "words"), [(0.8, "80 %"), (0.9999, "99 %"), (1.0, "100 %")])
def test_a_likeness_in_words_is_never_more_than_it_is(likeness, words):
    assert percent(likeness) == words


@pytest.mark.parametrize(
    ("new", "line", "before"),
    [
        ("abcd", 3, 3),
        ("xyabcd", 1, 1),
        ("xyabcd", 2, 1),
        ("xyabcd", 3, 1),
        ("abXd", 3, 3),
        ("ad", 2, 4),
        ("abcd", 5, 5),
        ("abxcd", 6, 5),
    ],
)
def test_a_line_is_found_in_the_text_before_an_edit(new, line, before):
    assert line_before("abcd", new, line) == before
