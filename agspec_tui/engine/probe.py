"""Load-time probes: what a backend does with several tokens at once, and with rejected ones.

In which passes do logits not depend on how many tokens are decoded at once?

Floating-point sums depend on the order of their terms, and kernels change that order with the
number of tokens. Where a decode of n tokens gives the very logits of n single decodes, greedy
verification reproduces plain decoding exactly; beyond that size a near tie may fall the other way.

Can rejected tokens be dropped? A memory may refuse it, or do it wrongly.
"""

import numpy as np
import numpy.typing as npt

from agspec_tui.engine.types import Backend, Part

Row = npt.NDArray[np.float32]

# 32 tokens stand for every larger batch; 7 is the last size below llama.cpp's tiled K-quant GEMM.
_SIZES = (32, 7, 4, 2)
_N_ROWS = 7
_TEXT = "def clamp(value, low, high):\n    return max(low, min(value, high))\n"
_N_REJECTED = 3
_LEAST_ALIKE = 0.99
"""Correlation of two rows of logits below which they come from different states."""


def probe_exact(backend: Backend, slot: int = 0) -> int:
    """Compare single decodes with batches, bit by bit; see `Backend.n_exact`.

    Leaves the sequence empty. Costs seven single decodes and up to four batches.
    """
    ids = backend.tokenize(_TEXT * 4, special=False)[: max(_SIZES)].tolist()
    rows = []
    for position in range(_N_ROWS):
        part = Part(ids[position : position + 1], position, slot, 1)
        rows.append(backend.decode([part])[0].copy())
    backend.trim(slot, 0)
    single = np.stack(rows)

    for size in _SIZES:
        if size > len(ids) or size > backend.n_batch:
            continue
        found = backend.decode([Part(ids[:size], 0, slot, size)])[:_N_ROWS].copy()
        backend.trim(slot, 0)
        if np.array_equal(found, single[: len(found)]):
            # The largest size passed: no size tried was inexact, so nothing limits a draft.
            return backend.n_batch if size == _SIZES[0] else size
    return 0


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
