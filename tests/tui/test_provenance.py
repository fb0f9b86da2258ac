from pathlib import Path

import pytest

from agspec_tui.events import StepCommitted
from agspec_tui.tui.provenance import in_file, in_transcript, origin_of
from agspec_tui.tui.screens.main import MainScreen
from agspec_tui.tui.screens.provenance import ProvenanceScreen
from tests.tui.driving import RecordingSource, driven

FILE = [
    "import sys",
    "",
    "def total(numbers):",
    "    return sum(numbers)",
    "",
    "def mean(numbers):",
    "    return total(numbers) / len(numbers)",
]


def step(text, *, n_accepted=3, source="workspace", document="calc.py (whole)", line=0, chars=None):
    return StepCommitted(
        role="coder", turn=2, request=1, step=1, ids=(1,) * (n_accepted + 1), text=text,
        n_accepted_chars=len(text) if chars is None else chars, n_drafted=5, n_accepted=n_accepted,
        match_len=7, source=source, document=document, offset=11, line=line, budget=5, cap=64,
        alpha=1.0, decode_us=1.0, draft_us=1.0, n_context=1,
    )  # fmt: skip


def origin(text, **more):
    return origin_of(step(text, **more), text)


def test_only_accepted_text_of_a_draft_has_an_origin():
    assert origin("") is None
    assert origin("x", source="") is None
    assert origin("x").path == "calc.py"
    assert origin("x", document="coder: user message 2").path == "coder: user message 2"


def test_the_line_that_the_engine_names_is_shown():
    place = in_file(origin("    return sum(numbers)\n", line=4), FILE)
    assert (place.first, place.n_lines, place.note) == (3, 2, "")


def test_text_copied_in_the_form_of_a_diff_is_found_in_the_file():
    assert in_file(origin("-    return sum(numbers)\n", line=4), FILE)[::2] == (3, "")


@pytest.mark.parametrize("line", [1, 7, 99])
def test_text_that_has_moved_is_found_and_told(line):
    place = in_file(origin("def total(numbers):", line=line), FILE)
    assert place.first == 2
    assert f"line {line} then" in place.note


def test_text_that_is_gone_is_told():
    place = in_file(origin("def median(numbers):", line=3), FILE)
    assert (place.first, "not in the file now" in place.note) == (2, True)
    assert in_file(origin("def median(numbers):", line=99), FILE).first == -1
    assert in_file(origin("def median(numbers):"), []).first == -1


def test_without_a_line_the_text_is_looked_for():
    assert in_file(origin("def mean(numbers):"), FILE).first == 5
    twice = in_file(origin("(numbers):"), FILE)
    assert twice.first == 2
    assert "first of 2 lines with" in twice.note


def test_a_draft_of_several_lines_begins_at_its_first():
    place = in_file(origin("\n\ndef mean(numbers):"), FILE)
    assert (place.first, place.n_lines) == (3, 3)


def test_an_earlier_turn_is_found_above_and_not_below():
    said = ["a", "result = 1", "b", "result = 1", "c", "result = 1"]
    session = {"source": "session", "document": "coder: reply"}
    assert in_transcript(origin("result = 1", **session), said, 5).first == 3
    assert in_transcript(origin("result = 1", **session), said, 1).first == -1
    assert "prompt" in in_transcript(origin("other", **session), said, 5).note


@pytest.fixture
def repo(tmp_path, monkeypatch):
    (tmp_path / "durations").mkdir()
    (tmp_path / "durations" / "calc.py").write_text("\n".join(FILE) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "durations"


async def text_of(app):
    await app.app.workers.wait_for_complete()
    await app.pilot.pause()
    await app.pilot.pause()
    return app.screen_text()


async def test_a_key_opens_the_newest_run_and_arrows_the_others(repo):
    async with driven(RecordingSource()) as app:
        await app.show(
            step("def total(numbers):\n", line=3),
            step("    own words", n_accepted=0, chars=0, source=""),
            step("\n    return total(numbers) / len(numbers)\n", line=7),
        )
        await app.pilot.press("ctrl+o")
        text = await text_of(app)
        assert "2 of 2" in text
        assert "calc.py (whole), line 7" in text
        assert "3 of 5 drafted tokens accepted behind a match of 7" in text
        assert "▶ 7" in text
        await app.pilot.press("left")
        text = await text_of(app)
        assert "1 of 2" in text
        assert "▶ 3 def total(numbers):" in text
        await app.pilot.press("left", "escape")
        await app.pilot.pause()
        assert isinstance(app.app.screen, MainScreen)


async def test_a_click_on_a_marked_run_opens_it(repo):
    async with driven(RecordingSource()) as app:
        await app.show(
            step("plain ", n_accepted=0, chars=0, source=""),
            step("def total(numbers):", line=3),
        )
        row = next(
            number
            for number, shown in enumerate(app.screen_text().split("\n"))
            if "plain def total" in shown
        )
        await app.pilot.click(offset=(4, row))
        await app.pilot.pause()
        assert isinstance(app.app.screen, MainScreen)  # its own words were clicked
        await app.pilot.click(offset=(14, row))
        await app.pilot.pause()
        assert isinstance(app.app.screen, ProvenanceScreen)
        assert "▶ 3 def total(numbers):" in await text_of(app)


async def test_a_copy_of_an_earlier_turn_shows_that_turn(repo):
    reply = {"source": "session", "document": "coder: reply"}
    async with driven(RecordingSource()) as app:
        await app.show(
            step("answer = 42\n", n_accepted=0, chars=0, source=""),
            step("something else\n", n_accepted=0, chars=0, source=""),
            step("answer = 42\n", **reply),
        )
        await app.pilot.press("ctrl+o")
        text = await text_of(app)
        assert "coder: reply" in text
        assert "answer = 42" in text.split("▶")[1]


async def test_what_a_prompt_showed_is_found_in_the_files(repo):
    prompt = {"source": "session", "document": "coder: user message 2"}
    async with driven(RecordingSource()) as app:
        await app.app.workers.wait_for_complete()
        await app.show(step("def mean(numbers):\n", **prompt), step("of nobody's file\n", **prompt))
        await app.pilot.press("ctrl+o")
        assert "the screen does not show" in await text_of(app)
        await app.pilot.press("left")
        text = await text_of(app)
        assert "calc.py holds the same" in text
        assert "▶ 6 def mean(numbers):" in text


@pytest.mark.parametrize("path", ["gone.py", "../secret", "/etc/passwd"])
async def test_a_file_that_cannot_be_read_is_told(repo, path):
    (Path("secret")).write_text("secret\n")
    async with driven(RecordingSource()) as app:
        await app.show(step("root:x:0\n", document=f"{path} (whole)", line=1))
        await app.pilot.press("ctrl+o")
        text = await text_of(app)
        assert "cannot be read here" in text
        assert "root:x:0:0" not in text


async def test_without_a_marked_run_it_says_so():
    async with driven() as app:
        await app.pilot.press("ctrl+o")
        await app.pilot.pause()
        assert app.told() == ["no accepted draft is in view"]
