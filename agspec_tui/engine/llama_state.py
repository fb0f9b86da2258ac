"""One sequence of a llama.cpp context, written to a file and read again."""

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

import llama_cpp
import numpy as np

from agspec_tui.errors import EngineError


def save(context: object, slot: int, path: Path, ids: Sequence[int]) -> int:
    """Write the cells of a sequence and the token ids in them.

    Returns:
        Size of the file in bytes.

    Raises:
        EngineError: it could not be written.
    """
    tokens = np.array(ids, dtype=np.int32)
    pointer = tokens.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token))
    n_bytes = llama_cpp.llama_state_seq_save_file(
        context, os.fsencode(path), slot, pointer, len(tokens)
    )
    if not n_bytes:
        raise EngineError(f"{path} could not be written", "free some space")
    return int(n_bytes)


def load(context: object, slot: int, path: Path, n_ctx: int) -> list[int]:
    """Read the cells of a sequence; returns the token ids in them, none if that was not possible.

    The library reads what it is given, so the caller knows that the file is whole.
    """
    tokens = np.empty(n_ctx, dtype=np.int32)
    pointer = tokens.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token))
    n_tokens = ctypes.c_size_t(0)
    n_bytes = llama_cpp.llama_state_seq_load_file(
        context, os.fsencode(path), slot, pointer, n_ctx, ctypes.byref(n_tokens)
    )
    return tokens[: n_tokens.value].tolist() if n_bytes else []
