"""A tiny pseudo-random target for property tests: the next token depends on the last three."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from agspec_tui.commands import Sampling
from agspec_tui.engine.chat_template import render_chatml, split_scaffold
from agspec_tui.engine.llama_sampler import make_chooser
from agspec_tui.engine.types import Cancelled, Chooser, Ids, Logits, Part

N_VOCAB = 12
EOG = 0


class NgramBackend:
    """Few tokens and a short memory: its text repeats, so drafts hit and miss often."""

    def __init__(
        self,
        seed: int,
        *,
        n_ctx: int = 256,
        n_batch: int = 32,
        n_exact: int = 0,
        can_trim: bool = True,
        eog: bool = True,
    ) -> None:
        self.n_ctx, self.n_batch, self.n_vocab = n_ctx, n_batch, N_VOCAB
        self.n_threads, self.device, self.n_exact = 1, "n-gram", n_exact
        self.n_rollback = n_ctx if can_trim else 0
        self.no_template = ""
        self.memory, self.no_rollback = "n-gram", "" if can_trim else "it cannot be wound back"
        self.is_alone: Callable[[int], bool] = lambda slot: True
        """Whether a sequence's reply is decoded alone, so that its passes must be exact."""
        self.cache: dict[int, list[int]] = {}
        self._cells: dict[int, list[int]] = {}  # numbers of the cells that hold these tokens
        self._n_cells = 0
        self.n_decodes = 0
        self.abort_at = -1
        self._seed, self._can_trim, self._eog = seed, can_trim, eog
        self._aborted = False

    def tokenize(self, text: str, *, special: bool) -> Ids:
        return np.array([1 + byte % (N_VOCAB - 1) for byte in text.encode()], dtype=np.int32)

    def detokenize(self, ids: Sequence[int]) -> bytes:
        return bytes(96 + token for token in ids)

    def is_eog(self, token: int) -> bool:
        return self._eog and token == EOG

    def fingerprint(self) -> bytes:
        return bytes(32)

    def scaffold(self, roles: Sequence[str]) -> list[str]:
        return split_scaffold(render_chatml, roles)

    def chooser(self, sampling: Sampling, grammar: str, prompt: Sequence[int]) -> Chooser:
        return make_chooser(None, N_VOCAB, sampling, grammar, prompt)

    def decode(self, parts: Sequence[Part]) -> Logits:
        n_tokens = sum(len(part.ids) for part in parts)
        assert 0 < n_tokens <= self.n_batch
        assert len({part.slot for part in parts}) == len(parts)
        n_rows = sum(part.n_logits for part in parts)
        if 0 < self.n_exact < self.n_batch:
            self._check_kind(parts)
        self.n_decodes += 1
        aborted = self._aborted or self.n_decodes == self.abort_at
        rows = []
        for part in parts:
            cache = self.cache.setdefault(part.slot, [])
            assert part.pos == len(cache), "positions must continue the cache"
            if aborted:
                self._add(part.slot, part.ids[: len(part.ids) // 2])  # some are left behind
                continue
            self._add(part.slot, part.ids)
            begin = len(cache) - part.n_logits
            rows += [self._row(cache[: begin + row + 1]) for row in range(part.n_logits)]
        if aborted:
            raise Cancelled
        assert self.n_used <= self.n_ctx
        return np.array(rows, dtype=np.float32).reshape(n_rows, N_VOCAB)

    def _check_kind(self, parts: Sequence[Part]) -> None:
        """A pass is all of replies that are alone, or of none; then it is exact or one chunk."""
        if any(self.is_alone(part.slot) for part in parts):
            assert all(self.is_alone(part.slot) for part in parts)
            if any(part.n_logits for part in parts):
                assert sum(len(part.ids) for part in parts) <= self.n_exact
                assert all(part.n_logits == len(part.ids) for part in parts)
            else:
                assert len(parts) == 1

    def _add(self, slot: int, ids: Sequence[int]) -> None:
        self.cache[slot] += ids
        self._cells.setdefault(slot, []).extend(range(self._n_cells, self._n_cells + len(ids)))
        self._n_cells += len(ids)

    @property
    def n_used(self) -> int:
        """Cells in use, those of several sequences counted once."""
        return len({cell for cells in self._cells.values() for cell in cells})

    def _row(self, context: list[int]) -> list[float]:
        key = bytes([self._seed % 256, *context[-3:]])
        return [float(byte) for byte in hashlib.blake2b(key, digest_size=N_VOCAB).digest()]

    def trim(self, slot: int, n_keep: int) -> bool:
        cache = self.cache.setdefault(slot, [])
        if not self._can_trim and 0 < n_keep < len(cache):
            return False
        del cache[n_keep:]
        del self._cells.setdefault(slot, [])[n_keep:]
        return True

    def share(self, slot: int, others: Sequence[int], n_tokens: int = -1) -> bool:
        tokens, cells = self.cache.get(slot, []), self._cells.get(slot, [])
        n_shared = n_tokens if n_tokens >= 0 else len(tokens)
        assert n_shared <= len(tokens)
        if not self._can_trim and n_shared < len(tokens):
            return False
        for other in others:
            assert not self.cache.get(other)
            self.cache[other], self._cells[other] = tokens[:n_shared], cells[:n_shared]
        return True

    def save(self, slot: int, path: Path, ids: Sequence[int]) -> int:
        assert self.cache[slot] == list(ids)
        return path.write_bytes(bytes(ids))

    def load(self, slot: int, path: Path) -> list[int]:
        assert not self.cache.get(slot)
        self.cache.setdefault(slot, [])
        self._add(slot, list(path.read_bytes()))
        return list(self.cache[slot])

    def abort(self, *, on: bool) -> None:
        self._aborted = on

    def close(self) -> None:
        pass
