import subprocess

import pytest

from agspec_tui.commands import AnswerApproval, EditPlan, StepEdit
from agspec_tui.events import ApprovalRequested, PlanProposed, Warned
from tests.session.scripted import (
    FIXED,
    SCRIPTS,
    of,
    open_session,
    plan,
    run_task,
    script,
    snapshot,
    whole,
)


async def solve(repo, path, *, on_event=None, **settings):
    session = open_session(repo, path, **settings)
    try:
        await session.start()
        return await run_task(
            session, on_event=on_event and (lambda event: on_event(session, event))
        )
    finally:
        await session.close()


async def edited(repo, path, *answers):
    """Answer the questions one after another; the rest with yes."""
    left = list(answers)

    async def reply(session, event):
        if isinstance(event, ApprovalRequested):
            make = left.pop(0) if left else None
            command = make(event) if make else AnswerApproval(call_id=event.call_id, approved=True)
            await session.send(command)

    return await solve(repo, path, auto=False, review_plan=True, on_event=reply)


def steps(*said):
    return lambda event: EditPlan(
        call_id=event.call_id, steps=tuple(StepEdit((path,), change) for path, change in said)
    )


async def test_the_person_can_change_the_plan_before_coding_starts(repo, tmp_path):
    path = script(tmp_path, plan("show.py"), whole("calc.py", FIXED), "PASS")
    events = await edited(repo, path, steps(("calc.py", "Add.")))
    assert events[-1].status == "fixed"
    asked = of(events, ApprovalRequested)[0]
    assert (asked.summary, asked.steps[0].files) == ("work by this plan", ("show.py",))
    assert [one.asks for one in of(events, ApprovalRequested)] == ["plan", "edit"]
    mine = of(events, PlanProposed)[-1]
    assert (mine.role, mine.steps[0].files, mine.steps[0].change) == ("user", ("calc.py",), "Add.")


async def test_a_plan_that_names_a_path_outside_is_asked_about_again(repo, tmp_path):
    path = script(tmp_path, plan("show.py"), whole("calc.py", FIXED), "PASS")
    events = await edited(repo, path, steps(("../x.py", "")), steps(("calc.py", "Add.")))
    assert events[-1].status == "fixed"
    assert any("../x.py cannot be made" in event.message for event in of(events, Warned))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../x.py", "outside the repository"),
        (".env", "may hold secrets"),
        ("made.log", "ignored"),
        ("tests", "it is there already"),
        ("x", "that is no name of a file"),
    ],
)
async def test_the_next_question_says_why_a_plan_was_refused(repo, tmp_path, path, reason):
    (repo / ".gitignore").write_text("*.log\n")
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    said = script(tmp_path, plan("show.py"), whole("calc.py", FIXED), "PASS")
    bad = steps(("calc.py", "Add."), (path, "This too."))
    yes = lambda event: AnswerApproval(call_id=event.call_id, approved=True)  # noqa: E731
    events = await edited(repo, said, bad, yes, steps(("calc.py", "Add.")))
    assert events[-1].status == "fixed"
    first, second, third = of(events, ApprovalRequested)[:3]
    assert first.problem == ""
    for again in (second, third):  # a plain yes to steps that were refused is no yes to others
        assert again.problem.startswith(f"step 2 of the plan: {path} cannot be made: {reason}")
        assert [step.files for step in again.steps] == [("calc.py",), (path,)]
    assert of(events, PlanProposed)[-1].steps[0].files == ("calc.py",)


async def test_a_plan_sent_after_the_answer_changes_nothing(repo, tmp_path):
    path = script(tmp_path, plan("calc.py"), whole("calc.py", FIXED), "PASS")
    sent = []

    async def reply(session, event):
        if isinstance(event, ApprovalRequested):
            await session.send(AnswerApproval(call_id=event.call_id, approved=True))
            if event.asks == "plan":
                sent.append(steps(("show.py", "This."))(event))
                await session.send(sent[0])

    events = await solve(repo, path, auto=False, review_plan=True, on_event=reply)
    assert sent
    assert events[-1].status == "fixed"
    assert len(of(events, PlanProposed)) == 1


async def test_a_rejected_plan_ends_the_task(repo, tmp_path):
    before = snapshot(repo)
    no = lambda event: AnswerApproval(call_id=event.call_id, approved=False)  # noqa: E731
    events = await edited(repo, script(tmp_path, plan("calc.py")), no)
    assert events[-1].status == "cancelled"
    assert snapshot(repo) == before


async def test_nobody_is_asked_about_the_plan_where_edits_are_made_unasked(repo):
    events = await solve(repo, SCRIPTS / "fixed.json", review_plan=True)
    assert events[-1].status == "fixed"
    assert not of(events, ApprovalRequested)
