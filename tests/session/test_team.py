import asyncio
import json

import pytest

from agspec_tui.commands import AnswerApproval
from agspec_tui.events import (
    ApprovalRequested,
    EditApplied,
    EditRefused,
    Looked,
    TaskFinished,
    TurnStarted,
    Warned,
)
from agspec_tui.session.session import Session
from tests.session.scripted import (
    CALC,
    FIXED,
    SCRIPTS,
    TESTS,
    config,
    of,
    plan,
    run_task,
    script,
    snapshot,
    solve,
    whole,
)

SOME_TEXT = " ".join(f"{number * number} then {number}" for number in range(300))


def wrong(number):
    return whole("calc.py", CALC.replace("- number", f"- number * {number}"))


# ── looks ────────────────────────────────────────────────────────────────────────────────────────


async def test_the_planner_may_look_before_it_plans(repo, tmp_path):
    looks = ['{"read": "calc.py:1-9"}', '{"grep": "def total"}']
    path = script(tmp_path, *looks, plan("calc.py"), whole("calc.py", FIXED), "PASS")
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    assert [event.what for event in of(events, Looked)] == ["READ calc.py:1-9", "GREP def total"]


@pytest.mark.parametrize(
    ("bug", "looks", "n_looked"),
    [
        ("L03", ['{"grep": "a"}'] * 2, 1),
        ("L05", ['{"grep": "a"}', '{"grep": "b"}'] * 2, 3),
        ("bounded", [json.dumps({"grep": word}) for word in "abcd"], 4),
    ],
)
async def test_looks_that_go_round_end_in_a_plan(repo, tmp_path, bug, looks, n_looked):
    path = script(tmp_path, *looks, plan("calc.py"), whole("calc.py", FIXED), "PASS")
    events = await solve(repo, path)
    assert events[-1].status == "fixed", bug
    assert len(of(events, Looked)) == n_looked
    warned = [event for event in of(events, Warned) if "looks at the same" in event.message]
    assert bool(warned) == (bug != "bounded")


async def test_d10_a_look_at_what_is_no_text_says_what_it_is_and_is_not_repeated(repo, tmp_path):
    files = {
        "stock.xlsx": b"PK\x03\x04\0\0rows",
        "stock.ods": b"PK\x03\x04\x14\xff",
        "calc.png": b"\x89PNG\r\n\x1a\n",
    }
    for name, data in files.items():
        (repo / name).write_bytes(data)
    for number in range(9):  # beyond the number of files up to which no look is offered
        (repo / f"more{number}.py").write_text("x = 1\n")
    looks = [json.dumps({"read": name}) for name in (*files, "calc.png")]
    path = script(tmp_path, *looks, plan("calc.py"), whole("calc.py", FIXED), "PASS")
    records = tmp_path / "records"
    session = Session(repo, config(path), test_command=TESTS, auto_approve=True, record=records)
    await session.start()
    try:
        events = await run_task(session)
    finally:
        await session.close()
    assert events[-1].status == "fixed"
    assert [event.what for event in of(events, Looked)] == [f"READ {name}" for name in files]
    [record] = records.iterdir()
    for line in (
        "stock.xlsx: binary, 10 bytes, type Excel spreadsheet; not shown.",
        "stock.ods: binary, 6 bytes, type OpenDocument spreadsheet; not shown.",
        "calc.png: binary, 8 bytes, type PNG image; not shown.",
    ):
        assert line in record.read_text()


async def test_looks_without_end_fall_back_to_the_likeliest_files(repo, tmp_path):
    looks = [json.dumps({"grep": word}) for word in "abcde"]
    events = await solve(repo, script(tmp_path, *looks, whole("calc.py", FIXED), "PASS"))
    assert events[-1].status == "fixed"
    assert any("no plan" in event.message for event in of(events, Warned))


async def test_lines_that_a_look_shows_are_counted_in_its_event(repo, tmp_path):
    looks = ['{"read": "calc.py:1-3"}', '{"grep": "nowhere at all"}']
    path = script(tmp_path, *looks, plan("calc.py"), whole("calc.py", FIXED), "PASS")
    events = await solve(repo, path)
    assert [event.n_lines for event in of(events, Looked)] == [3, 0]


async def test_a_repository_that_is_read_in_part_is_told(repo, tmp_path):
    for number in range(4000):
        (repo / f"note{number}.txt").write_text("x\n")
    (repo / "zeta.txt").write_text("the last word\n")
    path = script(
        tmp_path, '{"grep": "last word"}', plan("calc.py"), whole("calc.py", FIXED), "PASS"
    )
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    n_files = 4001 + sum(1 for one in repo.rglob("*.py"))
    (told,) = [event for event in of(events, Warned) if "were not read" in event.message]
    assert told.message.startswith(f"{n_files - 4000} files")


async def test_what_a_plan_lacks_is_told(repo, tmp_path):
    for name in "abcd":
        (repo / f"{name}.py").write_text(f"{name} = 1\n")
    path = script(
        tmp_path, plan("calc.py", "a.py", "b.py", "c.py", "d.py"), whole("calc.py", FIXED), "PASS"
    )
    events = await solve(repo, path)
    (told,) = [event for event in of(events, Warned) if "left out" in event.message]
    assert "d.py" in told.message


# ── questions, and no tests ──────────────────────────────────────────────────────────────────────


async def test_a_question_is_answered_without_an_edit(repo, tmp_path):
    before = snapshot(repo)
    events = await solve(repo, script(tmp_path, "It sums."), text="What does calc.py do?")
    assert (events[-1].status, events[-1].summary) == ("answered", "It sums.")
    assert [event.role for event in of(events, TurnStarted)] == ["guide"]
    assert snapshot(repo) == before


async def test_an_answer_that_is_cut_or_goes_round_says_so(repo, tmp_path):
    asked = "What does calc.py do?"
    long = await solve(repo, script(tmp_path, "It sums. " + SOME_TEXT), text=asked)
    assert long[-1].summary.startswith("It sums.")
    assert long[-1].summary.endswith("[the answer was cut off here]")
    round_ = await solve(
        repo, script(tmp_path, "It adds the numbers up. " * 100), text=asked, n_ctx=8000
    )
    assert round_[-1].summary == "No answer was given."
    assert any("over and was stopped" in event.message for event in of(round_, Warned))


def without_tests(tmp_path):
    root = tmp_path / "bare"
    root.mkdir()
    (root / "calc.py").write_text(CALC)
    return root


@pytest.mark.parametrize(("auto", "answer"), [(True, True), (False, True), (False, False)])
async def test_without_tests_an_approved_edit_stays_without_a_verdict(tmp_path, auto, answer):
    repo = without_tests(tmp_path)
    path = script(tmp_path, plan("calc.py"), whole("calc.py", FIXED))
    session = Session(repo, config(path), auto_approve=auto)

    async def reply(event):
        if isinstance(event, ApprovalRequested):
            await session.send(AnswerApproval(call_id=event.call_id, approved=answer))

    try:
        await session.start()
        events = await run_task(session, "Add the numbers up", reply)
    finally:
        await session.close()
    assert any(event.message == "no tests found" for event in of(events, Warned))
    assert bool(of(events, ApprovalRequested)) is not auto
    assert events[-1].status == ("edited" if answer else "cancelled")
    assert (repo / "calc.py").read_text() == (FIXED if answer else CALC)
    assert "no tests to tell" in events[-1].summary or not answer


# ── failures ─────────────────────────────────────────────────────────────────────────────────────


async def test_t15_three_replies_that_are_no_edits_end_the_task(repo, tmp_path):
    before = snapshot(repo)
    path = script(tmp_path, plan("calc.py"), *["I will submit the fix now."] * 10)
    events = await solve(repo, path)
    assert events[-1].status == "not_fixed"
    assert len(of(events, EditRefused)) == 3
    assert "3 replies in a row could not be read" in events[-1].summary
    assert snapshot(repo) == before


@pytest.mark.parametrize("bug", ["L02 the same edit", "L06 the same reply that is no edit"])
async def test_the_same_over_and_over_is_warned_of_and_stopped(repo, tmp_path, own_home, bug):
    (own_home / "agents").mkdir(parents=True)
    (own_home / "agents" / "team.toml").write_text(
        'schema = 1\norder = ["planner", "coder", "executor"]\nmax_turns = 9\n'
    )
    before = snapshot(repo)
    is_edit = bug.startswith("L02")
    same = wrong(2) if is_edit else whole("show.py", "x = (\n")
    path = script(tmp_path, plan("calc.py"), same, *(["FAIL: x"] if is_edit else []), *[same] * 27)
    events = await solve(repo, path, max_turns=9)
    assert events[-1].status == "not_fixed"
    assert "Stopped: the coder does the same over and over." in events[-1].summary
    warned = [event.turn for event in of(events, Warned) if "again and again" in event.message]
    assert warned == [3, 4]
    assert len(of(events, EditApplied)) == is_edit
    assert len(of(events, EditRefused)) == 5 - is_edit
    assert snapshot(repo) == before


@pytest.mark.parametrize(("go_on", "n_turns"), [(True, 5), (False, 3)])
async def test_after_the_third_failure_the_person_decides(repo, tmp_path, go_on, n_turns):
    asked = []

    async def reply(session, event):
        if isinstance(event, ApprovalRequested):
            is_handover = event.summary.startswith("go on")
            asked.extend([event] if is_handover else [])
            approved = go_on if is_handover else True
            await session.send(AnswerApproval(call_id=event.call_id, approved=approved))

    events = await solve(repo, SCRIPTS / "hopeless.json", auto=False, on_event=reply)
    assert [event.summary for event in asked] == ["go on for 2 more turns"]
    assert "Turn 3" in asked[0].diff
    assert asked[0].asks == "go_on"
    finished = events[-1]
    assert isinstance(finished, TaskFinished)
    assert finished.status == "not_fixed"
    assert len(of(events, EditApplied)) == n_turns
    for part in ("Still failing: ", "Likely files: calc.py", "Last tried:"):
        assert part in finished.summary


async def test_a_failure_nobody_foresaw_at_the_end_still_ends_the_task(repo, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("planted")

    async def plant(_, event):
        if isinstance(event, TurnStarted) and event.role == "executor":
            monkeypatch.setattr(asyncio, "to_thread", broken)
        if isinstance(event, TaskFinished):
            monkeypatch.undo()

    events = await solve(repo, SCRIPTS / "fixed.json", on_event=plant, keep_sessions=False)
    assert events[-1].status == "fixed"
    assert any("internal error: RuntimeError: planted" in one.message for one in of(events, Warned))


# ── the reviewer ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def with_reviewer(own_home):
    (own_home / "agents").mkdir(parents=True)
    (own_home / "agents" / "team.toml").write_text(
        'schema = 1\norder = ["planner", "coder", "reviewer", "executor"]\n'
    )


async def test_a_reviewer_who_agrees_lets_the_edit_through(with_reviewer, repo, tmp_path):
    path = script(tmp_path, plan("calc.py"), whole("calc.py", FIXED), "OK", "PASS")
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    assert [event.role for event in of(events, TurnStarted)] == [
        "planner", "coder", "reviewer", "executor",
    ]  # fmt: skip


async def test_the_coder_may_insist_on_an_edit_that_was_sent_back(with_reviewer, repo, tmp_path):
    right = whole("calc.py", FIXED)
    path = script(
        tmp_path, plan("calc.py"), right, "CONCERN: too plain", right, "CONCERN: still", "PASS"
    )
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    assert [event.turn for event in of(events, EditApplied)] == [2]
    assert not of(events, EditRefused)


async def test_a_reviewer_sends_an_edit_back_once(with_reviewer, repo, tmp_path):
    path = script(
        tmp_path, plan("calc.py"), wrong(2), "CONCERN: it doubles", whole("calc.py", FIXED),
        "CONCERN: still odd", "PASS",
    )  # fmt: skip
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    assert [event.turn for event in of(events, EditApplied)] == [2]
    assert "the reviewer sent the edit back: it doubles" in events[-1].summary
