"""`pld`: prompt lookup decoding (apoorvumang/prompt-lookup-decoding, with its defaults)."""

from agspec_tui.drafting.baselines.context_drafter import ContextDrafter, Copy

_SIZES = (3, 2, 1)
"""Lengths of the suffix that are tried, in this order."""
_N_DRAFT = 10
"""Ids proposed, always all of them."""


class Pld(ContextDrafter):
    """Copies the 10 tokens behind the earliest occurrence of the last 3, 2 or 1 tokens.

    As there, a hit counts only where all 10 tokens exist and where it does not end in the last n
    tokens of the context; otherwise the next smaller n is tried. The original compares every
    window of the context in every step. Tables of first occurrences that grow with the context
    give the same hits.
    """

    name = "pld"

    def __init__(self) -> None:
        """Make one with an empty context."""
        super().__init__()
        # Ids to the position where they occur first. Entries are made in the order of the text,
        # so that cutting its end takes the last entries back out.
        self._first: dict[int, dict[tuple[int, ...], int]] = {size: {} for size in _SIZES}
        self._n_indexed = 0

    def _keep(self, n_kept: int) -> None:
        for size, first in self._first.items():
            while first and next(reversed(first.values())) + size > n_kept:
                first.popitem()
        self._n_indexed = min(self._n_indexed, n_kept)

    def _search(self) -> Copy | None:
        n_tokens = len(self._text)
        self._index(n_tokens)
        tail = self._text.ids[-_SIZES[0] :].tolist()
        for size in _SIZES:
            position = self._first[size].get(tuple(tail[-size:]))
            if position is None:
                continue
            start = position + size
            if start + _N_DRAFT <= n_tokens and start < n_tokens - size:
                return Copy(size, start, _N_DRAFT)
        return None

    def _index(self, n_tokens: int) -> None:
        start = max(0, self._n_indexed - _SIZES[0] + 1)
        ids = self._text.ids[start:n_tokens].tolist()
        for size, first in self._first.items():
            # Runs of `size` tokens that end in what is new.
            skipped = max(0, self._n_indexed - size + 1 - start)
            grams = zip(*(ids[skipped + shift :] for shift in range(size)), strict=False)
            for position, gram in enumerate(grams, start + skipped):
                first.setdefault(gram, position)
        self._n_indexed = n_tokens
