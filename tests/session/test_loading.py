import msgspec
import pytest

from agspec_tui.config import Config
from agspec_tui.engine_events import Device, ModelLoaded
from agspec_tui.errors import EngineError, UsageError
from agspec_tui.models.plan import Room
from agspec_tui.session import loading
from agspec_tui.session.devices import listed_devices
from agspec_tui.session.load_notes import load_notes


def test_the_settings_reach_the_engine(smollm2):
    config = Config(
        model=str(smollm2),
        n_ctx=1024,
        n_threads=3,
        n_threads_batch=5,
        device="CPU",
        flash_attention="on",
        cache_type_k="q8_0",
        cache_type_v="q4_0",
        n_snapshots=2,
    )
    load = loading.plan_load(config)
    assert (load.n_threads, load.n_threads_batch, load.n_gpu_layers) == (3, 5, 0)
    assert (load.flash_attention, load.cache_type_k, load.cache_type_v) == ("on", "q8_0", "q4_0")
    assert (load.devices, load.rpc, load.n_snapshots) == (("CPU",), (), 2)


def test_layers_on_a_device_are_as_many_as_fit_there(smollm2):
    gpu = Device(
        name="CUDA0", description="a GPU", kind="gpu", free_bytes=1 << 34, total_bytes=1 << 34
    )
    small = msgspec.structs.replace(gpu, free_bytes=170_000_000)
    for device, expected in ((gpu, range(31, 32)), (small, range(1, 31))):
        there = Room(host=1 << 34, devices=(device,))
        load = loading.plan_load(Config(model=str(smollm2), n_ctx=512), there)
        assert load.n_gpu_layers in expected


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"rpc": "nowhere"}, "is no address"),
        ({"device": "CUDA0"}, "there is no device CUDA0"),
        ({"cache_type_v": "q8_0"}, "needs flash attention"),
    ],
)
def test_what_cannot_be_had_is_refused_before_anything_is_loaded(smollm2, changes, problem):
    with pytest.raises((UsageError, EngineError), match=problem):
        loading.plan_load(Config(model=str(smollm2), n_ctx=512, **changes))


def test_devices_are_found_by_another_process():
    assert "CPU" in [device.name for device in listed_devices()]


def test_a_listing_that_dies_says_so_in_one_line():
    with pytest.raises(
        EngineError, match=r"the devices could not be listed: .*no\.such"
    ) as refusal:
        listed_devices(module="no.such.module")
    assert "--gpu-layers 0" in refusal.value.hint


def test_a_server_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.delenv("GGML_BACKEND_PATH", raising=False)
    with pytest.raises(EngineError) as refusal:
        listed_devices(["127.0.0.1:9"])
    assert refusal.value.message.startswith(("no RPC server answers", "this build of llama.cpp"))
    assert refusal.value.hint


@pytest.mark.parametrize(("n_at_once", "n_sequences"), [(1, 4), (16, 16)])
def test_memory_is_planned_for_as_many_sequences_as_are_decoded_at_once(
    smollm2, n_at_once, n_sequences
):
    config = Config(model=str(smollm2), n_ctx=1024)
    load = loading.plan_load(config, n_at_once=n_at_once)
    assert load.n_seq_max == n_sequences
    assert loading.wanted(config, 1024, load.n_seq_max).n_seq_max == n_sequences


def loaded(**changes):
    fields = {
        "model": "m",
        "device": "CPU",
        "n_ctx": 512,
        "n_vocab": 9,
        "n_threads": 1,
        "load_s": 0.1,
        "n_exact": 7,
        "rollback": True,
    }
    return ModelLoaded(**{**fields, **changes})


def test_notes_say_where_text_goes_and_why_nothing_is_drafted():
    assert load_notes(loaded()) == []
    (message, hint) = load_notes(loaded(servers=("10.0.0.2:50052",)))[0]
    assert message == "what the model reads and writes goes to 10.0.0.2:50052"
    assert "without --rpc nothing leaves this machine" in hint
    reason = "the memory of this model cannot be wound back"
    assert load_notes(loaded(rollback=False, no_rollback=reason))[0][0].endswith(reason)
    (message, _) = load_notes(loaded(no_template="the file has none"))[0]
    assert message.startswith("messages are set in ChatML")
    assert message.endswith(": the file has none")
