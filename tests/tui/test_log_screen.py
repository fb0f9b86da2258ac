import pytest

from agspec_tui.config import logs_dir
from agspec_tui.tui.screens.log import MAX_BYTES, LogScreen
from agspec_tui.tui.screens.main import MainScreen
from agspec_tui.tui.widgets.transcript import Transcript
from tests.tui.driving import driven


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    logs_dir().mkdir(parents=True)
    return logs_dir()


async def read(app):
    await app.app.workers.wait_for_complete()
    await app.pilot.pause()
    return app.app.screen.query_one(Transcript).plain_text


async def opened(app):
    app.app.push_screen(LogScreen())
    await app.pilot.pause()
    return await read(app)


async def test_the_ends_of_the_files_are_shown_and_read_again(folder):
    (folder / "engine.log").write_bytes(b"one\n\x1b[31mtwo\xff\n")
    async with driven() as app:
        text = await opened(app)
        assert "one" in text
        assert "␛[31mtwo" in text
        assert "nothing was logged yet" in text  # of the session
        with (folder / "engine.log").open("a") as file:
            file.write("three\n")
        await app.pilot.press("r")
        assert "three" in await read(app)
        await app.pilot.press("escape")
        await app.pilot.pause()
        assert isinstance(app.app.screen, MainScreen)


async def test_of_a_large_file_the_end_is_shown(folder):
    (folder / "engine.log").write_text(
        "first\n" + "x" * 99 + "\n" + ("y" * 99 + "\n") * (MAX_BYTES // 100 + 9) + "last\n"
    )
    async with driven() as app:
        text = await opened(app)
        assert "first" not in text
        assert "last" in text
        assert "the last 256 KiB" in text


async def test_a_log_that_cannot_be_read_is_told(folder):
    (folder / "engine.log").mkdir()
    async with driven() as app:
        assert "it cannot be read" in await opened(app)
