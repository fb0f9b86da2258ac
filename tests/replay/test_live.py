import asyncio

import pytest

from agspec_tui.commands import LoadModel, Message
from agspec_tui.engine.llama_tokenizer import Vocabulary
from agspec_tui.engine.scripted import ScriptedTokenizer
from agspec_tui.errors import EngineError
from agspec_tui.events import DocumentIndexed, StepCommitted
from agspec_tui.replay.live import first_difference, read_recording, replay
from agspec_tui.session.session import Session
from tests.replay.live import (
    CODE,
    EDITED,
    ask,
    differences,
    document,
    drafting,
    lines,
    n_steps,
    replayed,
    scripted,
    until,
)
from tests.session import scripted as team


def recorded_steps(events):
    return [event for event in events if isinstance(event, StepCommitted)]


METHODS = [
    ("agspec-sam", "agspec"),
    ("agspec-sam", "fixed"),
    ("agspec-sam", "goodput"),
    ("agspec-sam", "survival"),
    ("agspec-sam", "scaled"),
    ("agspec-suffix", "agspec"),
    ("agspec-suffix", "fixed"),
    ("suffix", "own"),
    ("suffix", "agspec"),
    ("pld", "own"),
    ("pld", "fixed"),
    ("llama-ngram-mod", "own"),
    ("llama-ngram-map-k", "own"),
    ("fastcoder", "own"),
    ("sam", "own"),
]


@pytest.mark.parametrize(("drafter", "policy"), METHODS)
async def test_a_recorded_session_takes_the_same_steps_again(
    make_client, tmp_path, drafter, policy
):
    client, events = make_client()
    load = scripted(tmp_path, "plan: edit clamp.py", EDITED, f"Again:\n{EDITED}", n_batch=64)
    await client.start(load, drafting(drafter, policy))
    await client.index(document("clamp.py", CODE))
    await client.generate(ask(1, Message("user", "What is to be done?"), role="planner"))
    first = await client.generate(ask(2, Message("user", f"Edit this:\n{CODE}")))
    await client.index(document("clamp.py", EDITED))
    await client.forget("other.py")
    turn = (
        Message("user", f"Edit this:\n{CODE}"),
        Message("assistant", first.text, first.ids),
        Message("user", "Say it again."),
    )
    await client.generate(ask(3, *turn, role="coder"))
    await client.close()
    steps = recorded_steps(events)
    assert sum(step.n_drafted for step in steps) > 50
    assert any(step.n_accepted < step.n_drafted for step in steps) or drafter == "llama-ngram-mod"
    again = replayed(load)
    now = [step for one in again for step in one.steps]
    assert [(s.n_drafted, s.n_accepted) for s in now] == [
        (s.n_drafted, s.n_accepted) for s in steps
    ]
    assert [first_difference(one) for one in again] == [None, None, None]
    assert differences(load) == []  # once more: nothing was learned beyond the replay


async def test_files_that_change_while_tokens_are_generated_keep_their_place(make_client, tmp_path):
    client, events = make_client()
    load = scripted(tmp_path, EDITED * 3, step_delay_s=0.01)
    await client.start(load, drafting("agspec-sam"))
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"))))
    await until(lambda: n_steps(events, 1) > 3)
    await client.index(document("a.py", CODE))
    assert not reply.done()
    n_before = n_steps(events, 1)
    await until(lambda: n_steps(events, 1) > n_before + 3)
    await client.forget("a.py")
    await client.index(document("b.py", EDITED))
    await reply
    await client.close()
    assert {step.source for step in recorded_steps(events)} >= {"session", "workspace"}
    kinds = [type(line).__name__ for line in lines(load)]
    first_file = kinds.index("RecordedDocument")
    assert kinds.index("RecordedPrompt") < first_file < kinds.index("RecordedEnd")
    assert differences(load) == []


async def test_a_file_that_comes_while_the_prompt_is_read_is_there_before_the_first_step(
    make_client, tmp_path
):
    client, events = make_client()
    load = scripted(tmp_path, CODE, step_delay_s=0.02)
    await client.start(load, drafting("agspec-sam"))
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "x y " * 800))))
    await asyncio.sleep(0.1)
    await client.index(document("a.py", CODE))
    assert n_steps(events, 1) == 0
    await reply
    await client.close()
    kinds = [type(line).__name__ for line in lines(load)]
    assert kinds.index("RecordedDocument") < kinds.index("RecordedPrompt")
    assert differences(load) == []


@pytest.mark.parametrize("n_before", [-1, 1, 6])
async def test_a_cancelled_reply_leaves_the_next_one_as_it_was(make_client, tmp_path, n_before):
    client, events = make_client()
    load = scripted(tmp_path, EDITED, EDITED, step_delay_s=0.02)
    await client.start(load, drafting("agspec-sam"))
    asked = Message("user", CODE + "x y " * 300)
    reply = asyncio.create_task(client.generate(ask(1, asked)))
    if n_before < 0:  # while the prompt is read
        await asyncio.sleep(0.1)
    else:
        await until(lambda: n_steps(events, 1) >= n_before)
    await client.cancel(1)
    assert (await reply).stop_reason == "cancelled"
    second = await client.generate(ask(2, asked))
    assert second.n_reused > 0
    await client.close()
    assert differences(load) == []
    assert len(replayed(load)) == 2


@pytest.mark.parametrize(
    ("more", "ending"),
    [({"max_tokens": 40}, "length"), ({"stop": ("is above",)}, "stop"), ({}, "eog")],
)
async def test_a_reply_ends_where_it_ended(make_client, tmp_path, more, ending):
    client, _ = make_client()
    load = scripted(tmp_path, CODE, CODE)
    await client.start(load, drafting("agspec-sam", "fixed"))
    finished = await client.generate(ask(1, Message("user", CODE), **more))
    await client.generate(ask(2, Message("user", "next")))
    await client.close()
    assert finished.stop_reason == ending
    assert differences(load) == []


async def test_a_context_that_runs_full_does_so_again(make_client, tmp_path):
    client, _ = make_client()
    load = scripted(tmp_path, "first", CODE * 3, "third", "fourth", n_ctx=1024)
    await client.start(load, drafting("agspec-sam", "fixed"))
    await client.generate(ask(1, Message("user", CODE[:500]), role="planner"))
    full = await client.generate(ask(2, Message("user", CODE[:300])))
    with pytest.raises(EngineError, match="does not fit"):
        await client.generate(ask(3, Message("user", "x" * 2000)))
    await client.generate(ask(4, Message("user", CODE[:300])))
    await client.close()
    assert full.stop_reason == "context"
    assert differences(load) == []
    assert [len(one.steps) > 0 for one in replayed(load)] == [True, True, False, True]


async def test_settings_that_change_in_a_session_change_at_the_same_place(make_client, tmp_path):
    client, _ = make_client()
    load = scripted(tmp_path, *[CODE] * 5)
    await client.start(load, drafting("agspec-sam"))
    for number, (drafter, policy) in enumerate(METHODS[1:5], 1):
        await client.configure(drafting(drafter, policy))
        await client.generate(ask(number, Message("user", CODE)))
        await client.reset(keep_cache=number == 2)
    await client.generate(ask(5, Message("user", CODE), drafting=False))
    await client.close()
    assert differences(load) == []


async def test_another_drafter_can_be_replayed_on_a_recording(make_client, tmp_path):
    client, _ = make_client()
    load = scripted(tmp_path, EDITED)
    await client.start(load, drafting("none"))
    finished = await client.generate(ask(1, Message("user", f"Edit this:\n{CODE}")))
    await client.close()
    (one,) = replayed(load, settings=drafting("agspec-sam"))
    assert tuple(token for step in one.steps for token in step.ids) == finished.ids
    assert len(one.steps) < finished.n_steps
    assert sum(step.n_accepted for step in one.steps) > 0


@pytest.mark.parametrize("drafter", ["agspec-sam", "suffix"])
async def test_a_session_with_a_real_model_takes_the_same_steps_again(
    make_client, tmp_path, smollm2, drafter
):
    client, events = make_client()
    record = tmp_path / "session.jsonl"
    load = LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=2048, record=str(record))
    await client.start(load, drafting(drafter))
    await client.index(document("clamp.py", CODE))
    asked = Message("user", f"Repeat this file word for word:\n{CODE}")
    reply = asyncio.create_task(client.generate(ask(1, asked, max_tokens=60)))
    await until(lambda: n_steps(events, 1) > 2)
    await client.index(document("edited.py", EDITED))
    first = await reply
    turn = (asked, Message("assistant", first.text, first.ids), Message("user", "Once more."))
    await client.generate(ask(2, *turn, max_tokens=30))
    await client.close()
    assert sum(isinstance(event, DocumentIndexed) for event in events) == 2
    assert sum(step.n_drafted for step in recorded_steps(events)) > 20
    vocabulary = Vocabulary(smollm2)
    again = replayed(load, vocabulary)
    vocabulary.close()
    assert [first_difference(one) for one in again] == [None, None]
    now = [step for one in again for step in one.steps]
    assert [(s.ids, s.n_drafted, s.n_accepted) for s in now] == [
        (s.ids, s.n_drafted, s.n_accepted) for s in recorded_steps(events)
    ]


async def test_a_reply_that_is_recorded_is_decoded_alone_whatever_was_meant(
    make_client, tmp_path, quantised
):
    client, events = make_client()
    record = tmp_path / "session.jsonl"
    load = LoadModel(
        path=str(quantised),
        name="small",
        n_ctx=2048,
        record=str(record),
        packed_weights=False,
        own_kernels=False,
    )
    loaded = await client.start(load, drafting("agspec-sam", "fixed", fixed_k=15))
    asked = Message("user", f"Repeat this file word for word:\n{CODE}")
    vocabulary = Vocabulary(quantised)
    ids = tuple(vocabulary.tokenize(CODE, special=False).tolist())
    await client.generate(ask(1, asked, batch=4, max_tokens=len(ids), forced=ids))
    await client.close()
    n_drafted = [step.n_drafted for step in recorded_steps(events)]
    assert max(n_drafted) == loaded.n_exact - 1 == 6
    (again,) = replayed(load, vocabulary)
    vocabulary.close()
    assert first_difference(again) is None


async def test_a_session_of_a_team_is_recorded_and_decodes_as_it_did(tmp_path):
    repo = team.make_repo(tmp_path / "repo")
    script = team.script(
        tmp_path, team.plan("calc.py"), team.whole("calc.py", team.FIXED), "PASS\n"
    )
    session = Session(
        repo,
        team.config(script),
        test_command=team.TESTS,
        auto_approve=True,
        record=tmp_path / "kept",
    )
    await session.start()
    events = await team.run_task(session)
    await session.close()
    (file,) = (tmp_path / "kept").iterdir()
    again = list(replay(read_recording(file), ScriptedTokenizer()))
    assert len(again) >= 2
    assert [first_difference(one) for one in again] == [None] * len(again)
    steps = recorded_steps(events)
    now = [step for one in again for step in one.steps]
    assert [(s.n_drafted, s.n_accepted) for s in now] == [
        (s.n_drafted, s.n_accepted) for s in steps
    ]
    assert sum(step.n_accepted for step in steps) > 50
