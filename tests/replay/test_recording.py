import asyncio
import gzip
import os
import signal
import stat
from pathlib import Path

import pytest

from agspec_tui.cli.main import run
from agspec_tui.commands import LoadModel, Message
from agspec_tui.engine.scripted import ScriptedTokenizer
from agspec_tui.errors import AgspecError, EngineError, UsageError
from agspec_tui.events import EngineRestarted
from agspec_tui.replay.live import first_difference, read_recording, replay
from agspec_tui.replay.traces import read_traces
from tests.replay.live import (
    CODE,
    ask,
    differences,
    document,
    drafting,
    n_steps,
    replayed,
    scripted,
    until,
)


async def test_a_recording_is_private_and_survives_the_death_of_the_engine(make_client, tmp_path):
    client, events = make_client()
    load = scripted(tmp_path, CODE * 2, CODE, step_delay_s=0.02)
    await client.start(load, drafting("agspec-sam"))
    await client.index(document("a.py", CODE))
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"))))
    await until(lambda: n_steps(events, 1) > 5)
    os.kill(client.pid, signal.SIGKILL)
    assert (await reply).text == CODE * 2
    await client.generate(ask(2, Message("user", CODE)))
    await client.close()
    assert any(isinstance(event, EngineRestarted) for event in events)
    path = Path(load.record)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert differences(load) == []
    assert [one.recorded.end is None for one in replayed(load)] == [True, False, False]


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
    await client.start(load, drafting("agspec-sam", "agspec"))
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


async def test_the_command_says_whether_a_recording_decodes_as_it_did(
    make_client, tmp_path, capsys
):
    path = await make_recording(make_client, tmp_path)
    model = f"scripted:{tmp_path / 'script.json'}"
    command = ["replay", "--as-recorded", str(path), "--model", model]
    assert run(command) == 0
    assert "of 1 replies are as recorded" in capsys.readouterr().out
    path.write_bytes(path.read_bytes().replace(b'"break_even":0.35', b'"break_even":0.9'))
    assert run(command) == 1
    assert "session.jsonl: reply 1, step" in capsys.readouterr().out
    path.write_text("{}\n")
    assert run(command) == 2
    assert "line 1" in capsys.readouterr().err
