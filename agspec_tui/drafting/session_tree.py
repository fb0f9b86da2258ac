"""The text of a session in a suffix tree with counts: what `agspec-suffix` copies from."""

from bisect import bisect_right
from dataclasses import dataclass, field

from agspec_tui._native import SuffixTree
from agspec_tui.drafting.types import Ids

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
    n_tokens: int = 0
    """Tokens in the sequence."""


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
        self._n_documents = 0
        self._found: _Found | None = _NOTHING

    def begin_document(self, *, joined: bool, offset: int = 0) -> int:
        """Begin a document, to which later tokens belong; see the native `SessionCorpus`."""
        if not joined or not self._stretches:
            self._stretches.append(_Stretch())
            self._found = _NOTHING
        stretch = self._stretches[-1]
        stretch.starts.append(stretch.n_tokens)
        stretch.documents.append(self._n_documents)
        stretch.left_out.append(offset)
        self._n_documents += 1
        return self._n_documents - 1

    def append(self, ids: Ids) -> None:
        """Append tokens to the last document."""
        if not len(ids):
            return
        self._tree.append(len(self._stretches) - 1, ids)
        self._stretches[-1].n_tokens += len(ids)
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
        stretch = self._stretches[sequence]
        i = bisect_right(stretch.starts, position) - 1
        return ids[:k], stretch.documents[i], position - stretch.starts[i] + stretch.left_out[i]

    @property
    def n_tokens(self) -> int:
        """Tokens of all documents."""
        return self._tree.n_tokens

    @property
    def memory_bytes(self) -> int:
        """Bytes that the compiled core holds for it."""
        return self._tree.memory_bytes
