import pytest

from agspec_tui.commands import StepEdit
from agspec_tui.errors import UsageError
from agspec_tui.events import PlanStep
from agspec_tui.session.plan_text import plan_text, read_plan_text

TEXT = """\
calc.py, tests/test_calc.py
Add the numbers.
Test it too.

show.py
"""


def test_a_plan_is_lines_of_paths_with_their_changes_below():
    steps = (
        PlanStep(("calc.py", "tests/test_calc.py"), "Add the numbers.\n\nTest it too."),
        PlanStep(("show.py",), ""),
    )
    assert plan_text(steps) == TEXT


@pytest.mark.parametrize(
    "text", [TEXT, "\n\n" + TEXT + "\n \n", TEXT.replace("\n", "\r\n"), TEXT.rstrip()]
)
def test_the_text_is_read_as_it_is_written(text):
    assert read_plan_text(text) == (
        StepEdit(("calc.py", "tests/test_calc.py"), "Add the numbers.\nTest it too."),
        StepEdit(("show.py",), ""),
    )


@pytest.mark.parametrize(
    "path",
    [
        "a,b.py",
        "my file.py",
        'say "x".py',
        "back\\slash, too.py",
        "\u202eyp.a",
        "x\x1b[2J.py",
        "größe.py",
        "größe n.py",
        " lead.py",
        "new\nline.py",
        "#x.py",
        "'quoted'.py",
    ],
)
def test_every_path_comes_back_and_none_can_hide_or_steer(path):
    text = plan_text((PlanStep((path, "b.py"), "c\x1b[2J\u202e"),))
    assert all(line.isprintable() for line in text.split("\n"))
    (step,) = read_plan_text(text)
    assert step.files == (path, "b.py")
    assert step.change == "c [2J"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the plan has no step"),
        (" \n\n\t\n", "the plan has no step"),
        ("a.py\nc\n\nFix calc.py please", "step 2 of the plan: Fix calc.py please is no path"),
        ("a.py,, b.py", "step 1 of the plan: a comma stands without a path"),
        (", a.py", "step 1 of the plan: a comma stands without a path"),
        ('a.py\n\n""', "step 2 of the plan: a comma stands without a path"),
        ('"a.py', "step 1 of the plan: a path's quotes are wrong"),
        ('a.py, "b"c.py', "step 1 of the plan: a path's quotes are wrong"),
        ('"a\\q.py"', "step 1 of the plan: a path's quotes are wrong"),
    ],
)
def test_what_cannot_be_read_names_the_step(text, message):
    with pytest.raises(UsageError) as refused:
        read_plan_text(text)
    assert refused.value.message.startswith(message)
    assert "\n" not in refused.value.one_line()


def test_a_comma_at_the_end_of_the_paths_is_harmless():
    assert read_plan_text("a.py, b.py,\nc") == (StepEdit(("a.py", "b.py"), "c"),)
