"""`rest`: REST (FasterDecoding/REST, with the settings of its code tests), from a global corpus."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agspec_tui._native import ArrayCursor
from agspec_tui.drafting.agspec import GLOBAL
from agspec_tui.drafting.corpus_file import CorpusFile
from agspec_tui.drafting.token_ids import checked
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Match, Piece, Views

_LONGEST_SPAN = 16
_SHORTEST_SPAN = 2
_MOST_HITS = 5000
_N_TOKENS = 10
"""Tokens read behind a hit."""
_MOST_KNOWN = 50_000
_MOST_NODES = 64
"""Continuations that are kept, and the bound that the kept ones are cut to."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Node:
    """A continuation, as a node of the tree of all continuations."""

    ids: tuple[int, ...]
    """Its tokens."""
    n_hits: int
    """Hits that go on with them."""
    first: int
    """The first of these hits, in suffix order."""


class Rest:
    """Copies the most frequent continuation of the context's last tokens in the global corpus.

    The first span of 16, 15, …, 2 tokens that occurs is taken. Its first 5,000 hits in suffix order
    are read on for up to 10 tokens, every beginning of these continuations is counted, and the 64
    most frequent are kept. Of those the ones with the most different tokens are dropped until these
    numbers add up to no more than 64: long drafts are left only where there are few continuations.

    The original verifies the tree of what is kept. Here a single sequence is verified: from the
    root on, the most frequent of the next nodes. Among equals, where the original goes by the order
    of a hash table, short beginnings come before long ones and earlier ones in suffix order before
    later ones. Two more differences: a hit is not read on past the end of its document, and nothing
    is drafted where nothing hits, where the original drafts one dummy token.
    """

    name = "rest"
    steady = True

    def __init__(self, file: CorpusFile | None = None) -> None:
        """Draft from an open corpus file; without one there is never a draft."""
        self._file = file
        self._cursor = ArrayCursor(file.array) if file is not None else None
        self._last: list[int] = []
        # Of spans that came up: they come again, and the corpus does not change.
        self._known: dict[tuple[int, ...], tuple[tuple[int, ...], int]] = {}

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """The prompt's last tokens become the context.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer.
        """
        last: list[int] = []
        for piece in reversed(pieces):
            last[:0] = piece.ids[-_LONGEST_SPAN:]
            if len(last) >= _LONGEST_SPAN:
                break
        self.reset()
        self.feed(last)

    def feed(self, ids: Sequence[int]) -> None:
        """The context goes on.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer.
        """
        tokens = checked(ids)
        self._last = [*self._last, *tokens.tolist()][-_LONGEST_SPAN:]
        if self._cursor is not None:
            self._cursor.advance(tokens)

    def match(self) -> Match:
        """The longest span of 16 to 2 tokens that occurs."""
        length = min(self._cursor.length(), _LONGEST_SPAN) if self._cursor is not None else 0
        return Match(length, GLOBAL) if length >= _SHORTEST_SPAN else NO_MATCH

    def draft(self, match: Match, k: int) -> Draft:
        """The most frequent continuation: at most 10 tokens, and at most `k`."""
        if self._file is None or k < 1 or not _SHORTEST_SPAN <= match.length <= len(self._last):
            return NO_DRAFT
        span = tuple(self._last[-match.length :])
        found = self._known.get(span)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[span] = _continuation(self._file, span)
        ids, start = found
        return Draft(ids[:k], GLOBAL, *self._file.locate(start)) if ids else NO_DRAFT

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """Nothing is learnt from it."""

    def beside(self) -> "Rest":
        """A new one on the same corpus."""
        return Rest(self._file)

    def index(self, path: str, views: Views) -> int:
        """Files are not looked at; the corpus has 0 tokens."""
        return 0

    def forget(self, path: str) -> None:
        """Nothing to forget."""

    def reset(self) -> None:
        """Drop the context; the global corpus stays."""
        self._last = []
        if self._cursor is not None:
            self._cursor.reset()


def _continuation(file: CorpusFile, span: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """What follows a span most often, and the position of its first hit; nothing where none is."""
    begin, end = file.array.find(np.array(span, dtype=np.int32))
    nodes = _cut(_most_frequent(file, begin, min(end, begin + _MOST_HITS), len(span)))
    best = _best_path(nodes)
    if best is None:
        return (), 0
    return best.ids, int(file.order[begin + best.first]) + len(span)


def _most_frequent(file: CorpusFile, begin: int, end: int, n_span: int) -> list[_Node]:
    """The most frequent beginnings of what follows the hits order[begin:end], in that order."""
    if begin >= end:
        return []
    # Equal beginnings lie side by side in suffix order: each run of them is one node. A run of two
    # holds no separator, since those are told apart.
    n_common = file.shared[begin + 1 : end].astype(np.int64) - n_span
    repeated: list[Numbers] = []
    single: list[Numbers] = []
    for n in range(1, _N_TOKENS + 1):
        firsts = np.concatenate(([0], np.flatnonzero(n_common < n) + 1))
        n_hits = np.concatenate((firsts[1:], [end - begin])) - firsts
        again = n_hits > 1
        repeated.append(((_MOST_HITS - n_hits[again]) * 16 + n) * _MOST_HITS + firsts[again])
        single.append(firsts[~again])
    key = np.concatenate(repeated)
    if len(key) > _MOST_NODES:
        key = np.partition(key, _MOST_NODES - 1)[:_MOST_NODES]
    rest, first = np.divmod(np.sort(key), _MOST_HITS)
    missing, lengths = np.divmod(rest, 16)
    windows = _continuations(file, begin + first, n_span, _N_TOKENS)
    table = zip(*(column.tolist() for column in (windows, lengths, missing, first)), strict=True)
    nodes = [_Node(tuple(ids[:n]), _MOST_HITS - gap, place) for ids, n, gap, place in table]
    for n, firsts in enumerate(single, 1):
        if len(nodes) == _MOST_NODES:
            break
        windows = _continuations(file, begin + firsts, n_span, n)
        whole = np.flatnonzero((windows >= 0).all(axis=1))[: _MOST_NODES - len(nodes)]
        found = zip(windows[whole].tolist(), firsts[whole].tolist(), strict=True)
        nodes += [_Node(tuple(ids), 1, first) for ids, first in found]
    return nodes


def _continuations(file: CorpusFile, places: Numbers, n_span: int, n: int) -> Numbers:
    """`n` tokens behind the hits at these places of the order, shape (hits, n); −1 past the end."""
    positions = file.order[places].astype(np.int64)[:, None] + n_span + np.arange(n)
    inside = positions < len(file.ids)
    return np.where(inside, file.ids[np.where(inside, positions, 0)], -1).astype(np.int64)


def _cut(nodes: list[_Node]) -> list[_Node]:
    """Drop nodes with the most different tokens until their numbers add up to 64 or less.

    Of equals the least frequent and longest goes first, so that what is left is still a tree.
    """
    n_different = [len(set(node.ids)) for node in nodes]
    total = sum(n_different)
    dropped: set[int] = set()
    for number in sorted(range(len(nodes)), key=lambda number: (-n_different[number], -number)):
        if total <= _MOST_NODES:
            break
        total -= n_different[number]
        dropped.add(number)
    return [node for number, node in enumerate(nodes) if number not in dropped]


def _best_path(nodes: list[_Node]) -> _Node | None:
    """The node that is reached from the root by the most frequent next node each time."""
    best = None
    prefix: tuple[int, ...] = ()
    while True:
        n = len(prefix)
        below = [node for node in nodes if len(node.ids) == n + 1 and node.ids[:n] == prefix]
        if not below:
            return best
        best = min(below, key=lambda node: (-node.n_hits, node.first))
        prefix = best.ids
