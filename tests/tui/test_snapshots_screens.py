"""Pictures of the screens that ask something, and of those that show what was."""

from pathlib import Path

import pytest

from agspec_tui.config import logs_dir
from agspec_tui.session.recorded import RecordedSession, read_events
from agspec_tui.tui.app import AgspecApp
from tests.tui.driving import FIXED, Clock, RecordingSource
from tests.tui.test_diff_review import QUESTION as EDIT
from tests.tui.test_plan_screen import QUESTION as PLAN

SIZES = [(80, 24), (120, 40), (200, 50)]
each_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
each_theme = pytest.mark.parametrize("theme", ["agspec-dark", "agspec-light"])
ASKED = {
    "plan": (PLAN, ()),
    "plan as text": (PLAN, ("e",)),
    "hunks": (EDIT, ("j", "space", "k")),
    "side by side": (EDIT, ("v",)),
    "hunk as text": (EDIT, ("e",)),
}


@each_size
@each_theme
@pytest.mark.parametrize("what", ASKED)
def test_a_question_looks_as_it_should(snap_compare, what, theme, size):
    question, keys = ASKED[what]
    source, clock = RecordingSource(FIXED), Clock()
    app = AgspecApp(source, repo=Path("durations"), model="test-model", theme=theme, clock=clock)

    async def play(pilot) -> None:
        await pilot.pause()
        source.bus.publish(question)
        app.main.draw()
        await pilot.pause()
        clock.now += 2.0
        await pilot.pause(0.3)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.2)

    assert snap_compare(app, terminal_size=size, run_before=play)


@each_size
@each_theme
def test_the_log_looks_as_it_should(snap_compare, tmp_path, monkeypatch, theme, size):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # shown as ~/state
    logs_dir().mkdir(parents=True)
    (logs_dir() / "engine.log").write_text("loaded\nwarning: [red]no colour[/red]\n\x1b[31mnone\n")
    app = AgspecApp(
        RecordingSource(FIXED),
        repo=Path("durations"),
        model="test-model",
        theme=theme,
        clock=Clock(),
    )

    async def play(pilot) -> None:
        await pilot.pause()
        await app.main.run_action("log")
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.pause(0.3)

    assert snap_compare(app, terminal_size=size, run_before=play)


@each_size
@each_theme
def test_a_replay_looks_as_it_should(snap_compare, theme, size):
    session = RecordedSession(read_events(FIXED), speed=1.0)
    session.paused = True
    app = AgspecApp(
        session, repo=Path("durations"), model="m", theme=theme, replay=session, clock=Clock()
    )

    async def play(pilot) -> None:
        await pilot.pause(0.3)
        await pilot.press(*["full_stop"] * 12)
        await pilot.pause(0.5)
        app.main.draw()
        await pilot.pause(0.3)

    assert snap_compare(app, terminal_size=size, run_before=play)
