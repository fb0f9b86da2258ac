import os
import struct
import time
import tracemalloc

import pytest

from agspec_tui.errors import ModelError
from agspec_tui.models.gguf import read_header
from tests.models.ggufs import (
    ARRAY,
    STRING,
    U32,
    gguf,
    model_pairs,
    numbers,
    pair,
    string,
    strings,
    tensor,
    text,
    u32,
)

WEIGHT = tensor("w", [64, 4], 2, 0)  # 4 rows of 2 Q4_0 blocks: 144 bytes


def write(folder, content):
    path = folder / "m.gguf"
    path.write_bytes(content)
    return path


def test_header_of_the_real_model_says_what_it_is(smollm2):
    header = read_header(smollm2)
    assert header.architecture == "llama"
    assert header.name.startswith("Smollm2 135M")
    assert (header.n_layers, header.n_embd, header.n_head) == (30, 576, 9)
    assert header.n_head_kv == (3,) * 30
    assert (header.n_embd_head_k, header.n_embd_head_v) == (64, 64)
    assert (header.n_ctx_train, header.n_vocab) == (8192, 49152)
    assert header.n_bytes == smollm2.stat().st_size
    assert 0.97 * header.n_bytes < header.weights_bytes < header.n_bytes


def cut_copy(source, folder, n_bytes):
    """The header of `source` in a sparse file of `n_bytes`: weights are not read here."""
    path = folder / "cut.gguf"
    with source.open("rb") as whole:
        path.write_bytes(whole.read(min(n_bytes, 4_000_000)))
    os.truncate(path, n_bytes)
    return path


def test_real_model_of_full_length_is_read(smollm2, tmp_path):
    n_bytes = smollm2.stat().st_size
    assert read_header(cut_copy(smollm2, tmp_path, n_bytes)).n_layers == 30


@pytest.mark.parametrize("n_missing", [4096, 50_000_000, 98_000_000, 98_362_400])
def test_real_model_cut_short_is_refused(smollm2, tmp_path, n_missing):
    path = cut_copy(smollm2, tmp_path, smollm2.stat().st_size - n_missing)
    with pytest.raises(ModelError, match="cut short") as refusal:
        read_header(path)
    assert "fetch it again" in refusal.value.hint


@pytest.mark.parametrize("version", [2, 3])
def test_both_versions_are_read(tmp_path, version):
    content = gguf([*model_pairs().values()], [WEIGHT], data=144, version=version)
    header = read_header(write(tmp_path, content))
    assert (header.architecture, header.n_layers, header.n_vocab) == ("toy", 2, 3)
    assert header.weights_bytes == 144
    assert header.n_head_kv == (4, 4)
    assert header.n_embd_head_k == 16


def test_order_of_keys_does_not_matter(tmp_path):
    content = gguf([*reversed(model_pairs().values())], [WEIGHT], data=144)
    assert read_header(write(tmp_path, content)).n_layers == 2


def test_head_counts_may_differ_by_layer(tmp_path):
    pairs = model_pairs(kv=numbers("toy.attention.head_count_kv", [2, 0]))
    assert read_header(write(tmp_path, gguf([*pairs.values()]))).n_head_kv == (2, 0)


def test_head_lengths_are_read_where_they_are_given(tmp_path):
    pairs = model_pairs(
        key=u32("toy.attention.key_length", 256), value=u32("toy.attention.value_length", 128)
    )
    header = read_header(write(tmp_path, gguf([*pairs.values()])))
    assert (header.n_embd_head_k, header.n_embd_head_v) == (256, 128)


def test_alignment_of_the_file_counts(tmp_path):
    pairs = [*model_pairs(alignment=u32("general.alignment", 1 << 16)).values()]
    with pytest.raises(ModelError, match="cut short"):
        read_header(write(tmp_path, gguf(pairs, [WEIGHT], data=144)))
    assert read_header(write(tmp_path, gguf(pairs, [WEIGHT], data=(1 << 16) + 144)))


def test_one_byte_decides_whether_a_file_is_whole(tmp_path):
    pairs = [*model_pairs().values()]
    assert read_header(write(tmp_path, gguf(pairs, [WEIGHT], data=144)))
    with pytest.raises(ModelError, match="cut short"):
        read_header(write(tmp_path, gguf(pairs, [WEIGHT], data=143)))


def test_name_of_a_model_is_one_line(tmp_path):
    pairs = model_pairs(name=string("general.name", "a\nb\r\n c"))
    assert read_header(write(tmp_path, gguf([*pairs.values()]))).name == "a b c"


HUGE = (1 << 64) - 1
DAMAGED = {
    "empty": (b"", "not a GGUF"),
    "two bytes": (b"GG", "not a GGUF"),
    "another magic": (b"PK\x03\x04" + bytes(100), "not a GGUF"),
    "only the magic": (b"GGUF", "cut short"),
    "version 1": (gguf([], version=1), "version 1 is not supported"),
    "version 4": (gguf([], version=4), "version 4 is not supported"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
    "keys without end": (gguf([], n_keys=HUGE), "absurd counts"),
    "tensors without end": (gguf([], n_tensors=HUGE), "absurd counts"),
    "more keys than bytes": (gguf([], n_keys=10_000), "cut short"),
    "more tensors than bytes": (gguf([*model_pairs().values()], n_tensors=60_000), "cut short"),
    "name without end": (gguf([struct.pack("<Q", HUGE)]), "a name of"),
    "text without end": (gguf([text("k") + struct.pack("<IQ", STRING, HUGE)]), "cut short"),
    "array without end": (gguf([pair("k", ARRAY, struct.pack("<IQ", U32, HUGE))]), "cut short"),
    "strings without end": (
        gguf([pair("k", ARRAY, struct.pack("<IQ", STRING, HUGE))]),
        "cut short",
    ),
    "array of arrays": (gguf([pair("k", ARRAY, struct.pack("<IQ", ARRAY, 1))]), "array type 9"),
    "unknown value type": (gguf([pair("k", 99, b"")]), "value type 99"),
    "unknown tensor type": (
        gguf([*model_pairs().values()], [tensor("w", [1], 4, 0)]),
        "unknown type 4",
    ),
    "five dimensions": (
        gguf([*model_pairs().values()], [tensor("w", [1] * 5, 0, 0)]),
        "5 dimensions",
    ),
    "tensor beyond all bytes": (
        gguf([*model_pairs().values()], [tensor("w", [HUGE] * 4, 0, HUGE)]),
        "cut short",
    ),
    "one shard of three": (
        gguf([*model_pairs(split=u32("split.count", 3)).values()]),
        "one of 3 shards",
    ),
    "no architecture": (gguf([u32("toy.block_count", 2)]), "no language model"),
    "no vocabulary": (gguf([*model_pairs(tokens=u32("x", 1)).values()]), "no language model"),
    "projector": (gguf([string("general.architecture", "clip")]), "no language model"),
    "layers without end": (
        gguf([*model_pairs(blocks=u32("toy.block_count", (1 << 32) - 1)).values()]),
        "layers",
    ),
    "wrong number of head counts": (
        gguf([*model_pairs(kv=numbers("toy.attention.head_count_kv", [1, 2, 3])).values()]),
        "head counts",
    ),
}


@pytest.mark.parametrize(("content", "problem"), DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_header_is_refused_fast_and_in_little_memory(tmp_path, content, problem):
    path = write(tmp_path, content)
    tracemalloc.start()
    started_s = time.perf_counter()
    with pytest.raises(ModelError, match=problem) as refusal:
        read_header(path)
    wall_s = time.perf_counter() - started_s
    n_peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert wall_s < 2
    assert n_peak < 16 << 20
    assert refusal.value.hint
    assert "\n" not in refusal.value.one_line()


def test_every_cut_of_a_small_file_is_refused_or_read_without_another_error(tmp_path):
    whole = gguf([*model_pairs().values()], [WEIGHT], data=144)
    for n_bytes in range(len(whole)):
        with pytest.raises(ModelError):
            read_header(write(tmp_path, whole[:n_bytes]))


def test_sparse_giant_of_empty_strings_is_not_walked(tmp_path):
    head = gguf([pair("k", ARRAY, struct.pack("<IQ", STRING, 1 << 30))])
    path = write(tmp_path, head)
    os.truncate(path, 1 << 34)
    started_s = time.perf_counter()
    with pytest.raises(ModelError, match="an array of"):
        read_header(path)
    assert time.perf_counter() - started_s < 2


def test_long_texts_and_arrays_are_skipped_across_chunks(tmp_path):
    pairs = model_pairs(
        template=string("tokenizer.chat_template", "x" * 3_000_000),
        merges=strings("tokenizer.ggml.merges", ["y" * 700] * 5_000),
        types=numbers("tokenizer.ggml.token_type", [1] * 600_000),
        last=string("general.name", "found"),
    )
    assert read_header(write(tmp_path, gguf([*pairs.values()]))).name == "found"


def test_folder_missing_file_and_pipe_are_refused(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, problem in [
        (tmp_path, "is a folder"),
        (tmp_path / "none.gguf", "does not exist"),
        (pipe, "not a regular file"),
    ]:
        with pytest.raises(ModelError, match=problem):
            read_header(path)
