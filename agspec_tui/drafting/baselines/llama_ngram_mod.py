"""`llama-ngram-mod`: llama.cpp's shared table of next tokens (b11434, its defaults)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agspec_tui.drafting.baselines.context_drafter import ContextOnly
from agspec_tui.drafting.context_text import ContextText
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Ids, Match, Piece

_N_MATCH = 24
_N_LEAST = 48
_N_MOST = 64
_CHUNK = 32
"""Ids of output after which the table is brought up to date."""
_N_SLOTS = 1 << 22
_FULLEST = 0.25
"""Share of used slots above which the table is emptied."""
_LOW_ACCEPTANCE = 0.25
_N_LOW = 5
"""Drafts of low acceptance, one after another, after which the table is emptied."""
_FACTOR = 6364136223846793005 % _N_SLOTS
_OLDEST = pow(_FACTOR, _N_MATCH - 1, _N_SLOTS)
_EMPTY = -1
_TABLE = "n-gram table"


class _Table:
    """Hash of 24 tokens to the token that followed them last; shared by all sequences."""

    def __init__(self) -> None:
        self.next = np.full(_N_SLOTS, _EMPTY, dtype=np.int32)
        self.n_used = 0

    def clear(self) -> None:
        self.next.fill(_EMPTY)
        self.n_used = 0

    def add(self, ids: Ids) -> None:
        """Put in every run of 24 tokens and the one behind it, in the order of the text."""
        n_runs = len(ids) - _N_MATCH
        if n_runs < 1:
            return
        # Only the low 22 bits of a hash count, so that 32 bits are enough to work it out.
        slots = np.zeros(n_runs, dtype=np.uint32)
        for shift in range(_N_MATCH):
            slots = slots * np.uint32(_FACTOR) + ids[shift : shift + n_runs].view(np.uint32)
        slots %= np.uint32(_N_SLOTS)
        empty = slots[self.next[slots] == _EMPTY]
        self.n_used += len(set(empty.tolist()))
        self.next[slots] = ids[_N_MATCH:]  # of equal slots the last one assigned stays

    def chain(self, ids: list[int]) -> list[int]:
        """Up to 64 tokens, each found by the 24 before it; `ids` are the first 24."""
        table = self.next.data  # reads a single token faster than the array does
        text = list(ids)
        slot = 0
        for token in ids:
            slot = (slot * _FACTOR + token) % _N_SLOTS
        for oldest in range(_N_MOST):
            token = table[slot]
            if token == _EMPTY:
                break
            text.append(token)
            slot = ((slot - text[oldest] * _OLDEST) * _FACTOR + token) % _N_SLOTS
        return text[_N_MATCH:]


@dataclass(slots=True)
class _Sequence:
    """What is kept for one sequence."""

    n_added: int = 0
    """Position in its context up to which runs are in the table."""
    n_drafted: int = 0
    """Ids of the last draft, before the engine cut it."""
    n_low: int = 0
    """Drafts of low acceptance since the last better one."""


class LlamaNgramMod(ContextOnly):
    """Chains tokens through a table that knows what followed 24 tokens the last time.

    The rules there, kept with their defects:
      - nothing is proposed before the first generated token; a chain of fewer than 48 tokens is
        not proposed, one of more than 64 is cut;
      - a slot holds a token and nothing to check its hash by, so that other text can answer, and a
        chain can wander between sources;
      - the whole prompt is put in again with every call, what is generated only in chunks, when
        more than 32 tokens are missing;
      - a table that is a quarter full is emptied after the prompt was put in, which is then lost;
      - so is the table of all sequences after five drafts in a row of which less than a quarter
        was accepted; only the sequence that did it is put in again. A draft that the engine cut
        counts with its uncut length.
    """

    name = "llama-ngram-mod"
    steady = False

    def __init__(self) -> None:
        """Make one with an empty table, which takes 16 MiB."""
        self._table = _Table()
        self._text = ContextText()
        self._sequences: dict[str, _Sequence] = {}
        self._now = _Sequence()
        self._draft: list[int] | None = None

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """Put the prompt into the table; it becomes the context.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer.
        """
        self._text.begin(pieces)
        self._now = self._sequences.setdefault(sequence, _Sequence())
        self._now.n_added = self._now.n_drafted = 0
        self._draft = None
        if len(self._text) < _N_MATCH:
            return
        self._table.add(self._text.ids)
        self._now.n_added = len(self._text) - _N_MATCH
        if self._table.n_used > _FULLEST * _N_SLOTS:
            self._table.clear()

    def feed(self, ids: Sequence[int]) -> None:
        """Append committed tokens to the context.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer.
        """
        self._text.feed(ids)
        self._draft = None

    def match(self) -> Match:
        """24 tokens where a chain is long enough to be proposed."""
        return Match(_N_MATCH, _TABLE) if self._chain() else NO_MATCH

    def draft(self, match: Match, k: int) -> Draft:
        """The chain, at most `k` tokens of it. The table does not know where they came from."""
        chain = self._chain()
        if not chain or match.length < 1 or k < 1:
            return NO_DRAFT
        return Draft(tuple(chain[:k]), _TABLE, _TABLE, 0)

    def _chain(self) -> list[int]:
        if self._draft is None:
            self._draft = self._search()
            self._now.n_drafted = len(self._draft)
        return self._draft

    def _search(self) -> list[int]:
        n_before = len(self._text) - 1  # without the newest token, as the original counts
        if n_before < max(_N_MATCH, self._text.n_prompt):
            return []
        ids = self._text.ids
        if self._now.n_added + _CHUNK < n_before:
            self._table.add(ids[self._now.n_added : n_before])
            self._now.n_added = n_before - _N_MATCH
        chain = self._table.chain(ids[-_N_MATCH:].tolist())
        return chain if len(chain) >= _N_LEAST else []

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """Empty the table after five drafts in a row of low acceptance."""
        now = self._now
        if not now.n_drafted:
            return
        if n_accepted / now.n_drafted >= _LOW_ACCEPTANCE:
            now.n_low = 0
            return
        now.n_low += 1
        if now.n_low >= _N_LOW:
            self._table.clear()
            now.n_low = now.n_added = 0

    def reset(self) -> None:
        """Drop table, context and sequences."""
        self._table.clear()
        self._text = ContextText()
        self._sequences.clear()
        self._now = _Sequence()
        self._draft = None
