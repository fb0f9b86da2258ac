"""A drafter that drafts whatever a seed says, right or wrong, as long as it is asked to."""

from agspec_tui.drafting.types import Draft, Match
from tests.engine.ngram_backend import N_VOCAB
from tests.reference.naive_drafter import NaiveDrafter


class GarbageDrafter(NaiveDrafter):
    """Every token id is as probable as any other."""

    def __init__(self, seed: int, n_vocab: int = N_VOCAB) -> None:
        super().__init__()
        self._state = seed
        self._n_vocab = n_vocab

    def beside(self) -> "GarbageDrafter":
        return type(self)(self._state + 1, self._n_vocab)

    def match(self) -> Match:
        return Match(9, "session")

    def draft(self, match: Match, k: int) -> Draft:
        ids = []
        for _ in range(k):
            self._state = (self._state * 1103515245 + 12345) % 2**31
            ids.append(self._state // 256 % self._n_vocab)
        return Draft(tuple(ids), "session", "garbage", 0)
