import pytest

from agspec_tui.errors import EditError
from agspec_tui.forms.types import FileChange
from agspec_tui.session.handover import EditSet
from agspec_tui.session.lost_names import refuse_lost

SHAPES = (
    "class Shape:\n    def area(self):\n        return 1\n\n\ndef by_color(shapes):\n    pass\n"
)
CUT = SHAPES[: SHAPES.index("\n\ndef")]
USER = "from shapes import Shape, by_color\n\nprint(by_color([Shape()]))\n"


def edit(after, path="shapes.py", before=SHAPES, **others):
    changes = [FileChange(path, before.encode(), after)]
    changes += [FileChange(f"{name}.py", None, text) for name, text in others.items()]
    return EditSet("whole", tuple(changes), "")


def test_a_lost_definition_is_named_with_who_uses_it():
    with pytest.raises(EditError) as raised:
        refuse_lost(edit(CUT.encode()), {"shapes.py": SHAPES, "main.py": USER}, "the area is wrong")
    assert raised.value.message == "shapes.py lost `by_color`, which main.py uses"


@pytest.mark.parametrize(
    ("after", "texts", "issue"),
    [
        (SHAPES.replace("1", "2"), {"main.py": USER}, ""),
        (CUT, {"main.py": "import shapes\n"}, ""),  # nobody uses it
        (CUT, {"main.py": USER}, "Remove `by_color`; main.py will follow."),
        (CUT, {"main.py": USER, "colors.py": "def by_color(shapes):\n    pass\n"}, ""),
        (CUT, {"shapes.py": SHAPES + "by_color([])\n"}, ""),  # the file itself is for the tests
    ],
)
def test_what_may_go(after, texts, issue):
    refuse_lost(edit(after.encode()), {"shapes.py": SHAPES, **texts}, issue)


def test_a_definition_that_moved_with_the_edit_is_not_lost():
    moved = edit(CUT.encode(), colors=b"def by_color(shapes):\n    pass\n")
    refuse_lost(moved, {"shapes.py": SHAPES, "main.py": USER}, "")


def test_a_user_that_changes_with_the_edit_decides_for_itself():
    changes = (*edit(CUT.encode()).changes, FileChange("main.py", USER.encode(), b"pass\n"))
    refuse_lost(EditSet("whole", changes, ""), {"shapes.py": SHAPES, "main.py": USER}, "")


def test_new_deleted_and_binary_files_lose_nothing():
    changes = (
        FileChange("a.py", None, b"x = 1\n"),
        FileChange("b.py", SHAPES.encode(), None),
        FileChange("c.py", b"\xff\xfe\0", b"\xff"),
    )
    refuse_lost(EditSet("whole", changes, ""), {"main.py": USER}, "")
