import contextlib
import shutil

import msgspec
import pytest
from textual.widgets import DataTable, Static

from agspec_tui.cli.main import run
from agspec_tui.config import Config, sessions_dir
from agspec_tui.session.store import SessionStore
from agspec_tui.session.stored import list_sessions
from agspec_tui.tui.app import AgspecApp
from agspec_tui.tui.screens.main import MainScreen
from agspec_tui.tui.screens.models import ModelsScreen
from agspec_tui.tui.screens.sessions import SessionsScreen
from agspec_tui.tui.switch import Switch
from agspec_tui.tui.widgets.prompt import Prompt
from tests.session.scripted import SCRIPTS, TESTS, make_repo
from tests.tui.driving import Clock, RecordingSource, driven


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """A home without models, and no stored sessions."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AGSPEC_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    (tmp_path / "models").mkdir()


@pytest.fixture
def stored(tmp_path, capsys):
    """The name of a stored session that fixed `total() is [wrong]`."""
    repo = make_repo(tmp_path / "repo")
    said = ["fix", str(repo), "--issue", "total() is [wrong]\nreally", "--test", TESTS, "--yes"]
    assert run([*said, "--model", f"scripted:{SCRIPTS / 'fixed.json'}"]) == 0
    (one,) = list_sessions(sessions_dir())
    return one.session_id


async def opened(app, screen):
    app.app.push_screen(screen, app.main._switch)
    await app.pilot.pause()
    await app.app.workers.wait_for_complete()
    await app.pilot.pause()


def about(app):
    return str(app.app.screen.query_one("#listing-about", Static).content)


async def test_a_stored_session_is_listed_and_gone_on_with(stored):
    async with driven() as app:
        await opened(app, SessionsScreen(busy=False))
        text = app.screen_text()
        assert "total() is [wrong]" in text
        assert "really" not in text
        assert "fixed" in text
        assert stored in about(app)
        await app.pilot.press("enter")
        await app.pilot.pause()
    assert app.app.return_value.then == Switch("resume", stored)
    assert app.source.n_closed == 1


async def test_a_stored_session_is_replayed(stored):
    async with driven() as app:
        await opened(app, SessionsScreen(busy=False))
        await app.pilot.press("p")
        await app.pilot.pause()
    assert app.app.return_value.then == Switch("replay", stored)


async def test_work_is_stopped_only_when_it_is_asked_for_twice(stored):
    async with driven() as app:
        await opened(app, SessionsScreen(busy=True))
        await app.pilot.press("enter")
        await app.pilot.pause()
        assert isinstance(app.app.screen, SessionsScreen)
        assert "is stopped" in about(app)
        await app.pilot.press("p")  # another thing to open is asked about anew
        await app.pilot.pause()
        assert isinstance(app.app.screen, SessionsScreen)
        await app.pilot.press("p")
        await app.pilot.pause()
    assert app.app.return_value.then == Switch("replay", stored)


async def test_what_a_session_is_about_is_shown_literally(stored, tmp_path):
    path = sessions_dir() / f"{stored}.db"
    odd = "/x/\x1b[31mred\x07 [bold]"
    with contextlib.closing(SessionStore.open(path, writing=True)) as store:
        store.put_meta(msgspec.structs.replace(store.meta(), repo=odd))
    async with driven() as app:
        await opened(app, SessionsScreen(busy=False))
        assert "/x/␛[31mred␇ [bold]" in about(app)
        assert "\x1b[31mred" not in app.screen_text()
        assert "␛[31mred␇ [bold]" in app.screen_text()


async def test_a_session_that_cannot_be_used_says_why_and_opens_nothing(stored):
    (sessions_dir() / "f00d.db").write_text("no database")
    async with driven() as app:
        await opened(app, SessionsScreen(busy=False))
        table = app.app.screen.query_one(DataTable)
        assert table.row_count == 2
        at = next(at for at in range(2) if table.get_row_at(at)[1].plain == "not usable")
        table.move_cursor(row=at)
        await app.pilot.pause()
        assert "f00d" in about(app)
        for key in ("enter", "p"):
            await app.pilot.press(key)
            await app.pilot.pause()
            assert isinstance(app.app.screen, SessionsScreen)
        await app.pilot.press("escape")
        await app.pilot.pause()
        assert isinstance(app.app.screen, MainScreen)


async def test_where_nothing_is_stored_the_screen_says_so_and_reads_again():
    async with driven() as app:
        await opened(app, SessionsScreen(busy=False))
        assert about(app) == "no session is stored yet"
        await app.pilot.press("enter")
        await app.pilot.press("p")
        await app.pilot.press("r")
        await app.app.workers.wait_for_complete()
        await app.pilot.pause()
        assert about(app) == "no session is stored yet"


async def test_models_are_listed_with_what_can_be_done(tmp_path, smollm2):
    (tmp_path / "models" / "smollm2-135m.gguf").symlink_to(smollm2)
    shutil.copyfile(smollm2, tmp_path / "models" / "mine.gguf")
    async with driven() as app:
        await opened(app, ModelsScreen(Config(n_ctx=512), "mine", busy=False))
        table = app.app.screen.query_one(DataTable)
        rows = [[cell.plain for cell in table.get_row_at(at)] for at in range(table.row_count)]
        here = {row[0]: row[3] for row in rows}
        assert here["smollm2-135m"] == "yes"
        assert here["mine"] == "in use"
        assert here["qwen2.5-coder-1.5b"] == "no"
        assert rows[0][0] == "smollm2-135m"  # what can be opened stands first
        assert "a context of 512 tokens" in about(app)
        last = table.row_count - 1
        table.move_cursor(row=last)
        await app.pilot.pause()
        assert f"agspec-tui models pull {rows[last][0]}" in about(app)
        await app.pilot.press("enter")
        await app.pilot.pause()
        assert isinstance(app.app.screen, ModelsScreen)
        table.move_cursor(row=0)
        await app.pilot.pause()
        await app.pilot.press("enter")
        await app.pilot.pause()
    assert app.app.return_value.then == Switch("model", "smollm2-135m")


async def test_a_model_that_does_not_fit_says_what_would(tmp_path, smollm2):
    (tmp_path / "models" / "smollm2-135m.gguf").symlink_to(smollm2)
    async with driven() as app:
        await opened(app, ModelsScreen(Config(n_ctx=1 << 30), "other", busy=False))
        assert "beside the present one: " in about(app)
        assert "(" in about(app)  # the hint


@pytest.mark.parametrize(
    ("command", "kind"), [("models", ModelsScreen), ("sessions", SessionsScreen)]
)
async def test_a_command_opens_the_list(tmp_path, command, kind):
    source = RecordingSource()
    app = AgspecApp(source, repo=tmp_path, model="m", config=Config(), clock=Clock())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.main.query_one(Prompt).text = f"/{command}"
        await pilot.press("escape", "enter")
        await pilot.pause(0.2)
        assert isinstance(app.screen, kind)


async def test_a_recording_has_no_models_to_choose():
    async with driven() as app:
        await app.main.run_action("models")
        await app.pilot.pause()
        assert app.app.screen is app.main
        assert any("recording" in said for said in app.told())
