"""Writes GGUF files whose weights are random numbers, fast: 15 GB in the time the disk needs.

A target pass over random weights takes the time that it takes over trained ones, so a machine can
be measured without a download. Quantised blocks are random bytes with fixed scales; what they
stand for is uniform noise of the wanted deviation. The file's layout is described in
`docs/gguf.md` of the ggml project, the blocks in its `ggml-common.h`.
"""

import os
import struct
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

ALIGNMENT = 32
"""Tensor data begins at multiples of this many bytes, the format's default."""
CHUNK_BLOCKS = 1 << 17
"""Blocks that one thread fills at a time; at most 27 MB."""

Bytes = npt.NDArray[np.uint8]
Scalar = str | int | float | bool


class GgufError(Exception):
    """What is wrong, in one line."""


@dataclass(frozen=True, slots=True)
class BlockType:
    """How a tensor type stores its values."""

    number: int
    """Its number in the file."""
    n_values: int
    """Values of a block."""
    n_bytes: int
    """Bytes of a block."""
    fill: Callable[[Bytes, np.random.Generator, float, float], None]
    """Makes random blocks of shape (n, n_bytes) have a deviation and a mean."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a file."""

    name: str
    """Its name."""
    shape: tuple[int, ...]
    """Sizes, the one that lies together in memory first."""
    kind: str
    """A key of `BLOCK_TYPES`."""
    deviation: float = 0.0
    """Standard deviation of its values; 0 makes all of them `mean`, in F32 and F16 alone."""
    mean: float = 0.0
    """Mean of its values; quantised tensors have none."""

    @property
    def n_blocks(self) -> int:
        """Blocks it takes.

        Raises:
            GgufError: its rows are no whole number of blocks.
        """
        size = BLOCK_TYPES[self.kind].n_values
        if self.shape[0] % size:
            raise GgufError(f"rows of {self.shape[0]} values are no whole blocks of {self.kind}")
        return int(np.prod(self.shape, dtype=np.int64)) // size

    @property
    def n_bytes(self) -> int:
        """Bytes it takes, without padding."""
        return self.n_blocks * BLOCK_TYPES[self.kind].n_bytes


def _f32(blocks: Bytes, rng: np.random.Generator, deviation: float, mean: float) -> None:
    blocks.view(np.float32)[:, 0] = _normal(rng, len(blocks), deviation, mean)


def _f16(blocks: Bytes, rng: np.random.Generator, deviation: float, mean: float) -> None:
    blocks.view(np.float16)[:, 0] = _normal(rng, len(blocks), deviation, mean)


def _normal(
    rng: np.random.Generator, n: int, deviation: float, mean: float
) -> npt.NDArray[np.float32]:
    return rng.standard_normal(n, dtype=np.float32) * np.float32(deviation) + np.float32(mean)


# A uniform draw among n neighbouring whole numbers has the deviation √((n² − 1) / 12).
_SPREAD_16 = 4.61
_SPREAD_64 = 18.47


def _q4_0(blocks: Bytes, _: np.random.Generator, deviation: float, mean: float) -> None:
    """Value = d · (q − 8); the mean of q is 7.5, which leaves a tenth of a deviation."""
    blocks[:, :2] = _half(deviation / _SPREAD_16)


def _q4_k(blocks: Bytes, _: np.random.Generator, deviation: float, mean: float) -> None:
    """Value = d · s · q − dmin · m with 6-bit s and m, here both 32 throughout."""
    scale = deviation / (_SPREAD_16 * 32)
    blocks[:, :2], blocks[:, 2:4] = _half(scale), _half(7.5 * scale)
    # Twelve bytes hold the eight s and eight m: their low six bits, then what is over four bits.
    blocks[:, 4:12], blocks[:, 12:16] = 32 | 2 << 6, 0


def _q6_k(blocks: Bytes, _: np.random.Generator, deviation: float, mean: float) -> None:
    """Value = d · s · (q − 32) with an 8-bit s, here 8 throughout."""
    blocks[:, 192:208] = 8
    blocks[:, 208:210] = _half(deviation / (_SPREAD_64 * 8))


def _half(value: float) -> Bytes:
    return np.array([value], dtype=np.float16).view(np.uint8)


BLOCK_TYPES: Mapping[str, BlockType] = {
    "F32": BlockType(0, 1, 4, _f32),
    "F16": BlockType(1, 1, 2, _f16),
    "Q4_0": BlockType(2, 32, 18, _q4_0),
    "Q4_K": BlockType(12, 256, 144, _q4_k),
    "Q6_K": BlockType(14, 256, 210, _q6_k),
}
"""The types that can be written."""


def write_gguf(
    path: Path,
    keys: Sequence[bytes],
    tensors: Sequence[Tensor],
    *,
    seed: int = 0,
    n_threads: int = 0,
) -> int:
    """Write a file; the same arguments give the same bytes, whatever the number of threads.

    Args:
        path: the file.
        keys: its metadata, each pair as `pair` or `read_pairs` gives it.
        tensors: what it holds.
        seed: seed of the values.
        n_threads: threads that fill blocks; 0 for one a core.

    Returns:
        Its size in bytes.

    Raises:
        GgufError: a tensor's rows are no whole blocks.
        OSError: it cannot be written.
    """
    offsets, end = [], 0
    for tensor in tensors:
        offsets.append(end)
        end += -(-tensor.n_bytes // ALIGNMENT) * ALIGNMENT
    head = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys))
    for tensor, offset in zip(tensors, offsets, strict=True):
        head += _text(tensor.name) + struct.pack("<I", len(tensor.shape))
        head += struct.pack(f"<{len(tensor.shape)}Q", *tensor.shape)
        head += struct.pack("<IQ", BLOCK_TYPES[tensor.kind].number, offset)
    head += bytes(-len(head) % ALIGNMENT)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + end)
        file.flush()
        with ThreadPoolExecutor(n_threads or os.cpu_count()) as pool:
            writing = [
                pool.submit(_write_chunk, file.fileno(), len(head) + offset, tensor, first, key)
                for number, (tensor, offset) in enumerate(zip(tensors, offsets, strict=True))
                for first in range(0, tensor.n_blocks, CHUNK_BLOCKS)
                for key in [(seed, number, first)]
            ]
            for chunk in writing:
                chunk.result()
    return len(head) + end


def _write_chunk(
    file: int, start: int, tensor: Tensor, first: int, key: tuple[int, int, int]
) -> None:
    """Fill the blocks from `first` on and write them to their place."""
    kind = BLOCK_TYPES[tensor.kind]
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(key)))
    n = min(CHUNK_BLOCKS, tensor.n_blocks - first)
    words = rng.integers(0, 1 << 64, size=-(-n * kind.n_bytes // 8), dtype=np.uint64)
    blocks = words.view(np.uint8)[: n * kind.n_bytes].reshape(n, kind.n_bytes)
    kind.fill(blocks, rng, tensor.deviation, tensor.mean)
    data = memoryview(blocks).cast("B")
    at = start + first * kind.n_bytes
    while data:
        written = os.pwrite(file, data, at)
        data, at = data[written:], at + written


# ── metadata ─────────────────────────────────────────────────────────────────────────────────────

_KINDS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value of each kind of a fixed size."""
_STRING, _ARRAY = 8, 9


def pair(key: str, value: Scalar) -> bytes:
    """A key with its value: text, a truth value, a whole number (u32) or a number (f32)."""
    match value:
        case str():
            kind, data = _STRING, _text(value)
        case bool():
            kind, data = 7, bytes([value])
        case int():
            kind, data = 4, struct.pack("<I", value)
        case float():
            kind, data = 6, struct.pack("<f", value)
    return _text(key) + struct.pack("<I", kind) + data


def read_pairs(path: Path, prefix: str) -> dict[str, bytes]:
    """The pairs of a file whose keys begin with `prefix`, as they stand there.

    Raises:
        GgufError: it is no GGUF file of version 2 or 3, or is cut short.
        OSError: it cannot be read.
    """
    if path.stat().st_size < 24:
        raise GgufError(f"{path} is no GGUF file of version 2 or 3")
    data = np.memmap(path, dtype=np.uint8, mode="r")
    try:
        magic, version, _, n_keys = struct.unpack_from("<4sIQQ", data)
        if magic != b"GGUF" or version not in (2, 3):
            raise GgufError(f"{path} is no GGUF file of version 2 or 3")
        found, at = {}, 24
        for _ in range(n_keys):
            (length,) = struct.unpack_from("<Q", data, at)
            key = data[at + 8 : at + 8 + length].tobytes().decode()
            (kind,) = struct.unpack_from("<I", data, at + 8 + length)
            end = _skip(data, kind, at + 12 + length)
            if end > len(data):
                raise GgufError(f"{path} is cut short")
            if key.startswith(prefix):
                found[key] = data[at:end].tobytes()
            at = end
    except (struct.error, UnicodeDecodeError) as error:
        raise GgufError(f"{path} is damaged or cut short: {error}") from error
    return found


def _skip(data: Bytes, kind: int, at: int) -> int:
    """Where a value ends that begins at `at`."""
    if kind == _STRING:
        return at + 8 + int(struct.unpack_from("<Q", data, at)[0])
    if kind == _ARRAY:
        inner, n = struct.unpack_from("<IQ", data, at)
        at += 12
        if inner in _KINDS:
            return at + n * _KINDS[inner]
        for _ in range(n):
            at = _skip(data, inner, at)
        return at
    if kind not in _KINDS:
        raise GgufError(f"a value has the unknown kind {kind}")
    return at + _KINDS[kind]


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data
