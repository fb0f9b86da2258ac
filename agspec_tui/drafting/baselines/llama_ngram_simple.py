"""`llama-ngram-simple`: llama.cpp's self-speculation without an index (b11434, its defaults)."""

from agspec_tui.drafting.baselines.context_drafter import ContextDrafter, Copy

_N_MATCH = 12
_N_MOST = 48
_ID_BYTES = 4
_GRAM_BYTES = _N_MATCH * _ID_BYTES


class LlamaNgramSimple(ContextDrafter):
    """Copies up to 48 tokens behind the most recent earlier occurrence of the last 12.

    The rules there, kept with their defects:
      - nothing is proposed before the first generated token, nor while the context has no more
        than 61 tokens before the newest one;
      - an occurrence at the very beginning of the context is taken for none;
      - only the most recent occurrence counts: where fewer than 12 tokens follow it, nothing is
        proposed, even if an older one had 48;
      - neither an occurrence nor a copy may hold the newest token.
    The original scans the context backwards in every step. A table of last occurrences that grows
    with the context gives the same hits.
    """

    name = "llama-ngram-simple"

    def __init__(self) -> None:
        """Make one with an empty context."""
        super().__init__()
        self._last: dict[bytes, int] = {}
        # Of every indexed position: its tokens, and the position that it replaced or −1. With them
        # the end of the context is taken back out of the table.
        self._grams: list[bytes] = []
        self._replaced: list[int] = []

    def _keep(self, n_kept: int) -> None:
        while len(self._grams) + _N_MATCH - 1 > n_kept and self._grams:
            gram, replaced = self._grams.pop(), self._replaced.pop()
            if replaced < 0:
                del self._last[gram]
            else:
                self._last[gram] = replaced

    def _search(self) -> Copy | None:
        n_before = len(self._text) - 1  # without the newest token, as the original counts
        if n_before < self._text.n_prompt or n_before <= _N_MATCH + _N_MOST + 1:
            return None
        self._index(n_before)
        position = self._last.get(self._text.ids[-_N_MATCH:].tobytes(), 0)
        start = position + _N_MATCH
        n_tokens = min(_N_MOST, n_before - start)
        if position == 0 or n_tokens < _N_MATCH:
            return None
        return Copy(_N_MATCH, start, n_tokens)

    def _index(self, end: int) -> None:
        """Put in every run of 12 tokens before the position `end`."""
        first = len(self._grams)
        raw = self._text.ids[first:end].tobytes()
        last = self._last
        starts = range(0, len(raw) - _GRAM_BYTES + 1, _ID_BYTES)
        for position, start in enumerate(starts, first):
            gram = raw[start : start + _GRAM_BYTES]
            self._grams.append(gram)
            self._replaced.append(last.get(gram, -1))
            last[gram] = position
