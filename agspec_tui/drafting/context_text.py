"""The text of the decoding context: prompt and output of the present call, in one array."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from agspec_tui.drafting.token_ids import checked
from agspec_tui.drafting.types import Ids, Piece

_FIRST_CAPACITY = 1024


class ContextText:
    """The token ids of a context, and the prompt piece that every position belongs to."""

    def __init__(self) -> None:
        """Make an empty one."""
        self._buffer = np.empty(_FIRST_CAPACITY, dtype=np.int32)
        self._n_tokens = 0
        self._pieces: tuple[Piece, ...] = ()
        self._labels: list[str] = []
        self._starts: list[int] = []
        self.n_prompt = 0
        """Ids of the prompt."""

    def __len__(self) -> int:
        """Ids of the context."""
        return self._n_tokens

    @property
    def ids(self) -> Ids:
        """The token ids, shape (len(self),); a view that is good until the text changes."""
        return self._buffer[: self._n_tokens]

    def begin(self, pieces: Sequence[Piece]) -> int:
        """A prompt takes the place of the context.

        Returns:
            How many leading tokens of the old context are still there.

        Raises:
            DraftError: a token id is out of its range; nothing has changed then.
        """
        # Most of a prompt are the objects of the last one: no token of them is looked at.
        n_same = 0
        for old, new in zip(self._pieces, pieces, strict=False):
            if old.ids is not new.ids:
                break
            n_same += 1
        n_before = sum(len(piece.ids) for piece in pieces[:n_same])
        arrays = [checked(piece.ids) for piece in pieces[n_same:]]
        rest = np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int32)
        n_more = n_shared(self.ids[n_before:], rest)
        n_kept = n_before + n_more
        self._n_tokens = n_kept
        self._append(rest[n_more:])
        self._pieces = tuple(pieces)
        self.n_prompt = n_before + len(rest)
        self._labels = [piece.label for piece in pieces]
        self._starts = list(accumulate((len(piece.ids) for piece in pieces[:-1]), initial=0))
        return n_kept

    def feed(self, ids: Sequence[int]) -> Ids:
        """Append committed tokens and return them, shape (len(ids),).

        Raises:
            DraftError: a token id is out of its range; nothing has changed then.
        """
        tokens = checked(ids)
        self._append(tokens)
        return tokens

    def _append(self, tokens: Ids) -> None:
        end = self._n_tokens + len(tokens)
        if end > len(self._buffer):
            grown = np.empty(max(end, 2 * len(self._buffer)), dtype=np.int32)
            grown[: self._n_tokens] = self.ids
            self._buffer = grown
        self._buffer[self._n_tokens : end] = tokens
        self._n_tokens = end

    def place(self, position: int) -> tuple[str, int]:
        """Label of the piece that holds a position, and the offset in it, in tokens.

        Committed tokens go on with the last piece.
        """
        piece = bisect_right(self._starts, position) - 1
        if piece < 0:  # fed without a prompt
            return "context", position
        return self._labels[piece], position - self._starts[piece]


def n_shared(a: Ids, b: Ids) -> int:
    """How many leading tokens are equal."""
    limit = min(len(a), len(b))
    differs = a[:limit] != b[:limit]
    return int(differs.argmax()) if differs.any() else limit
