"""Tokenizers on llama.cpp: of a loaded model, or read from a GGUF without its weights."""

import ctypes
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import llama_cpp
import numpy as np

from agspec_tui.engine.types import Ids
from agspec_tui.errors import EngineError, ModelError

DAMAGED = "the file may be damaged, or made for a newer llama.cpp"


class LlamaTokenizer:
    """The tokenizer of a loaded model.

    What a token reads as is asked of the library once: behind a pass over the weights nothing is in
    the processor's caches, and each call into the library costs some 10 µs there.
    """

    n_vocab: int

    def __init__(self, vocab: object) -> None:
        """Take the library's pointer to the vocabulary of a loaded model."""
        self.n_vocab = int(llama_cpp.llama_vocab_n_tokens(vocab))
        self._vocab = vocab
        self._bytes: dict[int, bytes] = {}
        self._eog: frozenset[int] | None = None

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
        known = self._bytes
        try:
            return b"".join([known[token] for token in ids])
        except KeyError:
            for token in ids:
                if token not in known:
                    known[token] = self._piece(token)
            return b"".join([known[token] for token in ids])

    def _piece(self, token: int) -> bytes:
        """Bytes of one token, asked of the library."""
        buffer = ctypes.create_string_buffer(256)
        n = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, 256, 0, False)
        if n < 0:  # longer than the buffer: −n bytes are needed
            buffer = ctypes.create_string_buffer(-n)
            n = llama_cpp.llama_token_to_piece(self._vocab, token, buffer, -n, 0, False)
        return buffer.raw[: max(n, 0)]

    def is_eog(self, token: int) -> bool:
        """Whether the token ends the generation."""
        if self._eog is None:
            is_eog = llama_cpp.llama_vocab_is_eog
            self._eog = frozenset(t for t in range(self.n_vocab) if is_eog(self._vocab, t))
        return token in self._eog

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
            raise ModelError(f"the tokenizer of {path} could not be read", DAMAGED)
        super().__init__(llama_cpp.llama_model_get_vocab(self._model))
        if llama_cpp.llama_vocab_type(self._vocab) == llama_cpp.LLAMA_VOCAB_TYPE_NONE:
            self.close()
            raise ModelError(f"{path} holds no tokenizer", "name a language model")

    def close(self) -> None:
        """Free it; it must not be used any more."""
        llama_cpp.llama_model_free(self._model)


def _log_nothing(level: int, text: bytes, _: object) -> None:
    """What a vocabulary says while it is read would stand in the middle of a command's output."""


_silent_callback = llama_cpp.llama_log_callback(_log_nothing)  # the library keeps the pointer
