import asyncio
import json
import sys
from pathlib import Path

import msgspec
import pytest

from agspec_tui.commands import ConfigureDrafting, Generate, Interrupt, LoadModel, Message
from agspec_tui.config import Config, calibration_dir
from agspec_tui.engine.client import EngineClient
from agspec_tui.errors import EngineError, UsageError
from agspec_tui.events import Calibrated, ModelLoaded, Warned
from agspec_tui.policy.choose import make_policy
from agspec_tui.policy.cost import shipped
from agspec_tui.session import calibration
from agspec_tui.session.session import Session
from tests.session.scripted import config, make_repo, script

TIMES = ((1, 0.1), (2, 0.17), (4, 0.28), (7, 0.44))


@pytest.fixture(autouse=True)
def own_data(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
async def client(tmp_path):
    client = EngineClient(lambda event: None, tmp_path / "logs")
    yield client
    await client.close()


def kept(**more):
    return calibration.Calibration(
        **{
            "model": "m",
            "fingerprint": "00",
            "device": "CPU, 2 threads",
            "threads": 2,
            "n_batch": 512,
            "batch": 1,
            "created_s": 1.0,
            "times": TIMES,
            "break_even": 0.6,
            **more,
        }
    )


def loaded(**more):
    values = {
        "model": "m",
        "device": "CPU, 2 threads",
        "n_ctx": 512,
        "n_vocab": 258,
        "n_threads": 2,
        "load_s": 0.1,
        "n_exact": 7,
        "rollback": True,
        **more,
    }
    return ModelLoaded(**values)


def open_real(tmp_path, smollm2, **settings):
    repo = tmp_path / "repo"
    if not repo.exists():
        make_repo(repo)
    return Session(repo, Config(model=str(smollm2), n_ctx=2048, watch=False, **settings))


async def started(session):
    subscription = session.bus.subscribe()
    try:
        await session.start()
    finally:
        await session.close()
    return subscription.drain()


async def test_a_model_is_measured_at_its_first_use_and_never_again(tmp_path, smollm2):
    events = await started(open_real(tmp_path, smollm2))
    (measured,) = [event for event in events if isinstance(event, Calibrated)]
    assert [n for n, _ in measured.times][:4] == [1, 2, 3, 4]
    assert measured.wall_s < 60.0
    assert 0.0 < measured.break_even < 1.0
    (file,) = calibration_dir().iterdir()
    document = json.loads(file.read_bytes())
    assert document["schema"] == 1
    assert document["model"] == smollm2.stem
    assert document["times"] == [list(pair) for pair in measured.times]
    assert document["break_even"] == measured.break_even
    again = await started(open_real(tmp_path, smollm2))
    assert not [event for event in again if isinstance(event, Calibrated | Warned)]
    assert list(calibration_dir().iterdir()) == [file]


# Then only passes of up to 7 tokens are exact.
LIMITED = {"packed_weights": False, "own_kernels": False}


@pytest.mark.parametrize(("candidates", "n_last"), [(1, 7), (2, 64)])
async def test_a_session_measures_the_passes_that_its_replies_are_going_to_have(
    tmp_path, quantised, candidates, n_last
):
    session = open_real(tmp_path, quantised, candidates=candidates, **LIMITED)
    events = await started(session)
    (measured,) = [event for event in events if isinstance(event, Calibrated)]
    assert measured.times[-1][0] == n_last
    assert 7 in dict(measured.times)


async def test_a_damaged_measurement_is_made_again(tmp_path, smollm2):
    await started(open_real(tmp_path, smollm2))
    (file,) = calibration_dir().iterdir()
    file.write_text('{"schema": 1, "times": [[1, 0]]}')
    events = await started(open_real(tmp_path, smollm2))
    assert [event for event in events if isinstance(event, Calibrated)]
    assert calibration.read(file) is not None


async def test_measuring_can_be_switched_off(tmp_path, smollm2):
    events = await started(open_real(tmp_path, smollm2, calibrate=False))
    assert not [event for event in events if isinstance(event, Calibrated | Warned)]
    assert not calibration_dir().exists()


async def test_measuring_can_be_stopped_and_the_session_goes_on(tmp_path, smollm2):
    session = open_real(tmp_path, smollm2)
    subscription = session.bus.subscribe()
    starting = asyncio.create_task(session.start())
    events = []
    while not any(isinstance(event, ModelLoaded) for event in events):
        await subscription.wait()
        events += subscription.drain()
    await session.send(Interrupt())
    async with asyncio.timeout(10):
        await starting
    events += subscription.drain()
    await session.close()
    assert [event.message for event in events if isinstance(event, Warned)] == [
        "measuring was stopped"
    ]
    assert not calibration_dir().exists()


async def test_a_measurement_that_cannot_be_kept_is_a_warning(tmp_path, smollm2):
    calibration_dir().parent.mkdir(parents=True)
    calibration_dir().write_text("a file")
    events = await started(open_real(tmp_path, smollm2))
    (warned,) = [event for event in events if isinstance(event, Warned)]
    assert "could not be kept" in warned.message
    assert [event for event in events if isinstance(event, Calibrated)]


async def test_a_script_is_not_measured(tmp_path):
    path = script(tmp_path, "x")
    events = await started(Session(make_repo(tmp_path / "repo"), config(path), test_command="true"))
    assert not [event for event in events if isinstance(event, Calibrated | Warned)]


async def test_sequences_are_measured_together_and_the_next_reply_is_as_ever(client, smollm2):
    load = LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=2048)
    ready = await client.start(load, ConfigureDrafting())
    ask = Generate(
        request=1,
        sequence="coder",
        turn=1,
        role="coder",
        messages=(Message("user", "Count to ten."),),
        max_tokens=8,
    )
    before = await client.generate(ask)
    found = await calibration.measure(
        client, load, ready, batch=3, sizes=(1, 2, 8, 32), budget_s=3.0
    )
    assert found.batch == 3
    assert [n for n, _ in found.times][:2] == [1, 2]
    times = [seconds for _, seconds in found.times]
    assert times[-1] > times[0]
    after = await client.generate(msgspec.structs.replace(ask, request=2))
    assert (after.ids, after.n_reused) == (before.ids, 0)


async def test_what_the_engine_cannot_measure_is_said_to_whoever_asked(client, tmp_path):
    path = script(tmp_path, "x")
    load = LoadModel(path=f"scripted:{path}", name="s", n_ctx=2048)
    ready = await client.start(load, ConfigureDrafting())
    with pytest.raises(EngineError, match="no time"):
        await calibration.measure(client, load, ready, budget_s=1.0)
    with pytest.raises(EngineError, match="ascend"):
        await calibration.measure(client, load, ready, batch=512)


def test_each_machine_model_and_kind_of_kernels_has_a_file_of_its_own(tmp_path):
    files = set()
    for content in (b"a", b"b"):
        model = tmp_path / content.decode()
        model.write_bytes(content)
        load = LoadModel(path=str(model), name="m", n_ctx=512)
        for device, threads in (("GPU", 2), ("CPU", 2), ("CPU", 4)):
            files.add(calibration.path_of(load, loaded(device=device, n_threads=threads)))
    assert len(files) == 6
    for kind in (
        {"flash_attention": "on"}, {"cache_type_k": "q8_0"}, {"cache_type_v": "q8_0"},
        {"exact": False},
    ):  # fmt: skip
        files.add(calibration.path_of(msgspec.structs.replace(load, **kind), loaded()))
    assert len(files) == 10
    assert {file.parent for file in files} == {calibration_dir()}


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "deep" / "x.json"
    calibration.write(path, kept())
    assert calibration.read(path) == kept()
    assert [file.name for file in path.parent.iterdir()] == ["x.json"]
    assert calibration.read(tmp_path / "none.json") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no measurement"),
        ("{", "no measurement"),
        ("[]", "no measurement"),
        (calibration.encode(kept(schema=2)).decode(), "schema 2"),
        (calibration.encode(kept(times=())).decode(), "no measurement"),
        (calibration.encode(kept(times=((1, 1.0), (2, 0.1)))).decode(), "no measurement"),
        (calibration.encode(kept(break_even=1.0)).decode(), "no probability"),
    ],
)
def test_nonsense_is_refused_with_a_hint(tmp_path, text, message):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=message) as refused:
        calibration.read(path)
    assert "agspec-tui calibrate" in refused.value.hint


@pytest.mark.parametrize(
    ("n_exact", "sizes"),
    [
        (0, calibration.QUICK_SIZES),
        (7, (1, 2, 3, 4, 6, 7)),
        (2, (1, 2)),
        (512, calibration.QUICK_SIZES),
    ],
)
def test_only_what_drafts_may_use_is_measured_by_itself(n_exact, sizes):
    assert calibration.quick_sizes(n_exact) == sizes


@pytest.mark.parametrize("n_exact", [0, 7, 8])
def test_passes_of_many_replies_are_measured_beyond_exact_ones(n_exact):
    sizes = calibration.quick_sizes(n_exact, several=True)
    assert {*calibration.QUICK_SIZES, n_exact or 1} == set(sizes)
    assert sorted(sizes) == list(sizes)


async def test_a_kept_measurement_of_other_passes_is_made_again(client, smollm2):
    load = LoadModel(path=str(smollm2), name="smollm2-135m", n_ctx=2048)
    ready = await client.start(load, ConfigureDrafting())
    # As a quantised model is on the CPU: this one is exact in passes of any size.
    ready = msgspec.structs.replace(ready, n_exact=7)

    async def measured(n_at_once):
        return await calibration.measured_once(
            client, load, ready, Config(), pytest.fail, n_at_once
        )

    exact = await measured(1)
    assert exact.times[-1][0] == ready.n_exact
    assert await measured(1) == exact
    shared = await measured(2)
    assert shared.times[-1][0] == 64
    assert ready.n_exact in dict(shared.times)
    assert await measured(8) == await measured(2) == await measured(1) == shared
    path = calibration.path_of(load, ready)
    calibration.write(path, msgspec.structs.replace(shared, n_exact=3))
    assert (await measured(1)).n_exact == ready.n_exact


def test_a_chosen_break_even_stands():
    plain = ConfigureDrafting()
    cpu = "CPU, 2 threads"
    measured = calibration.with_cost(plain, kept(), Config(), cpu)
    assert measured.break_even == 0.6
    assert measured.cost[0] == (1, 1.0)
    assert measured.cost[1] == (2, pytest.approx(1.7))
    make_policy(measured)
    chosen = Config(break_even=0.2)
    drafting = ConfigureDrafting(break_even=0.2)
    assert calibration.with_cost(drafting, kept(), chosen, cpu).break_even == 0.2
    assert calibration.with_cost(plain, None, Config(), cpu).break_even == plain.break_even


def test_drafts_are_decided_by_what_was_measured_else_by_the_shape_of_the_device():
    plain = ConfigureDrafting()
    assert calibration.with_cost(plain, kept(), Config(), "GPU").cost[1] == (2, pytest.approx(1.7))
    on_gpu = "metal" if sys.platform == "darwin" else "gpu"
    for device, shape in (("CPU, 2 threads", "cpu"), ("script", "cpu"), ("GPU", on_gpu)):
        cost = calibration.with_cost(plain, None, Config(), device).cost
        assert cost == shipped(shape).points


def test_folders_are_only_named(tmp_path):
    assert calibration_dir().is_relative_to(Path(tmp_path))
    assert not calibration_dir().exists()
