import asyncio
import os
import signal
import time

import pytest

from agspec_tui.commands import AnswerApproval, Interrupt, Quit, SubmitTask
from agspec_tui.errors import ModelError, RoleError, UsageError
from agspec_tui.events import (
    ApprovalAnswered,
    ApprovalRequested,
    CommandStarted,
    EditApplied,
    EditRefused,
    EditReverted,
    EngineFailed,
    EngineRestarted,
    PrefillProgressed,
    SessionFailed,
    StepCommitted,
    TaskFinished,
    TurnFinished,
    VerdictReached,
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
    open_session,
    plan,
    run_task,
    script,
    snapshot,
    whole,
)


async def interrupt_at(repo, path, kind, role, **settings):
    """Interrupt at the first event of a kind and role; returns the events and the seconds."""
    session = open_session(repo, path, **settings)
    await session.start()
    pressed = []

    async def press(event):
        if isinstance(event, kind) and event.role == role and not pressed:
            pressed.append(time.monotonic())
            await session.send(Interrupt())

    events = await run_task(session, on_event=press)
    took_s = time.monotonic() - pressed[0]
    await session.close()
    return events, took_s


@pytest.mark.parametrize(
    ("kind", "role"),
    [(PrefillProgressed, "planner"), (StepCommitted, "planner"), (StepCommitted, "coder")],
)
async def test_an_interrupt_ends_a_generation_within_half_a_second(repo, kind, role):
    before = snapshot(repo)
    events, took_s = await interrupt_at(repo, SCRIPTS / "slow.json", kind, role)
    assert took_s < 0.5
    assert events[-1].status == "cancelled"
    assert of(events, TurnFinished)[-1].stop_reason == "cancelled"
    assert not of(events, EditApplied)
    assert snapshot(repo) == before


async def test_an_interrupt_ends_a_test_run_and_puts_the_files_back(repo, tmp_path):
    before = snapshot(repo)
    session = Session(
        repo,
        config(script(tmp_path, plan("calc.py"), whole("calc.py", FIXED))),
        test_command=f"grep -q '+ number' calc.py && sleep 60; {TESTS}",
        auto_approve=True,
    )
    await session.start()
    pressed = []

    async def press(event):
        if isinstance(event, CommandStarted) and (repo / "calc.py").read_text() == FIXED:
            pressed.append(time.monotonic())
            await session.send(Interrupt())

    events = await run_task(session, on_event=press)
    assert time.monotonic() - pressed[0] < 1.0
    assert events[-1].status == "cancelled"
    assert of(events, EditApplied)
    assert of(events, EditReverted)[0].files == ("calc.py",)
    assert snapshot(repo) == before
    await session.close()


async def test_the_next_task_works_after_an_interrupt(repo, tmp_path):
    path = script(
        tmp_path, plan("calc.py"), plan("calc.py"), whole("calc.py", FIXED), "PASS",
        step_delay_s=0.01,
    )  # fmt: skip
    session = open_session(repo, path)
    await session.start()

    async def press(event):
        if isinstance(event, StepCommitted) and event.turn == 1:
            await session.send(Interrupt())

    assert (await run_task(session, on_event=press))[-1].status == "cancelled"
    assert (await run_task(session))[-1].status == "fixed"
    await session.close()


async def answered(repo, *, approved, call_id=None):
    session = open_session(repo, SCRIPTS / "fixed.json", auto=False)
    await session.start()

    async def answer(event):
        if isinstance(event, ApprovalRequested):
            assert snapshot(repo) == before, "nothing is written before the answer"
            if call_id is not None:
                await session.send(AnswerApproval(call_id=call_id, approved=True))
                assert not session.bus.subscribe().drain()
            await session.send(AnswerApproval(call_id=event.call_id, approved=approved))

    before = snapshot(repo)
    events = await run_task(session, on_event=answer)
    await session.close()
    return before, events


async def test_a_rejected_edit_is_not_written(repo):
    before, events = await answered(repo, approved=False)
    assert events[-1].status == "cancelled"
    assert of(events, ApprovalAnswered)[0].approved is False
    assert not of(events, (EditApplied, VerdictReached))
    assert snapshot(repo) == before


async def test_an_approved_edit_is_written(repo):
    _, events = await answered(repo, approved=True)
    assert events[-1].status == "fixed"
    assert (repo / "calc.py").read_text() == FIXED
    request = of(events, ApprovalRequested)[0]
    assert "calc.py" in request.summary
    assert "+        result = result + number" in request.diff


async def test_an_answer_to_another_question_is_ignored(repo):
    _, events = await answered(repo, approved=False, call_id=99)
    assert events[-1].status == "cancelled"
    assert len(of(events, ApprovalAnswered)) == 1


async def test_an_interrupt_ends_an_open_question(repo):
    before = snapshot(repo)
    session = open_session(repo, SCRIPTS / "fixed.json", auto=False)
    await session.start()

    async def press(event):
        if isinstance(event, ApprovalRequested):
            await session.send(Interrupt())

    events = await run_task(session, on_event=press)
    await session.close()
    assert events[-1].status == "cancelled"
    assert snapshot(repo) == before


async def test_a_file_changed_since_it_was_read_is_never_overwritten(repo, tmp_path):
    path = script(
        tmp_path, plan("calc.py"), whole("calc.py", FIXED),
        whole("calc.py", FIXED + "# mine\n"), "PASS",
    )  # fmt: skip
    session = open_session(repo, path, auto=False)
    await session.start()
    mine = CALC + "# mine\n"

    async def answer(event):
        if isinstance(event, ApprovalRequested):
            if event.turn == 1:
                (repo / "calc.py").write_text(mine)
            await session.send(AnswerApproval(call_id=event.call_id, approved=True))

    events = await run_task(session, on_event=answer)
    await session.close()
    assert "changed on disk" in of(events, EditRefused)[0].message
    assert events[-1].status == "fixed"
    assert (repo / "calc.py").read_text() == FIXED + "# mine\n"


async def test_a_killed_engine_is_started_again_and_the_task_goes_on(repo, tmp_path):
    fresh = (plan("calc.py"), whole("calc.py", FIXED), "PASS")
    session = open_session(repo, script(tmp_path, *fresh, step_delay_s=0.02))
    await session.start()
    killed = []

    async def kill(event):
        if isinstance(event, StepCommitted) and event.role == "planner" and not killed:
            killed.append(session._client.pid)
            os.kill(session._client.pid, signal.SIGKILL)

    events = await run_task(session, on_event=kill)
    await session.close()
    assert of(events, EngineFailed)[0].restarting
    assert of(events, EngineRestarted)
    assert events[-1].status == "fixed"


async def test_a_refused_generation_fails_the_task_and_not_the_session(repo, tmp_path):
    session = open_session(repo, script(tmp_path))
    await session.start()
    events = await run_task(session)
    assert events[-1].status == "failed"
    assert "the script has only 0 replies" in of(events, SessionFailed)[0].message
    assert session.failure is not None
    await session.close()


@pytest.mark.parametrize(
    ("command", "part"),
    [
        (f"{TESTS} -k nothing_has_this_name", "ran none"),
        ("no-such-program-at-all", "cannot be run: "),
    ],
)
async def test_a_test_command_that_runs_nothing_is_said(repo, command, part):
    session = Session(repo, config(SCRIPTS / "fixed.json"), test_command=command, auto_approve=True)
    await session.start()
    events = await run_task(session)
    await session.close()
    assert events[-1].status == "failed"
    assert part in of(events, SessionFailed)[0].message


async def test_a_second_task_waits_for_nobody_and_is_refused(repo):
    session = open_session(repo, SCRIPTS / "slow.json")
    await session.start()
    subscription = session.bus.subscribe()
    await session.send(SubmitTask(text="one"))
    await session.send(SubmitTask(text="two"))
    await session.send(SubmitTask(text="   "))
    assert [event.message for event in of(subscription.drain(), Warned)] == [
        "a task is running"
    ] * 2
    await session.close()


async def test_an_empty_issue_is_refused_kindly(repo):
    session = open_session(repo, SCRIPTS / "fixed.json")
    await session.start()
    subscription = session.bus.subscribe()
    await session.send(SubmitTask(text=" \n"))
    assert [event.message for event in of(subscription.drain(), Warned)] == ["the issue is empty"]
    await session.close()


async def test_quit_in_the_middle_of_a_task_ends_everything(repo):
    before = snapshot(repo)
    session = open_session(repo, SCRIPTS / "slow.json")
    await session.start()
    pid = session._client.pid
    subscription = session.bus.subscribe()
    await session.send(SubmitTask(text="one"))
    await asyncio.sleep(1.0)
    await session.send(Quit())
    await session.close()
    await session.close()
    assert of(subscription.drain(), TaskFinished)[0].status == "cancelled"
    assert snapshot(repo) == before
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("where", ["missing", "file"])
async def test_a_wrong_repository_is_refused_before_the_model_is_loaded(tmp_path, where):
    (tmp_path / "file").write_text("")
    session = Session(tmp_path / where, config(SCRIPTS / "fixed.json"))
    with pytest.raises(UsageError):
        await session.start()
    assert session._client.pid is None
    await session.close()


async def test_a_wrong_model_or_role_is_refused_before_anything_starts(repo, own_home):
    session = Session(repo, config("/no/such/script.json"))
    with pytest.raises(ModelError):
        await session.start()
    (own_home / "agents").mkdir(parents=True)
    (own_home / "agents" / "team.toml").write_text("schema = 3\n")
    session = Session(repo, config(SCRIPTS / "fixed.json"))
    with pytest.raises(RoleError):
        await session.start()
    assert session._client.pid is None
