"""The target on llama.cpp, through llama-cpp-python's low-level API.

The high-level `Llama` class is not used: its `draft_model` hook breaks past n_batch or needs
n_ctx × n_vocab floats, ignores a failed cache removal, and its chat completion tokenises file
contents with special tokens on.
"""

import ctypes
import hashlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import llama_cpp
import msgspec
import numpy as np
import numpy.typing as npt
import psutil

from agspec_tui.commands import LoadModel
from agspec_tui.engine.chat_template import render_chatml, split_scaffold
from agspec_tui.engine.probe import probe_exact
from agspec_tui.engine.types import Cancelled, Chooser, Ids, Logits
from agspec_tui.engine.verify import CancelFlag, GreedyChooser, argmax
from agspec_tui.errors import EngineError, ModelError

_NO_SLOT, _ABORTED = 1, 2  # results of llama_decode
_LOG_WARN, _LOG_ERROR = 3, 4  # ggml_log_level
_TEMPLATE_BUFFER = 1 << 20
_DAMAGED = "the file may be damaged, or made for a newer llama.cpp"


class LlamaTokenizer:
    """The tokenizer of a loaded model."""

    _vocab: object
    n_vocab: int

    def tokenize(self, text: str, *, special: bool) -> Ids:
        """Token ids; see `Backend.tokenize`."""
        data = text.encode("utf-8", "surrogatepass")
        ids = np.empty(len(data) + 8, dtype=np.int32)
        pointer = ids.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token))
        n = llama_cpp.llama_tokenize(
            self._vocab, data, len(data), pointer, len(ids), False, special
        )
        if n < 0:
            raise EngineError(f"a text of {len(data)} bytes could not be tokenised")
        return ids[:n].copy()

    def detokenize(self, ids: Sequence[int]) -> bytes:
        """Bytes; see `Backend.detokenize`."""
        buffer = ctypes.create_string_buffer(256)
        parts = []
        for token in ids:
            n = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, 256, 0, False)
            if n < 0:  # longer than the buffer: −n bytes are needed
                buffer = ctypes.create_string_buffer(-n)
                n = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, -n, 0, False)
            parts.append(buffer.raw[: max(n, 0)])
        return b"".join(parts)

    def is_eog(self, token: int) -> bool:
        """Whether the token ends the generation."""
        return bool(llama_cpp.llama_vocab_is_eog(self._vocab, token))

    def fingerprint(self) -> bytes:
        """A hash of the vocabulary: kind, and text, attributes and score of every token.

        Files with the same tokenizer agree whatever their weights. Takes some tenths of a second.
        """
        vocab = self._vocab
        digest = hashlib.blake2b(digest_size=32)
        digest.update(b"%d %d" % (llama_cpp.llama_vocab_type(vocab), self.n_vocab))
        for token in range(self.n_vocab):
            text = llama_cpp.llama_vocab_get_text(vocab, token) or b""
            attributes = llama_cpp.llama_vocab_get_attr(vocab, token)
            score = llama_cpp.llama_vocab_get_score(vocab, token)
            digest.update(b"\n%d %d %r " % (len(text), attributes, score))
            digest.update(text)
        return digest.digest()


class Vocabulary(LlamaTokenizer):
    """A tokenizer read from a GGUF without its weights. Says nothing on any stream."""

    def __init__(self, path: Path) -> None:
        """Read it: a fraction of a second, some tens of megabytes.

        Raises:
            ModelError: the file cannot be read, or holds no tokenizer.
        """
        llama_cpp.llama_log_set(_silent_callback, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        params = llama_cpp.llama_model_default_params()
        params.vocab_only = True
        self._model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
        if not self._model:
            raise ModelError(f"the tokenizer of {path} could not be read", _DAMAGED)
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self.n_vocab = int(llama_cpp.llama_vocab_n_tokens(self._vocab))
        if llama_cpp.llama_vocab_type(self._vocab) == llama_cpp.LLAMA_VOCAB_TYPE_NONE:
            self.close()
            raise ModelError(f"{path} holds no tokenizer", "name a language model")

    def close(self) -> None:
        """Free it; it must not be used any more."""
        llama_cpp.llama_model_free(self._model)


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
        llama_cpp.llama_log_set(_log_callback, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self._flag: CancelFlag = beside._flag if beside else CancelFlag()
        on_gpu = bool(llama_cpp.llama_supports_gpu_offload()) and load.n_gpu_layers != 0
        self._on_gpu = on_gpu
        self.n_threads = load.n_threads or _default_threads()
        self.device = "GPU" if on_gpu else f"CPU, {self.n_threads} threads"
        self._model = _load_model(load, on_gpu=on_gpu)
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        if beside:
            n_trained = int(llama_cpp.llama_model_n_ctx_train(self._model))
            load = msgspec.structs.replace(load, n_ctx=min(load.n_ctx, n_trained or load.n_ctx))
        self._context = self._make_context(load, on_gpu=on_gpu)
        self._memory = llama_cpp.llama_get_memory(self._context)
        self.n_ctx = int(llama_cpp.llama_n_ctx(self._context))
        self.n_batch = load.n_batch
        self.n_vocab = int(llama_cpp.llama_vocab_n_tokens(self._vocab))
        template = llama_cpp.llama_model_chat_template(self._model, None)
        self._template: bytes = template or b"chatml"
        self._batch = llama_cpp.llama_batch_init(load.n_batch, 0, 1)
        self._tokens = _view(self._batch.token, load.n_batch)
        self._positions = _view(self._batch.pos, load.n_batch)
        self._flags = _view(self._batch.logits, load.n_batch)
        _view(self._batch.n_seq_id, load.n_batch)[:] = 1
        self._slot = -1
        self.n_exact = 0 if on_gpu or beside else probe_exact(self)

    def _make_context(self, load: LoadModel, *, on_gpu: bool) -> object:
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = load.n_ctx
        params.n_batch = params.n_ubatch = load.n_batch
        params.n_seq_max = load.n_seq_max
        params.kv_unified = True  # roles share the context instead of owning a fixed part of it
        params.n_threads = params.n_threads_batch = self.n_threads
        # On the CPU, flash attention sums in an order that depends on the number of tokens.
        params.flash_attn_type = (
            llama_cpp.LLAMA_FLASH_ATTN_TYPE_AUTO
            if on_gpu
            else llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        params.abort_callback = ctypes.cast(
            self._flag.callback_address, llama_cpp.ggml_abort_callback
        )
        params.abort_callback_data = self._flag.data_address
        context = llama_cpp.llama_init_from_model(self._model, params)
        if not context:
            raise EngineError(
                f"a context of {load.n_ctx} tokens could not be made",
                "it needs more memory than there is; choose a smaller n_ctx",
            )
        return context

    def scaffold(self, roles: Sequence[str]) -> list[str]:
        """Scaffold of the GGUF's own chat template; see `Backend.scaffold`."""
        return split_scaffold(self._render, roles)

    def _render(self, messages: Sequence[tuple[str, str]]) -> str:
        chat = (llama_cpp.llama_chat_message * len(messages))()
        for entry, (role, content) in zip(chat, messages, strict=True):
            entry.role, entry.content = role.encode(), content.encode()
        buffer = ctypes.create_string_buffer(_TEMPLATE_BUFFER)
        n = llama_cpp.llama_chat_apply_template(
            self._template, chat, len(messages), True, buffer, len(buffer)
        )
        if n < 0:  # a template the library does not know
            return render_chatml(messages)
        return buffer.raw[:n].decode("utf-8")

    def decode(self, ids: Sequence[int], pos: int, slot: int, n_logits: int) -> Logits:
        """Run the target; see `Backend.decode`."""
        n = len(ids)
        if slot != self._slot:
            for index in range(self.n_batch):
                self._batch.seq_id[index][0] = slot
            self._slot = slot
        self._batch.n_tokens = n
        self._tokens[:n] = ids
        self._positions[:n] = np.arange(pos, pos + n)
        self._flags[:n] = 0
        self._flags[n - n_logits : n] = 1
        self._run()
        if n_logits == 0:
            return np.empty((0, self.n_vocab), dtype=np.float32)
        rows = llama_cpp.llama_get_logits(self._context)
        return np.ctypeslib.as_array(rows, shape=(n_logits, self.n_vocab))

    def _run(self) -> None:
        result = llama_cpp.llama_decode(self._context, self._batch)
        if result == _ABORTED:
            raise Cancelled
        if result == _NO_SLOT:
            raise EngineError("the context is full", "choose a larger n_ctx or a shorter prompt")
        if result != 0:
            raise EngineError(f"the target could not be run (llama_decode gave {result})")

    def time_pass(self, ids: Sequence[int], pos: int, slots: Sequence[int]) -> float:
        """Seconds of one pass over several sequences; see `Backend.time_pass`."""
        n = len(ids) * len(slots)
        self._batch.n_tokens = n
        self._tokens[:n] = np.tile(ids, len(slots))
        self._positions[:n] = np.tile(np.arange(pos, pos + len(ids)), len(slots))
        self._flags[:n] = 1
        for index in range(n):
            self._batch.seq_id[index][0] = slots[index // len(ids)]
        self._slot = -1
        # On a CPU, processor time: beside other programs a pass takes two or three times as long,
        # a single one more so than a large one, but its threads work no longer than ever.
        clock = time.perf_counter if self._on_gpu else time.process_time
        started = clock()
        self._run()
        llama_cpp.llama_synchronize(self._context)
        return (clock() - started) / (1 if self._on_gpu else self.n_threads)

    def share(self, slot: int, others: Sequence[int], n_tokens: int = -1) -> bool:
        """Share the cells of a sequence with others; see `Backend.share`."""
        for other in others:
            # A recurrent state is copied whole whatever the bounds; trimming it tells.
            llama_cpp.llama_memory_seq_cp(self._memory, slot, other, -1, -1)
            if n_tokens >= 0 and not self.trim(other, n_tokens):
                for emptied in others:
                    self.trim(emptied, 0)
                return False
        return True

    def trim(self, slot: int, n_keep: int) -> bool:
        """Drop the tail of a sequence; see `Backend.trim`."""
        return bool(llama_cpp.llama_memory_seq_rm(self._memory, slot, n_keep, -1))

    def chooser(self, grammar: str) -> Chooser:
        """Greedy choice, under a grammar if one is given."""
        return GrammarChooser(self._vocab, grammar) if grammar else GreedyChooser()

    def abort(self, *, on: bool) -> None:
        """Set or clear the abort flag."""
        if on:
            self._flag.set()
        else:
            self._flag.clear()

    def close(self) -> None:
        """Free batch, context and model."""
        llama_cpp.llama_batch_free(self._batch)
        llama_cpp.llama_free(self._context)
        llama_cpp.llama_model_free(self._model)


class GrammarChooser:
    """Greedy choice among the tokens that a GBNF grammar allows."""

    def __init__(self, vocab: object, grammar: str) -> None:
        """Parse the grammar.

        Raises:
            EngineError: it cannot be parsed. The library reports that with a null sampler, which
                would end the process if it were used.
        """
        self._sampler = llama_cpp.llama_sampler_init_grammar(vocab, grammar.encode(), b"root")
        if not self._sampler:
            raise EngineError(
                "the grammar cannot be parsed", "rule names hold letters, digits and `-` only"
            )

    def verify(self, logits: Logits, draft: Sequence[int]) -> tuple[int, int]:
        """Accepted length and bonus token; see `Chooser.verify`."""
        for n_accepted, row in enumerate(logits):
            token = self._choose(row)
            llama_cpp.llama_sampler_accept(self._sampler, token)
            if n_accepted == len(draft) or token != draft[n_accepted]:
                return n_accepted, token
        raise EngineError("verification needs one more logit row than drafted tokens")

    def _choose(self, row: npt.NDArray[np.float32]) -> int:
        # Testing the arg-max alone first spares the pass over the whole vocabulary nearly always.
        best = argmax(row)
        if self._allowed([best], row[best : best + 1])[0]:
            return best
        allowed = self._allowed(range(len(row)), row)
        if not allowed.any():
            raise EngineError("the grammar allows no token here")
        return argmax(np.where(allowed, row, -np.inf).astype(np.float32))

    def _allowed(
        self, ids: Sequence[int], logits: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.bool_]:
        candidates = np.zeros(
            len(ids), dtype=[("id", np.int32), ("logit", np.float32), ("p", np.float32)]
        )
        candidates["id"], candidates["logit"] = ids, logits
        array = llama_cpp.llama_token_data_array(
            data=candidates.ctypes.data_as(llama_cpp.llama_token_data_p),
            size=len(ids),
            selected=-1,
            sorted=False,
        )
        llama_cpp.llama_sampler_apply(self._sampler, ctypes.byref(array))
        return np.asarray(np.isfinite(candidates["logit"]), dtype=np.bool_)

    def __del__(self) -> None:
        """Free the sampler."""
        if getattr(self, "_sampler", None):
            llama_cpp.llama_sampler_free(self._sampler)


def _log_warnings(level: int, text: bytes, _: object) -> None:
    """Keep warnings and errors of the library; its chatter would fill the log with tensors."""
    if level in (_LOG_WARN, _LOG_ERROR):
        sys.stderr.write(text.decode("utf-8", "replace"))


def _log_nothing(level: int, text: bytes, _: object) -> None:
    """What a vocabulary says while it is read would stand in the middle of a command's output."""


_log_callback = llama_cpp.llama_log_callback(_log_warnings)  # the library keeps the pointer
_silent_callback = llama_cpp.llama_log_callback(_log_nothing)


def _load_model(load: LoadModel, *, on_gpu: bool) -> object:
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = (999 if load.n_gpu_layers < 0 else load.n_gpu_layers) if on_gpu else 0
    # Repacked weights change the order of sums with the number of tokens, and the AMX buffer type
    # ends the process on machines that report AMX without granting it.
    params.use_extra_bufts = on_gpu
    model = llama_cpp.llama_model_load_from_file(os.fsencode(Path(load.path)), params)
    if not model:
        raise EngineError(
            f"{load.path} could not be loaded as a model", f"{_DAMAGED}; see the engine's log"
        )
    return model


def _default_threads() -> int:
    """Physical cores: a second thread on a core slows decoding down."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(psutil.cpu_count(logical=False) or 1, allowed or 1))


def _view(pointer: object, n: int) -> npt.NDArray[np.generic]:
    """The first `n` elements behind a ctypes pointer, without a copy."""
    return np.ctypeslib.as_array(pointer, shape=(n,))
