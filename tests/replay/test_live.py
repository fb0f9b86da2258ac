import asyncio
import os
import signal
import stat
from pathlib import Path

import pytest

from agspec_tui.commands import LoadModel, Message
from agspec_tui.engine.client import EngineClient
from agspec_tui.engine.llama import Vocabulary
from agspec_tui.engine.scripted import ScriptedTokenizer
from agspec_tui.errors import EngineError, UsageError
from agspec_tui.events import DocumentIndexed, EngineRestarted, StepCommitted
from agspec_tui.replay.live import first_difference, read_recording, replay
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
