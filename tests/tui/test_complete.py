import pytest

from agspec_tui.commands import SubmitTask, Undo
from agspec_tui.tui.complete import COMMANDS, best, offered, wanted
from agspec_tui.tui.screens.help import HelpScreen
from agspec_tui.tui.widgets.completion import Completion
from agspec_tui.tui.widgets.prompt import Prompt
from tests.tui.driving import driven

PATHS = ["src/calc.py", "tests/test_calc.py", "README.md", "docs/calls.md", "src/deep/colour.py"]


@pytest.mark.parametrize(
    ("before", "want"),
    [
        ("@", ("file", "")),
        ("fix @src/ca", ("file", "src/ca")),
        ("fix\n@x", ("file", "x")),
        ("mail a@b", None),
        ("fix @src/calc.py and", None),
        ("", None),
        ("/", ("command", "")),
        ("/un", ("command", "un")),
        ("fix /un", None),
        ("/usr/bin is", None),
    ],
)
def test_what_is_being_typed(before, want):
    assert wanted(before) == want


def test_files_by_the_beginning_of_their_name_then_by_any_letters():
    assert best("calc", PATHS) == ["src/calc.py", "tests/test_calc.py"]
    assert best("cal", PATHS)[:2] == ["src/calc.py", "docs/calls.md"]
    assert best("src/", PATHS) == ["src/calc.py", "src/deep/colour.py"]
    assert best("sdcol", PATHS) == ["src/deep/colour.py"]
    assert best("zzz", PATHS) == []
    assert best("", PATHS, 2) == ["README.md", "src/calc.py"]
    assert best("README", ["readme.md"]) == ["readme.md"]


def test_commands_have_a_remark():
    assert [name for name, _ in offered(wanted("/"), ())] == list(COMMANDS)
    assert offered(wanted("/un"), ()) == [("undo", COMMANDS["undo"][1])]


@pytest.fixture(autouse=True)
def repo(tmp_path, monkeypatch):
    """The app's repository, with the files of `PATHS`."""
    for path in PATHS:
        file = tmp_path / "durations" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("text\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "durations"


async def typed(app, text):
    await app.pilot.press(*("slash" if key == "/" else "at" if key == "@" else key for key in text))
    await app.pilot.pause()


async def prompt_of(app):
    await app.app.workers.wait_for_complete()
    prompt = app.main.query_one(Prompt)
    prompt.focus()
    return prompt, app.main.query_one(Completion)


async def test_tab_takes_a_file():
    async with driven() as app:
        prompt, completion = await prompt_of(app)
        await typed(app, "x @cal")
        assert completion.is_open
        await app.pilot.press("down", "tab")
        assert prompt.text == "x @docs/calls.md "
        assert not completion.is_open
        await typed(app, "@sdcol")
        await app.pilot.press("tab")
        assert prompt.text == "x @docs/calls.md @src/deep/colour.py "


async def test_escape_sends_completions_away_and_stops_nothing():
    async with driven() as app:
        prompt, completion = await prompt_of(app)
        await typed(app, "@cal")
        await app.pilot.press("escape")
        await app.pilot.pause()
        assert not completion.is_open
        assert app.source.commands == []
        assert prompt.text == "@cal"
        await typed(app, "c")
        assert completion.is_open


async def test_enter_with_a_file_offered_takes_it_and_sends_nothing():
    async with driven() as app:
        prompt, _ = await prompt_of(app)
        await typed(app, "@READ")
        await app.pilot.press("enter")
        assert prompt.text == "@README.md "
        assert app.source.commands == []


async def test_a_command_is_done_and_not_sent_as_an_issue():
    async with driven() as app:
        prompt, _ = await prompt_of(app)
        await typed(app, "/un")
        await app.pilot.press("tab", "enter")
        await app.app.workers.wait_for_complete()
        assert app.source.commands == [Undo()]
        assert prompt.text == ""
        await typed(app, "/help")
        await app.pilot.press("enter")
        await app.app.workers.wait_for_complete()
        await app.pilot.pause()
        assert isinstance(app.app.screen, HelpScreen)


async def test_an_unknown_command_is_told_and_a_path_is_an_issue():
    async with driven() as app:
        await prompt_of(app)
        await typed(app, "/nothing")
        await app.pilot.press("enter")
        await app.pilot.pause()
        assert "/nothing is no command" in app.told()[-1]
        assert app.source.commands == []
        await typed(app, "/etc/x")
        await app.pilot.press("enter")
        await app.app.workers.wait_for_complete()
        assert app.source.commands == [SubmitTask(text="/etc/x")]


async def test_a_file_that_is_new_since_the_start_is_offered(repo):
    async with driven() as app:
        prompt, completion = await prompt_of(app)
        (repo / "hidden_gem.py").write_text("x = 1\n")
        (repo / "README.md").unlink()
        await typed(app, "@")
        await app.app.workers.wait_for_complete()
        await app.pilot.pause()
        assert completion.is_open
        assert set(prompt.paths) == {"hidden_gem.py", *PATHS} - {"README.md"}
        await typed(app, "hid")
        await app.pilot.press("tab")
        assert prompt.text == "@hidden_gem.py "


async def test_enter_that_comes_before_the_completions_do_sends_what_was_typed():
    async with driven() as app:
        prompt, completion = await prompt_of(app)
        await typed(app, "/s")
        assert completion.chosen != "help"
        prompt.text = "/help"
        prompt.move_cursor((0, 5))
        assert prompt._handled("enter")  # before the message that the text has changed
        await app.pilot.pause()
        assert isinstance(app.app.screen, HelpScreen)


async def test_files_that_are_found_only_after_the_sign_was_typed_are_offered(repo):
    async with driven() as app:
        prompt, completion = await prompt_of(app)
        prompt.paths = ()  # as before the first list is there
        await typed(app, "@")
        await app.app.workers.wait_for_complete()
        await app.pilot.pause()
        assert completion.is_open
