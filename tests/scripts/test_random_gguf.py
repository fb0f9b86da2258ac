import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gguf_writer import BLOCK_TYPES, GgufError, Tensor, pair, read_pairs, write_gguf
from random_gguf import SHAPES, Shape, n_tokens_of, qwen2_tensors, write_model, write_vocabulary

from agspec_tui.commands import LoadModel
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.llama_tokenizer import Vocabulary
from agspec_tui.engine.types import Part
from agspec_tui.models.gguf import read_header
from tests.house.sources import ROOT

SMALL = Shape(n_layers=2, n_embd=256, n_ff=512, n_head=4, n_head_kv=2)


def values_of(kind: str, data: bytes) -> np.ndarray:
    """What blocks stand for, value by value, as ggml's own dequantisation reads them."""
    size = BLOCK_TYPES[kind]
    blocks = np.frombuffer(data, np.uint8).reshape(-1, size.n_bytes)
    match kind:
        case "F32" | "F16":
            return blocks.view(np.float32 if kind == "F32" else np.float16).astype(float)
        case "Q4_0":
            nibbles = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
            return blocks[:, :2].copy().view(np.float16).astype(float) * (nibbles - 8.0)
        case "Q4_K":
            halves = blocks[:, :4].copy().view(np.float16).astype(float)
            scales, mins = zip(*(scale_and_min(j, blocks[0, 4:16]) for j in range(8)), strict=True)
            nibbles = blocks[:, 16:].reshape(-1, 4, 32)
            quants = np.stack([nibbles & 15, nibbles >> 4], axis=2).reshape(-1, 8, 32)
            scaled = halves[:, :1, None] * np.array(scales)[None, :, None] * quants
            return scaled - halves[:, 1:, None] * np.array(mins)[None, :, None]
        case _:
            low, high = blocks[:, :128].reshape(-1, 2, 64), blocks[:, 128:192].reshape(-1, 2, 32)
            low = np.concatenate([low & 15, low >> 4], axis=2)
            high = np.concatenate([high >> shift & 3 for shift in (0, 2, 4, 6)], axis=2)
            scales = np.repeat(blocks[:, 192:208].view(np.int8), 16, axis=1)
            quants = (low | high << 4).reshape(-1, 256).astype(float) - 32
            return blocks[:, 208:].copy().view(np.float16).astype(float) * scales * quants


def scale_and_min(j: int, packed: np.ndarray) -> tuple[int, int]:
    """The 6-bit scale and minimum of sub-block `j` of Q4_K."""
    if j < 4:
        return int(packed[j] & 63), int(packed[j + 4] & 63)
    return (
        int(packed[j + 4] & 15 | packed[j - 4] >> 6 << 4),
        int(packed[j + 4] >> 4 | packed[j] >> 6 << 4),
    )


@pytest.fixture(scope="module")
def model(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("random") / "small.gguf"
    write_model(path, "small", SMALL, smollm2)
    return path


@pytest.mark.parametrize("kind", BLOCK_TYPES)
def test_values_have_the_deviation_that_was_asked_for(kind, tmp_path):
    path = tmp_path / "one.gguf"
    tensor = Tensor("w", (256, 400), kind, deviation=0.05)
    size = write_gguf(path, [pair("general.architecture", "none")], [tensor])
    values = values_of(kind, path.read_bytes()[size - tensor.n_bytes :])
    assert np.std(values) == pytest.approx(0.05, rel=0.02)
    assert abs(np.mean(values)) < 0.2 * 0.05


def test_the_same_seed_gives_the_same_file_with_any_number_of_threads(tmp_path):
    tensors = [Tensor("a", (256, 700), "Q4_K", 0.1), Tensor("b", (3,), "F32", mean=1.0)]
    written = []
    for name, seed, n_threads in (("one", 1, 1), ("two", 1, 3), ("other", 2, 1)):
        write_gguf(tmp_path / name, [], tensors, seed=seed, n_threads=n_threads)
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1] != written[2]


def test_large_tensors_are_written_whole(tmp_path):
    tensor = Tensor("w", (32, (1 << 17) + 5), "Q4_0", 0.1)
    size = write_gguf(tmp_path / "f", [], [tensor])
    start = size - -(-tensor.n_bytes // 32) * 32
    data = (tmp_path / "f").read_bytes()[start : start + tensor.n_bytes]
    blocks = np.frombuffer(data, np.uint8).reshape(-1, 18)
    assert (blocks[:, :2] == blocks[0, :2]).all()
    assert len(np.unique(blocks[:, 2:], axis=0)) == len(blocks)


def test_rows_that_are_no_whole_blocks_are_refused(tmp_path):
    with pytest.raises(GgufError, match="no whole blocks"):
        write_gguf(tmp_path / "f", [], [Tensor("w", (100, 2), "Q4_K", 0.1)])


def test_our_own_reader_reads_what_was_written(model):
    header = read_header(model)
    assert (header.architecture, header.name, header.n_layers) == ("qwen2", "small", 2)
    assert (header.n_embd, header.n_head, set(header.n_head_kv)) == (256, 4, {2})
    assert header.n_bytes == model.stat().st_size


def test_the_library_loads_it_and_decodes_tokens_that_differ(model):
    backend = LlamaBackend(LoadModel(path=str(model), name="small", n_ctx=256, n_threads=1))
    try:
        ids = backend.tokenize("def render(seconds):\n    return seconds", special=False)
        rows = np.array(decoded(backend, [int(token) for token in ids]))
        assert np.isfinite(rows).all()
        assert 0.1 < rows.std() < 10
        assert len({int(row.argmax()) for row in rows}) > len(ids) // 2
    finally:
        backend.close()


def decoded(backend: LlamaBackend, ids: list[int]) -> np.ndarray:
    """Logit rows of a text that is all that is in the cache."""
    return backend.decode([Part(ids, 0, 0, len(ids))])


def test_a_vocabulary_without_weights_is_the_same_tokenizer(smollm2, tmp_path):
    path = tmp_path / "vocabulary.gguf"
    assert write_vocabulary(path, smollm2) < smollm2.stat().st_size / 10
    alone, whole = Vocabulary(path), Vocabulary(smollm2)
    try:
        assert alone.n_vocab == whole.n_vocab == n_tokens_of(read_pairs(path, "tokenizer."))
        assert alone.fingerprint() == whole.fingerprint()
    finally:
        alone.close()
        whole.close()


@pytest.mark.parametrize(
    ("name", "n_billion", "n_gigabytes"),
    [("7b", 7.6, 4.7), ("27b", 26.9, 16.3), ("100m", 0.18, 0.12)],
)
def test_the_shapes_have_the_size_of_their_names(name, n_billion, n_gigabytes):
    tensors = qwen2_tensors(SHAPES[name], 151_936)
    n_values = sum(int(np.prod(tensor.shape, dtype=np.int64)) for tensor in tensors)
    assert n_values / 1e9 == pytest.approx(n_billion, rel=0.01)
    assert sum(tensor.n_bytes for tensor in tensors) / 1e9 == pytest.approx(n_gigabytes, rel=0.02)


@pytest.mark.parametrize("damage", [b"", b"GGUF", b"GGUF" + bytes(16), b"no GGUF at all" * 20])
def test_what_holds_no_tokenizer_is_refused_in_one_line(damage, tmp_path):
    source = tmp_path / "source.gguf"
    source.write_bytes(damage)
    result = subprocess.run(
        [sys.executable, "scripts/random_gguf.py", "tiny", str(source), str(tmp_path / "out")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith("random_gguf: ")


def test_a_file_cut_short_within_its_keys_is_refused(smollm2, tmp_path):
    source = tmp_path / "cut.gguf"
    with smollm2.open("rb") as whole:
        source.write_bytes(whole.read(100_000))
    with pytest.raises(GgufError, match="cut short"):
        read_pairs(source, "tokenizer.")
