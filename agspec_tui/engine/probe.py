"""Load-time probes: what a backend does with several tokens at once, and with rejected ones.

In which passes do logits not depend on how many tokens are decoded at once?

Floating-point sums depend on the order of their terms, and kernels change that order with the
number of tokens. Where a decode of n tokens gives the very logits of n single decodes, greedy
verification reproduces plain decoding exactly; beyond that size a near tie may fall the other way.
From some size on, all passes may agree with each other again: then several sequences that share
wide passes decode exactly alike whatever each of them drafts.

Can rejected tokens be dropped? A memory may refuse it, or do it wrongly.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agspec_tui.engine.types import Backend, Logits, Part

Row = npt.NDArray[np.float32]

# 32 tokens stand for every larger batch; 7 is the last size below llama.cpp's tiled K-quant GEMM.
_SIZES = (32, 7, 4, 2)
_WIDE = 8
_N_ROWS = 7
_TEXT = "def clamp(value, low, high):\n    return max(low, min(value, high))\n"
_N_REJECTED = 3
_LEAST_ALIKE = 0.99
"""Correlation of two rows of logits below which they come from different states."""


@dataclass(frozen=True, slots=True)
class Exactness:
    """What the probe found."""

    n_exact: int
    """See `Backend.n_exact`."""
    n_wide: int
    """See `Backend.n_wide`."""


def probe_exact(backend: Backend, slot: int = 0) -> Exactness:
    """Compare single decodes with batches, bit by bit.

    Leaves the sequence empty. Costs seven single decodes and up to five batches.
    """
    ids = backend.tokenize(_TEXT * 4, special=False)[: max(_SIZES)].tolist()
    rows = []
    for position in range(_N_ROWS):
        part = Part(ids[position : position + 1], position, slot, 1)
        rows.append(backend.decode([part])[0].copy())
    backend.trim(slot, 0)
    single = np.stack(rows)

    def batch(size: int) -> Logits:
        found = backend.decode([Part(ids[:size], 0, slot, size)])[:_N_ROWS].copy()
        backend.trim(slot, 0)
        return found

    large: Logits | None = None
    for size in _SIZES:
        if size > len(ids) or size > backend.n_batch:
            continue
        found = batch(size)
        if size == _SIZES[0]:
            large = found
        if np.array_equal(found, single[: len(found)]):
            if size == _SIZES[0]:
                # The largest size passed: no size tried was inexact, so nothing limits a draft.
                return Exactness(backend.n_batch, 1)
            return Exactness(size, _n_wide(large, batch))
    return Exactness(0, _n_wide(large, batch))


def _n_wide(large: Logits | None, batch: Callable[[int], Logits]) -> int:
    """Whether the smallest wide pass agrees with a large one."""
    return _WIDE if large is not None and np.array_equal(large, batch(_WIDE)) else 0


def probe_rollback(backend: Backend, slot: int = 0) -> str:
    """Why rejected tokens cannot be dropped from the memory, in words; empty if they can.

    Decodes a few tokens plainly, then with wrong ones between them that are dropped again, twice in
    a row. Leaves the sequence empty. Costs about ten passes over one to five tokens.
    """
    ids = backend.tokenize(_TEXT, special=False)[:8].tolist()
    wrong = ids[:_N_REJECTED]
    if backend.n_batch < len(ids):
        return ""
    expected = {}
    backend.decode([Part(ids[:4], 0, slot, 0)])
    for position in range(4, 8):
        part = Part(ids[position : position + 1], position, slot, 1)
        expected[position] = backend.decode([part]).copy()
    backend.trim(slot, 0)
    backend.decode([Part(ids[:4], 0, slot, 0)])
    reason = ""
    for position in (4, 6):
        block = [ids[position], *wrong]
        backend.decode([Part(block, position, slot, len(block))])
        if not backend.trim(slot, position + 1):
            reason = "the memory of this model cannot be wound back"
            break
        row = backend.decode([Part(ids[position + 1 : position + 2], position + 1, slot, 1)])
        if not _same(row[0], expected[position + 1][0], exact=backend.n_exact > _N_REJECTED):
            reason = "the memory of this model is wound back wrongly"
            break
    backend.trim(slot, 0)
    return reason


def _same(row: Row, other: Row, *, exact: bool) -> bool:
    if exact:
        return np.array_equal(row, other)
    return bool(np.corrcoef(row, other)[0, 1] >= _LEAST_ALIKE)
