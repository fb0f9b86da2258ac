"""Small products in ggml, for kernels that are tried out before a model relies on them."""

import contextlib
import ctypes
import faulthandler
import os
import resource
import signal
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from agspec_tui.engine.llama_ggml import InitParams, ggml_function, pointer
from agspec_tui.errors import EngineError

Floats = npt.NDArray[np.float32]

_CPU = 0  # ggml_backend_dev_type
_F32 = 0  # ggml_type
_CONTEXT_BYTES = 1 << 20


def extra_buffer_types() -> dict[bytes, int]:
    """Buffer types of the CPU device for weights that are packed in another way, by name.

    ggml makes its list when it is first asked, here at the latest.
    """
    device = ggml_function("ggml_backend_dev_by_type")(_CPU)
    registry = ggml_function("ggml_backend_dev_backend_reg")(device)
    find = ggml_function("ggml_backend_reg_get_proc_address")
    address = find(registry, b"ggml_backend_dev_get_extra_bufts")
    if not address:
        return {}
    extra = ctypes.CFUNCTYPE(ctypes.POINTER(pointer), pointer)(address)(device)
    name = ggml_function("ggml_backend_buft_name")
    found = {}
    index = 0
    while kind := extra[index]:
        found[bytes(name(kind))] = int(kind)
        index += 1
    return found


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


def product(
    blocks: npt.NDArray[np.void], weight_type: int, columns: Floats, buffer_type: int | None = None
) -> Floats:
    """Multiply a matrix of weights by columns, as a pass over as many tokens does.

    The memory is never freed: this is for a process that ends soon, or for a few small products.

    Args:
        blocks: the weights, shape (n_out, blocks of a row).
        weight_type: their ggml_type.
        columns: shape (n_columns, n_in).
        buffer_type: where the weights are to lie; None for ordinary memory.

    Returns:
        Shape (n_columns, n_out).

    Raises:
        EngineError: ggml cannot compute it.
    """
    tensor = ggml_function("ggml_new_tensor_2d")
    allocate = ggml_function("ggml_backend_alloc_ctx_tensors_from_buft")
    device = ggml_function("ggml_backend_dev_by_type")(_CPU)
    backend = ggml_function("ggml_backend_dev_init")(device, None)
    usual = ggml_function("ggml_backend_get_default_buffer_type")(backend)
    of_weights, of_rest = (
        ggml_function("ggml_init")(InitParams(_CONTEXT_BYTES, None, no_alloc=True))
        for _ in range(2)
    )
    n_out, (n_columns, n_in) = len(blocks), columns.shape
    weights = tensor(of_weights, weight_type, n_in, n_out)
    allocate(of_weights, buffer_type or usual)
    rows = tensor(of_rest, _F32, n_in, n_columns)
    result = ggml_function("ggml_mul_mat")(of_rest, weights, rows)
    graph = ggml_function("ggml_new_graph")(of_rest)
    ggml_function("ggml_build_forward_expand")(graph, result)
    allocate(of_rest, usual)

    given = ggml_function("ggml_backend_tensor_set")
    blocks, columns = np.ascontiguousarray(blocks), np.ascontiguousarray(columns)
    given(weights, blocks.ctypes.data, 0, blocks.nbytes)
    given(rows, columns.ctypes.data, 0, columns.nbytes)
    if ggml_function("ggml_backend_graph_compute")(backend, graph) != 0:
        raise EngineError("ggml could not multiply a matrix")
    found = np.zeros((n_columns, n_out), dtype=np.float32)
    ggml_function("ggml_backend_tensor_get")(result, found.ctypes.data, 0, found.nbytes)
    return found
