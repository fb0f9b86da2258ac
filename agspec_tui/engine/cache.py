"""The key-value cache: which committed tokens each sequence has in it, and who makes room for whom.

Between steps a sequence's cells hold exactly its committed tokens but the newest one. Sequences
that generate now are busy; the others are kept for their prefixes and give way when room is needed,
the one that was used longest ago first.
"""

from dataclasses import dataclass

from agspec_tui.engine.sequence import Sequence, SequenceTable
from agspec_tui.engine.types import Backend
from agspec_tui.errors import EngineError

_MIN_REPLY = 64
"""Tokens of room below which a reply is not begun."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A prompt that has its place in the cache."""

    sequence: Sequence
    """Its sequence, trimmed to what is reused."""
    n_reused: int
    """Leading tokens of the prompt that are in the cache already."""
    broken_at: int
    """Position at which the prompt left the cached transcript; −1 if that only grew."""


class KvCache:
    """The cells of a backend, shared by all of its sequences."""

    def __init__(self, backend: Backend, n_slots: int) -> None:
        self.rollback = True
        """Whether rejected tokens can be trimmed; once they could not, nothing is drafted."""
        self._backend = backend
        self._table = SequenceTable(n_slots)

    @property
    def n_free(self) -> int:
        """Cells that no sequence holds."""
        return self._backend.n_ctx - self._table.n_cached()

    def place(self, name: str, request: int, ids: list[int]) -> Placed:
        """Take the sequence of a name for a prompt, keeping what the prompt shares with it.

        The last token of the prompt is never reused: the first step decodes it for its logits.

        Raises:
            EngineError: the prompt and a short reply do not fit.
        """
        sequence = self._table.take(name, request)
        self._make_room(sequence, len(ids))
        n_cached = len(sequence.tokens)
        shared = sequence.common_prefix(ids)
        broken_at = shared if shared < n_cached else -1
        self.trim(sequence, min(shared, len(ids) - 1))
        return Placed(sequence, len(sequence.tokens), broken_at)

    def _make_room(self, sequence: Sequence, n_prompt: int) -> None:
        needed = n_prompt + _MIN_REPLY
        if needed > self._backend.n_ctx:
            raise EngineError(
                f"a prompt of {n_prompt} tokens does not fit a context of {self._backend.n_ctx}",
                "choose a larger n_ctx, or name fewer or smaller files",
            )
        for other in self._table.others(sequence):
            if self.n_free + len(sequence.tokens) >= needed:
                return
            self.trim(other, 0)

    def make_room(self, sequence: Sequence, n_tokens: int) -> bool:
        """Free cells of other sequences until `n_tokens` are free; False if that is not enough."""
        for other in self._table.others(sequence):
            if self.n_free >= n_tokens:
                break
            self.trim(other, 0)
        return self.n_free >= n_tokens

    def trim(self, sequence: Sequence, n_keep: int) -> None:
        """Roll a sequence back to its first `n_keep` tokens.

        Where the memory cannot be trimmed (recurrent, hybrid), the sequence is read again from its
        committed tokens and drafting is off from then on.

        Raises:
            EngineError: a sequence cannot even be cleared.
        """
        if self._backend.trim(sequence.slot, n_keep):
            del sequence.tokens[n_keep:]
            return
        keep = sequence.tokens[:n_keep]
        sequence.tokens.clear()
        if not self._backend.trim(sequence.slot, 0):
            raise EngineError("the cache of a sequence cannot be cleared")
        self.rollback = False
        for start in range(0, n_keep, self._backend.n_batch):
            part = keep[start : start + self._backend.n_batch]
            self._backend.decode(part, start, sequence.slot, 0)
            sequence.tokens += part

    def clear(self) -> None:
        """Drop every sequence; the prompts are read again."""
        for slot in self._table.clear():
            self._backend.trim(slot, 0)
