import pytest

from agspec_tui.commands import AnswerApproval
from agspec_tui.events import (
    ApprovalAnswered,
    ApprovalRequested,
)
from agspec_tui.tui.screens.approval import ApprovalScreen
from tests.tui.driving import driven


@pytest.mark.parametrize(
    ("key", "approved"), [("y", True), ("enter", True), ("n", False), ("escape", False)]
)
async def test_x10_keys_of_the_first_second_are_ignored_and_later_ones_answer(key, approved):
    async with driven() as d:
        question = await d.play_until(ApprovalRequested)
        d.clock.now += 0.4
        await d.pilot.press(key)
        assert isinstance(d.app.screen, ApprovalScreen)
        assert d.source.commands == []
        assert "keys typed before this appeared are ignored" in d.screen_text()
        d.clock.now += 0.7
        d.app.screen.show_keys()
        await d.pilot.pause()
        assert "approve" in d.screen_text()
        await d.pilot.press(key)
        await d.pilot.pause()
        assert d.source.commands == [AnswerApproval(call_id=question.call_id, approved=approved)]
        assert not isinstance(d.app.screen, ApprovalScreen)


async def test_x10_whoever_types_on_is_not_taken_at_their_word():
    async with driven() as d:
        await d.play_until(ApprovalRequested)
        for _ in range(10):
            d.clock.now += 0.3
            await d.pilot.press("y")
        assert d.source.commands == []


async def test_the_approval_shows_summary_files_and_the_whole_diff():
    async with driven() as d:
        question = await d.play_until(ApprovalRequested)
        text = d.screen_text()
        assert question.summary in text
        assert "durations.py  +" in text
        view = d.app.screen.query_one("#approval-diff")
        shown = [row[4:] for row in view.plain_text.split("\n")]
        assert shown == question.diff.removesuffix("\n").split("\n")


@pytest.mark.parametrize(("asks", "title"), [("plan", "Work by this plan?"), ("go_on", "Go on?")])
async def test_a_plan_and_going_on_are_no_change_of_files(asks, title):
    async with driven() as d:
        text = "--- a.py\n+++ b.py: add the numbers\nTurn 3: 2 of 5 tests fail."
        await d.show(ApprovalRequested(call_id=9, asks=asks, summary="so?", diff=text))
        assert d.app.screen.query_one("#approval").border_title == title
        assert str(d.app.screen.query_one("#approval-files").content) == ""
        shown = d.app.screen.query_one("#approval-diff").plain_text
        assert all(line in shown for line in text.splitlines())
        await d.show(ApprovalAnswered(call_id=9, approved=True))
        assert d.app.state.activity == "working"


async def test_a_command_is_shown_in_full_under_its_own_title():
    async with driven() as d:
        command = "make build\n" + "x" * 300
        await d.show(
            ApprovalRequested(call_id=9, asks="command", summary="run it", diff="", command=command)
        )
        assert d.app.screen.query_one("#approval").border_title == "Run this command?"
        shown = d.app.screen.query_one("#approval-diff").plain_text
        assert "make build" in shown
        assert "x" * 300 in shown.replace("\n", "").replace(" ", "")


async def test_scrolling_the_diff_does_not_wait():
    async with driven(size=(80, 12)) as d:
        await d.play_until(ApprovalRequested)
        view = d.app.screen.query_one("#approval-diff")
        await d.pilot.press("down", "down")
        await d.pilot.pause()
        assert view.scroll_offset.y > 0


async def test_a_question_settled_under_another_screen_goes_away_with_it():
    async with driven() as d:
        question = await d.play_until(ApprovalRequested)
        d.app.action_help()
        await d.pilot.pause()
        await d.show(ApprovalAnswered(call_id=question.call_id, approved=True))
        await d.pilot.press("escape")
        await d.pilot.pause()
        assert d.app.screen is d.main


async def test_quitting_works_while_a_question_is_open():
    async with driven() as d:
        await d.play_until(ApprovalRequested)
        d.clock.now += 2
        await d.pilot.press("ctrl+q")
        await d.pilot.pause()
        assert d.source.n_closed == 1


async def test_a_question_answered_elsewhere_goes_away():
    async with driven() as d:
        question = await d.play_until(ApprovalRequested)
        await d.show(ApprovalAnswered(call_id=question.call_id, approved=True))
        assert not isinstance(d.app.screen, ApprovalScreen)
        assert d.source.commands == []
