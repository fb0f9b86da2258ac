"""The engine is taken down at random points of a task, which must end as if nothing had been."""

import asyncio
import os
import random
from collections import Counter

import pytest

from agspec_tui.config import Config, logs_dir
from agspec_tui.engine.client import EngineClient
from agspec_tui.events import (
    Calibrated,
    DocumentIndexed,
    EngineFailed,
    EngineRestarted,
    GenerationFinished,
    ModelLoaded,
    PrefillProgressed,
    StepCommitted,
    TaskFinished,
    TurnFinished,
)
from agspec_tui.session.session import Session
from tests.engine.faults import FAULTS, IMPATIENT, check_replies, is_gone, strike
from tests.session.scripted import (
    CALC,
    FIXED,
    TESTS,
    check_stream,
    config,
    make_repo,
    of,
    plan,
    run_task,
    script,
    snapshot,
    whole,
)

NIGHTLY = os.environ.get("AGSPEC_HYPOTHESIS") == "nightly"
N_POINTS = 10 if NIGHTLY else 2
STAGES = ("decode", "load", "prefill", "between", "index")
KINDS = {
    "prefill": PrefillProgressed,
    "decode": StepCommitted,
    "between": TurnFinished,
    "index": DocumentIndexed,
}
BROKEN = CALC.replace("- number", "* number")
NOT_OF_THE_TASK = (
    ModelLoaded, Calibrated, EngineFailed, EngineRestarted, PrefillProgressed, StepCommitted,
    DocumentIndexed,
)  # fmt: skip


def replies():
    return (
        plan("calc.py"), whole("calc.py", BROKEN), "FAIL: still wrong",
        whole("calc.py", FIXED), "PASS",
    )  # fmt: skip


def essence(events):
    """What a task did, without how the engine fared meanwhile."""
    said = []
    for event in events:
        if isinstance(event, NOT_OF_THE_TASK):
            continue
        more = ()
        if isinstance(event, GenerationFinished):
            more = (event.text, event.ids, event.stop_reason, event.n_tokens, event.n_prompt)
        elif isinstance(event, TaskFinished):
            more = (event.status, event.diff)
        said.append((type(event).__name__, event.turn, event.role, *more))
    return said, Counter(event.path for event in of(events, DocumentIndexed))


class Attack:
    """Takes the engine of a session down once, at one point of its work."""

    def __init__(self, session, fault, stage, rng, n_seen):
        self._session, self._fault = session, fault
        self._kind = KINDS.get(stage)
        # By the time the last event of a kind is seen, the engine may have nothing left to do;
        # 20 ms are some seven steps of 3 ms.
        n_last = 10 if stage == "decode" else 1
        self._place = rng.randrange(max(1, n_seen - n_last)) if self._kind else -1
        self._late_s = rng.random() * (0.5 if stage == "load" else 0.02)
        self._n = 0
        self.pids = set()
        self._tasks = []

    async def while_it_loads(self):
        while self._session._client.pid is None:
            await asyncio.sleep(0.001)
        await self._strike()

    async def on_event(self, event):
        if self._session._client.pid is not None:
            self.pids.add(self._session._client.pid)
        if self._kind is not None and isinstance(event, self._kind):
            if self._n == self._place:
                self._tasks.append(asyncio.create_task(self._strike()))
            self._n += 1

    async def _strike(self):
        await asyncio.sleep(self._late_s)
        pid = self._session._client.pid
        if pid is not None:
            self.pids.add(pid)
            strike(pid, self._fault)


def open_impatient(repo, model):
    session = Session(repo, config(model), test_command=TESTS, auto_approve=True)
    session._client = EngineClient(session._on_engine_event, logs_dir(), IMPATIENT)
    return session


async def run(tmp_path, name, attack_of=None):
    """One task in a repository of its own; returns its events, the attack and the files."""
    folder = tmp_path / name
    folder.mkdir()
    repo = make_repo(folder / "repo")
    session = open_impatient(repo, script(folder, *replies(), step_delay_s=0.003))
    subscription = session.bus.subscribe()
    attack = attack_of(session) if attack_of else None
    loading = None
    if attack is not None and attack._kind is None:
        loading = asyncio.create_task(attack.while_it_loads())
    try:
        await session.start()
        await run_task(session, on_event=attack.on_event if attack else None)
        if loading is not None:
            await loading
    finally:
        await session.close()
    events = subscription.drain()
    return events, attack, snapshot(repo)


@pytest.fixture
async def undisturbed(tmp_path):
    events, _, files = await run(tmp_path, "undisturbed")
    assert of(events, TaskFinished)[0].status == "fixed"
    return events, files


@pytest.mark.timeout(900)
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_task_ends_as_if_the_engine_had_not_been_taken_down(tmp_path, undisturbed, fault):
    expected, files = undisturbed
    rng = random.Random(f"{fault} at random points")
    for number in range(N_POINTS):
        stage = STAGES[(number + FAULTS.index(fault)) % len(STAGES)]
        n_seen = len(of(expected, KINDS[stage])) if stage in KINDS else 0
        events, attack, left = await run(
            tmp_path,
            f"{number}-{stage}",
            lambda session, s=stage, n=n_seen: Attack(session, fault, s, rng, n),
        )
        where = f"{fault} at point {number}, {stage}"
        check_stream(events)
        check_replies(events)
        assert essence(events) == essence(expected), where
        assert left == files, where
        assert attack.pids, where
        assert all(is_gone(pid) for pid in attack.pids), where
        if fault != "memory" and stage not in ("between", "index"):
            assert of(events, EngineRestarted), where


@pytest.mark.timeout(300)
@pytest.mark.parametrize("fault", FAULTS if NIGHTLY else FAULTS[:1])
async def test_a_session_with_a_real_model_goes_on(tmp_path, smollm2, fault):
    repo = make_repo(tmp_path / "repo")
    session = Session(
        repo,
        Config(model=str(smollm2), n_ctx=4096, max_tokens=24, max_turns=1, calibrate=False),
        test_command=TESTS,
        auto_approve=True,
    )
    subscription = session.bus.subscribe()
    attack = Attack(session, fault, "decode", random.Random(fault), 12)
    try:
        await session.start()
        await run_task(session, on_event=attack.on_event)
    finally:
        await session.close()
    events = subscription.drain()
    check_stream(events)
    check_replies(events)
    assert len(of(events, TaskFinished)) == 1
    assert all(is_gone(pid) for pid in attack.pids)
    if fault == "SIGKILL":
        assert of(events, EngineRestarted)
