"""An edit that fails otherwise than before is mended once before it is taken back."""

import pytest

from agspec_tui.events import EditReverted, TaskFinished
from agspec_tui.session.checking import fails_otherwise
from agspec_tui.session.handover import RunResult
from agspec_tui.session.session import Session
from tests.session.scripted import (
    CALC,
    FIXED,
    TESTS,
    config,
    make_repo,
    plan,
    run_task,
    script,
    whole,
)

HALF = CALC.replace("result - number", "result + numbr")
WORSE = CALC.replace("result - number", "result + nmber")
BEGUN = (plan("calc.py"), whole("calc.py", HALF), "FAIL: NameError")


@pytest.fixture
def repo(tmp_path):
    return make_repo(tmp_path / "repo")


async def worked(repo, tmp_path, *replies, **settings):
    session = Session(
        repo, config(script(tmp_path, *replies), **settings), test_command=TESTS, auto_approve=True
    )
    await session.start()
    events = await run_task(session)
    await session.close()
    (finished,) = [event for event in events if isinstance(event, TaskFinished)]
    return finished, [event for event in events if isinstance(event, EditReverted)]


async def test_half_an_edit_is_mended_and_not_taken_back(repo, tmp_path):
    finished, reverted = await worked(
        repo,
        tmp_path,
        *BEGUN,
        whole("calc.py", FIXED),
        "PASS",
    )
    assert finished.status == "fixed"
    assert (repo / "calc.py").read_text() == FIXED
    assert reverted == []
    # The diff of the task is against what was there before both edits.
    assert "numbr" not in finished.diff


async def test_an_edit_that_is_not_mended_is_taken_back_whole(repo, tmp_path):
    finished, reverted = await worked(
        repo,
        tmp_path,
        *BEGUN,
        whole("calc.py", WORSE),
        "FAIL: NameError",
        whole("calc.py", FIXED),
        "PASS",
    )
    assert [event.turn for event in reverted] == [2]
    assert finished.status == "fixed"
    assert (repo / "calc.py").read_text() == FIXED


@pytest.mark.parametrize("reply", ["I cannot.", whole("calc.py", HALF)])
async def test_an_edit_is_taken_back_if_nothing_comes_of_mending(repo, tmp_path, reply):
    finished, reverted = await worked(
        repo,
        tmp_path,
        *BEGUN,
        reply,
        max_turns=2,
    )
    assert finished.status == "not_fixed"
    assert (repo / "calc.py").read_text() == CALC
    assert [event.turn for event in reverted] == [2]


async def test_an_edit_that_nobody_mends_any_more_is_taken_back_at_the_end(repo, tmp_path):
    finished, reverted = await worked(repo, tmp_path, *BEGUN, max_turns=1)
    assert finished.status == "not_fixed"
    assert (repo / "calc.py").read_text() == CALC
    assert [event.turn for event in reverted] == [1]


def result(output, passed=1, failed=2):
    return RunResult("tests", 1, False, output, passed, failed, ())


@pytest.mark.parametrize(
    ("after", "otherwise"),
    [
        (result("NameError: x"), True),
        (result("ValueError: y"), False),
        (result("no error at all"), False),
        (result("NameError: x", passed=0, failed=3), False),
        (result("NameError: x", passed=-1, failed=-1), True),
    ],
)
def test_another_error_and_no_lost_test_is_failing_otherwise(after, otherwise):
    assert fails_otherwise(result("ValueError: y"), after) is otherwise
