import asyncio
import time

import pytest

from agspec_tui.commands import AnswerApproval, EditPlan, Interrupt, Quit, SubmitTask
from agspec_tui.errors import UsageError
from agspec_tui.events import ApprovalRequested, TaskFinished, TaskSubmitted, Warned
from agspec_tui.session.recorded import (
    FASTEST,
    STEPWISE,
    RecordedSession,
    read_events,
    write_events,
)

EVENTS = [
    TaskSubmitted(text="x", t_s=1.0),
    Warned(message="a", hint="", t_s=1.1),
    ApprovalRequested(call_id=4, summary="s", diff="", t_s=1.2),
    TaskFinished(status="fixed", summary="", diff="", wall_s=0.2, t_s=1.3),
]


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "events.jsonl"
    write_events(path, EVENTS)
    return path


def kinds(events):
    return [type(event).__name__ for event in events]


def test_what_was_written_is_read(recording):
    assert read_events(recording) == EVENTS


async def test_stepwise_publishes_only_what_is_asked_for(recording):
    session = RecordedSession(recording, STEPWISE)
    seen = session.bus.subscribe()
    await session.start()
    assert seen.drain() == []
    assert kinds(session.step(2)) == kinds(seen.drain()) == ["TaskSubmitted", "Warned"]
    assert session.n_left == 2
    assert len(session.step(9)) == 2
    assert session.step() == []


async def test_the_fastest_replay_waits_for_nothing_not_even_an_answer(recording):
    session = RecordedSession(recording, FASTEST)
    seen = session.bus.subscribe()
    await session.start()
    events = seen.drain()
    assert kinds(events) == kinds(EVENTS)
    assert [event.seq for event in events] == [1, 2, 3, 4]


async def test_a_paced_replay_keeps_the_distances_and_waits_for_the_answer(recording):
    session = RecordedSession(recording, speed=2.0)
    seen = session.bus.subscribe()
    await session.start()
    await asyncio.sleep(0.4)
    events = seen.drain()
    assert kinds(events) == ["TaskSubmitted", "Warned", "ApprovalRequested"]
    assert events[2].t_s - events[0].t_s >= 0.1
    await session.send(AnswerApproval(call_id=99, approved=True))
    await asyncio.sleep(0.2)
    assert seen.drain() == []
    await session.send(AnswerApproval(call_id=4, approved=True))
    await asyncio.sleep(0.2)
    assert kinds(seen.drain()) == ["TaskFinished"]
    await session.close()
    await session.close()


async def test_a_no_ends_the_replay_as_cancelled(recording):
    session = RecordedSession(recording, speed=10.0)
    seen = session.bus.subscribe()
    await session.start()
    await asyncio.sleep(0.2)
    await session.send(AnswerApproval(call_id=4, approved=False))
    await asyncio.sleep(0.1)
    *_, answered, finished = seen.drain()
    assert (answered.approved, finished.status) == (False, "cancelled")
    assert session.n_left == 0


async def test_a_recorded_plan_cannot_be_changed_and_the_replay_goes_on(tmp_path):
    path = tmp_path / "plan.jsonl"
    asked = ApprovalRequested(call_id=4, asks="plan", summary="s", diff="", t_s=1.0)
    done = TaskFinished(status="fixed", summary="", diff="", wall_s=1.0, t_s=1.1)
    write_events(path, [TaskSubmitted(text="x", t_s=1.0), asked, done])
    session = RecordedSession(path, speed=10.0)
    seen = session.bus.subscribe()
    await session.start()
    await asyncio.sleep(0.1)
    await session.send(EditPlan(call_id=99, steps=()))
    assert kinds(seen.drain()) == ["TaskSubmitted", "ApprovalRequested"]
    await session.send(EditPlan(call_id=4, steps=()))
    await asyncio.sleep(0.2)
    told, finished = seen.drain()
    assert (told.message, finished.status) == ("a recorded plan cannot be changed", "fixed")
    await session.close()


async def test_a_replay_stands_still_steps_and_goes_on(recording):
    session = RecordedSession(recording, speed=1.0)
    session.paused = True
    seen = session.bus.subscribe()
    await session.start()
    await asyncio.sleep(0.2)
    assert seen.drain() == []
    session.step_paused()
    session.step_paused()
    assert kinds(seen.drain()) == ["TaskSubmitted", "Warned"]
    session.step_paused()
    session.step_paused()  # the question waits for its answer
    assert kinds(seen.drain()) == ["ApprovalRequested"]
    assert session.asking
    await session.send(AnswerApproval(call_id=4, approved=True))
    await asyncio.sleep(0.2)
    assert seen.drain() == []  # it still stands still
    session.paused = False
    await asyncio.sleep(0.3)
    assert kinds(seen.drain()) == ["TaskFinished"]
    session.step_paused()
    await session.close()


async def test_the_pace_can_be_changed_in_the_middle_of_a_wait(tmp_path):
    path = tmp_path / "slow.jsonl"
    write_events(path, [TaskSubmitted(text="x", t_s=0.0), Warned(message="a", hint="", t_s=60.0)])
    session = RecordedSession(path, speed=1.0)
    seen = session.bus.subscribe()
    await session.start()
    await asyncio.sleep(0.1)
    assert kinds(seen.drain()) == ["TaskSubmitted"]
    session.speed = 600.0
    await asyncio.sleep(0.5)
    assert kinds(seen.drain()) == ["Warned"]
    await session.close()


@pytest.mark.parametrize("command", [Interrupt(), Quit()])
async def test_an_interrupt_ends_the_replay(recording, command):
    session = RecordedSession(recording, STEPWISE)
    seen = session.bus.subscribe()
    await session.start()
    session.step()
    await session.send(SubmitTask(text="ignored"))
    await session.send(command)
    await session.send(command)
    assert kinds(seen.drain()) == ["TaskSubmitted", "TaskFinished"]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"nonsense\n", "line 1"),
        (b'{"kind":"Warned","message":"a","hint":""}\n{"kind":"Unheard"}\n', "line 2"),
        (b"\xff\xfe\n", "line 1"),
        (None, "No such file"),
    ],
)
async def test_what_is_no_recording_is_refused_with_the_place(tmp_path, content, part):
    path = tmp_path / "x.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=part):
        await RecordedSession(path, FASTEST).start()


def test_a_negative_speed_is_refused(recording):
    with pytest.raises(UsageError, match="negative"):
        RecordedSession(recording, -1.0)


async def test_events_that_are_close_together_take_the_time_they_took():
    steps = [Warned(message=str(n), hint="", t_s=n / 200) for n in range(61)]
    session = RecordedSession(steps, speed=1.0)
    subscription = session.bus.subscribe()
    began = time.monotonic()
    await session.start()
    seen = []
    while len(seen) < len(steps):
        await subscription.wait()
        seen += subscription.drain()
    assert [event.message for event in seen] == [step.message for step in steps]
    assert time.monotonic() - began > 0.25  # of 0.3 s, less what may come early
    await session.close()
