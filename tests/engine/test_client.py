import asyncio
import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from agspec_tui.commands import (
    ConfigureDrafting,
    DocumentView,
    Generate,
    IndexDocument,
    LoadModel,
    Message,
)
from agspec_tui.drafting.corpus_file import write_corpus
from agspec_tui.engine.scripted import ScriptedBackend
from agspec_tui.errors import EngineError
from agspec_tui.events import (
    EngineFailed,
    EngineRestarted,
    GenerationFinished,
    ModelLoaded,
    PrefillProgressed,
    StepCommitted,
)

FILE = "def double(x):\n    return x + x\n"


def script(tmp_path, replies, step_delay_s=0.0):
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"replies": replies, "step_delay_s": step_delay_s}))
    return LoadModel(path=f"scripted:{path}", name="script", n_ctx=8192)


def ask(request, *messages, **more):
    return Generate(
        request=request, sequence="coder", turn=1, role="coder", messages=messages, **more
    )


async def until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        await asyncio.sleep(0.005)


async def test_a_scripted_reply_comes_through_with_drafts_from_the_prompt(make_client, tmp_path):
    client, events = make_client()
    loaded = await client.start(script(tmp_path, [f"Here:\n{FILE}"]), ConfigureDrafting())
    assert isinstance(loaded, ModelLoaded)
    finished = await client.generate(ask(1, Message("user", f"Repeat this:\n{FILE}")))
    assert finished.text == f"Here:\n{FILE}"
    assert finished.stop_reason == "eog"
    assert finished.n_accepted > 10
    steps = [event for event in events if isinstance(event, StepCommitted)]
    assert "".join(step.text for step in steps) == finished.text
    drafted = [step for step in steps if step.n_accepted]
    assert {step.source for step in drafted} == {"session"}
    assert any("user message" in step.document for step in drafted)


async def test_an_indexed_file_is_drafted_from_with_its_name(make_client, tmp_path):
    client, events = make_client()
    await client.start(script(tmp_path, [FILE]), ConfigureDrafting())
    view = DocumentView("raw", FILE)
    indexed = await client.index(IndexDocument(path="src/double.py", views=(view,)))
    assert indexed.n_tokens == len(FILE)
    await client.generate(ask(1, Message("user", "Write it.")))
    steps = [event for event in events if isinstance(event, StepCommitted)]
    assert any(step.document == "src/double.py (raw)" and step.n_accepted for step in steps)


async def test_drafting_off_gives_the_same_ids_step_by_step(make_client, tmp_path):
    client, _ = make_client()
    await client.start(script(tmp_path, [FILE, FILE]), ConfigureDrafting())
    drafted = await client.generate(ask(1, Message("user", FILE)))
    plain = await client.generate(ask(2, Message("user", FILE), drafting=False))
    assert drafted.ids == plain.ids
    assert drafted.n_steps < plain.n_steps == plain.n_tokens


async def test_a_cancel_ends_a_generation_within_half_a_second(make_client, tmp_path):
    client, events = make_client()
    await client.start(script(tmp_path, ["x" * 5000, "next"], 0.02), ConfigureDrafting())
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"), max_tokens=4000)))
    await until(lambda: sum(isinstance(e, StepCommitted) for e in events) > 3)
    started = time.monotonic()
    await client.cancel(1)
    finished = await reply
    assert time.monotonic() - started < 0.5
    assert finished.stop_reason == "cancelled"
    assert (await client.generate(ask(2, Message("user", "go on")))).text == "next"


async def test_a_cancel_of_another_request_changes_nothing(make_client, tmp_path):
    client, _ = make_client()
    await client.start(script(tmp_path, ["abc"]), ConfigureDrafting())
    await client.cancel(99)
    assert (await client.generate(ask(1, Message("user", "go")))).text == "abc"


async def test_a_refused_request_leaves_the_engine_usable(make_client, tmp_path):
    client, _ = make_client()
    await client.start(script(tmp_path, ["one", "two"]), ConfigureDrafting())
    with pytest.raises(EngineError, match="does not fit a context"):
        await client.generate(ask(1, Message("user", "x" * 9000)))
    assert (await client.generate(ask(2, Message("user", "go")))).text == "two"


@pytest.mark.parametrize("path", ["scripted:/nowhere.json", "/nowhere.gguf"])
async def test_a_model_that_cannot_be_loaded_is_one_clear_error(make_client, path):
    client, _ = make_client()
    with pytest.raises(EngineError) as failed:
        await client.start(LoadModel(path=path, name="x", n_ctx=512), ConfigureDrafting())
    assert failed.value.message
    assert failed.value.hint


async def test_an_unknown_drafter_is_refused_with_a_hint(make_client, tmp_path):
    client, events = make_client()
    await client.start(script(tmp_path, ["x"]), ConfigureDrafting(drafter="nonsense"))
    with pytest.raises(EngineError, match="unknown drafter 'nonsense'") as refused:
        await client.generate(ask(1, Message("user", "go")))
    assert "agspec-sam" in refused.value.hint
    assert any("nonsense" in getattr(event, "message", "") for event in events)


async def test_closing_twice_ends_the_child(make_client, tmp_path):
    client, _ = make_client()
    await client.start(script(tmp_path, ["x" * 4000], 0.05), ConfigureDrafting())
    pid = client.pid
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"))))
    await asyncio.sleep(0.1)
    await client.close()
    await client.close()
    assert (await reply).stop_reason == "cancelled"
    assert pid is not None
    assert not psutil.pid_exists(pid)


async def test_a_child_dies_with_its_parent(tmp_path):
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from agspec_tui.commands import ConfigureDrafting, LoadModel\n"
        "from agspec_tui.engine.client import EngineClient\n"
        "async def main():\n"
        "    client = EngineClient(lambda event: None, Path(sys.argv[2]))\n"
        "    await client.start(LoadModel(path=sys.argv[1], name='s', n_ctx=512),"
        " ConfigureDrafting())\n"
        "    print(client.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    load = script(tmp_path, ["x"])
    parent = await asyncio.create_subprocess_exec(
        *(os.sys.executable, "-c", code, load.path, str(tmp_path)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    assert psutil.pid_exists(pid)
    parent.kill()
    await parent.wait()
    await until(lambda: not psutil.pid_exists(pid))


@pytest.mark.model
async def test_a_reply_of_a_real_model_goes_on_after_a_kill_with_the_same_ids(make_client, smollm2):
    client, events = make_client()
    load = LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=2048)
    await client.start(load, ConfigureDrafting())
    await client.index(IndexDocument(path="a.py", views=(DocumentView("raw", FILE),)))
    messages = (Message("user", f"Repeat this file word for word:\n{FILE}"),)
    expected = await client.generate(ask(1, *messages, max_tokens=64))
    first_pid = client.pid
    reply = asyncio.create_task(client.generate(ask(2, *messages, max_tokens=64)))
    await until(lambda: any(isinstance(e, StepCommitted) and e.request == 2 for e in events))
    os.kill(first_pid, signal.SIGKILL)
    again = await reply
    assert (again.ids, again.text) == (expected.ids, expected.text)
    assert again.n_prompt == expected.n_prompt
    assert client.pid != first_pid
    failed = [event for event in events if isinstance(event, EngineFailed)]
    assert [(event.restarting, Path(event.log_path).name) for event in failed] == [
        (True, "engine.log")
    ]
    assert sum(isinstance(event, EngineRestarted) for event in events) == 1


@pytest.mark.model
async def test_the_second_turn_reads_only_what_is_new(make_client, smollm2):
    client, events = make_client()
    load = LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=2048)
    await client.start(load, ConfigureDrafting())
    messages = [Message("system", "Be brief."), Message("user", f"Explain:\n{FILE}")]
    first = await client.generate(ask(1, *messages, max_tokens=12))
    messages += [Message("assistant", first.text, first.ids), Message("user", "Shorter.")]
    second = await client.generate(ask(2, *messages, max_tokens=4))
    assert second.broken_by == ""
    assert second.n_reused >= first.n_prompt + len(first.ids) - 1
    progress = [e for e in events if isinstance(e, PrefillProgressed) and e.request == 2]
    assert progress[0].n_done >= second.n_reused
    assert progress[-1].n_done == progress[-1].n_total == second.n_prompt
    assert isinstance(second, GenerationFinished)


def document(name, text):
    return IndexDocument(path=name, views=(DocumentView("raw", text),))


async def test_a_file_is_indexed_while_a_generation_runs_and_drafted_from_at_once(
    make_client, tmp_path
):
    client, events = make_client()
    await client.start(script(tmp_path, [FILE * 6], 0.02), ConfigureDrafting())
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"))))
    await until(lambda: sum(isinstance(e, StepCommitted) for e in events) > 2)
    indexed = await client.index(document("a.py", FILE * 2))
    assert indexed.n_corpus_tokens == len(FILE) * 2
    assert not reply.done()
    assert (await reply).text == FILE * 6
    assert any(e.document == "a.py (raw)" for e in events if isinstance(e, StepCommitted))


async def test_a_reset_keeps_its_place_among_the_files(make_client, tmp_path):
    client, _ = make_client()
    await client.start(script(tmp_path, ["x" * 200], 0.02), ConfigureDrafting())
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"))))
    before = asyncio.create_task(client.index(document("before.py", FILE)))
    await before
    await client.reset()
    after = await client.index(document("after.py", FILE + FILE))
    assert reply.done()  # the reset waited for the generation, and the file behind it for the reset
    assert after.n_corpus_tokens == len(FILE) * 2


async def test_a_forgotten_file_is_not_drafted_from(make_client, tmp_path):
    client, events = make_client()
    await client.start(script(tmp_path, [FILE]), ConfigureDrafting())
    await client.index(document("a.py", FILE))
    await client.forget("a.py")
    await client.index(document("b.py", "nothing of it"))
    await client.generate(ask(1, Message("user", "go")))
    steps = [event for event in events if isinstance(event, StepCommitted)]
    assert not any(step.document.startswith("a.py") for step in steps)


async def test_settings_that_cannot_be_had_refuse_the_replies_until_others_come(
    make_client, tmp_path, smollm2
):
    client, _ = make_client()
    await client.start(script(tmp_path, ["a", "b"]), ConfigureDrafting(drafter="none"))
    foreign = ConfigureDrafting(drafter="draft-model", policy="own", draft_model=str(smollm2))
    await client.configure(foreign)
    with pytest.raises(EngineError, match="smollm2-135m has another vocabulary"):
        await client.generate(ask(1, Message("user", "x")))
    await client.configure(ConfigureDrafting(drafter="agspec-sam"))
    assert (await client.generate(ask(2, Message("user", "x")))).text == "a"


async def test_a_draft_model_that_cannot_be_had_fails_the_start(make_client, tmp_path, smollm2):
    client, _ = make_client()
    foreign = ConfigureDrafting(drafter="draft-model", policy="own", draft_model=str(smollm2))
    with pytest.raises(EngineError, match="another vocabulary"):
        await client.start(script(tmp_path, ["a"]), foreign)


async def test_a_draft_names_the_line_that_it_was_copied_from(make_client, tmp_path):
    client, events = make_client()
    lines = "".join(f"value_{n} = {n * 7919}\n" for n in range(20))
    await client.start(script(tmp_path, [lines]), ConfigureDrafting())
    await client.index(document("a.py", lines))
    await client.generate(ask(1, Message("user", "go")))
    copied = [e for e in events if isinstance(e, StepCommitted) and e.document == "a.py (raw)"]
    assert copied
    for step in copied:
        assert step.line == lines[: step.offset].count("\n") + 1


async def test_answers_to_one_path_reach_their_askers_in_order(make_client, tmp_path):
    client, _ = make_client()
    await client.start(script(tmp_path, ["x"]), ConfigureDrafting())
    texts = [FILE * n for n in (1, 2, 3)]
    answers = await asyncio.gather(*(client.index(document("a.py", text)) for text in texts))
    assert [answer.n_tokens for answer in answers] == [len(text) for text in texts]


async def test_a_closed_client_refuses_at_once(make_client, tmp_path):
    client, _ = make_client()
    await client.start(script(tmp_path, ["x"]), ConfigureDrafting())
    await client.close()
    with pytest.raises(EngineError, match="closed"):
        await client.index(document("a.py", FILE))
    with pytest.raises(EngineError, match="closed"):
        await client.generate(ask(1, Message("user", "go")))


async def test_a_global_corpus_is_drafted_from_where_nothing_live_matches_as_long(
    make_client, tmp_path
):
    client, events = make_client()
    load = script(tmp_path, [FILE])
    path = tmp_path / "old.corpus"
    backend = ScriptedBackend(load)
    ids = backend.tokenize(FILE, special=False)
    write_corpus(path, [("an old session", ids)], backend.fingerprint(), backend.n_vocab)
    await client.start(load, ConfigureDrafting(global_corpus=str(path)))
    await client.generate(ask(1, Message("user", "go")))
    steps = [event for event in events if isinstance(event, StepCommitted)]
    assert any(e.source == "global" and e.document == "an old session" for e in steps)


async def test_a_global_corpus_of_another_tokenizer_ends_the_start(make_client, tmp_path):
    client, _ = make_client()
    path = tmp_path / "old.corpus"
    write_corpus(path, [("x", np.arange(9, dtype=np.int32))], b"other".ljust(32), 300)
    with pytest.raises(EngineError, match="tokenizer"):
        await client.start(script(tmp_path, [FILE]), ConfigureDrafting(global_corpus=str(path)))
