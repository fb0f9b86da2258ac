import pytest
from textual.widgets import TextArea

from agspec_tui.commands import AnswerApproval, HunkText
from agspec_tui.events import ApprovalRequested
from agspec_tui.forms.diff import unified
from agspec_tui.forms.types import FileChange
from agspec_tui.tui.review import Review
from agspec_tui.tui.screens.diff_review import DiffScreen
from tests.tui.driving import driven

LINES = "".join(f"line {number}\n" for number in range(40))
OTHER = LINES.replace(" 3\n", " x\n").replace(" 30\n", " [y]\n")
DIFF = unified(
    [
        FileChange("a.txt", LINES.encode(), OTHER.encode()),
        FileChange("b.txt", b"-- one", b"++ two\nthree"),
    ]
)
QUESTION = ApprovalRequested(call_id=7, summary="write a.txt, b.txt", diff=DIFF)


def text_of(review, width=0):
    return [f"{line.gutter.text}{line.text()}" for line, _ in review.lines(width)]


def test_every_line_of_the_diff_is_shown_with_a_mark_at_each_hunk():
    review = Review.of(DIFF)
    shown = text_of(review)
    assert [line[4:] for line in shown] == DIFF.removesuffix("\n").split("\n")
    assert [line[:4] for line in shown if "@@" in line] == ["▸ ✓ ", "  ✓ ", "  ✓ "]
    assert [number for line, number in review.lines() if "@@" in line.text()] == [0, 1, 2]


def test_what_is_left_out_is_said_by_a_sign_and_in_words():
    review = Review.of(DIFF)
    review.move(1)
    review.present.taken = False
    shown = text_of(review)
    at = shown.index("▸ ✗ @@ -28,7 +28,7 @@")
    assert shown[at + 1] == "    left out"
    assert review.answer(7) == AnswerApproval(call_id=7, approved=True, left_out=(1,))


def test_a_hunk_written_otherwise_shows_that_text_against_the_old_one():
    review = Review.of(DIFF)
    review.move(9)
    assert review.at == 2
    assert review.present.new_text == "++ two\nthree\n"
    review.write("-- one\nmine")
    assert [item.text for item in review.present.shown()] == [" -- one", "+mine"]
    assert review.answer(7).written == (HunkText(2, "-- one\nmine\n"),)
    review.write("++ two\nthree")
    assert review.answer(7) == AnswerApproval(call_id=7, approved=True)
    review.write("")
    assert [item.text for item in review.present.shown()] == ["--- one"]


def test_nothing_taken_is_a_no():
    review = Review.of(DIFF)
    for hunk in review.hunks:
        hunk.taken = False
    assert review.answer(7) == AnswerApproval(call_id=7, approved=False)
    assert Review.of("").answer(7).approved


def test_side_by_side_pairs_lines_and_counts_both_sides():
    shown = text_of(Review.of(DIFF), 68)
    half = 31
    assert shown[4] == f"    {'   1 line 0':{half}}│{'   1 line 0':{half}}"
    assert shown[7] == f"    {'   4 line 3':{half}}│{'   4 line x':{half}}"
    assert shown[-3:] == [
        "  ✓ @@ -1 +1,2 @@",
        f"    {'   1 -- one':{half}}│{'   1 ++ two':{half}}",
        f"    {' ' * half}│{'   2 three':{half}}",
    ]


def test_side_by_side_keeps_wide_and_long_lines_in_their_columns():
    diff = unified([FileChange("a", "日本語\n".encode() * 1, ("x" * 300 + "\n").encode())])
    shown = text_of(Review.of(diff), 68)[-1]
    assert shown == f"    {'   1 日本語':{28}}│   1 {'x' * 26}"


@pytest.fixture
async def asked():
    async with driven(size=(120, 40)) as d:
        await d.show(QUESTION)
        d.clock.now += 2
        d.app.screen.show_keys()
        assert isinstance(d.app.screen, DiffScreen)
        yield d


async def test_a_hunk_is_left_out_by_keys(asked):
    await asked.pilot.press("j", "space", "y")
    await asked.pilot.pause()
    assert asked.source.commands == [AnswerApproval(call_id=7, approved=True, left_out=(1,))]


async def test_leaving_out_twice_takes_it_again(asked):
    await asked.pilot.press("space", "space", "enter")
    await asked.pilot.pause()
    assert asked.source.commands == [AnswerApproval(call_id=7, approved=True)]


async def test_all_left_out_is_a_no(asked):
    await asked.pilot.press("space", "j", "space", "j", "space", "y")
    await asked.pilot.pause()
    assert asked.source.commands == [AnswerApproval(call_id=7, approved=False)]


async def test_a_hunk_is_written_in_a_text_area(asked):
    await asked.pilot.press("j", "j", "e")
    area = asked.app.screen.query_one(TextArea)
    assert area.text == "++ two\nthree\n"
    area.text = "mine, y n j k e"
    await asked.pilot.press("ctrl+s")
    assert "written by you" in asked.screen_text()
    await asked.pilot.press("y")
    await asked.pilot.pause()
    (command,) = asked.source.commands
    assert command.written == (HunkText(2, "mine, y n j k e\n"),)


async def test_escape_leaves_the_text_and_not_the_question(asked):
    await asked.pilot.press("e", "y", "escape")
    assert isinstance(asked.app.screen, DiffScreen)
    await asked.pilot.press("y")
    await asked.pilot.pause()
    assert asked.source.commands == [AnswerApproval(call_id=7, approved=True)]


async def test_side_by_side_by_a_key_and_not_where_it_has_no_room(asked):
    await asked.pilot.press("v")
    view = asked.app.screen.query_one("#approval-diff")
    assert "│" in view.plain_text
    await asked.pilot.press("v")
    assert "│" not in view.plain_text
    await asked.pilot.press("v")
    await asked.pilot.resize_terminal(80, 24)
    await asked.pilot.pause()
    assert "│" not in view.plain_text


async def test_the_hunk_that_is_looked_at_stays_in_view():
    async with driven(size=(80, 20)) as d:
        await d.show(QUESTION)
        d.clock.now += 2
        view = d.app.screen.query_one("#approval-diff")
        await d.pilot.press("j")
        await d.pilot.pause()
        await d.pilot.pause()
        assert "▸ ✓ @@ -28,7" in d.screen_text()
        assert view.scroll_offset.y > 0
        await d.pilot.press("k")
        await d.pilot.pause()
        await d.pilot.pause()
        assert "▸ ✓ @@ -1,7" in d.screen_text()


async def test_keys_of_the_first_second_change_nothing():
    async with driven() as d:
        await d.show(QUESTION)
        await d.pilot.press("space", "e", "j")
        assert "left out" not in d.screen_text()
        assert not d.app.screen.editing


async def test_a_hunk_is_chosen_by_a_click_and_left_out_by_one_on_its_mark(asked):
    view = asked.app.screen.query_one("#approval-diff")
    lines = view.plain_text.split("\n")
    at = next(row for row, text in enumerate(lines) if "@@ -28,7" in text)
    await asked.pilot.click(view, offset=(10, at))
    await asked.pilot.pause()
    assert "▸ ✓ @@ -28,7" in asked.screen_text()
    for mark in ("✗", "✓", "✗"):
        await asked.pilot.click(view, offset=(2, at))
        await asked.pilot.pause()
        assert f"▸ {mark} @@ -28,7" in asked.screen_text()
    await asked.pilot.click(view, offset=(2, at + 3))  # no mark stands there
    await asked.pilot.pause()
    await asked.pilot.press("y")
    await asked.pilot.pause()
    assert asked.source.commands == [AnswerApproval(call_id=7, approved=True, left_out=(1,))]


async def test_clicks_of_the_first_second_leave_nothing_out():
    async with driven() as d:
        await d.show(QUESTION)
        view = d.app.screen.query_one("#approval-diff")
        at = next(row for row, text in enumerate(view.plain_text.split("\n")) if "@@" in text)
        await d.pilot.click(view, offset=(2, at))
        await d.pilot.pause()
        assert "left out" not in d.screen_text()
