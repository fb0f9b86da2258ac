"""Prompts that do not fit: what is left out, in which order, and that the prompt says so."""

import pytest

from agspec_tui.events import (
    ContextReported,
    GenerationFinished,
    TurnFinished,
    TurnStarted,
)
from agspec_tui.forms.choose import form
from agspec_tui.session.context import Block, fit, joined
from agspec_tui.session.handover import RunResult
from agspec_tui.session.output import MAX_LINE_CHARS
from agspec_tui.session.prompts import (
    CoderContext,
    ShownFile,
    Tried,
    coder_blocks,
    excerpt,
)
from agspec_tui.session.roles import Limits
from tests.session.scripted import (
    CALC,
    FIXED,
    make_repo,
    of,
    open_session,
    plan,
    run_task,
    script,
    whole,
)

BLOCKS = [
    Block("the issue", "Issue"),
    Block("n" * 100, "Output", "the newest output", order=3),
    Block("o" * 100, "File", "an older file", order=1),
    Block("p" * 100, "File", "a newer file", order=1),
    Block("t" * 300, "Tried", "earlier attempts", order=2, is_history=True),
    Block("answer now"),
]
WHOLE = len(joined(BLOCKS))
SMALLEST = len(joined([block.left_out() if block.label else block for block in BLOCKS]))


async def count(text):
    return len(text)


async def summary(text):
    assert text == BLOCKS[4].body
    return "all of it failed"


async def no_summary(text):
    return ""


async def no_shorter(text):
    return text + "!"


@pytest.mark.parametrize(
    ("room", "dropped", "summarised"),
    [
        (WHOLE, (), ()),
        (WHOLE - 1, ("an older file",), ()),
        (WHOLE - 60, ("an older file", "a newer file"), ()),
        (WHOLE - 120, ("an older file", "a newer file"), ("earlier attempts",)),
        (
            WHOLE - 380,
            ("an older file", "a newer file", "the newest output"),
            ("earlier attempts",),
        ),
    ],
)
async def test_the_oldest_outputs_go_first_then_a_summary_is_made(room, dropped, summarised):
    fitted = await fit(BLOCKS, count, room, summary)
    assert (fitted.dropped, fitted.summarised) == (dropped, summarised)
    assert fitted.n_prompt == len(fitted.text) <= room
    for label in dropped:
        assert f"[{label} left out: there is no room for it]" in fitted.text
    assert ("[Summary] all of it failed" in fitted.text) == bool(summarised)
    assert fitted.text.startswith("## Issue\nthe issue")
    assert fitted.text.endswith("answer now")


@pytest.mark.parametrize("summarise", [None, no_summary, no_shorter])
async def test_k02_a_summary_that_fails_is_no_end_more_is_left_out_instead(summarise):
    fitted = await fit(BLOCKS, count, WHOLE - 120, summarise)
    assert fitted.dropped == ("an older file", "a newer file", "earlier attempts")
    assert fitted.n_prompt <= WHOLE - 120


async def test_a_prompt_of_which_too_much_must_stay_is_refused():
    assert await fit(BLOCKS, count, SMALLEST, summary) is not None
    assert await fit(BLOCKS, count, SMALLEST - 1, summary) is None


async def test_a_prompt_that_fits_is_counted_once():
    counted = []

    async def counting(text):
        counted.append(text)
        return len(text)

    fitted = await fit(BLOCKS, counting, WHOLE)
    assert counted == [fitted.text]


def test_a_coder_prompt_leaves_out_files_to_read_then_attempts_then_the_run():
    run = RunResult("pytest", 1, False, "E  boom", 2, 1, ("test_a",))
    context = CoderContext(
        "It breaks.",
        [ShownFile("a.py", "x = 1\n")],
        (),
        reading=[ShownFile("test_a.py", "assert x\n")],
        run=run,
        tried=[Tried("-x\n+y", "1 of 3 tests fail")],
    )
    blocks = coder_blocks(context, form("whole"), Limits())
    labels = [(block.order, block.label) for block in blocks if block.label]
    assert sorted(labels) == [
        (1, "test_a.py, to read"),
        (2, "earlier attempts"),
        (3, "the test output"),
    ]


def test_k11_a_line_of_a_megabyte_is_cut_and_the_prompt_says_how_much():
    context = CoderContext("It breaks.", (), (), reading=[ShownFile("a.js", "x" * 1_700_000)])
    text = joined(coder_blocks(context, form("whole"), Limits()))
    assert len(text) < MAX_LINE_CHARS + 2000
    assert f"[… {1_700_000 - MAX_LINE_CHARS} characters left out …]" in text
    assert "[… 999760 characters left out …]" in excerpt("x" * 1_000_000, 40)


def test_k12_an_output_of_megabytes_keeps_head_and_tail_and_says_what_is_left_out():
    text = excerpt("\n".join(f"line {n}" for n in range(200_000)), 40)
    assert text.startswith("line 0\n")
    assert text.endswith("line 199999")
    assert "[199960 lines left out]" in text


def wrong(sign):
    return whole("calc.py", CALC.replace("- number", f"{sign} number"))


FAIL = "FAIL: total([1, 2]) is wrong"
REPLIES = [plan("calc.py"), wrong("*"), FAIL, wrong("//"), FAIL]


CODER = """
schema = 1
name = "coder"
description = "Shows more with every attempt."
prompt = "coder.md"
[sampling]
max_tokens = 4096
[forms]
default = "whole"
[context]
show = [["plan"], ["failure"], ["failure", "tests", "tried"]]
"""


@pytest.fixture
def own_coder(own_home):
    (own_home / "agents").mkdir(parents=True)
    (own_home / "agents" / "coder.toml").write_text(CODER)


async def solve(tmp_path, replies, n_ctx):
    session = open_session(make_repo(tmp_path / "repo"), script(tmp_path, *replies), n_ctx=n_ctx)
    await session.start()
    try:
        return await run_task(session)
    finally:
        await session.close()


def reported(events, role, turn):
    return next(e for e in of(events, ContextReported) if (e.role, e.turn) == (role, turn))


@pytest.mark.usefixtures("own_coder")
async def test_k01_k06_what_is_reported_before_a_reply_is_exactly_what_is_decoded(
    tmp_path, own_coder
):
    events = await solve(tmp_path, [*REPLIES[:3], whole("calc.py", FIXED), "PASS"], 2500)
    reports, replies = of(events, ContextReported), of(events, GenerationFinished)
    assert [one.n_prompt for one in reports] == [one.n_prompt for one in replies]
    assert all(one.n_prompt + one.n_reply <= one.n_ctx for one in reports)
    assert {one.n_ctx for one in reports} == {2500}
    assert reported(events, "coder", 1).dropped == ()
    assert reported(events, "coder", 2).dropped == ("the test output",)
    assert not any(one.stop_reason == "context" for one in replies)


@pytest.mark.usefixtures("own_coder")
async def test_earlier_attempts_become_a_summary_that_the_model_makes(tmp_path):
    replies = [*REPLIES, "Multiplying failed.", whole("calc.py", FIXED), "PASS"]
    events = await solve(tmp_path, replies, 2600)
    report = reported(events, "coder", 3)
    assert report.dropped == ("tests/test_calc.py, to read", "the test output")
    assert report.summarised == ("earlier attempts",)
    forms = [one.form for one in of(events, TurnStarted) if one.turn == 3]
    assert forms[:2] == ["summary", "whole"]
    assert [one.n_tokens for one in of(events, TurnFinished)][5] == len("Multiplying failed.") + 1


async def test_k02_a_context_in_which_nothing_fits_is_refused_with_the_counts(tmp_path):
    events = await solve(tmp_path, REPLIES, 1100)
    assert events[-1].status == "failed"
    assert "tokens of prompt, 1100 of context" in events[-1].summary
