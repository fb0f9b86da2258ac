"""The arrays of a `llama_batch`: what goes into one pass of the target."""

import ctypes

import llama_cpp
import numpy as np

from agspec_tui.engine.types import Part


class PassArrays:
    """The arrays of a `llama_batch`, filled part by part and used for every pass."""

    def __init__(self, n_batch: int) -> None:
        """Make them for at most `n_batch` tokens, each of one sequence."""
        self._tokens = np.zeros(n_batch, dtype=np.int32)
        self._positions = np.zeros(n_batch, dtype=np.int32)
        self._slots = np.zeros(n_batch, dtype=np.int32)
        self._n_slots = np.ones(n_batch, dtype=np.int32)
        self._flags = np.zeros(n_batch, dtype=np.int8)
        self._steps = np.arange(n_batch, dtype=np.int32)
        pointer = ctypes.POINTER(ctypes.c_int32)
        first = self._slots.ctypes.data
        # llama.cpp wants a pointer to the sequences of each token: here one into a common array.
        self._each = (pointer * n_batch)(
            *(ctypes.cast(first + 4 * index, pointer) for index in range(n_batch))
        )
        self.batch = llama_cpp.llama_batch(
            n_tokens=0,
            token=self._tokens.ctypes.data_as(pointer),
            embd=None,
            pos=self._positions.ctypes.data_as(pointer),
            n_seq_id=self._n_slots.ctypes.data_as(pointer),
            seq_id=self._each,
            logits=self._flags.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def clear(self) -> None:
        """Begin a pass."""
        self.batch.n_tokens = 0

    def add(self, part: Part) -> None:
        """Add a part behind the others."""
        begin = self.batch.n_tokens
        end = begin + len(part.ids)
        self._tokens[begin:end] = part.ids
        self._positions[begin:end] = self._steps[: end - begin]
        self._positions[begin:end] += part.pos
        self._slots[begin:end] = part.slot
        self._flags[begin : end - part.n_logits] = 0
        self._flags[end - part.n_logits : end] = 1
        self.batch.n_tokens = end
