import asyncio
import os
import socket

import pytest

from agspec_tui.commands import AnswerApproval, ConfigureDrafting, Interrupt, LoadModel
from agspec_tui.events import (
    ApprovalRequested,
    CandidateTested,
    CommandFinished,
    EditApplied,
    EditProposed,
    EditRefused,
    TurnFinished,
    TurnStarted,
    Warned,
)
from agspec_tui.session import candidates as candidates_module
from agspec_tui.session import gate
from agspec_tui.session.context import Fitted
from agspec_tui.session.draws import FIRST, Draw
from agspec_tui.session.interrupt import InterruptSwitch
from agspec_tui.session.roles import load_team
from agspec_tui.session.sandbox import Sandbox
from agspec_tui.session.turn import Candidate, Speaker
from tests.session.scripted import (
    CALC,
    FIXED,
    TESTS,
    check_stream,
    of,
    plan,
    script,
    snapshot,
    solve,
    whole,
)

WRONG = CALC.replace("- number", "* number")  # the sum of nothing is still right
WORSE = CALC.replace("result = 0", "result = 1")


def runs_of(events):
    return [
        (one.number, one.n_candidates, one.n_alike, one.passed, one.failed)
        for one in of(events, CandidateTested)
    ]


async def test_the_first_that_passes_is_taken_though_more_replies_came_to_another(repo, tmp_path):
    replies = [whole("calc.py", text) for text in (WRONG, FIXED, WRONG)]
    path = script(tmp_path, plan("calc.py"), *replies, "PASS")
    events = await solve(repo, path, candidates=3)
    check_stream(events)
    assert events[-1].status == "fixed"
    assert runs_of(events) == [(1, 2, 2, 1, 2), (2, 2, 1, 3, 0)]
    assert (repo / "calc.py").read_text() == FIXED
    assert [event.diff.count("+ number") for event in of(events, EditProposed)] == [1]
    assert len(of(events, EditApplied)) == 1
    started = [event for event in of(events, TurnStarted) if event.role == "coder"]
    assert [event.candidate for event in started] == [1, 2, 3]
    assert len({event.request for event in started}) == 3


async def test_those_behind_the_first_that_passes_are_not_tested(repo, tmp_path):
    replies = [whole("calc.py", text) for text in (FIXED, WRONG, WORSE)]
    path = script(tmp_path, plan("calc.py"), *replies, "PASS")
    events = await solve(repo, path, candidates=3)
    assert events[-1].status == "fixed"
    assert runs_of(events) == [(1, 3, 1, 3, 0)]


async def test_if_none_passes_the_one_that_fails_least_is_offered(repo, tmp_path):
    replies = [whole("calc.py", text) for text in (WORSE, WRONG)]
    path = script(tmp_path, plan("calc.py"), *replies, "FAIL: 2", *replies, "FAIL: 2")
    events = await solve(repo, path, candidates=2, max_turns=1)
    assert runs_of(events) == [(1, 2, 1, 0, 3), (2, 2, 1, 1, 2)]
    (proposed,) = of(events, EditProposed)
    assert "* number" in proposed.diff
    assert events[-1].status == "not_fixed"
    assert (repo / "calc.py").read_text() == CALC


async def test_a_patch_that_failed_in_a_copy_is_not_tried_again(repo, tmp_path):
    first = [whole("calc.py", text) for text in (WORSE, WRONG)]
    # In turn 2 the first reply is drawn until no more draws are left, and none of them is new.
    second = [whole("calc.py", text) for text in (WORSE, FIXED, WORSE, WORSE)]
    path = script(tmp_path, plan("calc.py"), *first, "FAIL: 2", *second, "PASS")
    events = await solve(repo, path, candidates=2)
    assert events[-1].status == "fixed"
    assert [number for number, *_ in runs_of(events)] == [1, 2]  # in turn 2 one was left


async def test_a_reply_that_cannot_be_used_does_not_spoil_the_others(repo, tmp_path):
    path = script(
        tmp_path, plan("calc.py"), "I do not know.", whole("calc.py", FIXED), *["…"] * 3, "PASS"
    )  # fmt: skip
    events = await solve(repo, path, candidates=3)
    assert events[-1].status == "fixed"
    assert of(events, EditRefused) == []


async def test_replies_that_can_all_not_be_used_are_one_refusal(repo, tmp_path):
    path = script(tmp_path, plan("calc.py"), "No.", *["Never."] * 3)
    events = await solve(repo, path, candidates=2, max_turns=1)
    assert events[-1].status == "not_fixed"
    assert len(of(events, EditRefused)) == 1


async def test_without_tests_the_patch_of_most_replies_is_taken(repo, tmp_path):
    for path in (repo / "tests").iterdir():
        path.unlink()
    (repo / "tests").rmdir()
    replies = [whole("calc.py", text) for text in (WRONG, FIXED, FIXED)]
    path = script(tmp_path, plan("calc.py"), *replies)
    events = await solve(repo, path, candidates=3, test_command=None)
    assert events[-1].status == "edited"
    assert of(events, CandidateTested) == []
    assert (repo / "calc.py").read_text() == FIXED


async def test_tests_see_a_copy_where_the_repository_is_and_leave_nothing(repo, tmp_path):
    (repo / "link.py").symlink_to("calc.py")
    (repo / "run.sh").write_text("#!/bin/sh\nexit 0\n")
    (repo / "run.sh").chmod(0o755)
    os.mkfifo(repo / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(repo / "s"))
    command = f"pwd > seen; cat seen; test -L link.py && ./run.sh && echo x >> count && {TESTS}"
    replies = [whole("calc.py", text) for text in (WRONG, FIXED)]
    path = script(tmp_path, plan("calc.py"), *replies, "PASS")
    events = await solve(repo, path, candidates=2, test_command=command)
    assert [one.exit_code == 0 for one in of(events, CandidateTested)] == [False, True]
    assert events[-1].status == "fixed"
    assert (repo / "count").read_text() == "x\nx\n"  # before, and after the edit was written
    runs = [event.output.splitlines()[0] for event in of(events, CommandFinished)]
    assert runs == [str(repo)] * 2


async def test_a_repository_that_is_too_large_is_not_copied(repo, tmp_path, monkeypatch):
    monkeypatch.setattr(candidates_module, "_MAX_COPY_BYTES", 100)
    replies = [whole("calc.py", text) for text in (WRONG, FIXED, FIXED)]
    path = script(tmp_path, plan("calc.py"), *replies, "PASS")
    events = await solve(repo, path, candidates=3)
    assert events[-1].status == "fixed"
    assert runs_of(events) == []
    assert any("too large to be copied" in event.message for event in of(events, Warned))


@pytest.mark.parametrize(("approve", "n_tested"), [("ask", 0), ("auto-edit", 2)])
async def test_without_a_sandbox_no_patch_runs_before_the_yes(
    repo, tmp_path, monkeypatch, approve, n_tested
):
    monkeypatch.setattr(gate, "find_sandbox", lambda: Sandbox("none", reason="for this test"))
    replies = [whole("calc.py", text) for text in (WRONG, FIXED)]
    path = script(tmp_path, plan("calc.py"), *replies, "FAIL: 2", *replies, "PASS")

    async def yes(session, event):
        if isinstance(event, ApprovalRequested):
            await session.send(AnswerApproval(call_id=event.call_id, approved=True))

    events = await solve(
        repo, path, on_event=yes, auto=False, approve=approve, candidates=2, max_turns=1
    )
    assert len(of(events, CandidateTested)) == n_tested
    warned = [event.message for event in of(events, Warned)]
    assert any("before your yes" in message for message in warned) is (n_tested == 0)


async def test_patches_that_were_not_tested_may_come_again(repo, tmp_path, monkeypatch):
    monkeypatch.setattr(candidates_module, "_MAX_COPY_BYTES", 100)
    replies = [whole("calc.py", text) for text in (WRONG, FIXED)]
    again = [whole("calc.py", WRONG)] * 2  # that one was tested
    path = script(tmp_path, plan("calc.py"), *replies, "FAIL: 2", *replies, *again, "PASS")
    events = await solve(repo, path, candidates=2)
    assert events[-1].status == "fixed"


async def test_a_stop_ends_all_candidates(repo, tmp_path):
    before = snapshot(repo)
    replies = [whole("calc.py", FIXED)] * 3
    path = script(tmp_path, plan("calc.py"), *replies, "PASS", step_delay_s=0.05)

    async def stop(session, event):
        if isinstance(event, TurnStarted) and event.candidate == 3:
            await session.send(Interrupt())

    events = await solve(repo, path, candidates=3, on_event=stop, drafter="none")
    assert events[-1].status == "cancelled"
    assert snapshot(repo) == before


async def test_the_replies_are_decoded_together(repo, tmp_path):
    replies = [whole("calc.py", FIXED)] * 4
    path = script(tmp_path, plan("calc.py"), *replies, "PASS", step_delay_s=0.001)
    events = await solve(repo, path, candidates=4, drafter="none")
    beside = [event.n_beside for event in events if getattr(event, "role", "") == "coder"
              and hasattr(event, "n_beside")]  # fmt: skip
    assert max(beside) == 3


async def test_real_replies_to_one_prompt_differ(smollm2, make_client):
    coder, prompt = load_team().coder, Fitted("Write a function that adds two numbers.", 60)
    client, events = make_client()
    load = LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=2048, n_seq_max=6)
    await client.start(load, ConfigureDrafting())
    speaker = Speaker(client, events.append, InterruptSwitch(), load.n_ctx)
    replies = await asyncio.gather(
        *(
            speaker.say(coder, 1, prompt, max_tokens=40, candidate=Candidate(number, 3))
            for number in (1, 2, 3)
        )
    )
    assert len({reply.text for reply in replies}) == 3
    rows = [event.candidate for event in events if isinstance(event, TurnFinished)]
    assert sorted(rows) == [1, 2, 3]


async def test_real_draws_differ_and_first_ones_do_not(smollm2, make_client):
    coder, prompt = load_team().coder, Fitted("Write a function that adds two numbers.", 60)
    client, events = make_client()
    load = LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=2048)
    await client.start(load, ConfigureDrafting())
    speaker = Speaker(client, events.append, InterruptSwitch(), load.n_ctx)

    async def text(turn, draw):
        return (await speaker.say(coder, turn, prompt, max_tokens=40, draw=draw)).text

    first = await text(1, FIRST)
    drawn = [await text(turn, Draw(turn - 1, again)) for turn, again in ((2, 0), (2, 1), (3, 0))]
    assert len({first, *drawn}) == 4
    assert await text(2, Draw(1, 1)) == drawn[1]
    assert await text(4, FIRST) == first
