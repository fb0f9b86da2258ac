import subprocess
import sys

import pytest

from agspec_tui.commands import LoadModel
from agspec_tui.engine.devices import choose, has_gpu_library, names_of, servers_of
from agspec_tui.engine.llama_context import place
from agspec_tui.engine.llama_devices import add_servers, devices
from agspec_tui.engine_events import Device
from agspec_tui.errors import EngineError, UsageError


def device(name, kind):
    return Device(name=name, description=name, kind=kind, free_bytes=1, total_bytes=2)


CPU, BLAS = device("CPU", "cpu"), device("BLAS", "accelerator")
GPUS = [device("CUDA0", "gpu"), device("CUDA1", "gpu")]
IGPU, REMOTE = device("Vulkan0", "igpu"), device("RPC0", "rpc")


@pytest.mark.parametrize(
    ("known", "names", "split", "chosen"),
    [
        ([CPU], "", "layer", []),
        ([BLAS, CPU], "", "layer", []),
        ([*GPUS, CPU], "", "layer", ["CUDA0", "CUDA1"]),
        ([*GPUS, CPU], "", "none", ["CUDA0"]),
        ([*GPUS, CPU], "cuda1", "layer", ["CUDA1"]),
        ([*GPUS, CPU], "CUDA1,CUDA0", "row", ["CUDA1", "CUDA0"]),
        ([*GPUS, CPU], "CPU", "layer", []),
        ([IGPU, CPU], "", "layer", ["Vulkan0"]),
        ([*GPUS, IGPU, CPU], "", "layer", ["CUDA0", "CUDA1"]),
        ([*GPUS, CPU, REMOTE], "", "layer", ["RPC0", "CUDA0", "CUDA1"]),
        ([IGPU, CPU, REMOTE], "", "layer", ["RPC0"]),
    ],
)
def test_devices_are_those_named_else_gpus_and_servers(known, names, split, chosen):
    assert [one.name for one in choose(known, names_of(names), split)] == chosen


def test_an_unknown_device_is_refused_with_the_known_ones():
    with pytest.raises(EngineError, match="there is no device CUDA7") as refusal:
        choose([*GPUS, CPU], ["CUDA7"], "layer")
    assert refusal.value.hint == "known here: CUDA0, CUDA1, CPU"


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("", ()),
        ("127.0.0.1:50052", ("127.0.0.1:50052",)),
        (" a:1 , b:65535,", ("a:1", "b:65535")),
    ],
)
def test_addresses_of_servers_are_read(text, servers):
    assert servers_of(text) == servers


@pytest.mark.parametrize("text", ["a", "a:", ":1", "a:0", "a:65536", "a:-1", "a:1,b", "a:१"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(UsageError, match="is no address of an RPC server"):
        servers_of(text)


def test_this_build_names_its_devices_and_their_memory():
    found = [one for one, _ in devices()]
    cpu = next(one for one in found if one.kind == "cpu")
    assert cpu.name == "CPU"
    assert 0 < cpu.free_bytes <= cpu.total_bytes


def test_a_build_for_a_gpu_is_told_from_one_for_the_cpu_without_loading_it():
    kinds = {one.kind for one, _ in devices()}
    assert has_gpu_library() == bool(kinds & {"gpu", "igpu"})


def test_what_it_runs_on_is_named():
    load = LoadModel(path="x", name="x", n_ctx=256, n_threads=3, n_gpu_layers=0)
    placement = place(load)
    assert placement.on_cpu
    assert placement.label(30, packed=False) == "CPU, 3 threads"


def has_rpc():
    return any(one.kind == "rpc" for one, _ in devices())


@pytest.mark.skipif(has_rpc(), reason="this build has the RPC back end")
def test_without_the_rpc_back_end_servers_are_refused_with_how_to_get_it(monkeypatch):
    monkeypatch.delenv("GGML_BACKEND_PATH", raising=False)
    with pytest.raises(EngineError, match="has no RPC back end") as refusal:
        add_servers(["127.0.0.1:1"])
    assert "-DGGML_RPC=ON" in refusal.value.hint


def test_the_devices_are_printed_for_other_processes():
    command = [sys.executable, "-m", "agspec_tui.engine.llama_devices", ""]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert '"name":"CPU"' in done.stdout
