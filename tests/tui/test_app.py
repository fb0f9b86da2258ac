import pytest

from agspec_tui.commands import Interrupt, SubmitTask
from agspec_tui.errors import EngineError, ModelError, UsageError
from agspec_tui.events import (
    StepCommitted,
    TaskFinished,
    TaskSubmitted,
)
from agspec_tui.tui.complete import COMMANDS
from agspec_tui.tui.lines import line
from agspec_tui.tui.screens.speculation import SpeculationScreen
from agspec_tui.tui.widgets.prompt import QUIT_AFTER_S, Prompt
from tests.tui.driving import RecordingSource, driven

DONE = TaskFinished(status="fixed", summary="", diff="", wall_s=1.0)


async def type_text(d, text):
    await d.pilot.press(*("space" if c == " " else c for c in text))


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


async def test_further_tasks_wait_their_turn():
    async with driven() as d:
        await d.show(TaskSubmitted(text="first"))
        for text in ("more", "again"):
            d.main.query_one(Prompt).focus()
            await type_text(d, text)
            await d.pilot.press("enter")
            await d.pilot.pause()
        assert d.source.commands == []
        assert d.main.query_one(Prompt).text == ""
        assert "2 waiting" in d.screen_text()
        await d.show(DONE)
        await d.pilot.pause(0.3)
        assert d.source.commands == [SubmitTask(text="more")]
        await d.show(TaskSubmitted(text="more"), DONE)
        await d.pilot.pause(0.3)
        assert d.source.commands == [SubmitTask(text="more"), SubmitTask(text="again")]


async def test_stopping_a_task_gives_back_those_that_wait():
    async with driven() as d:
        await d.show(TaskSubmitted(text="first"))
        await type_text(d, "more")
        await d.pilot.press("enter")
        await type_text(d, "half")
        await d.pilot.press("escape")
        await d.pilot.pause()
        assert d.source.commands == [Interrupt()]
        await d.show(DONE)
        await d.pilot.pause(0.3)
        assert d.source.commands == [Interrupt()]
        assert d.main.query_one(Prompt).text == "more\n\nhalf"


class Unwilling(RecordingSource):
    """A source that takes no task."""

    async def send(self, command) -> None:
        self.commands.append(command)
        raise UsageError("no", "not now")


async def test_a_task_that_is_refused_leaves_the_prompt_free():
    async with driven(Unwilling()) as d:
        await type_text(d, "more")
        await d.pilot.press("enter")
        await d.pilot.pause(0.3)
        assert not d.app.state.working


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


async def test_the_palette_offers_what_the_slash_commands_do():
    async with driven() as d:
        found = {one.title: one for one in d.app.get_system_commands(d.app.screen)}
        assert len(found) == len(list(d.app.get_system_commands(d.app.screen)))
        assert {name.capitalize() for name in COMMANDS} <= set(found)
        for name, (action, _) in COMMANDS.items():
            where, _, action = action.rpartition(".")
            assert hasattr(d.app if where else d.main, f"action_{action}"), name
        await d.pilot.press("ctrl+p")
        await d.pilot.press(*"specul")
        await d.pilot.pause(0.5)
        await d.pilot.press("enter")
        await d.pilot.pause()
        assert isinstance(d.app.screen, SpeculationScreen)
        titles = {one.title for one in d.app.get_system_commands(d.app.screen)}
        assert "Undo" not in titles
        assert {"Help", "Quit", "Suspend"} <= titles


async def submitted(app, text):
    prompt = app.main.query_one(Prompt)
    prompt.text = text
    await app.pilot.press("enter")
    await app.app.workers.wait_for_complete()
    await app.pilot.pause()
    assert app.main.focused is app.transcript


async def test_after_the_work_the_next_issue_can_be_typed():
    async with driven() as app:
        await submitted(app, "fix it")
        await app.show(DONE)
        await app.pilot.press(*"undo")  # in the transcript the first letter would undo the turn
        assert app.main.query_one(Prompt).text == "undo"
        assert [type(one) for one in app.source.commands] == [SubmitTask]


async def test_who_reads_further_up_when_the_work_ends_is_left_there():
    async with driven(size=(80, 24)) as app:
        app.main.write([line(str(number)) for number in range(100)])
        await submitted(app, "fix it")
        await app.pilot.press("pageup")
        await app.pilot.pause()
        await app.show(DONE)
        assert app.main.focused is app.transcript
