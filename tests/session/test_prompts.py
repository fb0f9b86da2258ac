import pytest

from agspec_tui.forms.choose import form
from agspec_tui.session.coding import asks_for_tests
from agspec_tui.session.context import joined
from agspec_tui.session.handover import RunResult
from agspec_tui.session.outline import RankedFile
from agspec_tui.session.prompts import (
    CoderContext,
    ShownFile,
    Tried,
    cause_blocks,
    change_stub,
    coder_blocks,
    excerpt,
    executor_message,
    planner_blocks,
)
from agspec_tui.session.roles import Limits


def coder_text(context, form, limits):
    return joined(coder_blocks(context, form, limits))


def planner_text(*about):
    return joined(planner_blocks(*about))


RUN = RunResult("t", 1, False, "E  boom\n1 failed", 2, 1, ("test_a",))
PASSED = RunResult("t", 0, False, "3 passed", 3, 0, ())
PYTEST = """\
F.                                                            [100%]
====================== FAILURES ======================
E   boom
============== short test summary info ===============
FAILED tests/test_a.py::test_a - boom
FAILED tests/test_a.py::test_b - boom
1 failed, 1 passed in 0.01s
"""


def test_an_output_keeps_head_and_tail_and_says_what_is_left_out():
    lines = excerpt("\n".join(f"line {n}" for n in range(100)), 9).split("\n")
    assert lines[:4] == ["line 0", "line 1", "line 2", "[91 lines left out]"]
    assert lines[-1] == "line 99"
    assert len(lines) == 10


def test_a_short_output_is_kept_whole_and_a_long_line_is_cut():
    assert excerpt("a\nb", 9) == "a\nb"
    assert len(excerpt("x" * 5000, 9)) < 300


def test_rulers_and_the_second_list_of_pytest_are_left_out():
    assert excerpt(PYTEST, 20) == "F.   [100%]\n=== FAILURES ===\nE   boom\n1 failed, 1 passed"


def test_a_stub_holds_changed_lines_only_and_a_few_of_them():
    diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same\n-old\n+new\n"
    assert change_stub(diff) == "-old\n+new"
    assert change_stub("\n".join(f"+{n}" for n in range(30))).endswith("(and 18 more lines)")


def test_the_planner_sees_issue_files_and_failure():
    files = [RankedFile("a.py", ("run", "stop"), 3), RankedFile("b.py", (), 0)]
    text = planner_text("It breaks.", files, RUN, Limits())
    assert text.index("It breaks.") < text.index("a.py: run, stop") < text.index("boom")
    assert "(1 more files)" in planner_text("x", files, RUN, Limits(n_list_lines=1))
    assert "boom" not in planner_text("x", files, PASSED, Limits())


def test_the_coder_sees_stable_parts_first_and_the_request_last():
    context = CoderContext(
        issue="It breaks.",
        files=[ShownFile("a.py", "def run(): pass\n")],
        new=["b.py"],
        change="Mend run.",
        reading=[ShownFile("tests/test_a.py", "assert run()\n")],
        run=RUN,
        tried=[Tried("-x\n+y", "still boom", "NameError: run")],
        note="Careful.",
    )
    text = coder_text(context, form("whole"), Limits())
    parts = [
        "It breaks.", "a.py\n```", "boom", "For reading only: tests/test_a.py", "Mend run.",
        "+y\nResult: still boom\nNameError: run", "Answer format", "Careful.", "Change `a.py`",
        "new file `b.py`",
    ]  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_what_an_attempt_does_not_show_is_not_in_its_prompt():
    context = CoderContext(issue="i", files=[ShownFile("a.py", "x = 1\n")], new=())
    text = coder_text(context, form("udiff"), Limits())
    for title in ("## Task", "## Output", "## For reading", "## Already tried"):
        assert title not in text


def test_a_fence_in_shown_text_does_not_end_its_block():
    context = CoderContext(
        issue="i", files=(), new=(), reading=[ShownFile("x.md", "```\ncode\n```\n")]
    )
    assert "````\n```\ncode\n```\n````" in coder_text(context, form("whole"), Limits())


def test_the_executor_sees_the_exit_code():
    assert executor_message(RUN, Limits()).endswith("Exit code: 1")
    late = RunResult("t", -15, True, "", -1, -1, ())
    assert "time limit" in executor_message(late, Limits())


@pytest.mark.parametrize(
    ("issue", "asked"),
    [
        ("fix the failing test", False),
        ("the test test_a fails", False),
        ("tests/test_a.py fails with an error; update the parser", False),
        ("Add a test for empty input", True),
        ("please write unit tests", True),
        ("update the tests too", True),
        ("The test is wrong, it should expect 3", True),
        ("make all tests pass", False),
    ],
)
def test_tests_may_change_only_if_the_issue_asks_for_it(issue, asked):
    assert asks_for_tests(issue) is asked


def test_the_cause_is_asked_for_behind_what_the_edit_is_asked_for_behind():
    context = CoderContext(issue="i", files=[ShownFile("a.py", "x = 1\n")], new=(), run=RUN)
    shown = form("whole")
    asked = joined(cause_blocks(context, shown, Limits()))
    same = coder_text(context, shown, Limits())[: asked.index("Do not write")]
    assert asked.startswith(same.removesuffix("## Answer format\n"))
    assert asked.index("`Cause:`") < asked.index("`a.py` is wrong") < asked.index("`Fix:`")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("Ran 4 tests in 0.001s", "Ran 4 tests"),
        ("=== 1 failed, 1 passed in 0.01s ===", "=== 1 failed, 1 passed"),
        ("2 passed, 1 warning in 65.10s (0:01:05)", "2 passed, 1 warning"),
        (
            "test result: ok. 1 passed; 0 failed; finished in 0.00s",
            "test result: ok. 1 passed; 0 failed",
        ),
        ("    --- FAIL: TestX/sub (0.10s)", "    --- FAIL: TestX/sub"),
        ("FAIL\tpkg/a\t0.003s", "FAIL\tpkg/a"),
        ("# duration_ms 3.5", "# duration_ms"),
        ("  ✖ adds (1.2ms)", "  ✖ adds"),
        ("Time:        0.5 s, estimated 1 s", "Time:"),
        ("AssertionError: took 1.5s", "AssertionError: took 1.5s"),
        ("1 failed in 3 s", "1 failed in 3 s"),
    ],
)
def test_how_long_tests_took_is_no_part_of_a_prompt(line, shown):
    text = f"first\n{line}\nlast"
    assert excerpt(text, 40) == f"first\n{shown}\nlast"
