"""Whether weights may lie in llama.cpp's AMX buffers: tried out before a model is loaded.

AMX are the matrix units of Xeon processors since Sapphire Rapids. With them a pass over 16 tokens
takes 2.9 times as long as one over a single token, instead of 3.6 times (ADR 1), and all its sums
are those of one-by-one decoding: products of integers are exact in any order, and what is added in
floating point is added in the same order by the kernels for one token and for many.

The kernels end the process where a compiler has broken them (`scripts/llama/agspec_amx.h`) or where
the processor reports units that it does not grant. So a small product is tried in a process of its
own first, with one row and with several.
"""

import contextlib
import ctypes
import faulthandler
import functools
import os
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil

from agspec_tui.commands import LoadModel
from agspec_tui.engine.llama_ggml import InitParams, ggml_function, pointer

_AMX = b"AMX"
_CPU = 0  # ggml_backend_dev_type
_F32, _Q8_0 = 0, 8  # ggml_type
_N_INNER, _N_OUT, _N_BLOCK = 64, 64, 32
_ROWS = (1, 3, 20)
_CONTEXT_BYTES = 1 << 20
_SPARE = 1.5
"""Memory that has to be free for weights that cannot be mapped, in sizes of the model's file."""


def has_amx() -> bool:
    """Whether this build and processor offer AMX buffers at all."""
    return _buffer_type() is not None


@functools.cache
def amx_works() -> bool:
    """Whether AMX kernels multiply rightly here; found out once for a process."""
    return has_amx() and holds_in_a_child(lambda: all(map(_product_is_right, _ROWS)))


def has_room(load: LoadModel) -> bool:
    """Whether the weights fit into memory of the process: AMX buffers are no part of the file."""
    model = Path(load.path)
    size = model.stat().st_size if model.is_file() else 0
    return _SPARE * size <= psutil.virtual_memory().available


def _buffer_type() -> int | None:
    """The AMX buffer type of the CPU device."""
    device = ggml_function("ggml_backend_dev_by_type")(_CPU)
    registry = ggml_function("ggml_backend_dev_backend_reg")(device)
    find = ggml_function("ggml_backend_reg_get_proc_address")
    address = find(registry, b"ggml_backend_dev_get_extra_bufts")
    if not address:
        return None
    extra = ctypes.CFUNCTYPE(ctypes.POINTER(pointer), pointer)(address)(device)
    name = ggml_function("ggml_backend_buft_name")
    index = 0
    while kind := extra[index]:
        if name(kind) == _AMX:
            return int(kind)
        index += 1
    return None


def holds_in_a_child(trial: Callable[[], bool], patience_s: float = 10.0) -> bool:
    """Carry out a trial in a fork, which may die or hang of it; False for those as well."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            faulthandler.disable()
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            code = int(not trial())
        finally:
            os._exit(code)
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.002)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _product_is_right(n_rows: int) -> bool:
    """Multiply whole numbers, whose product is exact; the memory goes with the process.

    Args:
        n_rows: rows of activations, as tokens in a pass.
    """
    tensor, allocate = (
        ggml_function("ggml_new_tensor_2d"),
        ggml_function("ggml_backend_alloc_ctx_tensors_from_buft"),
    )
    backend = ggml_function("ggml_backend_dev_init")(
        ggml_function("ggml_backend_dev_by_type")(_CPU), None
    )
    of_weights, of_rest = (
        ggml_function("ggml_init")(InitParams(_CONTEXT_BYTES, None, no_alloc=True))
        for _ in range(2)
    )
    weights = tensor(of_weights, _Q8_0, _N_INNER, _N_OUT)
    allocate(of_weights, _buffer_type())
    rows = tensor(of_rest, _F32, _N_INNER, n_rows)
    product = ggml_function("ggml_mul_mat")(of_rest, weights, rows)
    graph = ggml_function("ggml_new_graph")(of_rest)
    ggml_function("ggml_build_forward_expand")(graph, product)
    allocate(of_rest, ggml_function("ggml_backend_get_default_buffer_type")(backend))

    made = np.random.default_rng(n_rows)
    numbers = made.integers(-127, 128, (_N_OUT, _N_INNER)).astype(np.int8)
    whole = made.integers(-127, 128, (n_rows, _N_INNER))
    whole[:, ::_N_BLOCK] = 127  # so that a block's scale is 1 and nothing is rounded
    activations = whole.astype(np.float32)
    blocks = np.zeros((_N_OUT, _N_INNER // _N_BLOCK), dtype=[("d", "<f2"), ("q", "i1", _N_BLOCK)])
    blocks["d"], blocks["q"] = 1.0, numbers.reshape(_N_OUT, -1, _N_BLOCK)
    given = ggml_function("ggml_backend_tensor_set")
    given(weights, blocks.ctypes.data, 0, blocks.nbytes)
    given(rows, activations.ctypes.data, 0, activations.nbytes)
    found = np.zeros((n_rows, _N_OUT), dtype=np.float32)
    if ggml_function("ggml_backend_graph_compute")(backend, graph) != 0:
        return False
    ggml_function("ggml_backend_tensor_get")(product, found.ctypes.data, 0, found.nbytes)
    return np.array_equal(found, whole @ numbers.T.astype(np.int64))
