import msgspec
import pytest

from agspec_tui.engine_events import Device
from agspec_tui.errors import ModelError, UsageError
from agspec_tui.models.gguf import GgufHeader, read_header
from agspec_tui.models.memory import available_bytes
from agspec_tui.models.needs import Wanted
from agspec_tui.models.plan import Room, check_fits, in_units, largest_n_ctx, plan

MIB = 1 << 20
QWEN = GgufHeader(
    architecture="qwen2",
    name="Qwen",
    n_layers=28,
    n_embd=1536,
    n_head=12,
    n_head_kv=(2,) * 28,
    n_embd_head_k=128,
    n_embd_head_v=128,
    n_ctx_train=32768,
    n_vocab=151936,
    n_bytes=1_117_320_768,
    weights_bytes=1_111_000_000,
)


GPU = Device(
    name="CUDA0", description="a GPU", kind="gpu", free_bytes=3_000_000_000, total_bytes=4 << 30
)


def wants(n_ctx, **more):
    return Wanted(n_ctx=n_ctx, **more)


def host(n_bytes, *devices):
    return Room(host=n_bytes, devices=devices)


@pytest.mark.parametrize(
    ("n_ctx", "kind", "n_mib"),
    [
        (4096, "f16", 112),
        (16384, "f16", 448),
        (32768, "f16", 896),
        (16384, "q8_0", 238),
        (16384, "q4_0", 126),
        (16384, "f32", 896),
    ],
)
def test_kv_cache_is_as_large_as_llama_cpp_reports(n_ctx, kind, n_mib):
    wanted = wants(n_ctx, type_k=kind, type_v=kind, flash_attention="on")
    assert plan(QWEN, wanted).host.kv == n_mib * MIB


@pytest.mark.parametrize(
    ("n_ctx", "n_batch", "flash", "n_mib"),
    [
        (16384, 512, "on", 302.75),
        (8192, 128, "auto", 76.44),
        (8192, 512, "auto", 305.75),
        (16384, 512, "auto", 432.01),
    ],
)
def test_compute_buffers_are_what_llama_cpp_reserves_and_rows_for_drafts(
    n_ctx, n_batch, flash, n_mib
):
    rows = 64 * 151936 * 4
    made = plan(QWEN, wants(n_ctx, n_batch=n_batch, flash_attention=flash))
    assert made.host.compute - rows == pytest.approx(n_mib * MIB, rel=0.02)


def test_layers_without_attention_take_no_cache():
    hybrid = msgspec.structs.replace(QWEN, n_head_kv=(2, 0) * 14)
    assert plan(hybrid, wants(4096)).host.kv * 2 == plan(QWEN, wants(4096)).host.kv


def test_states_count_for_every_sequence_with_their_snapshots():
    hybrid = msgspec.structs.replace(QWEN, state_values=(1000, 0) * 14)
    made = plan(hybrid, wants(4096, n_seq_max=4, n_snapshots=6))
    assert made.host.state == 14 * 1000 * 4 * 4 * 7


def test_largest_context_fits_and_the_next_does_not():
    room = host(2_000_000_000)
    n_ctx = largest_n_ctx(QWEN, wants(256), room)
    assert n_ctx % 256 == 0
    assert plan(QWEN, wants(n_ctx)).total_bytes <= room.host
    assert plan(QWEN, wants(n_ctx + 256)).total_bytes > room.host
    assert check_fits(QWEN, wants(n_ctx), room).wanted.n_ctx == n_ctx


def test_context_that_does_not_fit_is_refused_with_the_settings_that_do():
    room = host(2_100_000_000)
    largest = largest_n_ctx(QWEN, wants(256), room)
    with pytest.raises(ModelError, match=r"needs 3\.\d GB of memory, 2\.1 GB") as refusal:
        check_fits(QWEN, wants(32768), room)
    assert f"the largest context that fits is {largest} tokens" in refusal.value.hint
    assert "a cache in q8_0 fits (--kv-type q8_0" not in refusal.value.hint
    with pytest.raises(ModelError) as refusal:
        check_fits(QWEN, wants(32768), host(2_400_000_000))
    assert "a cache in q8_0 fits (--kv-type q8_0 --flash-attn on)" in refusal.value.hint


@pytest.mark.parametrize("n_ctx", [4096, 1 << 31])
def test_model_that_never_fits_says_so_and_names_a_smaller_one(n_ctx):
    with pytest.raises(ModelError, match="available") as refusal:
        check_fits(QWEN, wants(n_ctx, n_batch=128), host(1_000_000_000))
    assert "no context fits; use a smaller model, e.g. qwen2.5-coder-0.5b" in refusal.value.hint


def test_context_beyond_the_trained_one_is_refused(smollm2):
    header = read_header(smollm2)
    with pytest.raises(ModelError, match="16384 tokens is more than") as refusal:
        check_fits(header, wants(16384), host(1 << 40))
    assert refusal.value.hint == "it was trained for 8192 tokens"


def test_hint_says_how_much_of_the_trained_context_fits():
    room = host(2_000_000_000)
    with pytest.raises(ModelError) as refusal:
        check_fits(QWEN, wants(1 << 20), room)
    largest = largest_n_ctx(QWEN, wants(256), room)
    assert refusal.value.hint == f"it was trained for 32768 tokens, of which {largest} fit"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"n_ctx": 255}, "a context of 255 tokens is too small"),
        ({"n_ctx": 0}, "too small"),
        ({"n_ctx": -1}, "too small"),
        ({"n_batch": 0}, "a batch of 0 tokens is too small"),
        ({"n_gpu_layers": -2}, "-2 layers cannot be on devices"),
        ({"type_v": "q8_0"}, "needs flash attention, which is off on the CPU"),
        ({"type_v": "q4_0", "flash_attention": "off"}, "needs flash attention, which is off"),
    ],
)
def test_settings_that_make_no_sense_are_usage_errors(changes, problem):
    wanted = Wanted(**{"n_ctx": 4096, **changes})
    with pytest.raises(UsageError, match=problem):
        check_fits(QWEN, wanted, host(1 << 40))


def test_a_cache_of_blocks_does_not_fit_heads_of_another_length():
    odd = msgspec.structs.replace(QWEN, n_embd_head_k=80)
    with pytest.raises(UsageError, match="heads of 80 values cannot be kept in q8_0"):
        check_fits(odd, wants(4096, type_k="q8_0"), host(1 << 40))


def test_keys_alone_may_be_quantised_on_the_cpu():
    made = check_fits(QWEN, wants(4096, type_k="q8_0"), host(1 << 40))
    assert made.host.kv < plan(QWEN, wants(4096)).host.kv


LAYERED = msgspec.structs.replace(
    QWEN, layer_bytes=(30_000_000,) * 28, output_bytes=200_000_000, is_tied=True
)


@pytest.mark.parametrize(
    ("free", "n_gpu_layers"),
    [
        (3_000_000_000, 29),
        (1_500_000_000, range(15, 29)),
        (900_000_000, range(1, 10)),
        (1 << 28, 0),
    ],
)
def test_as_many_layers_are_on_a_device_as_fit_there(free, n_gpu_layers):
    gpu = msgspec.structs.replace(GPU, free_bytes=free)
    made = check_fits(LAYERED, wants(16384), host(1 << 34, gpu))
    expected = n_gpu_layers if isinstance(n_gpu_layers, range) else [n_gpu_layers]
    assert made.n_gpu_layers in expected
    assert made.devices.total <= 0.95 * free
    if 0 < made.n_gpu_layers < 29:
        more = plan(LAYERED, wants(16384, n_gpu_layers=made.n_gpu_layers + 1), host(0, gpu))
        assert more.devices.total > 0.95 * free


def test_layers_on_devices_and_on_the_host_are_all_layers():
    for n in range(30):
        made = plan(LAYERED, wants(4096, n_gpu_layers=n, flash_attention="on"), host(0, GPU))
        assert made.host.kv + made.devices.kv == plan(LAYERED, wants(4096)).host.kv
        # A tied output layer lies in both places.
        twice = LAYERED.output_bytes if n else 0
        assert made.host.weights + made.devices.weights == LAYERED.weights_bytes + twice


def test_too_many_layers_are_refused_with_how_many_fit():
    gpu = msgspec.structs.replace(GPU, free_bytes=1_500_000_000)
    fitting = plan(LAYERED, wants(16384), host(1 << 34, gpu)).n_gpu_layers
    with pytest.raises(ModelError, match=r"of memory of CUDA0, 1\.4 GB are available") as refusal:
        check_fits(LAYERED, wants(16384, n_gpu_layers=29), host(1 << 34, gpu))
    assert f"{fitting} layers on devices fit (--gpu-layers {fitting})" in refusal.value.hint


def test_a_device_that_takes_the_host_s_memory_is_counted_once():
    shared = msgspec.structs.replace(GPU, name="MTL0", free_bytes=2_500_000_000)
    assert check_fits(LAYERED, wants(4096), host(4_000_000_000, shared)).n_gpu_layers == 29
    with pytest.raises(ModelError):
        check_fits(LAYERED, wants(32768, n_gpu_layers=29), host(2_000_000_000, shared))


def test_where_a_device_takes_the_host_s_memory_both_parts_are_named():
    shared = msgspec.structs.replace(GPU, name="MTL0", free_bytes=99_000_000_000)
    room = host(99_000_000_000, shared)
    made = check_fits(LAYERED, wants(4096, n_gpu_layers=29), room)
    both = made.total_bytes + made.devices.total
    with pytest.raises(ModelError, match=f"needs {in_units(both)} of memory, "):
        check_fits(LAYERED, wants(4096, n_gpu_layers=29), host(both - 1, shared))


def test_absurd_context_is_refused_against_the_memory_that_is_really_there():
    untrained = msgspec.structs.replace(QWEN, n_ctx_train=0)
    with pytest.raises(ModelError, match="available"):
        check_fits(untrained, wants(2_000_000_000))


def test_small_model_fits_in_the_memory_of_this_machine(smollm2):
    assert check_fits(read_header(smollm2), wants(1024)).total_bytes < available_bytes()


GROUPS = {
    "version 2": (
        "0::/a/b",
        {"a/b": ("memory.max", "memory.current", "inactive_file")},
        (50 * MIB, 30 * MIB, 10 * MIB),
        30 * MIB,
    ),
    "limit of a parent": (
        "0::/a/b",
        {"a": ("memory.max", "memory.current", "inactive_file")},
        (50 * MIB, 30 * MIB, 0),
        20 * MIB,
    ),
    "version 1": (
        "5:cpu:/\n4:memory:/a",
        {
            "memory/a": (
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file",
            )
        },
        (50 * MIB, 40 * MIB, 5 * MIB),
        15 * MIB,
    ),
    "used up": (
        "0::/",
        {"": ("memory.max", "memory.current", "inactive_file")},
        (50 * MIB, 60 * MIB, 0),
        0,
    ),
}


@pytest.mark.parametrize(
    ("membership", "files", "sizes", "room"), GROUPS.values(), ids=GROUPS.keys()
)
def test_limit_of_the_control_group_counts(tmp_path, membership, files, sizes, room):
    (tmp_path / "membership").write_text(membership + "\n")
    for folder, (limit, usage, cache) in files.items():
        group = tmp_path / "cgroup" / folder
        group.mkdir(parents=True)
        (group / limit).write_text(f"{sizes[0]}\n")
        (group / usage).write_text(f"{sizes[1]}\n")
        (group / "memory.stat").write_text(f"anon 7\n{cache} {sizes[2]}\n")
    assert available_bytes(tmp_path / "cgroup", tmp_path / "membership") == room


def test_no_limit_and_no_control_groups_leave_the_machine_s_memory(tmp_path):
    (tmp_path / "membership").write_text("0::/a\n")
    group = tmp_path / "cgroup" / "a"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("max\n")
    assert available_bytes(tmp_path / "cgroup", tmp_path / "membership") > 256 * MIB
    assert available_bytes(tmp_path / "none", tmp_path / "none") > 256 * MIB
