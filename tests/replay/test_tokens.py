import numpy as np
import pytest

from agspec_tui.drafting.choose import NAMES, make_drafter
from agspec_tui.replay.tokens import TokenisedSession, assemble, half_of, tokenise
from agspec_tui.replay.traces import TraceCall, TraceMessage, TraceSession
from tests.replay.words import Words


def tokenised(*calls: TraceCall, **fields: str) -> TokenisedSession:
    whole = TraceSession(**{"session_id": "s", "calls": calls, **fields})
    return assemble(*tokenise(whole, "file", Words()))


def call(output: str, *prompt: str, **fields: object) -> TraceCall:
    messages = tuple(TraceMessage("user", text) for text in prompt)
    return TraceCall(prompt=messages, output=output, **fields)


def ids(text: str) -> tuple[int, ...]:
    return tuple(Words().tokenize(text, special=False).tolist())


def context(session: TokenisedSession, number: int) -> list[tuple[int, ...]]:
    return [piece.ids for piece in session.calls[number].pieces]


def test_a_context_goes_on_with_the_output_and_the_new_messages():
    session = tokenised(call("out one", "in one", "in two"), call("out two", "in three"))
    assert context(session, 0) == [ids("in one"), ids("in two")]
    expected = [ids("in one"), ids("in two"), ids("out one"), ids("in three")]
    assert context(session, 1) == expected
    assert session.calls[1].output.tolist() == list(ids("out two"))


def test_agents_have_contexts_of_their_own():
    session = tokenised(
        call("a one", "to a", agent_id="a"),
        call("b one", "to b", agent_id="b"),
        call("a two", "more", agent_id="a"),
    )
    assert context(session, 1) == [ids("to b")]
    assert context(session, 2) == [ids("to a"), ids("a one"), ids("more")]


def test_a_new_context_begins_without_what_the_agent_said_before():
    session = tokenised(call("one", "first"), call("two", "second", ctx="new"), call("three"))
    assert context(session, 1) == [ids("second")]
    assert context(session, 2) == [ids("second"), ids("two")]


def test_pieces_of_one_text_share_their_tokens():
    session = tokenised(call("out", "in"), call("out", "in", ctx="new"), call("end", "more"))
    first, second, third = (each.pieces for each in session.calls)
    assert first[0].ids is second[0].ids is third[0].ids
    assert third[1].ids == ids("out")
    assert len({id(piece.ids) for piece in (*first, *second, *third)}) == 3


def test_prompt_tokens_are_counted_once_and_outputs_as_outputs():
    session = tokenised(call("out one", "in one"), call("out two", "in two and more"))
    n_new = [each.n_new for each in session.calls]
    assert n_new == [len(ids("in one")), len(ids("in two and more"))]
    assert session.n_prompt == sum(n_new)
    assert session.n_output == len(ids("out one")) + len(ids("out two"))


def test_empty_messages_are_no_pieces_and_an_empty_prompt_is_an_empty_one():
    session = tokenised(call("one", "", "in"), call("two", ctx="new"))
    assert context(session, 0) == [ids("in")]
    assert context(session, 1) == [()]


@pytest.mark.parametrize("name", NAMES)
def test_every_drafter_takes_an_empty_prompt(name):
    session = tokenised(call("one two one two", ctx="new"))
    drafter = make_drafter(name)
    drafter.begin("main", session.calls[0].pieces)
    for token in session.calls[0].output.tolist():
        drafter.draft(drafter.match(), 4)
        drafter.feed((token,))


def test_a_shown_file_has_the_views_of_the_edit_format():
    text = 'def f():\n    return "x"\n'
    prompt = (TraceMessage("user", text, file="a.py"),)
    shown = TraceCall(prompt=prompt, output="ok")
    [json_file] = tokenised(shown, edit_format="JSON tool call").calls[0].shown
    assert json_file.path == "a.py"
    assert [name for name, _ in json_file.views] == ["escaped", "raw"]
    assert tuple(json_file.views[0][1].tolist()) == ids('def f():\\n    return \\"x\\"\\n')
    [whole_file] = tokenised(shown, edit_format="whole files").calls[0].shown
    assert [(name, tuple(view.tolist())) for name, view in whole_file.views] == [("raw", ids(text))]


def test_a_part_that_is_replaced_is_taken_out():
    part = TraceMessage("user", "### a.py\n7|some line of it\n8|and another\n")
    whole = TraceMessage("user", "### a.py\n" + "".join(f"{n}|line {n}\n" for n in range(1, 20)))
    session = tokenised(
        TraceCall(prompt=(part,), output="x"), TraceCall(prompt=(whole,), output="y")
    )
    names = [[(file.path, len(file.views)) for file in each.shown] for each in session.calls]
    assert names == [[("a.py:7", 1)], [("a.py:7", 0), ("a.py", 1)]]


def test_a_session_without_a_task_is_a_task_of_its_own():
    assert tokenised(call("x", "y")).task == "s"
    assert tokenised(call("x", "y"), task="t").task == "t"


def test_both_halves_get_tasks_and_a_task_has_one_half():
    halves = [half_of(f"task-{n}") for n in range(100)]
    assert 30 < sum(halves) < 70
    assert halves == [half_of(f"task-{n}") for n in range(100)]


def test_texts_beyond_unicode_are_tokenised():
    session = tokenised(call("\ud800 x", "\udfff"))
    assert session.n_output > 0
    assert session.calls[0].output.dtype == np.int32
