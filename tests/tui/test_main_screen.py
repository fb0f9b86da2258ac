import pytest
from textual.widgets import Static

from agspec_tui.events import (
    ApprovalRequested,
    CommandFinished,
    CommandStarted,
    EditRefused,
    EngineFailed,
    EngineRestarted,
    PlanProposed,
    PlanStep,
    PrefillProgressed,
    SessionFailed,
    SessionStarted,
    StepCommitted,
    TaskFinished,
    TaskSubmitted,
    TurnStarted,
    VerdictReached,
    Warned,
)
from agspec_tui.tui.screens.approval import ApprovalScreen
from agspec_tui.tui.screens.help import KEYS, HelpScreen
from tests.tui.driving import IN_GENERATION, RecordingSource, driven

HOSTILE = (
    "[bold red]markup[/] [link=x] [/nothing] \x1b[31mred\x1b[2J\x1b]0;title\x07 \x00 \x9b31m "
    "👩‍👩‍👧‍👦 漢字かな \u202eevil\u202c e\u0301 \ud800 " + "x" * 30_000
)


async def test_panels_change_while_tokens_arrive():
    async with driven() as d:
        await d.play_until(SessionStarted)
        assert d.screen_text().count("no steps yet") == 9
        await d.play_until(StepCommitted, role="coder")
        first = d.screen_text()
        d.source.step(20)
        await d.draw()
        assert d.screen_text() != first
        assert d.screen_text().count("no steps yet") == 3


async def test_a_window_may_shrink_to_any_size_and_grow_again_while_panels_hold_steps():
    sizes = [(120, h) for h in range(40, 0, -1)]
    sizes += [(100, 24), (99, 24), (80, 24), (60, 10), (1, 1)]
    async with driven(RecordingSource(IN_GENERATION), size=(120, 40)) as d:
        d.source.step(1000)
        await d.draw()
        for width, height in [*sizes, (120, 40)]:
            await d.pilot.resize_terminal(width, height)
            await d.draw()
        assert "accept length" in d.screen_text()


@pytest.mark.parametrize(("width", "folded"), [(60, True), (99, True), (100, False), (200, False)])
async def test_panels_fold_into_meters_below_100_columns(width, folded):
    async with driven(RecordingSource(IN_GENERATION), size=(width, 30)) as d:
        d.source.step(1000)
        await d.draw()
        assert d.main.query_one("#panels").display is not folded
        assert d.main.query_one("#meters").display is folded
        text = d.screen_text()
        assert ("rejected P" in text) is folded
        assert ("rejected tokens per turn" in text) is not folded


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40), (200, 50), (20, 8), (1, 1)])
async def test_a_whole_session_is_shown_at_any_size(size):
    async with driven(size=size) as d:
        while d.source.step(10):
            await d.draw()
        assert len(d.screen_text().split("\n")) == size[1]
        assert d.app.state.finished is not None


async def test_prefill_shows_how_far_how_fast_and_how_long():
    async with driven() as d:
        await d.show(
            TaskSubmitted(text="x"),
            TurnStarted(role="coder", turn=1, form="whole"),
            PrefillProgressed(
                role="coder", request=1, n_done=500, n_total=2500, n_reused=100, tok_per_s=200.0
            ),
        )
        text = d.screen_text()
        for part in ("500 / 2 500", "10 s left", "200 tok/s", "coding", "turn 1"):
            assert part in text


@pytest.mark.parametrize(
    ("event", "word"),
    [
        (TurnStarted(role="planner", turn=1, form=""), "planning"),
        (TurnStarted(role="coder", turn=1, form=""), "coding"),
        (CommandStarted(command="python -m pytest -q"), "running tests"),
        (CommandStarted(command="ls"), "running a command"),
    ],
)
async def test_the_status_line_says_what_is_being_done(event, word):
    async with driven() as d:
        await d.play_until(TaskSubmitted)
        await d.show(event)
        status = d.screen_text().split("\n")[-5]
        assert word in status


async def test_a_dead_engine_is_shown_until_it_is_back():
    async with driven() as d:
        await d.play_until(StepCommitted)
        await d.show(
            EngineFailed(message="killed by signal 9", hint="", log_path="", restarting=True)
        )
        banner = d.main.query_one("#banner", Static)
        assert banner.display
        text = d.screen_text()
        assert "engine process ended: killed by signal 9" in text
        assert "it is started again and goes on from there" in d.transcript.plain_text
        await d.show(EngineRestarted(n_restarts=1))
        assert not banner.display


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_hostile_text_is_shown_and_never_obeyed(size):
    async with driven(size=size) as d:
        step = await d.play_until(StepCommitted)
        kept = {"role": HOSTILE[:200], "turn": 3}
        await d.show(
            SessionStarted(
                session_id="s",
                repo=HOSTILE,
                model=HOSTILE,
                roles=("planner", "coder", HOSTILE),
                drafter="d",
                policy="p",
                test_command=HOSTILE,
            ),
            TaskSubmitted(text=HOSTILE),
            TurnStarted(form=HOSTILE, **kept),
            type(step)(**{f: getattr(step, f) for f in step.__struct_fields__} | {"text": HOSTILE}),
            PlanProposed(steps=(PlanStep(files=(HOSTILE,), change=HOSTILE),)),
            EditRefused(form=HOSTILE, message=HOSTILE),
            CommandStarted(command=HOSTILE),
            CommandFinished(
                command=HOSTILE,
                exit_code=-9,
                timed_out=False,
                output=(HOSTILE + "\n") * 50,
                wall_s=1.0,
                passed=-1,
                failed=-1,
            ),
            VerdictReached(passed=False, reason=HOSTILE),
            Warned(message=HOSTILE, hint=HOSTILE),
            SessionFailed(message=HOSTILE, hint=HOSTILE),
            EngineFailed(message=HOSTILE, hint=HOSTILE, log_path=HOSTILE, restarting=True),
            TaskFinished(status=HOSTILE[:40], summary=HOSTILE, diff="", wall_s=1.0),
        )
        text = d.screen_text()
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "[bold red]markup[/]" in d.transcript.plain_text
        diff = f"--- a/{HOSTILE}\n+++ b/{HOSTILE}\n@@ -1 +1 @@\n-{HOSTILE}\n+{HOSTILE}\n"
        await d.show(ApprovalRequested(call_id=7, summary=HOSTILE, diff=diff))
        assert isinstance(d.app.screen, ApprovalScreen)
        assert "\x1b" not in d.screen_text()


async def test_the_definition_of_accept_length_can_be_shown():
    async with driven() as d:
        await d.pilot.press("f3")
        await d.pilot.pause()
        assert "mean of (accepted + 1) over steps = tokens per target pass" in d.screen_text()
        await d.pilot.press("tab")
        d.transcript.focus()
        await d.pilot.press("d")
        await d.pilot.pause()
        assert "tokens per target pass" not in d.screen_text()


async def test_help_shows_every_key_and_closes_again():
    async with driven(size=(100, 70)) as d:
        await d.pilot.press("f1")
        await d.pilot.pause()
        assert isinstance(d.app.screen, HelpScreen)
        text = d.screen_text()
        for _, keys in KEYS:
            assert all(key in text and meaning in text for key, meaning in keys)
        await d.pilot.press("escape")
        assert not isinstance(d.app.screen, HelpScreen)


async def test_themes_are_cycled_through():
    async with driven() as d:
        seen = [d.app.theme]
        for _ in range(4):
            await d.pilot.press("f4")
            seen.append(d.app.theme)
        assert seen == [
            "agspec-dark", "agspec-light", "high-contrast", "terminal", "agspec-dark",
        ]  # fmt: skip


async def test_w03_what_holds_for_the_session_stays_in_the_status_line():
    async with driven() as d:
        await d.show(Warned(message="no watches", hint="", lasting="files are not watched"))
        await d.show(*[Warned(message=f"warning {number}", hint="") for number in range(60)])
        assert "! files are not watched" in d.screen_text()
        await d.pilot.press("pageup")
        await d.pilot.pause()
        assert "! files are not watched ↓ End follows" in d.screen_text()
