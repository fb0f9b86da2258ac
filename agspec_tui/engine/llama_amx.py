"""Whether weights may lie in llama.cpp's AMX buffers: tried out before a model is loaded.

AMX are the matrix units of Xeon processors since Sapphire Rapids. With them a pass over 16 tokens
takes 2.9 times as long as one over a single token, instead of 3.6 times (ADR 1), and all its sums
are those of one-by-one decoding: products of integers are exact in any order, and what is added in
floating point is added in the same order by the kernels for one token and for many.

The kernels end the process where a compiler has broken them (`scripts/llama/agspec_amx.h`) or where
the processor reports units that it does not grant. So a small product is tried in a process of its
own first, with one row and with several.
"""

import functools
from pathlib import Path

import numpy as np
import psutil

from agspec_tui.commands import LoadModel
from agspec_tui.engine.llama_trial import extra_buffer_types, holds_in_a_child, product

_AMX = b"AMX"
_Q8_0 = 8  # ggml_type
_N_INNER, _N_OUT, _N_BLOCK = 64, 64, 32
_ROWS = (1, 3, 20)
_SPARE = 1.5
"""Memory that has to be free for weights that cannot be mapped, in sizes of the model's file."""


def has_amx() -> bool:
    """Whether this build and processor offer AMX buffers at all."""
    return _AMX in extra_buffer_types()


@functools.cache
def amx_works() -> bool:
    """Whether AMX kernels multiply rightly here; found out once for a process."""
    return has_amx() and holds_in_a_child(lambda: all(map(_product_is_right, _ROWS)))


def has_room(load: LoadModel) -> bool:
    """Whether the weights fit into memory of the process: AMX buffers are no part of the file."""
    model = Path(load.path)
    size = model.stat().st_size if model.is_file() else 0
    return _SPARE * size <= psutil.virtual_memory().available


def _product_is_right(n_rows: int) -> bool:
    """Multiply whole numbers, whose product is exact; the memory goes with the process.

    Args:
        n_rows: rows of activations, as tokens in a pass.
    """
    made = np.random.default_rng(n_rows)
    numbers = made.integers(-127, 128, (_N_OUT, _N_INNER)).astype(np.int8)
    whole = made.integers(-127, 128, (n_rows, _N_INNER))
    whole[:, ::_N_BLOCK] = 127  # so that a block's scale is 1 and nothing is rounded
    blocks = np.zeros((_N_OUT, _N_INNER // _N_BLOCK), dtype=[("d", "<f2"), ("q", "i1", _N_BLOCK)])
    blocks["d"], blocks["q"] = 1.0, numbers.reshape(_N_OUT, -1, _N_BLOCK)
    found = product(blocks, _Q8_0, whole.astype(np.float32), extra_buffer_types()[_AMX])
    return np.array_equal(found, whole @ numbers.T.astype(np.int64))
