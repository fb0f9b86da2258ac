import msgspec
import pytest

from agspec_tui.errors import ModelError, UsageError
from agspec_tui.models.gguf import GgufHeader, read_header
from agspec_tui.models.memory import available_bytes
from agspec_tui.models.plan import check_fits, kv_bytes_per_token, largest_n_ctx, plan

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


@pytest.mark.parametrize(("n_ctx", "n_mib"), [(4096, 112), (16384, 448), (32768, 896)])
def test_kv_cache_is_as_large_as_llama_cpp_reports(n_ctx, n_mib):
    assert plan(QWEN, n_ctx).kv_bytes == n_mib * MIB


@pytest.mark.parametrize(("n_batch", "n_mib"), [(512, 302.75), (128, 75.69)])
def test_compute_buffers_are_what_llama_cpp_reserves_and_rows_for_drafts(n_batch, n_mib):
    rows = 64 * 151936 * 4
    assert plan(QWEN, 16384, n_batch).compute_bytes - rows == pytest.approx(n_mib * MIB, rel=1e-3)


def test_layers_without_attention_take_no_cache():
    hybrid = msgspec.structs.replace(QWEN, n_head_kv=(2, 0) * 14)
    assert kv_bytes_per_token(hybrid) * 2 == kv_bytes_per_token(QWEN)


def test_largest_context_fits_and_the_next_does_not():
    available = 2_000_000_000
    n_ctx = largest_n_ctx(QWEN, 512, available)
    assert n_ctx % 256 == 0
    assert plan(QWEN, n_ctx).total_bytes <= available < plan(QWEN, n_ctx + 256).total_bytes
    assert check_fits(QWEN, n_ctx, available=available).n_ctx == n_ctx


def test_context_that_does_not_fit_is_refused_with_the_largest_that_does():
    largest = largest_n_ctx(QWEN, 512, 2_000_000_000)
    with pytest.raises(ModelError, match=r"needs 2\.\d GB of memory, 2\.0 GB") as refusal:
        check_fits(QWEN, 32768, available=2_000_000_000)
    assert f"fits is {largest} tokens" in refusal.value.hint


@pytest.mark.parametrize("n_ctx", [4096, 1 << 31])
def test_model_that_never_fits_says_so(n_ctx):
    with pytest.raises(ModelError, match="available") as refusal:
        check_fits(QWEN, n_ctx, available=1_000_000_000)
    assert "no context fits" in refusal.value.hint


def test_context_beyond_the_trained_one_is_refused(smollm2):
    header = read_header(smollm2)
    with pytest.raises(ModelError, match="16384 tokens is more than") as refusal:
        check_fits(header, 16384, available=1 << 40)
    assert refusal.value.hint == "it was trained for 8192 tokens"


def test_hint_says_how_much_of_the_trained_context_fits():
    with pytest.raises(ModelError) as refusal:
        check_fits(QWEN, 1 << 20, available=2_000_000_000)
    largest = largest_n_ctx(QWEN, 512, 2_000_000_000)
    assert refusal.value.hint == f"it was trained for 32768 tokens, of which {largest} fit"


@pytest.mark.parametrize(("n_ctx", "n_batch"), [(255, 512), (0, 512), (-1, 512), (4096, 0)])
def test_sizes_that_make_no_sense_are_usage_errors(n_ctx, n_batch):
    with pytest.raises(UsageError, match="too small"):
        check_fits(QWEN, n_ctx, n_batch)


def test_absurd_context_is_refused_against_the_memory_that_is_really_there():
    untrained = msgspec.structs.replace(QWEN, n_ctx_train=0)
    with pytest.raises(ModelError, match="available"):
        check_fits(untrained, 2_000_000_000)


def test_small_model_fits_in_the_memory_of_this_machine(smollm2):
    assert check_fits(read_header(smollm2), 1024).total_bytes < available_bytes()


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
