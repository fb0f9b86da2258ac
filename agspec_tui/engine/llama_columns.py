"""Our own kernels for a pass over a draft, put into llama.cpp once they have been tried out.

llama.cpp unpacks quantised weights anew for every token of a small pass, and adds in another order
from 8 tokens on. The core multiplies up to 8 tokens by a row that is unpacked once, in one order
for any number of them (docs/adr/007-columns-share-a-row.md). What it has to know of ggml's own
types it does not have from its headers, so a trial in a process of its own comes first.
"""

import functools

import numpy as np
import numpy.typing as npt
from llama_cpp import _ggml

from agspec_tui._native import install_columns, most_columns, n_column_products
from agspec_tui.engine.llama_trial import extra_buffer_types, holds_in_a_child, product

_N_OUT, _N_BLOCKS, _BLOCK = 70, 3, 256
_MANY = 19
_LEAST_ALIKE = 0.9999
_PACKED = np.dtype([("d", "<f2"), ("dmin", "<f2"), ("bits", "u1", 140)])
TYPES: dict[int, np.dtype[np.void]] = {
    12: _PACKED,
    13: np.dtype([("d", "<f2"), ("dmin", "<f2"), ("bits", "u1", 172)]),
    14: np.dtype([("bits", "u1", 192), ("scales", "i1", 16), ("d", "<f2")]),
}
"""By ggml_type the layout of a block of 256 weights: Q4_K, Q5_K, Q6_K."""


@functools.cache
def share_rows() -> bool:
    """Install the kernels if they multiply rightly here; found out once for a process."""
    extra_buffer_types()  # ggml's list is made before it holds what no weights can lie in
    return holds_in_a_child(_multiplies_rightly) and _install()


def n_products() -> int:
    """Products that our kernels have computed so far."""
    return n_column_products()


def n_exact_with(n_exact: int, n_before: int) -> int:
    """Most tokens of an exact pass, where larger ones may leave our kernels.

    Args:
        n_exact: what the probe found.
        n_before: `n_products` before the model was loaded; where it has none, they limit nothing.
    """
    most = most_columns()
    used = n_products() > n_before
    return min(n_exact, most) if most and used else n_exact


def blocks_of(weight_type: int, n_out: int, n_blocks: int, seed: int) -> npt.NDArray[np.void]:
    """Blocks of weights with random bits and scales of a usual size, shape (n_out, n_blocks)."""
    layout = TYPES[weight_type]
    made = np.random.default_rng(seed)
    n_bytes = n_out * n_blocks * layout.itemsize
    blocks = made.integers(0, 256, n_bytes, dtype=np.uint8).view(layout).reshape(n_out, n_blocks)
    for name in ("d", "dmin"):
        if name in (layout.names or ()):
            blocks[name] = made.uniform(1e-4, 2e-3, blocks.shape)
    return blocks


def _install() -> bool:
    return not install_columns(_ggml.libggml._handle)


def _multiplies_rightly() -> bool:
    """Whether columns have the same products alone and together, and those of llama.cpp."""
    columns = np.random.default_rng(0).normal(size=(_MANY, _N_BLOCKS * _BLOCK)).astype(np.float32)
    blocks = {kind: blocks_of(kind, _N_OUT, _N_BLOCKS, seed=kind) for kind in TYPES}
    usual = {kind: product(blocks[kind], kind, columns) for kind in TYPES}
    if not _install():
        return False
    for kind, expected in usual.items():
        before = n_column_products()
        together = product(blocks[kind], kind, columns)
        alone = np.concatenate([product(blocks[kind], kind, column[None]) for column in columns])
        if n_column_products() != before + 1 + len(columns):
            return False
        if not np.array_equal(together, alone):
            return False
        if not np.corrcoef(together.ravel(), expected.ravel())[0, 1] >= _LEAST_ALIKE:
            return False
    return True
