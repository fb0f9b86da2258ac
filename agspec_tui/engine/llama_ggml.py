"""Functions of ggml that llama-cpp-python does not declare: devices, buffers, single products."""

import ctypes

from llama_cpp import _ggml

pointer, text = ctypes.c_void_p, ctypes.c_char_p
_size, _number = ctypes.c_size_t, ctypes.c_int
_sizes = ctypes.POINTER(_size)


class InitParams(ctypes.Structure):
    """ggml_init_params: of a context, which holds tensors and graphs."""

    _fields_ = (("mem_size", _size), ("mem_buffer", pointer), ("no_alloc", ctypes.c_bool))


_FUNCTIONS: dict[str, tuple[list[type], type | None]] = {
    "ggml_backend_dev_count": ([], _size),
    "ggml_backend_dev_get": ([_size], pointer),
    "ggml_backend_dev_by_type": ([_number], pointer),
    "ggml_backend_dev_name": ([pointer], text),
    "ggml_backend_dev_description": ([pointer], text),
    "ggml_backend_dev_type": ([pointer], _number),
    "ggml_backend_dev_memory": ([pointer, _sizes, _sizes], None),
    "ggml_backend_dev_backend_reg": ([pointer], pointer),
    "ggml_backend_dev_init": ([pointer, text], pointer),
    "ggml_backend_reg_by_name": ([text], pointer),
    "ggml_backend_reg_get_proc_address": ([pointer, text], pointer),
    "ggml_backend_reg_dev_count": ([pointer], _size),
    "ggml_backend_reg_dev_get": ([pointer, _size], pointer),
    "ggml_backend_register": ([pointer], None),
    "ggml_backend_load": ([text], pointer),
    "ggml_backend_buft_name": ([pointer], text),
    "ggml_backend_get_default_buffer_type": ([pointer], pointer),
    "ggml_backend_alloc_ctx_tensors_from_buft": ([pointer, pointer], pointer),
    "ggml_backend_tensor_set": ([pointer, pointer, _size, _size], None),
    "ggml_backend_tensor_get": ([pointer, pointer, _size, _size], None),
    "ggml_backend_graph_compute": ([pointer, pointer], _number),
    "ggml_init": ([InitParams], pointer),
    "ggml_new_tensor_2d": ([pointer, _number, ctypes.c_int64, ctypes.c_int64], pointer),
    "ggml_mul_mat": ([pointer, pointer, pointer], pointer),
    "ggml_new_graph": ([pointer], pointer),
    "ggml_build_forward_expand": ([pointer, pointer], None),
}


def ggml_function(name: str) -> "ctypes._NamedFuncPointer":
    """A function of ggml, with its types."""
    function = getattr(_ggml.libggml, name)
    function.argtypes, function.restype = _FUNCTIONS[name]
    return function  # type: ignore[no-any-return]
