"""The text of a session in a suffix tree with counts: what `agspec-suffix` copies from."""

from array import array
from bisect import bisect_right
from dataclasses import dataclass, field

from agspec_tui._native import SuffixTree
from agspec_tui.drafting.types import Ids, Place

DEPTH = 128
"""Most tokens of a match and its draft together: twice the longest draft, 64 tokens."""

_Found = tuple[list[int], float, int, int, int]
_NOTHING: _Found = ([], 0.0, 0, -1, 0)


@dataclass(slots=True)
class _Stretch:
    """Documents that follow each other without a break: one sequence of the tree."""

    starts: list[int] = field(default_factory=list)
    """Position of each document's first token in the sequence."""
    documents: list[int] = field(default_factory=list)
    """The documents' numbers."""
    left_out: list[int] = field(default_factory=list)
    """Tokens of each document before the first one in the sequence."""
    ids: "array[int]" = field(default_factory=lambda: array("i"))
    """Tokens of the sequence."""

    def place(self, position: int) -> Place:
        """The document that a position of the sequence belongs to, and its offset there."""
        i = bisect_right(self.starts, position) - 1
        return self.documents[i], position - self.starts[i] + self.left_out[i]


class SessionTree:
    """Documents in one tree for the whole session; its last sequence is the decoding context.

    Match and draft are SuffixDecoding's: of all matches the one whose draft has the highest score,
    as long as the match, cut where its probability falls below 0.1.
    """

    def __init__(self, depth: int = DEPTH) -> None:
        """Make an empty one.

        Args:
            depth: most tokens of a match and its draft together.
        """
        self._tree = SuffixTree(depth)
        self._stretches: list[_Stretch] = []
        self._stretch_of: list[int] = []
        self._found: _Found | None = _NOTHING

    def begin_document(self, *, joined: bool, offset: int = 0) -> int:
        """Begin a document, to which later tokens belong; see the native `SessionCorpus`."""
        if not joined or not self._stretches:
            self._stretches.append(_Stretch())
            self._found = _NOTHING
        stretch = self._stretches[-1]
        stretch.starts.append(len(stretch.ids))
        stretch.documents.append(len(self._stretch_of))
        stretch.left_out.append(offset)
        self._stretch_of.append(len(self._stretches) - 1)
        return stretch.documents[-1]

    def append(self, ids: Ids) -> None:
        """Append tokens to the last document."""
        if not len(ids):
            return
        self._tree.append(len(self._stretches) - 1, ids)
        self._stretches[-1].ids.frombytes(ids.tobytes())
        self._found = None

    def _search(self) -> _Found:
        """What the engine proposes, searched once for every state of the context."""
        if self._found is None:
            self._found = self._tree.draft_sequence(len(self._stretches) - 1, self._tree.depth)
        return self._found

    def match(self) -> tuple[int, int, int]:
        """The match that the engine drafts from; its length is 0 where it drafts nothing.

        The tree's score stands for its counts: the mean probability of the drafted tokens, in
        hundredths.
        """
        ids, score, length, _, _ = self._search()
        return (length, 100, round(100 * score / len(ids))) if ids else (0, 0, 0)

    def draft(self, k: int) -> tuple[list[int], int, int]:
        """The engine's draft, at most `k` tokens of it.

        Returns:
            (token ids, document number, token offset in it); ([], -1, 0) if there is none.
        """
        ids, _, _, sequence, position = self._search()
        if not ids or k < 1:
            return [], -1, 0
        return ids[:k], *self._stretches[sequence].place(position)

    def read(self, document: int, offset: int, k: int) -> tuple[list[int], int, int]:
        """Up to `k` tokens of the text from a place on; see the native `SessionCorpus`."""
        if not 0 <= document < len(self._stretch_of):
            return [], -1, 0
        stretch = self._stretches[self._stretch_of[document]]
        i = document - stretch.documents[0]
        position = stretch.starts[i] + offset - stretch.left_out[i]
        if offset < stretch.left_out[i] or position >= len(stretch.ids) or k < 1:
            return [], -1, 0
        return stretch.ids[position : position + k].tolist(), *stretch.place(position)

    @property
    def n_tokens(self) -> int:
        """Tokens of all documents."""
        return self._tree.n_tokens

    @property
    def memory_bytes(self) -> int:
        """Bytes that the compiled core holds for it, and those of its text."""
        return self._tree.memory_bytes + sum(len(each.ids) * 4 for each in self._stretches)
