from pathlib import Path

import pytest

from agspec_tui.events import ApprovalRequested, TaskFinished
from agspec_tui.session.recorded import RecordedSession, read_events
from agspec_tui.tui.app import AgspecApp
from agspec_tui.tui.screens.approval import ApprovalScreen
from agspec_tui.tui.screens.replay import SPEEDS, ReplayScreen
from agspec_tui.tui.widgets.prompt import Prompt
from tests.tui.driving import FIXED, Clock


@pytest.fixture
async def replayed():
    session = RecordedSession(read_events(FIXED), speed=1.0)
    session.paused = True
    clock = Clock()
    app = AgspecApp(session, repo=Path("durations"), model="m", replay=session, clock=clock)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(0.2)
        yield app, pilot, session, clock


def text_of(app):
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def until(pilot, holds):
    for _ in range(100):
        if holds():
            return
        await pilot.pause(0.1)
    raise AssertionError("it did not come to that")


async def test_it_says_what_it_is_and_has_no_prompt(replayed):
    app, _, session, _ = replayed
    assert isinstance(app.screen, ReplayScreen)
    assert not app.screen.query_one(Prompt).display
    text = text_of(app)
    assert "a recorded session: no model is loaded" in text
    assert "replay paused" in text
    assert f"0 of {session.n_events} events" in text


async def test_a_key_shows_one_event(replayed):
    app, pilot, session, _ = replayed
    await pilot.press("full_stop", "full_stop")
    await pilot.pause(0.2)
    assert session.n_events - session.n_left == 2
    assert f"2 of {session.n_events} events" in text_of(app)


async def test_keys_change_the_pace_within_bounds(replayed):
    _, pilot, session, _ = replayed
    await pilot.press("plus")
    assert session.speed == 2.0
    for _ in range(9):
        await pilot.press("plus")
    assert session.speed == SPEEDS[-1]
    for _ in range(9):
        await pilot.press("minus")
    assert session.speed == SPEEDS[0]


async def test_it_plays_to_its_end_and_stops_at_questions(replayed):
    app, pilot, session, clock = replayed
    session.speed = 10_000.0
    await pilot.press("space")
    assert not session.paused
    asked = set()
    for _ in range(2):  # questions of the recording
        await until(pilot, lambda: getattr(app.screen, "call_id", 0) not in {0, *asked})
        assert isinstance(app.screen, ApprovalScreen)
        assert session.asking
        asked.add(app.screen.call_id)
        clock.now += 5.0
        await pilot.pause(0.2)
        await pilot.press("y")
    await until(pilot, lambda: app.state.finished is not None)
    await until(pilot, lambda: "replay ended" in text_of(app))
    assert session.n_left == 0
    assert app.state.finished.status == "fixed"


def test_the_recording_has_a_question_and_an_end():
    kinds = {type(event) for event in read_events(FIXED)}
    assert {ApprovalRequested, TaskFinished} <= kinds
