import asyncio
import gzip
import os
import signal
import stat
from pathlib import Path

import pytest

from agspec_tui.commands import LoadModel, Message
from agspec_tui.engine.client import EngineClient
from agspec_tui.engine.llama import Vocabulary
from agspec_tui.engine.scripted import ScriptedTokenizer
from agspec_tui.errors import AgspecError, EngineError, UsageError
from agspec_tui.events import DocumentIndexed, EngineRestarted, StepCommitted
from agspec_tui.replay.live import first_difference, read_recording, replay
from agspec_tui.replay.traces import read_traces
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


@pytest.fixture
async def make_client(tmp_path):
    clients = []

    def make():
        events = []
        client = EngineClient(events.append, tmp_path / "logs")
        clients.append(client)
        return client, events

    yield make
    for client in clients:
        await client.close()


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


async def test_a_recording_is_private_and_survives_the_death_of_the_engine(make_client, tmp_path):
    client, events = make_client()
    load = scripted(tmp_path, CODE * 2, CODE, step_delay_s=0.02)
    await client.start(load, drafting("agspec-sam"))
    await client.index(document("a.py", CODE))
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"))))
    await until(lambda: n_steps(events, 1) > 5)
    os.kill(client.pid, signal.SIGKILL)
    with pytest.raises(EngineError):
        await reply
    await client.generate(ask(2, Message("user", CODE)))
    await client.close()
    assert any(isinstance(event, EngineRestarted) for event in events)
    path = Path(load.record)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert differences(load) == []
    assert [one.recorded.end is None for one in replayed(load)] == [True, False]


async def test_a_recording_that_cannot_be_made_is_said_before_anything_is_done(
    make_client, tmp_path
):
    (tmp_path / "recordings").write_text("a file")
    client, _ = make_client()
    with pytest.raises(EngineError, match="cannot be written") as refused:
        await client.start(scripted(tmp_path, "x"), drafting("none"))
    assert refused.value.hint


async def test_without_the_wish_nothing_is_recorded(make_client, tmp_path):
    client, _ = make_client()
    load = scripted(tmp_path, "x")
    await client.start(LoadModel(path=load.path, name="script", n_ctx=512), drafting("none"))
    await client.generate(ask(1, Message("user", "go")))
    await client.close()
    assert not (tmp_path / "recordings").exists()


async def make_recording(make_client, tmp_path):
    client, _ = make_client()
    load = scripted(tmp_path, CODE)
    await client.start(load, drafting("agspec-sam"))
    await client.generate(ask(1, Message("user", CODE)))
    await client.close()
    return Path(load.record)


async def test_a_recording_that_breaks_off_is_replayed_up_to_there(make_client, tmp_path):
    path = await make_recording(make_client, tmp_path)
    whole = path.read_bytes()
    for n_bytes in (len(whole) - 5, len(whole) * 2 // 3):
        path.write_bytes(whole[:n_bytes])
        (one,) = replay(read_recording(path), ScriptedTokenizer())
        assert one.recorded.end is None
        assert len(one.steps) > 3
        assert first_difference(one) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace(b'"RecordedStep"', b'"Nothing"', 1), r"line \d+"),
        (lambda text: b"\xff\n" + text, "line 1"),
        (lambda text: text.partition(b"\n")[2], "does not begin with a model"),
        (lambda text: text.replace(b'"messages":[0', b'"messages":[9', 1), "lacks message 9"),
        (lambda text: text.replace(b'"fingerprint":"', b'"fingerprint":"00', 1), "tokenizer"),
        (lambda text: text.replace(b'"agspec-sam"', b'"nonsense"', 1), "nonsense"),
    ],
)
async def test_a_recording_that_makes_no_sense_is_one_clear_error(
    make_client, tmp_path, change, message
):
    path = await make_recording(make_client, tmp_path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(AgspecError, match=message):
        list(replay(read_recording(path), ScriptedTokenizer()))


def test_a_recording_that_is_not_there_is_one_clear_error(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        list(read_recording(tmp_path / "none.jsonl"))


async def test_a_changed_recording_is_seen_to_differ(make_client, tmp_path):
    path = await make_recording(make_client, tmp_path)
    text = path.read_bytes()
    assert b'"break_even":0.35' in text
    path.write_bytes(text.replace(b'"break_even":0.35', b'"break_even":0.9'))
    (one,) = replay(read_recording(path), ScriptedTokenizer())
    found = first_difference(one)
    assert found is not None
    assert found.step > 1
    assert found.recorded != found.replayed


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


async def test_a_recording_is_read_as_a_session_with_its_prompts_and_replies(make_client, tmp_path):
    client, _ = make_client()
    load = scripted(tmp_path, "one", "two", "three")
    await client.start(load, drafting("agspec-sam"))
    system, first = Message("system", "Be brief."), Message("user", "First.")
    said = await client.generate(ask(1, system, first))
    answer, second = Message("assistant", said.text, said.ids), Message("user", "Second.")
    await client.generate(ask(2, system, first, answer, second))
    await client.generate(ask(3, system, Message("user", "Anew.")))
    await client.close()
    path = Path(load.record)
    packed = path.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for file in (path, packed):
        (session,) = read_traces(file)
        assert (session.session_id, session.model, session.kind) == (
            "session",
            "script",
            "recording",
        )
        assert [
            (call.ctx, [m.content for m in call.prompt], call.output) for call in session.calls
        ] == [
            ("new", ["Be brief.", "First."], "one"),
            ("append", ["Second."], "two"),
            ("new", ["Be brief.", "Anew."], "three"),
        ]
        assert {(call.role, call.agent_id, call.turn) for call in session.calls} == {
            ("coder", "coder", 1)
        }
    (one, *_) = replay(read_recording(packed), ScriptedTokenizer())
    assert first_difference(one) is None


async def test_lines_that_are_no_recording_are_named_and_left_out(make_client, tmp_path):
    path = await make_recording(make_client, tmp_path)
    text = path.read_bytes()
    path.write_bytes(text + b'{"kind":"Nothing"}\n' + text.partition(b"\n")[0])
    skipped, session = read_traces(path)
    assert (skipped.line, "Nothing" in skipped.reason) == (text.count(b"\n") + 1, True)
    assert session.calls[0].output == CODE
    path.write_bytes(text.partition(b"\n")[0])
    (alone,) = read_traces(path)
    assert alone.reason == "a recording without a reply"
