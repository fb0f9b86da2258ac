import asyncio
import contextlib
import os
import signal
import struct
import time

import pytest
from msgspec.structs import replace

from agspec_tui.commands import ConfigureDrafting, Message
from agspec_tui.engine.client import EngineClient
from agspec_tui.engine.watchdog import Limits
from agspec_tui.errors import EngineError
from agspec_tui.events import (
    DocumentIndexed,
    EngineFailed,
    EngineRestarted,
    GenerationFinished,
    PrefillProgressed,
    RequestRefused,
    StepCommitted,
)
from tests.engine.faults import FAULTS, IMPATIENT, check_replies, is_gone, strike
from tests.engine.test_client import FILE, ask, document, script, until

LONG = "".join(f"line {n} of a reply — naïve ☃\n" for n in range(40))


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def n_said(events):
    return sum(len(event.ids) for event in of(events, StepCommitted))


def n_steps(events):
    return len(of(events, StepCommitted))


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_reply_goes_on_where_the_dead_engine_was(make_client, tmp_path, fault):
    client, events = make_client(IMPATIENT)
    await client.start(script(tmp_path, ["first", LONG, "third"], 0.004), ConfigureDrafting())
    assert (await client.generate(ask(1, Message("user", "go")))).text == "first"
    reply = asyncio.create_task(client.generate(ask(2, Message("user", "go on"))))
    await until(lambda: n_steps(events) > 20)
    pid = client.pid
    strike(pid, fault)
    finished = await reply
    assert finished.text == LONG
    assert finished.stop_reason == "eog"
    assert finished.n_tokens == len(LONG.encode()) + 1
    assert (await client.generate(ask(3, Message("user", "and on")))).text == "third"
    check_replies(events)
    if fault != "memory":  # under a limit it may end well, with what it has
        assert is_gone(pid)
        assert of(events, EngineFailed)[0].restarting
        assert of(events, EngineRestarted)[0].n_restarts == 1


async def test_a_stop_that_the_death_cut_in_two_still_ends_the_reply(make_client, tmp_path):
    client, events = make_client()
    text = "x" * 30 + "END-OF-IT" + "y" * 30
    await client.start(script(tmp_path, [text], 0.05), ConfigureDrafting(drafter="none"))
    reply = asyncio.create_task(
        client.generate(ask(1, Message("user", "go"), stop=("END-OF-IT",), max_tokens=60))
    )
    await until(lambda: n_steps(events) > 33)
    strike(client.pid, "SIGKILL")
    finished = await reply
    assert finished.text == "x" * 30 + "END-OF-IT"
    assert finished.stop_reason == "stop"
    check_replies(events)


async def test_the_length_of_a_reply_counts_what_the_dead_engine_said(make_client, tmp_path):
    client, events = make_client()
    await client.start(script(tmp_path, [LONG], 0.02), ConfigureDrafting())
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"), max_tokens=60)))
    await until(lambda: n_steps(events) > 10)
    strike(client.pid, "SIGKILL")
    finished = await reply
    assert (finished.n_tokens, finished.stop_reason) == (60, "length")
    assert bytes(finished.ids) == LONG.encode()[:60]
    check_replies(events)


async def test_a_cancel_between_two_engines_ends_the_reply_at_once(make_client, tmp_path):
    client, events = make_client()
    await client.start(script(tmp_path, [LONG, LONG], 0.02), ConfigureDrafting())
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"))))
    await until(lambda: n_steps(events) > 5)
    strike(client.pid, "SIGKILL")
    await until(lambda: of(events, EngineFailed))
    started = time.monotonic()
    await client.cancel(1)
    finished = await reply
    assert time.monotonic() - started < 0.5
    assert finished.stop_reason == "cancelled"
    assert LONG.startswith(finished.text)
    assert (await client.generate(ask(2, Message("user", "go on")))).text == LONG
    check_replies(events)


async def test_engines_that_die_over_a_reply_without_a_token_are_two_at_most(make_client, tmp_path):
    client, events = make_client()
    await client.start(script(tmp_path, ["x", "fine"], 30.0), ConfigureDrafting())
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"))))
    for number in (1, 2):
        await until(lambda n=number: len(of(events, PrefillProgressed)) >= n)
        strike(client.pid, "SIGSEGV")
        await until(lambda n=number: len(of(events, EngineFailed)) == n)
    with pytest.raises(EngineError, match=r"crashed \(signal 11\), twice over this reply"):
        await reply
    await until(lambda: len(of(events, EngineRestarted)) == 2)


async def test_a_reply_that_only_moves_on_between_deaths_is_finished_all_the_same(
    make_client, tmp_path
):
    client, events = make_client(IMPATIENT)
    await client.start(script(tmp_path, [LONG], 0.002), ConfigureDrafting())
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"))))
    for number in range(4):
        before = n_steps(events)
        await until(lambda n=before: n_steps(events) > n + 30 or reply.done())
        strike(client.pid, "SIGKILL")
        await until(lambda n=number: len(of(events, EngineRestarted)) > n)
    assert (await reply).text == LONG
    check_replies(events)


async def test_files_are_in_the_next_engine_and_told_of_once(make_client, tmp_path):
    client, events = make_client()
    await client.start(script(tmp_path, ["x", FILE]), ConfigureDrafting())
    for number in range(20):
        await client.index(document(f"{number}.py", FILE + f"# {number}\n"))
    await client.forget("3.py")
    strike(client.pid, "SIGKILL")
    await until(lambda: of(events, EngineRestarted))
    await client.generate(ask(1, Message("user", "go")))
    last = await client.index(document("last.py", FILE))
    there = [FILE + f"# {number}\n" for number in range(20) if number != 3]
    assert last.n_corpus_tokens == len("".join(there)) + len(FILE)
    assert len(of(events, DocumentIndexed)) == 21
    await client.generate(ask(2, Message("user", "go")))
    assert any(step.document.endswith(".py (raw)") for step in of(events, StepCommitted))


@pytest.mark.parametrize("fault", ["SIGKILL", "SIGSTOP"])
async def test_files_on_their_way_are_answered_by_the_next_engine(make_client, tmp_path, fault):
    client, events = make_client(IMPATIENT)
    await client.start(script(tmp_path, ["x"]), ConfigureDrafting())
    if fault == "SIGSTOP":
        strike(client.pid, fault)  # nothing is read: what is sent stays in the buffer
    text = FILE * 500
    sent = [asyncio.create_task(client.index(document(f"{n}.py", text))) for n in range(60)]
    await asyncio.sleep(0.05)
    if fault == "SIGKILL":
        strike(client.pid, fault)
    answers = await asyncio.gather(*sent)
    assert [answer.n_tokens for answer in answers] == [len(text)] * 60
    assert len(of(events, DocumentIndexed)) == 60
    assert of(events, EngineRestarted)


async def test_a_child_that_does_not_read_holds_nobody_up(make_client, tmp_path):
    client, _ = make_client()
    await client.start(script(tmp_path, ["x"]), ConfigureDrafting())
    strike(client.pid, "SIGSTOP")
    started = time.monotonic()
    for number in range(20):
        await client.configure(ConfigureDrafting(profile="x" * 100_000, cap=number + 1))
        await client.forget("a.py")
        await client.cancel(7)
    assert time.monotonic() - started < 1.0
    pid = client.pid
    await client.close()
    assert time.monotonic() - started < 6.0
    assert is_gone(pid)


async def test_a_pass_that_never_ends_is_a_hang(make_client, tmp_path):
    limits = Limits(silence_s=20.0, hang_s=1.5, period_s=0.1)
    client, events = make_client(limits)
    await client.start(script(tmp_path, ["x"], 3600.0), ConfigureDrafting())
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"))))
    with pytest.raises(EngineError, match=r"made no progress for 1\.5 s, twice"):
        await reply
    assert of(events, EngineFailed)[0].message == "the engine process made no progress for 1.5 s"


async def test_an_idle_child_is_left_in_peace(make_client, tmp_path):
    client, events = make_client(Limits(silence_s=0.3, hang_s=0.3, period_s=0.05))
    await client.start(script(tmp_path, ["x"]), ConfigureDrafting())
    strike(client.pid, "SIGSTOP")
    await asyncio.sleep(1.5)
    assert not of(events, EngineFailed)
    os.kill(client.pid, signal.SIGCONT)


async def test_the_number_of_restarts_is_limited_and_grows_back(make_client, tmp_path):
    limits = Limits(n_restarts=2, window_s=3600.0)
    client, events = make_client(limits)
    await client.start(script(tmp_path, ["x"]), ConfigureDrafting())
    for number in (1, 2):
        strike(client.pid, "SIGKILL")
        await until(lambda n=number: len(of(events, EngineRestarted)) == n)
    strike(client.pid, "SIGKILL")
    await until(lambda: not of(events, EngineFailed)[-1].restarting)
    with pytest.raises(EngineError, match="was killed"):
        await client.generate(ask(1, Message("user", "go")))


async def test_a_child_that_dies_while_it_loads_is_started_once_more(make_client, tmp_path):
    client, events = make_client()
    start = asyncio.create_task(client.start(script(tmp_path, ["x"]), ConfigureDrafting()))
    await until(lambda: client.pid is not None)
    strike(client.pid, "SIGKILL")
    assert (await start).model == "script"
    assert [event.restarting for event in of(events, EngineFailed)] == [True]
    assert (await client.generate(ask(1, Message("user", "go")))).text == "x"


async def test_garbage_on_the_wire_is_answered_and_the_engine_goes_on(make_client, tmp_path):
    client, events = make_client()
    await client.start(script(tmp_path, ["x"]), ConfigureDrafting())
    writer = client._supervisor.link._writer
    for body in (b"", b"\xc1\xc1", b"\x91" * 1000, b"\x81\xa4kind\xa7Nothing", os.urandom(500)):
        writer.write(struct.pack("<I", len(body)) + body)
    await until(lambda: len(of(events, RequestRefused)) == 5)
    assert (await client.generate(ask(1, Message("user", "go")))).text == "x"
    assert not of(events, EngineFailed)


@pytest.mark.parametrize("noise", [b"\xff" * 100, struct.pack("<I", 1 << 28) + b"x"])
async def test_a_stream_out_of_step_costs_an_engine_and_nothing_else(make_client, tmp_path, noise):
    client, events = make_client(Limits(silence_s=1.0, period_s=0.1))
    await client.start(script(tmp_path, [LONG], 0.004), ConfigureDrafting(drafter="none"))
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"))))
    await until(lambda: n_steps(events) > 20)
    client._supervisor.link._writer.write(noise)
    assert (await reply).text == LONG
    check_replies(events)
    assert of(events, EngineRestarted)


async def test_a_close_in_the_midst_of_a_restart_leaves_nothing_behind(make_client, tmp_path):
    client, events = make_client()
    await client.start(script(tmp_path, [LONG], 0.02), ConfigureDrafting())
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"))))
    await until(lambda: n_steps(events) > 5)
    first = client.pid
    strike(first, "SIGKILL")
    await until(lambda: client.pid not in (None, first))
    pid = client.pid
    await client.close()
    with contextlib.suppress(EngineError):
        await reply
    assert is_gone(pid)
    assert client.pid is None


async def test_a_reply_that_nobody_waits_for_any_more_is_stopped(make_client, tmp_path):
    client, events = make_client()
    await client.start(script(tmp_path, [LONG, "next"], 0.01), ConfigureDrafting())
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"))))
    await until(lambda: n_steps(events) > 5)
    reply.cancel()
    assert (await client.generate(ask(2, Message("user", "go on")))).text == "next"
    assert of(events, GenerationFinished)[0].stop_reason == "cancelled"


@pytest.mark.parametrize("where", ["load", "decode", "stopped"])
async def test_no_child_outlives_a_killed_parent(tmp_path, where):
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from agspec_tui.commands import *\n"
        "from agspec_tui.engine.client import EngineClient\n"
        "async def main():\n"
        "    client = EngineClient(lambda event: None, Path(sys.argv[2]))\n"
        "    load = LoadModel(path=sys.argv[1], name='s', n_ctx=512)\n"
        "    start = asyncio.create_task(client.start(load, ConfigureDrafting()))\n"
        "    while client.pid is None:\n"
        "        await asyncio.sleep(0.01)\n"
        "    if sys.argv[3] == 'load':\n"
        "        print(client.pid, flush=True)\n"
        "    await start\n"
        "    ask = Generate(request=1, sequence='a', turn=1, role='a',"
        " messages=(Message('user', 'go'),))\n"
        "    reply = asyncio.create_task(client.generate(ask))\n"
        "    await asyncio.sleep(0.2)\n"
        "    print(client.pid, flush=True)\n"
        "    await reply\n"
        "asyncio.run(main())\n"
    )
    load = script(tmp_path, ["x"], 3600.0)
    parent = await asyncio.create_subprocess_exec(
        *(os.sys.executable, "-c", code, load.path, str(tmp_path), where),
        stdout=asyncio.subprocess.PIPE,
    )
    pid = int(await parent.stdout.readline())
    if where == "stopped":
        strike(pid, "SIGSTOP")
    parent.kill()
    await parent.wait()
    await until(lambda: is_gone(pid), 5.0)


async def test_a_reply_at_the_end_of_the_context_goes_on_to_that_end(make_client, tmp_path):
    load = replace(script(tmp_path, [LONG, LONG], 0.004), n_ctx=400)
    ends = []
    for fault in ("", "SIGKILL"):
        client, events = make_client()
        await client.start(load, ConfigureDrafting())
        reply = asyncio.create_task(client.generate(ask(1, Message("user", "x" * 250))))
        if fault:
            await until(lambda events=events: events and n_said(events) > 60)
            strike(client.pid, fault)
        ends.append(await reply)
        check_replies(events)
    assert ends[0].stop_reason == "context"
    assert (ends[1].ids, ends[1].stop_reason) == (ends[0].ids, ends[0].stop_reason)


@pytest.mark.parametrize("ids", [(-1,), (1 << 31,), (1 << 40, 3)])
async def test_ids_that_the_model_does_not_have_are_refused(make_client, tmp_path, ids):
    client, _ = make_client()
    await client.start(script(tmp_path, ["x"]), ConfigureDrafting())
    with pytest.raises(EngineError, match="is no token"):
        await client.generate(ask(1, Message("assistant", "x", ids), Message("user", "go")))
    with pytest.raises(EngineError, match="is no token"):
        await client.generate(ask(2, Message("user", "go"), said=ids))
    assert (await client.generate(ask(3, Message("user", "go")))).text == "x"


async def test_a_forced_reply_goes_on_to_its_end_and_no_further(make_client, tmp_path):
    client, events = make_client()
    await client.start(script(tmp_path, [LONG], 0.02), ConfigureDrafting())
    forced = tuple(b"whatever is forced, " * 4)
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"), forced=forced)))
    await until(lambda: n_steps(events) > 10)
    strike(client.pid, "SIGKILL")
    finished = await reply
    assert (finished.ids, finished.stop_reason) == (forced, "length")
    check_replies(events)


async def test_the_time_of_a_prompt_counts_what_the_dead_engine_read(make_client, tmp_path):
    client, events = make_client()
    await client.start(script(tmp_path, ["x"], 0.1), ConfigureDrafting())
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "y" * 700))))
    await until(lambda: any(event.n_done >= 256 for event in of(events, PrefillProgressed)))
    strike(client.pid, "SIGKILL")
    finished = await reply
    n_passes = 2 + finished.n_prompt // 128
    assert finished.prefill_s > 0.1 * n_passes
    check_replies(events)


async def test_an_error_in_a_restart_costs_an_engine_and_leaves_nobody_waiting(tmp_path):
    events = []

    def take(event):
        events.append(event)
        if isinstance(event, EngineRestarted) and event.n_restarts == 1:
            raise ValueError("no screen")

    client = EngineClient(take, tmp_path / "logs")
    await client.start(script(tmp_path, [LONG], 0.01), ConfigureDrafting())
    reply = asyncio.create_task(client.generate(ask(1, Message("user", "go"))))
    await until(lambda: n_steps(events) > 10)
    strike(client.pid, "SIGKILL")
    assert (await asyncio.wait_for(reply, 20.0)).text == LONG
    assert of(events, EngineRestarted)[-1].n_restarts == 2
    assert "cannot be worked with: ValueError" in of(events, EngineFailed)[1].message
    await client.close()
