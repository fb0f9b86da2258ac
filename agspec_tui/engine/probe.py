"""Load-time probe: up to how many tokens at once are logits exact to the bit?

Floating-point sums depend on the order of their terms, and kernels change that order with the
number of tokens. Where a decode of n tokens gives the very logits of n single decodes, greedy
verification reproduces plain decoding exactly; beyond that size a near tie may fall the other way.
"""

import numpy as np

from agspec_tui.engine.types import Backend

# 32 tokens stand for every larger batch; 7 is the last size below llama.cpp's tiled K-quant GEMM.
_SIZES = (32, 7, 4, 2)
_N_ROWS = 7


def probe_exact(backend: Backend, slot: int = 0) -> int:
    """Largest probed size whose logits equal those of single decodes; 0 if none does.

    Leaves the sequence empty. Costs seven single decodes and up to four batches.
    """
    text = "def clamp(value, low, high):\n    return max(low, min(value, high))\n" * 4
    ids = backend.tokenize(text, special=False)[: max(_SIZES)].tolist()
    rows = []
    for position in range(_N_ROWS):
        rows.append(backend.decode(ids[position : position + 1], position, slot, 1)[0].copy())
    single = np.stack(rows)
    for size in _SIZES:
        if size > len(ids) or size > backend.n_batch:
            continue
        backend.trim(slot, 0)
        batch = backend.decode(ids[:size], 0, slot, size)
        n_rows = min(size, _N_ROWS)
        if np.array_equal(batch[:n_rows], single[:n_rows]):
            backend.trim(slot, 0)
            # The largest size passed: no size tried was inexact, so nothing limits a draft.
            return backend.n_batch if size == _SIZES[0] else size
    backend.trim(slot, 0)
    return 0
