"""From a token of an indexed view back to the line of the file that it was copied from."""

from bisect import bisect_right
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from agspec_tui.commands import DocumentView
from agspec_tui.forms.views import line_starts

_Tokens = npt.NDArray[np.int32]


class SourceLines:
    """Token offsets at which the lines of files begin, for each view of each file.

    One thread may add while another one asks: a file's tables are replaced as a whole.
    """

    def __init__(self, detokenize: Callable[[Sequence[int]], bytes], n_vocab: int) -> None:
        """Ask `detokenize` for the bytes of each token id below `n_vocab`, once each."""
        self._detokenize = detokenize
        self._n_bytes = np.full(n_vocab, -1, dtype=np.int32)
        self._tables: dict[str, dict[str, _Tokens]] = {}

    def add(self, path: str, views: Sequence[tuple[DocumentView, _Tokens]]) -> None:
        """Note the lines of a file, in place of its older ones.

        Args:
            path: the file, as provenance shows it.
            views: each view with its token ids. A view whose tokens are not exactly its bytes has
                no lines, e.g. where the tokenizer puts a blank before a text.
        """
        self._tables[path] = {view.name: self._table(view, ids) for view, ids in views}

    def forget(self, path: str) -> None:
        """Drop a file; unknown paths are no error."""
        self._tables.pop(path, None)

    def clear(self) -> None:
        """Drop every file."""
        self._tables.clear()

    def line(self, document: str, offset: int) -> int:
        """Line of the file, from 1, in which a token begins; 0 if that is not known.

        Args:
            document: provenance of a draft, `path (view)`; other labels have no lines.
            offset: token offset within it.
        """
        path, _, name = document.rpartition(" (")
        table = self._tables.get(path, {}).get(name.removesuffix(")"))
        return 0 if table is None else bisect_right(table, offset)

    def _table(self, view: DocumentView, ids: _Tokens) -> _Tokens:
        """Token offset of the first token that begins in each line, line 1 first; shape (lines,).

        Lines in which no token begins share the offset of the next one: the last of them counts.
        """
        ends = np.cumsum(self._sizes(ids), dtype=np.int64)
        starts = line_starts(view)
        if not len(ids) or ends[-1] != len(view.text.encode()):
            return np.empty(0, dtype=np.int32)
        begins = np.concatenate(([0], ends[:-1]))
        return np.searchsorted(begins, starts).astype(np.int32)

    def _sizes(self, ids: _Tokens) -> _Tokens:
        """Bytes of each token."""
        sizes = self._n_bytes[ids]
        if len(sizes) and sizes.min() < 0:
            for token in np.unique(ids[sizes < 0]).tolist():
                self._n_bytes[token] = len(self._detokenize((token,)))
            sizes = self._n_bytes[ids]
        return sizes
