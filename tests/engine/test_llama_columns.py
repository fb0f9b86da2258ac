"""The core's products of K-quantised weights, in ggml and by their oracle."""

import platform
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.commands import LoadModel
from agspec_tui.engine import llama_columns
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.llama_columns import (
    TYPES,
    blocks_of,
    most_columns,
    n_exact_with,
    n_products,
    share_rows,
)
from agspec_tui.engine.llama_trial import product
from agspec_tui.engine.types import Part
from tests.reference.k_quants import BLOCK, rounded, values_of


def has_avx2():
    if platform.machine() != "x86_64":
        return False
    return " avx2 " in Path("/proc/cpuinfo").read_text(encoding="utf-8")


needs_avx2 = pytest.mark.skipif(not has_avx2(), reason="the kernels need x86-64 with AVX2")


def columns_of(n, n_blocks, seed, size=1.0):
    made = np.random.default_rng(seed)
    return (made.normal(size=(n, n_blocks * BLOCK)) * size).astype(np.float32)


@needs_avx2
def test_the_kernels_are_used_where_the_processor_has_what_they_need():
    assert share_rows()
    assert share_rows()  # found out once


@needs_avx2
@pytest.mark.parametrize("kind", TYPES)
@settings(max_examples=40)
@given(
    n=st.integers(1, 65),
    n_out=st.integers(1, 90),
    n_blocks=st.integers(1, 4),
    seed=st.integers(0, 1 << 30),
)
def test_a_column_has_the_same_product_alone_and_among_others(kind, n, n_out, n_blocks, seed):
    assert share_rows()
    blocks, columns = blocks_of(kind, n_out, n_blocks, seed), columns_of(n, n_blocks, seed)
    before = n_products()
    together = product(blocks, kind, columns)
    one = seed % n
    alone = product(blocks, kind, columns[one : one + 1])
    assert n_products() == before + 2
    assert np.array_equal(together[one], alone[0])


@needs_avx2
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 300.0])
def test_products_are_those_of_the_values_that_the_bits_stand_for(kind, size):
    assert share_rows()
    blocks, columns = blocks_of(kind, 7, 3, seed=kind), columns_of(11, 3, seed=2, size=size)
    found = product(blocks, kind, columns)
    values, inputs = values_of(blocks, kind), rounded(columns)
    # In 32-bit floats a sum of n terms is off by at most about n roundings of their magnitudes.
    allowed = 1e-6 * (np.abs(inputs) @ np.abs(values).T)
    assert np.all(np.abs(found - inputs @ values.T) <= allowed)


@needs_avx2
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("byte", [0, 255])
def test_no_sum_of_whole_numbers_overflows(kind, byte):
    assert share_rows()
    layout = TYPES[kind]
    blocks = np.full(2 * layout.itemsize, byte, dtype=np.uint8).view(layout).reshape(1, 2)
    for name in ("d", "dmin"):
        if name in layout.names:
            blocks[name] = 1.0
    if "scales" in layout.names:
        blocks["scales"] = -128 if byte else 127
    columns = np.stack([np.full(2 * BLOCK, 127.0), np.full(2 * BLOCK, -127.0)]).astype(np.float32)
    found = product(blocks, kind, columns)
    expected = rounded(columns) @ values_of(blocks, kind).T
    assert np.allclose(found, expected, rtol=1e-6)


@needs_avx2
def test_a_pass_of_any_size_has_the_logits_of_single_tokens(quantised):
    load = LoadModel(path=str(quantised), name="k", n_ctx=512, n_gpu_layers=0, packed_weights=False)
    before = n_products()
    backend = LlamaBackend(load)
    try:
        assert n_products() > before
        assert backend.n_exact == (most_columns() or backend.n_batch)
        ids = [(7 * i) % backend.n_vocab for i in range(65)]
        single = [
            backend.decode([Part([token], position, 0, 1)])[0].copy()
            for position, token in enumerate(ids)
        ]
        for size in (2, 7, 8, 9, 17, 33, 65):
            backend.trim(0, 0)
            found = backend.decode([Part(ids[:size], 0, 0, size)])
            assert np.array_equal(found, np.stack(single[:size]))
    finally:
        backend.close()


def test_only_a_model_that_has_our_products_is_bound_by_them(monkeypatch):
    monkeypatch.setattr(llama_columns, "most_columns", lambda: 65)
    monkeypatch.setattr(llama_columns, "n_products", lambda: 10)
    assert n_exact_with(512, n_before=9) == 65
    assert n_exact_with(7, n_before=9) == 7
    assert n_exact_with(512, n_before=10) == 512
    monkeypatch.setattr(llama_columns, "most_columns", lambda: 0)
    assert n_exact_with(512, n_before=9) == 512
