"""Replies that cannot be used: drawn again, refused, asked for in another form."""

from agspec_tui.events import (
    CommandFinished,
    EditApplied,
    EditRefused,
    TurnStarted,
    Warned,
)
from tests.session.scripted import (
    CALC,
    FIXED,
    make_repo,
    of,
    plan,
    script,
    solve,
    whole,
)


async def test_replies_that_cannot_be_used_are_asked_for_in_another_form(tmp_path):
    copy = whole("calc.py", CALC)
    path = script(tmp_path, plan("calc.py"), *[copy] * 4, "Fix: +", whole("calc.py", FIXED), "PASS")
    events = await solve(make_repo(tmp_path / "repo"), path)
    assert events[-1].status == "fixed"
    coder = [event for event in of(events, TurnStarted) if event.role == "coder"]
    assert [(event.turn, event.form) for event in coder] == [
        (1, "whole"), (2, "whole"), (2, "whole"), (2, "whole"), (3, "cause"), (3, "udiff"),
    ]  # fmt: skip
    assert [event.form for event in of(events, EditRefused)] == ["whole", "whole"]


async def test_a_reply_that_loses_what_others_use_is_refused(tmp_path):
    repo = make_repo(tmp_path / "repo", two_files=True)
    cut = FIXED[: FIXED.index("def mean")]
    path = script(tmp_path, plan("calc.py"), whole("calc.py", cut), whole("calc.py", cut),
        whole("calc.py", FIXED) , "PASS",
    )  # fmt: skip
    events = await solve(repo, path, max_turns=2)
    assert of(events, EditRefused)[0].message.startswith("calc.py lost `mean`, which ")
    again = [event.message for event in of(events, Warned) if "drawn again" in event.message]
    assert "lost `mean`" in again[0]
    assert len(of(events, EditApplied)) == 1


async def test_a_drawn_reply_that_cannot_be_used_is_drawn_again_in_the_same_turn(tmp_path):
    repo = make_repo(tmp_path / "repo")
    wrong = whole("calc.py", CALC.replace("- number", "* number"))
    path = script(
        tmp_path, plan("calc.py"), wrong, "FAIL: sum", wrong, whole("calc.py", CALC),
        whole("calc.py", FIXED), "PASS",
    )  # fmt: skip
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    coder = [event.turn for event in of(events, TurnStarted) if event.role == "coder"]
    assert coder == [1, 2, 2, 2]
    assert of(events, EditRefused) == []
    again = [event.message for event in of(events, Warned) if "drawn again" in event.message]
    assert "the same edit as in turn 1" in again[0]
    assert "no change" in again[1]


async def test_a_greedy_reply_is_not_drawn_again(tmp_path):
    path = script(tmp_path, plan("calc.py"), "nothing", whole("calc.py", FIXED), "PASS")
    events = await solve(make_repo(tmp_path / "repo"), path)
    coder = [event.turn for event in of(events, TurnStarted) if event.role == "coder"]
    assert coder == [1, 2]


async def test_the_same_edit_twice_is_not_tested_again(tmp_path):
    repo = make_repo(tmp_path / "repo")
    wrong = whole("calc.py", CALC.replace("- number", "* number"))
    path = script(
        tmp_path, plan("calc.py"), wrong, "FAIL: sum", *[wrong] * 3, "Fix: +",
        whole("calc.py", FIXED), "PASS",
    )  # fmt: skip
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    assert "the same edit as in turn 1" in of(events, EditRefused)[0].message
    assert len(of(events, CommandFinished)) == 3
