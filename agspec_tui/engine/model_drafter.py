"""`draft-model`: a smaller model with the target's vocabulary proposes what it would say itself.

Its defaults are those of llama.cpp's draft-model speculation (`common_params_speculative_draft` at
llama.cpp b11434): at most 3 tokens a draft, at least 0, and no probability below which it stops.
"""

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from agspec_tui.drafting.plain import Plain
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Drafter, Match, Piece, Views
from agspec_tui.engine.sequence import Sequence as CachedSequence
from agspec_tui.engine.sequence import SequenceTable
from agspec_tui.engine.types import Backend, Cancelled, Part
from agspec_tui.engine.verify import argmax
from agspec_tui.errors import EngineError

MODEL = "model"
"""Source of its matches and drafts."""

N_MAX = 3
N_MIN = 0
P_MIN = 0.0
_TOP_K = 10
"""Candidates over which a probability is taken, as llama.cpp does it."""

T = TypeVar("T")


class _OffError(Exception):
    """The small model cannot draft here; the argument says why."""


class ModelDrafter:
    """Greedy drafts of a small model, one token at a time.

    The small model keeps a key-value cache of its own. `begin` brings it to the prompt; committed
    tokens are only noted, and read in one batch when a draft is asked for. What it drafted itself
    is kept as far as it was accepted.

    Where it cannot draft, `off` says why and it matches nothing: the context outgrew its own, or
    its cache cannot be rolled back. A failure of the small model never costs the reply.
    """

    name = "draft-model"
    steady = False

    def __init__(
        self,
        backend: Backend,
        document: str,
        n_vocab: int,
        *,
        n_max: int = N_MAX,
        n_min: int = N_MIN,
        p_min: float = P_MIN,
        n_slots: int = 4,
    ) -> None:
        """Draft with a loaded model, of which this object is the only user.

        Args:
            backend: the small model.
            document: what provenance shows: the model's name.
            n_vocab: the target's vocabulary size; ids from there on are never drafted.
            n_max: most tokens of a draft.
            n_min: shorter drafts are dropped.
            p_min: a draft stops before a token less probable than this.
            n_slots: sequences that the small model's cache may hold.
        """
        self.off = ""
        self._backend = backend
        self._document = document
        self._n_vocab = n_vocab
        self._n_max, self._n_min, self._p_min = n_max, n_min, p_min
        self._table = SequenceTable(n_slots)
        self._sequence = CachedSequence(0)
        self._context: list[int] = []
        self._n_begun = 0
        self._broken = ""

    # ── protocol ─────────────────────────────────────────────────────────────────────────────────

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """Read the prompt, but for what the cache has of it already.

        Raises:
            Cancelled: the generation was cancelled meanwhile.
        """
        self.off = self._broken
        self._context = [token for piece in pieces for token in piece.ids]
        self._n_begun += 1
        self._sequence = self._table.take(sequence, self._n_begun)
        if self._context and not self.off:
            self._guarded(self._read_prompt, None)

    def feed(self, ids: Sequence[int]) -> None:
        """Note committed tokens; they are read when the next draft is asked for."""
        self._context += ids

    def match(self) -> Match:
        """As many tokens as it drafts on its own, so that α scales a draft as it scales a match."""
        return NO_MATCH if self.off or not self._context else Match(self._n_max, MODEL)

    def draft(self, match: Match, k: int) -> Draft:
        """What the small model would say next: at most `k` tokens and never more than `n_max`.

        An end-of-generation token ends it.

        Raises:
            Cancelled: the generation was cancelled meanwhile.
        """
        if self.off or k < 1 or not self._context:
            return NO_DRAFT
        none: list[int] = []
        ids = self._guarded(lambda: self._draft(min(k, self._n_max)), none)
        if not ids or len(ids) < self._n_min:
            return NO_DRAFT
        return Draft(tuple(ids), MODEL, self._document, 0)

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """Nothing is learned."""

    def beside(self) -> Drafter:
        """None: the small model keeps up with one context at a time."""
        return Plain()

    def index(self, path: str, views: Views) -> int:
        """Nothing is indexed; the corpus has 0 tokens."""
        return 0

    def forget(self, path: str) -> None:
        """Nothing to forget."""

    def reset(self) -> None:
        """Drop the context. The cache depends on nothing but its tokens and is kept for reuse."""
        self._context = []

    def close(self) -> None:
        """Free the small model; nothing is drafted any more."""
        self._broken = self.off = "the draft model was closed"
        self._backend.close()

    # ── the small model ──────────────────────────────────────────────────────────────────────────

    def _guarded(self, run: Callable[[], T], otherwise: T) -> T:
        """Run something on the small model and leave its cache in step with what is noted of it."""
        try:
            return run()
        except _OffError as reason:
            self._turn_off(str(reason))
        except EngineError as error:
            self._turn_off(error.message)
        except Cancelled:
            # The decode may have left any part of its tokens behind.
            if not self._backend.trim(self._sequence.slot, len(self._sequence.tokens)):
                self._clear(self._sequence)
            raise
        return otherwise

    def _turn_off(self, reason: str) -> None:
        self.off = reason
        print(f"draft model {self._document}: no drafts, {reason}", file=sys.stderr, flush=True)
        self._clear(self._sequence)

    def _read_prompt(self) -> None:
        end = len(self._context) - 1
        # Where its cache cannot be trimmed, a new prompt is simply read from its beginning.
        self._trim(end)
        self._read(end, 0)

    def _draft(self, n_max: int) -> list[int]:
        end = len(self._context)
        if not self._trim(end - 1):
            # Every rejection would cost a whole prompt.
            self._broken = "its cache cannot be rolled back"
            raise _OffError(self._broken)
        n_max = min(n_max, self._backend.n_ctx - end)
        row = self._read(end, 1)
        ids: list[int] = []
        while True:
            token = argmax(row)
            if self._backend.is_eog(token) or token >= self._n_vocab:
                return ids
            if self._p_min > 0.0 and top_probability(row) < self._p_min:
                return ids
            ids.append(token)
            if len(ids) >= n_max:
                return ids
            row = self._decode([token], 1)

    def _trim(self, end: int) -> bool:
        """Keep what the cache shares with the first `end` tokens of the context.

        Returns:
            False if the tail could not be dropped, so that the whole sequence was.
        """
        sequence = self._sequence
        keep = min(sequence.common_prefix(self._context), end)
        if keep == len(sequence.tokens):
            return True
        if self._backend.trim(sequence.slot, keep):
            del sequence.tokens[keep:]
            return True
        self._clear(sequence)
        return False

    def _clear(self, sequence: CachedSequence) -> None:
        sequence.tokens.clear()
        if not self._backend.trim(sequence.slot, 0):
            self._broken = self.off = "its cache cannot be cleared"

    def _read(self, end: int, n_logits: int) -> npt.NDArray[np.float32]:
        """Extend the cache to the first `end` tokens of the context.

        Returns:
            The logits after the last one, shape (n_vocab,), if `n_logits` is 1; else nothing.
        """
        self._make_room(end)
        row = np.empty(0, dtype=np.float32)
        while (start := len(self._sequence.tokens)) < end:
            part = self._context[start : min(start + self._backend.n_batch, end)]
            if max(part) >= self._backend.n_vocab:
                raise _OffError("the text has a token that it does not know")
            row = self._decode(part, n_logits if start + len(part) == end else 0)
        return row

    def _make_room(self, end: int) -> None:
        """Free cached sequences, the longest unused first, until the context and a draft fit."""
        needed = end + self._n_max
        if needed > self._backend.n_ctx:
            raise _OffError(
                f"{end} tokens and a draft do not fit its context of {self._backend.n_ctx}"
            )
        for other in self._table.others(self._sequence):
            n_others = self._table.n_cached() - len(self._sequence.tokens)
            if n_others + needed <= self._backend.n_ctx:
                return
            self._clear(other)

    def _decode(self, ids: list[int], n_logits: int) -> npt.NDArray[np.float32]:
        sequence = self._sequence
        rows = self._backend.decode([Part(ids, len(sequence.tokens), sequence.slot, n_logits)])
        sequence.tokens += ids
        return rows[0] if n_logits else np.empty(0, dtype=np.float32)


def top_probability(row: npt.NDArray[np.float32]) -> float:
    """Probability of the arg-max among the ten most probable tokens.

    Args:
        row: logits, shape (n_vocab,).
    """
    top = np.partition(row, -_TOP_K)[-_TOP_K:] if len(row) > _TOP_K else row
    return float(1.0 / np.exp(top - top.max()).sum())
