import csv

import pytest
from textual.widgets import Static

from agspec_tui.config import exports_dir
from agspec_tui.events import TaskFinished, TurnFinished
from agspec_tui.tui.screens.main import MainScreen
from agspec_tui.tui.screens.speculation import SpeculationScreen
from tests.tui.driving import driven


async def opened(app, key="f9"):
    await app.pilot.press(key)
    await app.pilot.pause()
    assert isinstance(app.app.screen, SpeculationScreen)


@pytest.mark.parametrize("size", [(200, 50), (120, 40), (80, 24), (60, 24)])
async def test_totals_charts_and_table_fit(size):
    async with driven(size=size) as app:
        await app.play_until(TaskFinished)
        await opened(app)
        text = app.screen_text()
        n_steps = app.app.state.speculation.total().n_steps
        assert "a pass ·" in text or "tokens per pass" in text
        for title in ("accept length", "α drift", "rejected tokens per turn", "draft length"):
            assert title in text
        (row,) = [line for line in text.split("\n") if line.strip().startswith("all ")]
        assert str(n_steps) in row.split()
        head = str(app.app.screen.query_one("#speculation-head", Static).render())
        assert ("lost" in head) == (size[0] >= 80)


async def test_the_table_is_grouped_by_each_dimension_in_turn():
    async with driven() as app:
        await app.play_until(TaskFinished)
        await opened(app)
        seen = []
        for _ in range(5):
            head = app.app.screen.query_one("#speculation-head", Static)
            seen.append(str(head.render()).split()[1])
            await app.pilot.press("g")
        assert seen == ["role", "turn", "source", "form", "role"]
        await app.pilot.press("left", "left")
        assert app.app.screen.by == "form"  # from "turn", to which the last g led


async def test_it_follows_the_session_and_closes():
    async with driven() as app:
        await app.play_until(TurnFinished, role="planner")
        await opened(app)
        before = app.screen_text()
        await app.play_until(TaskFinished)
        app.app.screen.show()
        await app.pilot.pause()
        assert app.screen_text() != before
        await app.pilot.press("escape")
        await app.pilot.pause()
        assert isinstance(app.app.screen, MainScreen)


async def test_without_a_step_it_says_so():
    async with driven() as app:
        await opened(app)
        assert "no steps yet" in app.screen_text()


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


async def test_the_table_is_exported_beside_earlier_ones(data_folder):
    async with driven() as app:
        await app.play_until(TaskFinished)
        await opened(app)
        for _ in range(2):
            await app.pilot.press("x")
            await app.app.workers.wait_for_complete()
        expected = app.app.state.speculation.as_csv()
    files = sorted(exports_dir().iterdir())
    assert len(files) == 2
    assert all(path.read_text() == expected for path in files)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in files)
    rows = csv.DictReader(files[0].read_text().splitlines())
    assert sum(int(row["n_steps"]) for row in rows) > 0


async def test_a_table_that_cannot_be_written_is_told(data_folder):
    exports_dir().parent.mkdir(parents=True, exist_ok=True)
    exports_dir().write_text("in the way")
    async with driven() as app:
        await app.play_until(TaskFinished)
        await opened(app)
        await app.pilot.press("x")
        await app.app.workers.wait_for_complete()
        await app.pilot.pause()
        assert "not written" in app.told()[-1]


async def test_details_of_the_turn_are_shown_on_demand():
    async with driven(size=(200, 50)) as app:
        await app.play_until(TaskFinished)
        assert "tokens from" not in app.screen_text()
        await app.pilot.press("f5")
        await app.pilot.pause()
        text = app.screen_text()
        for part in ("tokens from", "no draft", "saved", "lost", "draft, cap"):
            assert part in text
        await app.pilot.press("f5")
        await app.pilot.pause()
        assert "tokens from" not in app.screen_text()
