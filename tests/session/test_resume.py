import asyncio
import json
import sqlite3
from pathlib import Path

import pytest

from agspec_tui.commands import Redo, Undo
from agspec_tui.config import sessions_dir
from agspec_tui.errors import StoreError
from agspec_tui.events import (
    ApprovalAnswered,
    ApprovalRequested,
    EditApplied,
    EditReverted,
    SessionStarted,
    TaskFinished,
    TaskSubmitted,
    Warned,
)
from agspec_tui.forms.types import FileChange
from agspec_tui.session.bus import Bus
from agspec_tui.session.session import Session
from agspec_tui.session.store import SessionStore
from agspec_tui.session.stored import list_sessions, read_session
from agspec_tui.session.storing import read_earlier, undo_stored
from agspec_tui.session.undo_types import Operation
from tests.session.scripted import (
    CALC,
    FIXED,
    SCRIPTS,
    TESTS,
    check_stream,
    config,
    of,
    open_session,
    plan,
    run_task,
    script,
    snapshot,
    whole,
)


@pytest.fixture(autouse=True)
def own_data(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


async def worked(repo, path=SCRIPTS / "fixed.json", **settings):
    session = open_session(repo, path, **settings)
    await session.start()
    events = await run_task(session)
    await session.close()
    return events


def only_session():
    (path,) = sessions_dir().glob("*.db")
    return path


def resumed(path, **more):
    earlier = read_earlier(path)
    settings = config(SCRIPTS / "fixed.json")
    repo = more.pop("repo", None) or earlier.meta.repo
    return Session(
        Path(repo), settings, test_command=TESTS, auto_approve=True, earlier=earlier, **more
    )


async def commanded(session, command, kind):
    """Send a command and wait for an event of a kind."""
    seen = session.bus.subscribe()
    await session.send(command)
    async with asyncio.timeout(10):
        while True:
            await seen.wait()
            for event in seen.drain():
                if isinstance(event, kind):
                    return event


async def test_every_event_of_a_session_is_stored_as_it_was(repo):
    session = open_session(repo, SCRIPTS / "fixed.json")
    seen = session.bus.subscribe()
    await session.start()
    await run_task(session)
    await session.close()
    content = read_session(only_session())
    assert content.events == seen.drain()
    assert content.meta.repo == str(repo.resolve())
    assert json.loads(content.meta.settings)["model"].startswith("scripted:")
    assert [(edit.kind, edit.path) for edit in content.edits] == [("write", "calc.py")]
    assert content.edits[0].before == CALC.encode()
    assert content.edits[0].after == FIXED.encode()


async def test_nothing_is_stored_if_that_is_switched_off(repo):
    session = open_session(repo, SCRIPTS / "fixed.json", keep_sessions=False)
    await session.start()
    await run_task(session)
    await commanded(session, Undo(), EditReverted)
    await session.close()
    assert (repo / "calc.py").read_text() == CALC
    assert not sessions_dir().exists()


async def test_a_resumed_session_shows_its_transcript_and_goes_on(repo):
    before = await worked(repo)
    (repo / "calc.py").write_text(CALC)
    session = resumed(only_session())
    seen = session.bus.subscribe()
    await session.start()
    shown = seen.drain()
    assert [event for event in shown if event.seq <= before[-1].seq][-len(before) :] == before
    after = await run_task(session)
    assert after[-1].status == "fixed"
    await session.close()
    check_stream(read_session(only_session()).events)
    assert after[0].seq > before[-1].seq
    assert after[0].t_s >= before[-1].t_s
    assert min(event.turn for event in after if event.turn) > max(event.turn for event in before)
    assert len(of(shown, SessionStarted)) == 2
    assert {one.session_id for one in of(shown, SessionStarted)} == {only_session().stem}
    assert list_sessions(sessions_dir())[0].n_tasks == 2


async def test_undo_and_redo_work_over_a_restart(repo):
    await worked(repo)
    session = resumed(only_session())
    await session.start()
    undone = await commanded(session, Undo(), EditReverted)
    assert (undone.files, undone.reason) == (("calc.py",), "undo of turn 1")
    assert (repo / "calc.py").read_text() == CALC
    await session.close()
    session = resumed(only_session())
    await session.start()
    assert (await commanded(session, Redo(), EditApplied)).files == ("calc.py",)
    assert (repo / "calc.py").read_text() == FIXED
    await commanded(session, Redo(), Warned)
    (repo / "calc.py").write_text("mine\n")
    warning = await commanded(session, Undo(), Warned)
    assert "your version is kept: calc.py" in warning.message
    assert (repo / "calc.py").read_text() == "mine\n"
    await session.close()


async def test_an_undo_from_outside_says_what_it_found_cut_off(repo):
    await worked(repo)
    path = only_session()
    store = SessionStore.open(path, writing=True)
    cut_off = FileChange("calc.py", FIXED.encode(), b"half\n")
    modes = {"calc.py": 0o644, "other.py": None}
    operation = Operation(
        "write", 2, (cut_off, FileChange("other.py", None, b"x\n")), modes, (), (), "0"
    )
    store.begin(operation, store.stacks())
    (repo / "calc.py").write_bytes(b"half\n")
    store.close()
    warned, reverted = await undo_stored(path, again=False)
    assert warned.message == "a write was cut off; as before it again: calc.py"
    assert reverted.files == ("calc.py",)
    assert (repo / "calc.py").read_text() == CALC


async def test_a_failed_task_leaves_the_edits_of_the_task_before_it(repo, tmp_path):
    wrong = FIXED.replace("+ number", "* number")
    path = script(
        tmp_path,
        plan("calc.py"),
        whole("calc.py", FIXED),
        "PASS",
        plan("calc.py"),
        whole("calc.py", wrong),
        "FAIL",
    )
    session = open_session(repo, path, max_turns=1)
    await session.start()
    assert (await run_task(session))[-1].status == "fixed"
    assert (await run_task(session))[-1].status == "not_fixed"
    assert (repo / "calc.py").read_text() == FIXED
    await commanded(session, Undo(), EditReverted)
    assert (repo / "calc.py").read_text() == CALC
    await session.close()


async def test_undo_waits_for_no_task(repo):
    session = open_session(repo, SCRIPTS / "slow.json")
    await session.start()

    async def undo(event):
        if isinstance(event, TaskSubmitted):
            await session.send(Undo())
        if isinstance(event, Warned) and event.message == "a task is running":
            refused.append(event)
            await session.close()

    refused = []
    await run_task(session, on_event=undo)
    assert refused


def cut(path, kind):
    """Cut a stored session behind its first event of a kind, as a kill does."""
    database = sqlite3.connect(path)
    (last,) = database.execute("SELECT min(seq) FROM events WHERE kind = ?", (kind,)).fetchone()
    database.execute("DELETE FROM events WHERE seq > ?", (last,))
    database.commit()
    database.close()


@pytest.mark.parametrize(
    "kind", ["TaskSubmitted", "StepCommitted", "EditApplied", "CommandStarted"]
)
async def test_a_task_that_was_cut_off_is_ended_on_resume(repo, kind):
    await worked(repo)
    cut(only_session(), kind)
    assert list_sessions(sessions_dir())[0].status == "interrupted"
    session = resumed(only_session())
    seen = session.bus.subscribe()
    await session.start()
    finished = of(seen.drain(), TaskFinished)
    assert [one.status for one in finished] == ["cancelled"]
    assert "calc.py" in finished[0].summary
    assert "+        result = result + number" in finished[0].diff
    await session.close()
    assert list_sessions(sessions_dir())[0].status == "cancelled"
    assert (repo / "calc.py").read_text() == FIXED


async def test_a_question_that_nobody_answered_is_not_asked_again(repo):
    session = open_session(repo, SCRIPTS / "fixed.json", auto=False)
    await session.start()

    async def leave(event):
        if isinstance(event, ApprovalRequested):
            await session.close()

    await run_task(session, on_event=leave)
    cut(only_session(), "ApprovalRequested")
    again = resumed(only_session())
    seen = again.bus.subscribe()
    await again.start()
    events = seen.drain()
    assert [one.approved for one in of(events, ApprovalAnswered)] == [False]
    assert of(events, TaskFinished)[-1].status == "cancelled"
    await again.close()


async def test_a_session_is_resumed_by_one_program_at_a_time(repo):
    await worked(repo)
    first, second = resumed(only_session()), resumed(only_session())
    await first.start()
    with pytest.raises(StoreError, match="open in another program"):
        await second.start()
    await first.close()
    await second.close()


async def test_replayed_events_reach_subscribers_and_no_tap():
    bus, tapped = Bus(), []
    bus.tap(tapped.append)
    seen = bus.subscribe()
    old = [Warned(message="old", hint="", seq=41, t_s=7.5)]
    bus.replay(old)
    new = bus.publish(Warned(message="new", hint=""))
    assert seen.drain() == [*old, new]
    assert tapped == [new]
    assert new.seq == 42
    assert 7.5 <= new.t_s < 8.5


async def test_the_repository_is_not_touched_by_a_resume(repo):
    await worked(repo)
    before = snapshot(repo)
    session = resumed(only_session())
    await session.start()
    await session.close()
    assert snapshot(repo) == before
