"""Drops the tail of a sequence, in every kind of memory that llama.cpp has.

Attention keeps cells, and any of them can be dropped. A recurrent state cannot be wound back: some
models keep a few snapshots of it (`n_rs_seq`), and for the others it is saved before a draft is
verified, restored where the draft was rejected, and the accepted tokens are read again.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import llama_cpp

_PARTIAL = llama_cpp.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY


@dataclass(slots=True)
class _Tail:
    """The last pass over a sequence, as far as it is still in the memory."""

    start: int
    """Position of its first token."""
    ids: list[int]
    """Its tokens."""
    is_saved: bool = False
    """Whether the state before the pass can be restored."""
    saved: "ctypes.Array[ctypes.c_char] | None" = None
    """That state; None if there was none yet, at the very beginning."""
    is_wound_back: bool = False
    """Whether a snapshot was taken up since: only one can be, until the next pass."""
    is_broken: bool = False
    """Whether the pass did not come to its end: how much of it the state holds is not known."""


class Rollback:
    """The memory of one context, and what is needed to wind its sequences back."""

    def __init__(self, model: object, context: object, read: Callable[..., None]) -> None:
        """Look at the memory.

        Args:
            model: the model.
            context: its context.
            read: runs the target over ids, from a position of a slot, with no logits wanted.
        """
        self._context = context
        self._memory = llama_cpp.llama_get_memory(context)
        self._read = read
        self._tails: dict[int, _Tail] = {}
        self._running: list[_Tail] = []
        is_recurrent = bool(llama_cpp.llama_model_is_recurrent(model))
        self.has_state = is_recurrent or bool(llama_cpp.llama_model_is_hybrid(model))
        """Whether the memory holds a recurrent state."""
        self.n_snapshots = int(llama_cpp.llama_n_rs_seq(context)) if self.has_state else 0
        """States kept of each sequence."""
        self.kind = self._kind(int(llama_cpp.llama_model_n_swa(model)), is_recurrent=is_recurrent)
        """The kind of memory, in words."""

    def _kind(self, n_window: int, *, is_recurrent: bool) -> str:
        if not self.has_state:
            return f"attention, a window of {n_window} tokens" if n_window > 0 else "attention"
        how = f"{self.n_snapshots} snapshots" if self.n_snapshots else "checkpoints"
        return f"{'recurrent' if is_recurrent else 'hybrid'}, {how}"

    def passing(
        self, ids: Sequence[int], pos: int, slot: int, n_logits: int, *, whole: bool = False
    ) -> None:
        """Before a pass over a sequence: keep what winding it back may need.

        Args:
            ids: tokens of the pass.
            pos: position of the first one.
            slot: the sequence.
            n_logits: rows wanted; with more than one, all tokens but the first of them are a draft.
            whole: whether all of the pass may be dropped, not the draft alone.
        """
        if not self.has_state:
            return
        tail = _Tail(pos, list(ids))
        if whole or n_logits > self.n_snapshots + 1:
            tail.is_saved = True
            tail.saved = self._state(slot) if pos else None
        self._tails[slot] = tail
        self._running.append(tail)

    def passed(self, *, failed: bool) -> None:
        """After the pass; `failed` if it did not come to its end."""
        for tail in self._running:
            tail.is_broken = failed
        self._running.clear()

    def trim(self, slot: int, n_keep: int) -> bool:
        """Drop the tail of a sequence; see `Backend.trim`."""
        if not self.has_state or n_keep == 0:
            self._tails.pop(slot, None)
            return bool(llama_cpp.llama_memory_seq_rm(self._memory, slot, n_keep, -1))
        tail = self._tails.get(slot)
        if tail is None:
            return False
        if not tail.is_broken:
            if n_keep >= tail.start + len(tail.ids):
                return True
            if self._take_snapshot(slot, tail, n_keep):
                return True
        return self._restore(slot, tail, n_keep)

    def _take_snapshot(self, slot: int, tail: _Tail, n_keep: int) -> bool:
        # Snapshots of older passes are of other tokens, though llama.cpp would take them.
        n_dropped = tail.start + len(tail.ids) - n_keep
        if tail.is_wound_back or n_keep <= tail.start or n_dropped > self.n_snapshots:
            return False
        if not llama_cpp.llama_memory_seq_rm(self._memory, slot, n_keep, -1):
            return False
        del tail.ids[n_keep - tail.start :]
        tail.is_wound_back = True
        return True

    def _restore(self, slot: int, tail: _Tail, n_keep: int) -> bool:
        if not tail.is_saved or n_keep < tail.start:
            return False
        if tail.saved is None:
            llama_cpp.llama_memory_seq_rm(self._memory, slot, 0, -1)
        else:
            if not self._set_state(slot, tail.saved):
                return False
            if not llama_cpp.llama_memory_seq_rm(self._memory, slot, tail.start, -1):
                return False
        kept = tail.ids[: n_keep - tail.start]
        if kept:
            self._read(kept, tail.start, slot)
        self._tails[slot] = _Tail(tail.start, kept, tail.is_saved, tail.saved)
        return True

    def share(self, slot: int, others: Sequence[int], n_tokens: int) -> bool:
        """Let empty sequences begin with those of another; see `Backend.share`."""
        tail = self._tails.get(slot)
        end = tail.start + len(tail.ids) if tail else 0
        if self.has_state and n_tokens not in (-1, end):
            return False  # the state is that of the newest token alone
        last = -1 if self.has_state else n_tokens
        for other in others:
            llama_cpp.llama_memory_seq_cp(self._memory, slot, other, -1, last)
        if self.has_state and tail:
            # Of a state that was wound back, llama.cpp copies what it was before.
            state = self._state(slot) if tail.is_wound_back else None
            for other in others:
                self._tails[other] = _Tail(end, [])
                if state is not None:
                    self._set_state(other, state)
        return True

    def loaded(self, slot: int, n_tokens: int) -> None:
        """A sequence was filled from a file: its state is that of the last of `n_tokens`."""
        if self.has_state:
            self._tails[slot] = _Tail(n_tokens, [])

    def _state(self, slot: int) -> "ctypes.Array[ctypes.c_char]":
        n_bytes = llama_cpp.llama_state_seq_get_size_ext(self._context, slot, _PARTIAL)
        buffer = ctypes.create_string_buffer(n_bytes)
        pointer = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_uint8))
        llama_cpp.llama_state_seq_get_data_ext(self._context, pointer, n_bytes, slot, _PARTIAL)
        return buffer

    def _set_state(self, slot: int, state: "ctypes.Array[ctypes.c_char]") -> bool:
        pointer = ctypes.cast(state, ctypes.POINTER(ctypes.c_uint8))
        n_read = llama_cpp.llama_state_seq_set_data_ext(
            self._context, pointer, len(state), slot, _PARTIAL
        )
        return bool(n_read)
