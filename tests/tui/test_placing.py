"""The diff review says how each hunk found its place, and what is only alike."""

import json

import pytest

from agspec_tui.events import ApprovalAnswered, ApprovalRequested, HunkPlaced
from agspec_tui.forms.applier import land
from agspec_tui.forms.locate import _RULES
from agspec_tui.forms.types import FileEdit, Hunk
from agspec_tui.tui.diff import parse
from agspec_tui.tui.placing import beside, how
from tests.session.scripted import CALC, DOUBT, FIXED, NEAR, TESTS, make_repo, plan, whole
from tests.tui.driving import driven
from tests.tui.test_engine_death import Workspace

LINES = "".join(f"line {number}\n" for number in range(1, 41)).encode()


def replaced(*numbers):
    return tuple(
        Hunk(count, (f"line {number}",), (f"row {number}",))
        for count, number in enumerate(numbers, 1)
    )


def test_every_rule_has_words_of_its_own():
    others = ("context", "append", "end of file", "whole", "create", "delete")
    names = {*(rule.name for rule in _RULES), *others}
    words = {how(HunkPlaced("a", 1, 1, name)) for name in names}
    assert len(words) == len(names)
    assert not any("by the rule" in word for word in words)


def test_likeness_is_told_with_how_much():
    assert how(HunkPlaced("a", 1, 1, "fuzzy", 0.879)) == "placed by likeness, 87 % alike"


def test_each_hunk_of_a_diff_has_the_words_of_the_hunks_that_lie_in_it():
    edits = [
        FileEdit("a.py", hunks=replaced(2, 5, 30)),
        FileEdit("b.py", hunks=replaced(40)),
        FileEdit("c.py", whole="x\n", create=True),
    ]
    landing = land(edits, {"a.py": LINES, "b.py": LINES}.get)
    rules = {("a.py", 2): "indentation", ("a.py", 30): "fuzzy", ("c.py", 1): "create"}
    placed = [
        HunkPlaced(one.path, one.hunk, one.line, rules.get((one.path, one.line), "exact"), 0.9)
        for one in landing.placements
    ]
    lines, _ = parse(landing.diff)
    assert [(lines[at].text, words) for at, words in beside(lines, placed).items()] == [
        ("@@ -1,8 +1,8 @@", "placed apart from the indentation; placed exactly"),
        ("@@ -27,7 +27,7 @@", "placed by likeness, 90 % alike"),
        ("@@ -37,4 +37,4 @@", "placed exactly"),
        ("@@ -0,0 +1 @@", "a new file"),
    ]


def test_a_place_in_a_file_that_the_diff_does_not_show_says_nothing():
    lines, _ = parse("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n")
    assert beside(lines, [HunkPlaced("b.py", 1, 1, "exact")]) == {}


def question(*, doubtful):
    landing = land([FileEdit("a.py", hunks=replaced(2, 30))], {"a.py": LINES}.get)
    place = (
        HunkPlaced("a.py", 2, 30, "fuzzy", 0.87)
        if doubtful
        else HunkPlaced("a.py", 2, 30, "context")
    )
    return ApprovalRequested(
        call_id=9,
        summary="write a.py",
        diff=landing.diff,
        placed=(HunkPlaced("a.py", 1, 2, "exact"), place),
        doubtful=("a.py, hunk 2: placed at line 30 by likeness only, 87 % alike",) * doubtful,
    )


@pytest.mark.parametrize("doubtful", [False, True])
async def test_the_review_names_the_rule_below_each_hunk_and_what_is_doubtful_first(doubtful):
    async with driven() as d:
        asked = question(doubtful=doubtful)
        await d.show(asked)
        d.clock.now += 2
        d.app.screen.show_keys()
        await d.pilot.pause()
        rows = d.app.screen.query_one("#approval-diff").plain_text.split("\n")
        n = len(asked.doubtful)
        rows = [*(row[2:] for row in rows[:n]), *(row[4:] for row in rows[n:])]
        second = "placed by likeness, 87 % alike" if doubtful else "placed by a part of its context"
        notes = {row: rows[at + 1] for at, row in enumerate(rows) if row.startswith("@@")}
        assert notes == {"@@ -1,5 +1,5 @@": "placed exactly", "@@ -27,7 +27,7 @@": second}
        assert rows[:n] == list(asked.doubtful)
        rest = [row for row in rows[n:] if row not in notes.values()]
        assert rest == asked.diff.removesuffix("\n").split("\n")
        title = d.app.screen.query_one("#approval").border_title
        how_placed = ", placed by likeness only" if doubtful else ""
        assert title == f"Write this change{how_placed}?"
        assert ("reject, and try again" in d.screen_text()) == doubtful
        await d.show(ApprovalAnswered(call_id=9, approved=False))


def workspace(tmp_path, *replies, mode):
    repo = make_repo(tmp_path / "repo")
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"replies": [plan("calc.py"), *replies, "PASS"]}))
    terminal = Workspace(
        str(repo), "--model", f"scripted:{path}", "--test", TESTS, "--issue", "wrong sum",
        "--approve", mode,
    )  # fmt: skip
    terminal.wait_for(lambda shown: "Write this change, placed by likeness only?" in shown, 60)
    terminal.wait_for(lambda shown: "y / Enter" in shown)
    terminal.wait_for(lambda shown: DOUBT in shown)
    terminal.read(1.0)
    assert (repo / "calc.py").read_text() == CALC
    return repo, terminal


@pytest.mark.parametrize("mode", ["auto-edit", "full-auto"])
def test_the_screen_asks_also_where_edits_are_written_unasked(tmp_path, mode):
    repo, terminal = workspace(tmp_path, NEAR, mode=mode)
    terminal.child.send("y")
    terminal.wait_for(lambda shown: "fixed in" in shown, 60)
    assert (repo / "calc.py").read_text() == FIXED
    terminal.child.send("\x11")
    assert terminal.leave() == 0


def test_after_a_no_on_the_screen_the_coder_tries_again(tmp_path):
    wrong = NEAR.replace("+ number", "* 2")
    repo, terminal = workspace(tmp_path, wrong, whole("calc.py", FIXED), mode="full-auto")
    terminal.child.send("n")
    terminal.wait_for(lambda shown: "fixed in" in shown, 60)
    assert (repo / "calc.py").read_text() == FIXED
    terminal.child.send("\x11")
    assert terminal.leave() == 0
