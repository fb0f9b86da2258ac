"""An edit that the person takes only in part, or with lines of their own."""

import pytest

from agspec_tui.commands import AnswerApproval, HunkText
from agspec_tui.events import ApprovalAnswered, ApprovalRequested, EditApplied
from agspec_tui.forms.diff import unified
from agspec_tui.forms.types import FileChange
from agspec_tui.session.handover import EditSet
from agspec_tui.session.wanted import as_wanted
from tests.session.scripted import CALC, FIXED, make_repo, of, plan, script, solve, whole

LINES = "".join(f"line {number}\n" for number in range(40))
OTHER = LINES.replace(" 3\n", " x\n").replace(" 30\n", " y\n")
CHANGES = (
    FileChange("a.txt", LINES.encode(), OTHER.encode()),
    FileChange("b.bin", b"\0", b"\0\1"),
    FileChange("c.txt", None, b"new\n"),
)
EDITS = EditSet("whole", CHANGES, unified(CHANGES))


def wanted(*left_out, **written):
    texts = tuple(HunkText(int(name[1:]), text) for name, text in written.items())
    answer = AnswerApproval(call_id=1, approved=True, left_out=left_out, written=texts)
    found = as_wanted(EDITS, answer)
    return found and {change.path: change.after for change in found.changes}


def test_hunks_are_numbered_through_all_files():
    assert wanted() == {change.path: change.after for change in CHANGES}
    assert wanted(0) == {
        "a.txt": LINES.replace(" 30\n", " y\n").encode(), "b.bin": b"\0\1", "c.txt": b"new\n",
    }  # fmt: skip
    assert wanted(0, 1, 2) == {"b.bin": b"\0\1"}
    assert wanted(2, 7) == {"a.txt": OTHER.encode(), "b.bin": b"\0\1"}
    assert wanted(0, 1, _2="mine\n") == {"b.bin": b"\0\1", "c.txt": b"mine\n"}


def test_the_diff_is_that_of_what_is_wanted():
    answer = AnswerApproval(call_id=1, approved=True, left_out=(0, 2))
    found = as_wanted(EDITS, answer)
    assert found.diff == unified(found.changes)
    assert found.diff.count("@@ -") == 1


def test_nothing_left_is_no_edit():
    edits = EditSet("whole", CHANGES[2:], unified(CHANGES[2:]))
    assert as_wanted(edits, AnswerApproval(call_id=1, approved=True, left_out=(0,))) is None


@pytest.mark.parametrize("way", ["left out", "written"])
async def test_only_what_is_wanted_is_written(tmp_path, way):
    repo = make_repo(tmp_path / "repo")
    both = FIXED.replace('"""Mean of the numbers."""', '"""The mean."""')
    path = script(tmp_path, plan("calc.py"), whole("calc.py", both), "PASS")
    asked = []

    async def answer(session, event):
        if isinstance(event, ApprovalRequested):
            asked.append(event)
            new = [line[1:] for line in event.diff.split("\n")[4:] if line[:1] in (" ", "+")]
            own = (HunkText(0, "\n".join(new).replace("The mean", "Mine")),)
            await session.send(
                AnswerApproval(
                    call_id=event.call_id,
                    approved=True,
                    left_out=(0,) if way == "left out" else (),
                    written=own if way == "written" else (),
                )
            )

    events = await solve(repo, path, auto=False, can_ask=True, on_event=answer)
    assert asked[0].diff.count("@@ -") == 1
    if way == "left out":
        assert (repo / "calc.py").read_text() == CALC
        assert not of(events, EditApplied)
        assert events[-1].status == "cancelled"
        assert of(events, ApprovalAnswered)[0].left_out == (0,)
    else:
        assert (repo / "calc.py").read_text() == both.replace("The mean", "Mine")
        assert events[-1].status == "fixed"
        assert of(events, ApprovalAnswered)[0].written == (0,)
        assert "Mine" in events[-1].diff
