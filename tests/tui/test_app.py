import pytest
from textual.widgets import Static

from agspec_tui.commands import AnswerApproval, Interrupt, SubmitTask
from agspec_tui.errors import EngineError, ModelError
from agspec_tui.events import (
    ApprovalAnswered,
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
from agspec_tui.tui.widgets.prompt import QUIT_AFTER_S, Prompt
from tests.tui.driving import IN_GENERATION, RecordingSource, driven

HOSTILE = (
    "[bold red]markup[/] [link=x] [/nothing] \x1b[31mred\x1b[2J\x1b]0;title\x07 \x00 \x9b31m "
    "👩‍👩‍👧‍👦 漢字かな \u202eevil\u202c e\u0301 \ud800 " + "x" * 30_000
)


async def type_text(d, text):
    await d.pilot.press(*("space" if c == " " else c for c in text))


# ── sending ──────────────────────────────────────────────────────────────────────────────────────


async def test_enter_sends_the_issue_and_empties_the_prompt():
    async with driven() as d:
        await type_text(d, "fix it")
        await d.pilot.press("enter")
        await d.pilot.pause()
        assert d.source.commands == [SubmitTask(text="fix it")]
        assert d.main.query_one(Prompt).text == ""


async def test_ctrl_j_breaks_the_line_and_empty_text_is_not_sent():
    async with driven() as d:
        await d.pilot.press("enter", "space", "enter")
        await d.pilot.press("a", "ctrl+j", "b", "enter")
        await d.pilot.pause()
        assert d.source.commands == [SubmitTask(text="a\nb")]


async def test_up_and_down_on_an_empty_prompt_browse_the_history():
    async with driven() as d:
        prompt = d.main.query_one(Prompt)
        for text in ("one", "two"):
            prompt.focus()
            await type_text(d, text)
            await d.pilot.press("enter")
            await d.pilot.pause()
        prompt.focus()
        seen = []
        for key in ("up", "up", "up", "down", "down"):
            await d.pilot.press(key)
            seen.append(prompt.text)
        assert seen == ["two", "one", "one", "two", ""]


async def test_an_issue_given_at_the_start_is_sent_when_the_source_is_ready():
    async with driven(issue="broken") as d:
        assert d.source.commands == [SubmitTask(text="broken")]


async def test_a_second_task_waits_in_the_prompt_while_one_runs():
    async with driven() as d:
        await d.show(TaskSubmitted(text="first"))
        await type_text(d, "more")
        await d.pilot.press("enter")
        await d.pilot.pause()
        assert d.source.commands == []
        assert d.main.query_one(Prompt).text == "more"


class Slow(RecordingSource):
    """A source that takes its time to stop."""

    async def send(self, command) -> None:
        self.commands.append(command)


async def test_escape_interrupts_once_and_says_so_at_once():
    async with driven(Slow()) as d:
        await d.play_until(StepCommitted)
        await d.pilot.press("escape", "escape")
        await d.pilot.pause()
        assert "stopping…" in d.screen_text()
        assert d.source.commands == [Interrupt()]
        await d.show(TaskFinished(status="cancelled", summary="stopped", diff="", wall_s=1.0))
        assert "stopping…" not in d.screen_text()
        assert "cancelled" in d.screen_text()


async def test_escape_does_nothing_while_nothing_is_done():
    async with driven() as d:
        await d.pilot.press("escape")
        await d.pilot.pause()
        assert d.source.commands == []


# ── approval ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("key", "approved"), [("y", True), ("enter", True), ("n", False), ("escape", False)]
)
async def test_keys_of_the_first_second_are_ignored_and_later_ones_answer(key, approved):
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


async def test_whoever_types_on_is_not_taken_at_their_word():
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
        shown = [row.removeprefix("  ") for row in view.plain_text.split("\n")]
        assert shown == question.diff.removesuffix("\n").split("\n")


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


# ── what is shown ────────────────────────────────────────────────────────────────────────────────


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
        assert "restarting, the next turn will work" in d.transcript.plain_text
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


async def test_help_names_every_key_and_closes_again():
    async with driven(size=(100, 40)) as d:
        await d.pilot.press("f1")
        await d.pilot.pause()
        assert isinstance(d.app.screen, HelpScreen)
        text = d.screen_text()
        for _, keys in KEYS:
            assert all(key in text and meaning in text for key, meaning in keys)
        bound = {key for _, keys in KEYS for names, _ in keys for key in names.lower().split(", ")}
        for binding in (*d.app.BINDINGS, *d.main.BINDINGS):
            names = {binding.key, binding.key.replace("question_mark", "?"), binding.key[:3]}
            names |= {binding.key.replace("pageup", "pgup pgdn").replace("pagedown", "pgup pgdn")}
            names |= {binding.key.replace("end", "wheel")}
            assert names & bound, f"{binding.key} is not on the help page"
        await d.pilot.press("escape")
        assert not isinstance(d.app.screen, HelpScreen)


async def test_themes_are_cycled_through():
    async with driven() as d:
        seen = [d.app.theme]
        for _ in range(3):
            await d.pilot.press("f4")
            seen.append(d.app.theme)
        assert seen == ["agspec-dark", "agspec-light", "high-contrast", "agspec-dark"]


# ── the end ──────────────────────────────────────────────────────────────────────────────────────


async def test_q_outside_the_prompt_closes_the_source_and_leaves():
    async with driven() as d:
        d.transcript.focus()
        await d.pilot.press("q")
        await d.pilot.pause()
        assert d.source.n_closed == 1
        assert d.app.return_code == 0
    assert d.source.n_closed == 1


async def test_q_alone_in_the_prompt_leaves_but_a_word_with_q_does_not():
    async with driven() as d:
        await type_text(d, "quote")
        await d.pilot.pause(QUIT_AFTER_S + 0.2)
        assert d.main.query_one(Prompt).text == "quote"
        assert d.source.n_closed == 0
        d.main.query_one(Prompt).text = ""
        await d.pilot.press("q")
        await d.pilot.pause(QUIT_AFTER_S + 0.2)
        assert d.source.n_closed == 1


async def test_ctrl_q_leaves_in_the_middle_of_typing():
    async with driven() as d:
        await type_text(d, "fix")
        await d.pilot.press("ctrl+q")
        await d.pilot.pause()
        assert d.source.n_closed == 1


class Failing(RecordingSource):
    """A source that cannot start."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    async def start(self) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (EngineError("no memory for 16 384 tokens", "use a smaller context"), 3),
        (ModelError("model x is not here", "agspec-tui models pull x"), 2),
        (RuntimeError("boom"), 2),
    ],
)
async def test_a_source_that_cannot_start_is_a_line_with_a_hint_and_an_exit_code(error, code):
    async with driven(Failing(error)) as d:
        await d.draw()
        text = d.transcript.plain_text
        assert str(error) in text
        assert getattr(error, "hint", "bug") in text
        d.transcript.focus()
        await d.pilot.press("q")
        await d.pilot.pause()
        assert d.app.return_code == code
        assert d.app.return_value.exit_code == code


class Refusing(RecordingSource):
    """A source that takes no command and cannot be closed."""

    async def send(self, command) -> None:
        raise EngineError("the engine is gone", "wait for it")

    async def close(self) -> None:
        await super().close()
        raise OSError("stuck")


async def test_a_failing_command_or_close_never_ends_the_app_badly():
    async with driven(Refusing(), issue="x") as d:
        await d.pilot.pause()
        assert "the engine is gone" in d.transcript.plain_text
        await d.pilot.press("ctrl+q")
        await d.pilot.pause()
        assert d.app.return_code == 0


async def test_the_outcome_is_one_line_about_the_last_task():
    async with driven() as d:
        await d.play_until(TaskFinished)
        d.transcript.focus()
        await d.pilot.press("ctrl+q")
        await d.pilot.pause()
        assert d.app.return_value.summary == (
            "fixed: render keeps units whose count is one, and writes 0s for zero."
        )
