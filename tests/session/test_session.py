import pytest

from agspec_tui.events import (
    CommandFinished,
    CommandStarted,
    DocumentIndexed,
    EditApplied,
    EditProposed,
    EditRefused,
    EditReverted,
    GenerationFinished,
    ModelLoaded,
    PlanProposed,
    SessionFailed,
    SessionStarted,
    StepCommitted,
    TaskFinished,
    TaskSubmitted,
    TurnFinished,
    TurnStarted,
    VerdictReached,
    Warned,
)
from agspec_tui.session.roles import load_team
from tests.session.scripted import (
    CALC,
    FIXED,
    SCRIPTS,
    SHOW,
    check_stream,
    make_repo,
    of,
    open_session,
    plan,
    run_task,
    script,
    snapshot,
    solve,
    whole,
)


@pytest.fixture
async def fixed(tmp_path):
    repo = make_repo(tmp_path / "repo")
    session = open_session(repo, SCRIPTS / "fixed.json")
    started = session.bus.subscribe()
    await session.start()
    events = started.drain() + await run_task(session)
    await session.close()
    return repo, session, events


async def test_a_bug_is_fixed_end_to_end(fixed):
    repo, _, events = fixed
    assert events[-1].status == "fixed"
    assert (repo / "calc.py").read_text() == FIXED
    assert "-        result = result - number\n+        result = result + number" in events[-1].diff
    assert of(events, VerdictReached)[0].passed
    assert [run.failed for run in of(events, CommandFinished)] == [2, 0]


async def test_only_the_named_file_changes(fixed, tmp_path):
    repo, _, _ = fixed
    before = snapshot(make_repo(tmp_path / "again"))
    after = snapshot(repo)
    assert {path for path in before if before[path] != after[path]} == {"calc.py"}
    assert before.keys() == after.keys()


async def test_events_come_in_the_order_of_the_work(fixed):
    _, _, events = fixed
    check_stream(events)
    kinds = [type(event) for event in events]
    order = [
        SessionStarted, ModelLoaded, TaskSubmitted, CommandStarted, CommandFinished, TurnStarted,
        PlanProposed, DocumentIndexed, EditProposed, EditApplied, VerdictReached, TaskFinished,
    ]  # fmt: skip
    places = [kinds.index(kind) for kind in order]
    assert places == sorted(places)


async def test_every_event_of_a_reply_names_its_turn_and_role(fixed):
    _, _, events = fixed
    spoken = of(events, (TurnStarted, TurnFinished, StepCommitted, GenerationFinished))
    assert spoken
    assert {event.role for event in spoken} == {"planner", "coder", "executor"}
    assert {event.turn for event in spoken} == {1}


async def test_the_coder_copies_the_file_by_drafts(fixed):
    _, _, events = fixed
    (row,) = [event for event in of(events, TurnFinished) if event.role == "coder"]
    assert row.accept_length > 2
    assert row.rejected == row.n_drafted - row.n_accepted
    assert {step.source for step in of(events, StepCommitted)} & {"session", "workspace"}


async def test_a_turns_row_agrees_with_its_generation(fixed):
    _, _, events = fixed
    rows, replies = of(events, TurnFinished), of(events, GenerationFinished)
    assert [row.n_tokens for row in rows] == [reply.n_tokens for reply in replies]
    assert [row.alpha for row in rows] == [reply.alpha for reply in replies]


async def test_no_internet_socket_is_ever_open(fixed):
    _, session, _ = fixed
    assert session.egress.n_max == 0


async def test_two_steps_over_two_files_are_written_together(tmp_path):
    repo = make_repo(tmp_path / "repo", two_files=True)
    events = await solve(repo, SCRIPTS / "two_files.json")
    assert events[-1].status == "fixed"
    assert [edit.files for edit in of(events, EditApplied)] == [("calc.py", "show.py")]
    assert '.1f}."' in (repo / "show.py").read_text()


@pytest.mark.parametrize(
    ("name", "forms"),
    [("second_turn", ["whole", "whole"]), ("third_turn", ["whole", "whole", "whole"])],
)
async def test_a_failed_turn_goes_back_to_the_coder(tmp_path, name, forms):
    repo = make_repo(tmp_path / "repo")
    events = await solve(repo, SCRIPTS / f"{name}.json")
    assert events[-1].status == "fixed"
    assert (repo / "calc.py").read_text() == FIXED
    coder = [one for one in of(events, TurnStarted) if one.role == "coder" and one.form != "cause"]
    assert [(event.turn, event.form) for event in coder] == list(enumerate(forms, 1))
    assert [event.files for event in of(events, EditReverted)] == [("calc.py",)] * (len(forms) - 1)


async def test_a_retry_reuses_the_prefix_of_the_first_attempt(tmp_path):
    events = await solve(make_repo(tmp_path / "repo"), SCRIPTS / "second_turn.json")
    rows = [event for event in of(events, TurnFinished) if event.role == "coder"]
    # The planner has read what both of their system messages begin with.
    assert 0 < rows[0].n_reused < len(load_team().coder.system)
    # System message, issue, file and the output of the first run: what stays between attempts.
    stays = len(load_team().coder.system) + len(CALC) + len("test_total")
    assert rows[1].n_reused > stays


async def test_a_hopeless_issue_leaves_the_tree_as_it_was_and_says_what_was_tried(tmp_path):
    repo = make_repo(tmp_path / "repo")
    before = snapshot(repo)
    events = await solve(repo, SCRIPTS / "hopeless.json")
    assert events[-1].status == "not_fixed"
    assert events[-1].diff == ""
    assert events[-1].summary.count("calc.py changed") == 5
    assert snapshot(repo) == before
    assert {event.turn for event in of(events, VerdictReached)} == {1, 2, 3, 4, 5}
    forms = [event.form for event in of(events, TurnStarted) if event.role == "coder"]
    assert forms == ["whole", "whole", *["cause", "whole"] * 3]  # every reply could be used


async def test_a_partial_improvement_is_the_next_turns_base(tmp_path):
    repo = make_repo(tmp_path / "repo", two_files=True)
    path = script(
        tmp_path, plan("calc.py", "show.py"), whole("calc.py", FIXED), whole("show.py", SHOW),
        "FAIL: the report", whole("show.py", SHOW.replace('.1f}"', '.1f}."')), "PASS",
    )  # fmt: skip
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    assert not of(events, EditReverted)
    assert any("one step was left out" in event.message for event in of(events, Warned))
    assert "calc.py" in events[-1].diff
    assert "show.py" in events[-1].diff


async def test_a_step_over_two_files_is_two_replies_about_one_file_each(tmp_path):
    repo = make_repo(tmp_path / "repo", two_files=True)
    path = script(
        tmp_path, plan("calc.py", "show.py"), whole("calc.py", FIXED),
        whole("show.py", SHOW.replace('.1f}"', '.1f}."')), "PASS",
    )  # fmt: skip
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    assert [event.role for event in of(events, TurnStarted)] == [
        "planner", "coder", "coder", "executor",
    ]  # fmt: skip


async def test_a_partial_improvement_is_taken_back_too_if_the_issue_is_not_fixed(tmp_path):
    repo = make_repo(tmp_path / "repo", two_files=True)
    before = snapshot(repo)
    path = script(
        tmp_path, plan("calc.py"), whole("calc.py", FIXED), "FAIL: the report",
        *["nothing"] * 6,
    )  # fmt: skip
    events = await solve(repo, path, max_turns=3)
    assert events[-1].status == "not_fixed"
    assert snapshot(repo) == before


async def test_the_exit_code_wins_over_the_executor(tmp_path):
    repo = make_repo(tmp_path / "repo")
    path = script(tmp_path, plan("calc.py"), whole("calc.py", FIXED), "FAIL: I think not")
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    assert any("the executor said FAIL" in event.message for event in of(events, Warned))


async def test_without_an_executors_word_the_exit_code_decides(tmp_path):
    path = script(tmp_path, plan("calc.py"), whole("calc.py", FIXED))
    events = await solve(make_repo(tmp_path / "repo"), path)
    assert events[-1].status == "fixed"


@pytest.mark.parametrize("said", ["no plan at all", '{"steps": []}', plan("nowhere/at_all.go")])
async def test_a_bad_plan_falls_back_to_the_file_the_failing_test_points_at(tmp_path, said):
    repo = make_repo(tmp_path / "repo")
    path = script(tmp_path, said, whole("calc.py", FIXED), "PASS")
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    assert of(events, PlanProposed)[0].steps[0].files == ("calc.py",)
    assert of(events, Warned)


async def test_a_plan_that_names_the_wrong_file_is_left_behind_at_the_third_turn(tmp_path):
    repo = make_repo(tmp_path / "repo")
    show = (repo / "show.py").read_text()
    path = script(
        tmp_path, plan("show.py"),
        whole("show.py", show.replace("mean {", "Mean {")), "FAIL: sum",
        whole("show.py", show.replace("mean {", "MEAN {")), "FAIL: sum",
        whole("calc.py", FIXED), "PASS",
    )  # fmt: skip
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    assert "diff --git a/calc.py" in events[-1].diff
    assert "show.py" not in events[-1].diff


async def test_an_edit_of_a_test_is_left_out(tmp_path):
    repo = make_repo(tmp_path / "repo")
    tests = (repo / "tests" / "test_calc.py").read_text()
    cheat = whole("tests/test_calc.py", tests.replace("3)", "-3)"))
    path = script(tmp_path, plan("calc.py"), f"{whole('calc.py', FIXED)}\n\n{cheat}", "PASS")
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    assert (repo / "tests" / "test_calc.py").read_text() == tests
    assert any("is a test" in event.message for event in of(events, Warned))


async def test_an_edit_of_tests_alone_is_refused(tmp_path):
    repo = make_repo(tmp_path / "repo")
    before = snapshot(repo)
    cheat = whole("tests/test_calc.py", "import unittest\n")
    path = script(tmp_path, plan("tests/test_calc.py", "calc.py"), cheat)
    events = await solve(repo, path, max_turns=1)
    assert events[-1].status == "not_fixed"
    assert "is a test" in of(events, EditRefused)[0].message
    assert snapshot(repo) == before


async def test_a_file_that_was_not_shown_is_not_rewritten(tmp_path):
    repo = make_repo(tmp_path / "repo")
    path = script(tmp_path, plan("calc.py"), whole("show.py", "def report(n):\n    return n\n"))
    events = await solve(repo, path, max_turns=1)
    assert "show.py was not among the files" in of(events, EditRefused)[0].message


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("I cannot do that.", "no file"),
        (whole("calc.py", CALC), "no change"),
        (whole("calc.py", "# ... rest of the code unchanged ...\n"), "calc.py"),
        ("calc.py\n```python\ndef total(", "ends inside"),
    ],
)
async def test_a_reply_that_cannot_be_landed_writes_nothing(tmp_path, reply, why):
    repo = make_repo(tmp_path / "repo")
    before = snapshot(repo)
    events = await solve(repo, script(tmp_path, plan("calc.py"), reply), max_turns=1)
    assert why in of(events, EditRefused)[0].message
    assert not of(events, EditProposed)
    assert events[-1].status == "not_fixed"
    assert snapshot(repo) == before


async def test_a_reply_that_was_cut_off_is_never_applied(tmp_path):
    repo = make_repo(tmp_path / "repo")
    before = snapshot(repo)
    # Complete as a text, and yet its end is missing: a file that goes on behind its last fence.
    endless = whole("calc.py", FIXED) + "\n" + "".join(f"{i * i} " for i in range(2000))
    events = await solve(repo, script(tmp_path, plan("calc.py"), endless), max_turns=1)
    assert of(events, TurnFinished)[-1].stop_reason == "length"
    assert "cut off" in of(events, EditRefused)[0].message
    assert snapshot(repo) == before


async def test_a_reply_that_repeats_itself_is_stopped_and_never_applied(tmp_path):
    repo = make_repo(tmp_path / "repo")
    before = snapshot(repo)
    endless = whole("calc.py", FIXED) + "\nI will now submit." * 200
    events = await solve(repo, script(tmp_path, plan("calc.py"), endless), max_turns=1)
    finished = of(events, GenerationFinished)[-1]
    assert finished.stop_reason == "loop"
    assert finished.loop_period == len("\nI will now submit.")
    assert finished.n_tokens < 600
    assert f"the same {finished.loop_period} tokens" in of(events, Warned)[-1].message
    assert "repeated itself" in of(events, EditRefused)[0].message
    assert not of(events, EditProposed)
    assert snapshot(repo) == before


async def test_a_crlf_file_stays_crlf(tmp_path):
    repo = make_repo(tmp_path / "repo")
    (repo / "calc.py").write_bytes(CALC.replace("\n", "\r\n").encode())
    events = await solve(repo, SCRIPTS / "fixed.json")
    assert events[-1].status == "fixed"
    assert (repo / "calc.py").read_bytes() == FIXED.replace("\n", "\r\n").encode()


async def test_passing_tests_are_said_and_an_edit_is_still_needed(tmp_path):
    repo = make_repo(tmp_path / "repo")
    (repo / "calc.py").write_text(FIXED)
    better = FIXED.replace('"""Sums."""', '"""Sums and means."""')
    path = script(tmp_path, plan("calc.py"), whole("calc.py", better), "PASS")
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    assert any("pass already" in event.message for event in of(events, Warned))


async def test_passing_tests_without_an_edit_are_not_a_fix(tmp_path):
    repo = make_repo(tmp_path / "repo")
    (repo / "calc.py").write_text(FIXED)
    path = script(tmp_path, plan("calc.py"), whole("calc.py", FIXED))
    events = await solve(repo, path, max_turns=1)
    assert events[-1].status == "not_fixed"


async def test_a_file_too_large_for_the_context_is_said_clearly(tmp_path):
    repo = make_repo(tmp_path / "repo")
    (repo / "calc.py").write_text(CALC + "# filler\n" * 1500)
    path = script(tmp_path, plan("calc.py"))
    events = await solve(repo, path, n_ctx=9000)
    assert events[-1].status == "failed"
    (failed,) = of(events, SessionFailed)
    assert "calc.py is too large for the context" in failed.message
    assert "n_ctx" in failed.hint


async def test_tasks_of_one_session_number_their_turns_on(tmp_path):
    repo = make_repo(tmp_path / "repo")
    back = whole("calc.py", FIXED.replace("Sums.", "More sums."))
    path = script(
        tmp_path, plan("calc.py"), whole("calc.py", FIXED), "PASS", plan("calc.py"), back, "PASS"
    )
    session = open_session(repo, path)
    await session.start()
    first, second = await run_task(session), await run_task(session, "say more")
    await session.close()
    assert {event.turn for event in of(first, TurnFinished)} == {1}
    assert {event.turn for event in of(second, TurnFinished)} == {2}
    assert second[-1].status == "fixed"
    assert "result + number" not in second[-1].diff, "the first task's edit is not this one's"


async def test_after_an_improvement_the_coder_looks_at_the_file_that_still_fails(tmp_path):
    repo = make_repo(tmp_path / "repo", two_files=True)
    show = SHOW.replace('.1f}"', '.1f}."')
    path = script(
        tmp_path, plan("calc.py"), whole("calc.py", FIXED), "FAIL: the report",
        whole("show.py", show), "PASS",
    )  # fmt: skip
    events = await solve(repo, path)
    assert events[-1].status == "fixed"
    assert [edit.files for edit in of(events, EditApplied)] == [("calc.py",), ("show.py",)]
    assert [event.form for event in of(events, TurnStarted) if event.role == "coder"] == [
        "whole", "whole",
    ]  # fmt: skip


async def test_an_issue_longer_than_the_context_is_refused_before_any_work(tmp_path):
    session = open_session(make_repo(tmp_path / "repo"), SCRIPTS / "fixed.json", n_ctx=4096)
    await session.start()
    events = await run_task(session, "wrong " * 2000)
    await session.close()
    assert "the issue is too long" in of(events, SessionFailed)[0].message
    assert not of(events, (CommandStarted, TurnStarted))
