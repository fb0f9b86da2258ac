import pytest

from agspec_tui.events import TurnStarted, Warned
from agspec_tui.session.cause import read_cause
from tests.session.scripted import (
    CALC,
    FIXED,
    make_repo,
    of,
    plan,
    prompts,
    script,
    solve,
    whole,
)

CAUSE = "Cause: line 8 takes the number off.\nFix: `result = result + number`"


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (CAUSE, CAUSE),
        (f"```python\n{CAUSE}\n```\nAnswer:\n```python\nx = 1\n```", CAUSE),
        (f"Sure.\n\n{CAUSE}\n\nI hope it helps.", CAUSE),
        ("Cause: a\n\nFix: b\n\nFix: c", "Cause: a\n\nFix: b"),
        ("The sign is wrong.", "The sign is wrong."),
        ("", ""),
        ("x" * 5000, "x" * 800),
    ],
)
def test_cause_and_fix_are_read_out_of_what_is_said(said, cause):
    assert read_cause(said) == cause


async def test_the_third_attempt_asks_for_the_cause_and_goes_on_by_it(tmp_path):
    repo = make_repo(tmp_path / "repo")
    wrong = [whole("calc.py", CALC.replace("- number", f"* {n}")) for n in (2, 3)]
    path = script(
        tmp_path, plan("calc.py"), wrong[0], "FAIL: 1", wrong[1], "FAIL: 2",
        CAUSE, whole("calc.py", FIXED), "PASS",
    )  # fmt: skip
    records = tmp_path / "records"
    events = await solve(repo, path, record=records)
    assert events[-1].status == "fixed"
    coder = [(one.turn, one.form) for one in of(events, TurnStarted) if one.role == "coder"]
    assert coder == [(1, "whole"), (2, "whole"), (3, "cause"), (3, "whole")]
    asked, given = prompts(records, "coder")[2:4]
    assert "test_total" in asked.split("## For reading only")[1]
    assert CAUSE in given
    assert "For reading only" not in given


async def test_a_cause_that_leads_nowhere_is_asked_for_again(tmp_path):
    repo = make_repo(tmp_path / "repo")
    wrong = [whole("calc.py", CALC.replace("- number", f"* {n}")) for n in (2, 3)]
    path = script(
        tmp_path, plan("calc.py"), wrong[0], "FAIL: 1", wrong[1], "FAIL: 2",
        "I do not know.", wrong[0], CAUSE, whole("calc.py", FIXED), "PASS",
    )  # fmt: skip
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    coder = [one.form for one in of(events, TurnStarted) if one.role == "coder"]
    assert coder[2:] == ["cause", "whole", "cause", "whole"]
    assert any("drawn again: the same edit" in one.message for one in of(events, Warned))
