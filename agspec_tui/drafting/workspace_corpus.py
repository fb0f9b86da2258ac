"""The workspace corpus: files of the repository, in the views in which the agent emits them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from agspec_tui._native import Cursor
from agspec_tui._native import WorkspaceCorpus as NativeCorpus
from agspec_tui.drafting.types import Views


class WorkspaceCorpus:
    """Views of files in the order of indexing, and the decoding context's match in them.

    A file that changed is taken out and indexed anew at the end of that order.
    """

    def __init__(self) -> None:
        self._text = NativeCorpus()
        self._cursor = Cursor(self._text)
        self._files: dict[str, dict[int, tuple[str, npt.NDArray[np.int32]]]] = {}
        self._names: dict[int, str] = {}
        self._context: list[int] = []
        self._stale = False

    def index(self, path: str, views: Views) -> int:
        """Put a file's views in, in place of its older ones; the same views change nothing.

        Args:
            path: the file, as provenance shall show it.
            views: name and token ids of each view, in the order of indexing.

        Returns:
            Tokens in the corpus.
        """
        new = [(name, np.array(ids, dtype=np.int32)) for name, ids in views]
        old = list(self._files.get(path, {}).values())
        if len(new) == len(old) and all(map(_equal, new, old)):
            return self._text.n_tokens
        self.forget(path)
        documents = {self._text.add(ids): (name, ids) for name, ids in new}
        self._names.update((doc, f"{path} ({name})") for doc, (name, _) in documents.items())
        self._files[path] = documents
        self._stale = True
        return self._text.n_tokens

    def forget(self, path: str) -> None:
        """Take a file out; unknown paths are no error."""
        documents = self._files.pop(path, {})
        if not documents:
            return
        self._text.forget(np.array(list(documents), dtype=np.int32))
        for document in documents:
            del self._names[document]
        self._stale = True

    def begin(self, ids: Sequence[int]) -> None:
        """The decoding context begins with these tokens: the last piece of a prompt."""
        self._context = list(ids)
        self._stale = True

    def feed(self, ids: Sequence[int]) -> None:
        """The decoding context goes on."""
        self._context.extend(ids)
        if not self._stale:
            self._cursor.advance(np.array(ids, dtype=np.int32))

    def match_length(self) -> int:
        """Length of the longest suffix of the context that occurs in a view, in tokens."""
        self._refresh()
        return self._cursor.length()

    def draft(self, k: int) -> tuple[tuple[int, ...], str, int]:
        """Up to `k` tokens that follow the first occurrence of the match in its view.

        Returns:
            Token ids, the document `path (view)`, and the offset in it.
        """
        self._refresh()
        ids, document, offset = self._text.draft(self._cursor, k)
        return tuple(ids), self._names[document] if ids else "", offset

    def _refresh(self) -> None:
        """Read the context again after the corpus changed: it may match more, or less, by now."""
        if self._stale:
            self._cursor.reset()
            self._cursor.advance(np.array(self._context, dtype=np.int32))
            self._stale = False

    @property
    def n_tokens(self) -> int:
        """Tokens in the views."""
        return self._text.n_tokens

    @property
    def memory_bytes(self) -> int:
        """Bytes that the compiled core holds for it."""
        return self._text.memory_bytes


def _equal(
    a: tuple[str, npt.NDArray[np.int32]],
    b: tuple[str, npt.NDArray[np.int32]],
) -> bool:
    return a[0] == b[0] and np.array_equal(a[1], b[1])
