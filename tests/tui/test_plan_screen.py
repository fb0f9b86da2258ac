import pytest

from agspec_tui.commands import AnswerApproval, EditPlan, StepEdit
from agspec_tui.events import ApprovalAnswered, ApprovalRequested, PlanStep
from agspec_tui.tui.screens.plan import PlanScreen
from tests.tui.driving import driven

STEPS = (
    PlanStep(("durations.py", "tests/test_durations.py"), "Keep units whose count is one."),
    PlanStep(("render.py",), "Write 0s for zero."),
)
QUESTION = ApprovalRequested(
    call_id=3, role="planner", asks="plan", summary="work by this plan", diff="", steps=STEPS
)


async def asked(d, question=QUESTION, *, listening=True):
    await d.show(question)
    assert isinstance(d.app.screen, PlanScreen)
    if listening:
        d.clock.now += 2
        d.app.screen.show_keys()
        await d.pilot.pause()


def text_of(d):
    return d.app.screen.query_one("#plan-text")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_steps_are_shown_with_numbers_and_the_keys(size):
    async with driven(size=size) as d:
        await asked(d)
        shown = d.screen_text()
        for part in (
            "Work by this plan?",
            "2 steps, 3 files",
            "1. durations.py, tests/test_durations.py",
            "Keep units whose count is one.",
            "2. render.py",
            "Write 0s for zero.",
            "y / Enter  approve    e  edit    n / Esc  reject    ↑ ↓  scroll",
        ):
            assert part in shown


@pytest.mark.parametrize(
    ("key", "approved"), [("y", True), ("enter", True), ("n", False), ("escape", False)]
)
async def test_a_plan_is_taken_or_rejected_like_anything_else(key, approved):
    async with driven() as d:
        await asked(d)
        await d.pilot.press(key)
        await d.pilot.pause()
        assert d.source.commands == [AnswerApproval(call_id=3, approved=approved)]


async def test_keys_typed_elsewhere_do_not_open_the_text():
    async with driven() as d:
        await asked(d, listening=False)
        await d.pilot.press("e", "y")
        assert not d.app.screen.editing
        assert d.source.commands == []


async def test_steps_are_edited_as_text_and_sent():
    async with driven() as d:
        await asked(d)
        await d.pilot.press("e")
        assert text_of(d).has_focus
        assert text_of(d).text == (
            "durations.py, tests/test_durations.py\nKeep units whose count is one.\n\n"
            "render.py\nWrite 0s for zero.\n"
        )
        await d.pilot.press(*"y.py", "enter", *"nq?", "enter", "enter")
        await d.pilot.press("ctrl+s")
        await d.pilot.pause()
        assert d.app.screen is d.main
        kept = tuple(StepEdit(step.files, step.change) for step in STEPS)
        assert d.source.commands == [EditPlan(call_id=3, steps=(StepEdit(("y.py",), "nq?"), *kept))]


async def test_text_that_is_no_plan_is_told_and_not_sent():
    async with driven(size=(80, 24)) as d:
        await asked(d)
        await d.pilot.press("e")
        text_of(d).text = "durations.py\nc\n\nFix the rest too"
        await d.pilot.press("ctrl+s")
        await d.pilot.pause()
        assert "✗ step 2 of the plan: Fix the rest too is no path" in d.screen_text()
        assert d.source.commands == []
        text_of(d).text = "durations.py\nc"
        await d.pilot.press("ctrl+s")
        await d.pilot.pause()
        assert d.source.commands == [EditPlan(call_id=3, steps=(StepEdit(("durations.py",), "c"),))]


async def test_escape_leads_back_to_the_plan_that_yes_then_means_and_keeps_the_text():
    async with driven() as d:
        await asked(d)
        await d.pilot.press("e")
        text_of(d).text = "other.py"
        await d.pilot.press("escape")
        await d.pilot.pause()
        assert not d.app.screen.editing
        assert "1. durations.py" in d.screen_text()
        await d.pilot.press("e")
        assert text_of(d).text == "other.py"
        await d.pilot.press("escape", "y")
        await d.pilot.pause()
        assert d.source.commands == [AnswerApproval(call_id=3, approved=True)]


async def test_text_that_was_not_changed_takes_the_plan_as_it_is():
    async with driven() as d:
        await asked(d)
        await d.pilot.press("e", "ctrl+s")
        await d.pilot.pause()
        assert d.source.commands == [AnswerApproval(call_id=3, approved=True)]


async def test_a_plan_that_the_session_refused_opens_as_text_with_the_reason():
    async with driven(size=(80, 24)) as d:
        refused = ApprovalRequested(
            call_id=4,
            asks="plan",
            summary="work by this plan",
            diff="",
            steps=(PlanStep((".env",), "Read it."),),
            problem="step 1 of the plan: .env cannot be made: may hold secrets (name another)",
        )
        await asked(d, refused)
        assert "✗ step 1 of the plan: .env cannot be made: may hold secrets" in d.screen_text()
        assert text_of(d).has_focus
        assert text_of(d).text == ".env\nRead it.\n"
        await d.pilot.press("ctrl+s")
        await d.pilot.pause()
        assert d.source.commands == [EditPlan(call_id=4, steps=(StepEdit((".env",), "Read it."),))]


async def test_a_plan_cannot_steer_or_hide_anything_on_the_screen():
    async with driven() as d:
        evil = PlanStep(("a\x1b[2J\u202e.py",), "x\x1b[31m\u202ey [bold]z[/bold]")
        await asked(
            d,
            ApprovalRequested(call_id=5, asks="plan", summary="\x1b[1m", diff="", steps=(evil,)),
        )
        for keys in ((), ("e",)):
            await d.pilot.press(*keys)
            await d.pilot.pause()
            shown = d.screen_text()
            assert "[bold]z" in shown
            assert "\x1b" not in shown
            assert "\u202e" not in shown


async def test_a_plan_answered_elsewhere_goes_away_while_it_is_edited():
    async with driven() as d:
        await asked(d)
        await d.pilot.press("e")
        await d.show(ApprovalAnswered(call_id=3, approved=False))
        assert d.app.screen is d.main
        assert d.source.commands == []
