"""The target on llama.cpp, through llama-cpp-python's low-level API.

The high-level `Llama` class is not used: its `draft_model` hook breaks past n_batch or needs
n_ctx × n_vocab floats, ignores a failed cache removal, and its chat completion tokenises file
contents with special tokens on.
"""

import ctypes
import time
from collections.abc import Sequence
from pathlib import Path

import llama_cpp
import msgspec
import numpy as np

from agspec_tui.commands import LoadModel, Sampling
from agspec_tui.engine import llama_state
from agspec_tui.engine.chat_template import render_chatml, split_scaffold
from agspec_tui.engine.llama_batch import PassArrays
from agspec_tui.engine.llama_columns import n_exact_with, n_products, share_rows
from agspec_tui.engine.llama_context import (
    Placement,
    load_model,
    log_warnings,
    make_context,
    packs_weights,
    place,
)
from agspec_tui.engine.llama_rollback import Rollback
from agspec_tui.engine.llama_sampler import make_chooser
from agspec_tui.engine.llama_tokenizer import LlamaTokenizer
from agspec_tui.engine.probe import probe_exact, probe_rollback
from agspec_tui.engine.types import Cancelled, Chooser, Logits, Part
from agspec_tui.engine.verify import CancelFlag
from agspec_tui.errors import EngineError

_NO_SLOT, _ABORTED = 1, 2  # results of llama_decode
_TEMPLATE_BUFFER = 1 << 20


class LlamaBackend(LlamaTokenizer):
    """One model, one context, several sequences in one cache."""

    def __init__(self, load: LoadModel, beside: "LlamaBackend | None" = None) -> None:
        """Load the model and make the context.

        Args:
            load: what to load, and how.
            beside: for a draft model, its target: an abort of the target aborts it too, its context
                is no longer than it was trained for, and it is not probed, since its outputs are
                only proposals.

        Raises:
            EngineError: the file cannot be loaded, or the context does not fit into memory.
        """
        log_warnings()
        llama_cpp.llama_backend_init()
        if load.own_kernels:
            share_rows()  # first: threads of a computation survive no fork
        n_before = n_products()
        self._flag: CancelFlag = beside._flag if beside else CancelFlag()
        placement = place(load)
        self._on_cpu = placement.on_cpu
        self.n_threads = placement.n_threads
        self.n_batch = load.n_batch
        self.n_exact = 0
        is_exact = load.exact and self._on_cpu and not beside
        packed = packs_weights(load, placement)
        self._open(load, placement, beside, packed=packed)
        if is_exact:
            self.n_exact = probe_exact(self)
            if packed and self.n_exact < self.n_batch:  # packed weights are to be exact throughout
                self.close()
                self._open(load, placement, beside, packed=False)
                self.n_exact = probe_exact(self)
            self.n_exact = n_exact_with(self.n_exact, n_before)
        self.no_rollback = "" if beside else probe_rollback(self)
        self.n_rollback = 0 if self.no_rollback else self._rollback.n_snapshots or self.n_ctx

    def _open(
        self,
        load: LoadModel,
        placement: Placement,
        beside: "LlamaBackend | None",
        *,
        packed: bool,
    ) -> None:
        """Load the weights and make a context on them."""
        self._model = load_model(load, placement, packed=packed)
        n_layers = int(llama_cpp.llama_model_n_layer(self._model)) + 1
        self.device = placement.label(n_layers, packed=packed)
        super().__init__(llama_cpp.llama_model_get_vocab(self._model))
        if beside:
            n_trained = int(llama_cpp.llama_model_n_ctx_train(self._model))
            load = msgspec.structs.replace(load, n_ctx=min(load.n_ctx, n_trained or load.n_ctx))
        try:
            self._context = make_context(self._model, load, placement, self._flag)
        except EngineError:
            llama_cpp.llama_model_free(self._model)
            raise
        self._rollback = Rollback(self._model, self._context, self._read)
        self.n_ctx = int(llama_cpp.llama_n_ctx(self._context))
        template = llama_cpp.llama_model_chat_template(self._model, None)
        self._template: bytes = template or b"chatml"
        self.no_template = "" if template else "the file has none"
        if template and self._applied([("user", "")]) is None:
            self.no_template = "llama.cpp does not know it"
        self._arrays = PassArrays(load.n_batch)
        self.memory = self._rollback.kind

    def scaffold(self, roles: Sequence[str]) -> list[str]:
        """Scaffold of the GGUF's own chat template; see `Backend.scaffold`."""
        return split_scaffold(self._render, roles)

    def _render(self, messages: Sequence[tuple[str, str]]) -> str:
        applied = self._applied(messages)
        return render_chatml(messages) if applied is None else applied

    def _applied(self, messages: Sequence[tuple[str, str]]) -> str | None:
        """Messages in the model's own template; None for one that the library does not know."""
        chat = (llama_cpp.llama_chat_message * len(messages))()
        for entry, (role, content) in zip(chat, messages, strict=True):
            entry.role, entry.content = role.encode(), content.encode()
        buffer = ctypes.create_string_buffer(_TEMPLATE_BUFFER)
        n = llama_cpp.llama_chat_apply_template(
            self._template, chat, len(messages), True, buffer, len(buffer)
        )
        return buffer.raw[:n].decode("utf-8") if n >= 0 else None

    def decode(self, parts: Sequence[Part]) -> Logits:
        """Run the target; see `Backend.decode`."""
        self._arrays.clear()
        n_rows = 0
        for part in parts:
            self._rollback.passing(part.ids, part.pos, part.slot, part.n_logits)
            self._arrays.add(part)
            n_rows += part.n_logits
        self._run()
        if n_rows == 0:
            return np.empty((0, self.n_vocab), dtype=np.float32)
        rows = llama_cpp.llama_get_logits(self._context)
        return np.ctypeslib.as_array(rows, shape=(n_rows, self.n_vocab))

    def _read(self, ids: Sequence[int], pos: int, slot: int) -> None:
        self.decode([Part(ids, pos, slot, 0)])

    def _run(self) -> None:
        result = llama_cpp.llama_decode(self._context, self._arrays.batch)
        self._rollback.passed(failed=result != 0)
        if result == 0:
            return
        if result == _ABORTED:
            raise Cancelled
        if result == _NO_SLOT:
            raise EngineError("the context is full", "choose a larger n_ctx or a shorter prompt")
        raise EngineError(f"the target could not be run (llama_decode gave {result})")

    def time_pass(self, ids: Sequence[int], pos: int, slots: Sequence[int]) -> float:
        """Seconds of one pass over several sequences; see `Backend.time_pass`."""
        self._arrays.clear()
        for slot in slots:
            self._rollback.passing(ids, pos, slot, len(ids), whole=True)
            self._arrays.add(Part(ids, pos, slot, len(ids)))
        # On a CPU, processor time: beside other programs a pass takes two or three times as long,
        # a single one more so than a large one, but its threads work no longer than ever.
        clock = time.process_time if self._on_cpu else time.perf_counter
        started = clock()
        self._run()
        llama_cpp.llama_synchronize(self._context)
        return (clock() - started) / (self.n_threads if self._on_cpu else 1)

    def share(self, slot: int, others: Sequence[int], n_tokens: int = -1) -> bool:
        """Share the cells of a sequence with others; see `Backend.share`."""
        return self._rollback.share(slot, others, n_tokens)

    def trim(self, slot: int, n_keep: int) -> bool:
        """Drop the tail of a sequence; see `Backend.trim`."""
        return self._rollback.trim(slot, n_keep)

    def save(self, slot: int, path: Path, ids: Sequence[int]) -> int:
        """Write the cells of a sequence; see `Backend.save`."""
        return llama_state.save(self._context, slot, path, ids)

    def load(self, slot: int, path: Path) -> list[int]:
        """Fill a sequence from a file; see `Backend.load`."""
        ids = llama_state.load(self._context, slot, path, self.n_ctx)
        if ids:
            self._rollback.loaded(slot, len(ids))
        else:
            self.trim(slot, 0)
        return ids

    def chooser(self, sampling: Sampling, grammar: str, prompt: Sequence[int]) -> Chooser:
        """Arg-max in the core, or llama.cpp's sampler chain; see `Backend.chooser`."""
        return make_chooser(self._vocab, self.n_vocab, sampling, grammar, prompt)

    def abort(self, *, on: bool) -> None:
        """Set or clear the abort flag."""
        if on:
            self._flag.set()
        else:
            self._flag.clear()

    def close(self) -> None:
        """Free context and model."""
        llama_cpp.llama_free(self._context)
        llama_cpp.llama_model_free(self._model)
