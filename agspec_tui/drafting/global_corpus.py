"""The global corpus: text collected before serving, read from a file made by `corpus build`."""

from collections.abc import Sequence
from pathlib import Path

from agspec_tui._native import ArrayCursor
from agspec_tui.drafting.corpus_file import CorpusFile, open_corpus
from agspec_tui.drafting.token_ids import checked

MOST_MATCHED = 252
"""Longest match that the suffix array tells, in tokens."""


class GlobalCorpus:
    """A corpus file, and the decoding context's match in it; it serves one context at a time.

    Only the last `MOST_MATCHED` tokens of the context are looked at.
    """

    def __init__(self, file: CorpusFile) -> None:
        """Follow a context through an open file; several corpora may share one file."""
        self.file = file
        """The open file."""
        self._cursor = ArrayCursor(file.array)

    def beside(self) -> "GlobalCorpus":
        """The same file for another context."""
        return GlobalCorpus(self.file)

    def begin(self, ids: Sequence[int]) -> None:
        """The decoding context begins with these tokens: the last piece of a prompt."""
        self._cursor.reset()
        self.feed(ids[-MOST_MATCHED:])

    def feed(self, ids: Sequence[int]) -> None:
        """The decoding context goes on."""
        self._cursor.advance(checked(ids))

    def match_length(self) -> int:
        """Length of the longest suffix of the context that occurs in the corpus, in tokens."""
        return self._cursor.length()

    def draft(self, k: int) -> tuple[tuple[int, ...], str, int]:
        """Up to `k` tokens of the most frequent group of three that followed the match.

        Ties go to the most recent occurrence; without a full group that occurrence itself counts.

        Returns:
            Token ids, the name of the document they were copied from, and the offset in it.
        """
        ids, position = self._cursor.draft(k)
        if not ids:
            return (), "", 0
        return (tuple(ids), *self.file.locate(position))

    @property
    def n_tokens(self) -> int:
        """Tokens in the corpus, separators included."""
        return self.file.header.n_tokens

    @property
    def memory_bytes(self) -> int:
        """Bytes that the compiled core holds beside the mapped file."""
        return self.file.array.memory_bytes


def open_global(path: Path, fingerprint: bytes, n_vocab: int) -> GlobalCorpus:
    """Open a corpus file for the tokenizer with this fingerprint and vocabulary.

    Raises:
        DraftError: it is missing, no corpus file, damaged, of another version or tokenizer.
    """
    return GlobalCorpus(open_corpus(path, fingerprint, n_vocab))
