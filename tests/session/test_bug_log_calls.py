"""Calls that were not made, by their number in the log: from the reply to the file on disk."""

import json

import pytest

from agspec_tui.events import (
    CommandStarted,
    EditApplied,
    EditProposed,
    EditRefused,
    VerdictReached,
)
from tests.session.scripted import CALC, FIXED, of, plan, prompts, script, snapshot, solve, whole

WRONG = CALC.replace("- number", "* number")
SWAP = ("        result = result - number\n", "        result = result * number\n")
CALL = json.dumps({"name": "write_file", "arguments": {"path": "calc.py", "content": WRONG}})
EDIT = json.dumps(
    {
        "name": "edit",
        "arguments": {"path": "calc.py", "old_string": SWAP[0], "new_string": SWAP[1]},
    }
)
CALLS = {
    "qwen": f"<tool_call>\n{CALL}\n</tool_call>",
    "qwen edit": f"<tool_call>\n{EDIT}\n</tool_call>",
    "xml": "<tool_call>\n<function=write_file>\n<parameter=path>\ncalc.py\n</parameter>\n"
    f"<parameter=content>\n{WRONG}</parameter>\n</function>\n</tool_call>",
    "mistral": f"[TOOL_CALLS]write_file[ARGS]{json.dumps({'path': 'calc.py', 'content': WRONG})}",
    "gemma": "<start_function_call>call:write_file{path:<escape>calc.py<escape>,"
    f"content:<escape>{WRONG}<escape>}}<end_function_call>",
    "bare": CALL,
    "file": whole("calc.py", WRONG),
    "diff": f"```diff\n--- a/calc.py\n+++ b/calc.py\n@@\n-{SWAP[0]}+{SWAP[1]}```",
    "blocks": f"calc.py\n<<<<<<< SEARCH\n{SWAP[0]}=======\n{SWAP[1]}>>>>>>> REPLACE",
}
THOUGHTS = {
    "closed": "<think>\n{}\n</think>\nDone.",
    "open": "<think>\nI change it.\n{}\n",
    "orphan": "I change it.\n{}\n</think>\nDone.",
    "nothing behind": "<think>\n{}\n</think>",
}
CLAIMS = (
    "I have fixed the file with the write_file tool.",
    "Done! The bug in `calc.py` is fixed and all tests pass.",
    "I called `edit(calc.py)` and it returned success.",
    '<tool_response>\n{"ok": true}\n</tool_response>\nThe file was written.',
)


async def refused_once(repo, tmp_path, reply):
    """The message of the refusal of a first reply, which a second and right one follows."""
    before = snapshot(repo)
    records = tmp_path / "records"
    found = []

    async def look(_, event):
        if isinstance(event, EditRefused):
            found.append(snapshot(repo))

    path = script(tmp_path, plan("calc.py"), reply, whole("calc.py", FIXED), "PASS")
    events = await solve(repo, path, on_event=look, record=records)
    [refused] = of(events, EditRefused)
    assert refused.turn == 1
    assert found == [before], "nothing of the reply reaches the disk"
    assert [event.turn for event in of(events, EditProposed)] == [2]
    assert [event.turn for event in of(events, EditApplied)] == [2]
    assert [event.turn for event in of(events, CommandStarted)] == [1, 2]
    said = f"Your last answer could not be used:\n{refused.message.partition(' (')[0]}"
    assert [said in prompt for prompt in prompts(records, "coder")] == [False, True]
    assert events[-1].status == "fixed"
    assert f"Turn 1: no edit; {refused.message.partition(' (')[0]}" in events[-1].summary
    assert (repo / "calc.py").read_text() == FIXED
    return refused.message


@pytest.mark.parametrize(
    ("call", "thought"),
    [(call, "closed") for call in CALLS]
    + [(call, thought) for call in ("qwen", "file") for thought in THOUGHTS if thought != "closed"],
)
async def test_t07_a_call_in_the_reasoning_is_not_run_and_the_coder_is_told(
    repo, tmp_path, call, thought
):
    message = await refused_once(repo, tmp_path, THOUGHTS[thought].replace("{}", CALLS[call]))
    assert "reasoning" in message


@pytest.mark.parametrize("claim", CLAIMS)
async def test_t09_a_claim_is_no_edit_and_the_coder_is_asked_again(repo, tmp_path, claim):
    await refused_once(repo, tmp_path, claim)


@pytest.mark.parametrize(
    ("bug", "reply"), [("T07", f"<think>\n{CALLS['qwen']}\n</think>"), ("T09", CLAIMS[0])]
)
async def test_without_end_it_is_not_fixed_and_says_so(repo, tmp_path, bug, reply):
    before = snapshot(repo)
    events = await solve(repo, script(tmp_path, plan("calc.py"), *[reply] * 10))
    assert events[-1].status == "not_fixed", bug
    assert len(of(events, EditRefused)) == 3
    assert not of(events, EditApplied)
    assert "3 replies in a row could not be read" in events[-1].summary
    assert snapshot(repo) == before


async def test_t09_a_claimed_pass_does_not_count_where_the_tests_fail(repo, tmp_path):
    path = script(
        tmp_path, plan("calc.py"), whole("calc.py", WRONG), "PASS", whole("calc.py", FIXED), "PASS"
    )
    events = await solve(repo, path)
    assert [(event.turn, event.passed) for event in of(events, VerdictReached)] == [
        (1, False),
        (2, True),
    ]
    assert events[-1].status == "fixed"
    assert (repo / "calc.py").read_text() == FIXED
