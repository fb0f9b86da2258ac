"""The workspace corpus: files of the repository, in the views in which the agent emits them."""

import threading
from array import array
from collections.abc import Sequence
from copy import copy

import numpy as np

from agspec_tui._native import Cursor
from agspec_tui._native import WorkspaceCorpus as NativeCorpus
from agspec_tui.drafting.token_ids import checked, digest
from agspec_tui.drafting.types import Copied, Ids, Place, Views
from agspec_tui.errors import DraftError

MAX_TOKENS = 2_000_000
"""Most tokens of all views together."""
_N_READ_AGAIN = 512
"""Tokens of the context that are read again after a change. Reading thousands in a corpus that is
not in the caches would take milliseconds, and no draft is as long as even these."""


class WorkspaceCorpus:
    """Views of files in the order of indexing, and the decoding context's match in them.

    A file that changed is taken out and indexed anew at the end of that order. `index` and `forget`
    are called from the indexing thread, everything else from the decoding thread. That one never
    waits for longer than a millisecond; if the corpus cannot be read by then, nothing matches.
    """

    def __init__(self, max_tokens: int = MAX_TOKENS) -> None:
        """Make an empty one that takes `max_tokens` tokens."""
        self._text = NativeCorpus()
        self._max_tokens = max_tokens
        self._changing = threading.Lock()
        self._files: dict[str, dict[int, tuple[str, bytes]]] = {}
        # Shared by both threads: single look-ups and changes, which the interpreter makes atomic.
        self._names: dict[int, str] = {}
        # The decoding thread's own.
        self._cursor = Cursor(self._text)
        self._context = array("i")
        self._read_version = -1

    def beside(self) -> "WorkspaceCorpus":
        """The same files for another decoding context of the decoding thread."""
        other = copy(self)
        other._cursor = Cursor(self._text)
        other._context = array("i")
        other._read_version = -1
        return other

    def index(self, path: str, views: Views) -> int:
        """Put a file's views in, in place of its older ones; the same views change nothing.

        Args:
            path: the file, as provenance shall show it.
            views: name and token ids of each view, in the order of indexing.

        Returns:
            Tokens in the corpus.

        Raises:
            DraftError: an id is out of range, then nothing has changed; or the corpus has no room
                for the file, then its older views are gone.
        """
        new = [(name, checked(ids)) for name, ids in views]
        digests = [(name, digest(ids)) for name, ids in new]
        with self._changing:
            if digests and digests == list(self._files.get(path, {}).values()):
                return self._text.n_tokens
            self._take_out(path)
            try:
                self._require_room(path, sum(len(ids) for _, ids in new))
                documents = [self._add(path, name, ids) for name, ids in new]
                self._files[path] = dict(zip(documents, digests, strict=True))
            finally:
                self._rebuild_if_due()
            return self._text.n_tokens

    def forget(self, path: str) -> None:
        """Take a file out; unknown paths are no error."""
        with self._changing:
            self._take_out(path)
            self._rebuild_if_due()

    def _add(self, path: str, name: str, ids: Ids) -> int:
        # A draft may come from the view before it is in completely: it has its name by then.
        self._names[self._text.n_added] = f"{path} ({name})"
        return self._text.add(ids)

    def _take_out(self, path: str) -> None:
        documents = self._files.pop(path, {})
        if documents:
            self._text.forget(np.array(list(documents), dtype=np.int32))
        for document in documents:
            del self._names[document]

    def _require_room(self, path: str, n_tokens: int) -> None:
        if self._text.n_tokens + n_tokens > self._max_tokens:
            raise DraftError(
                f"{path} does not fit into the workspace corpus: {n_tokens:,} tokens, and"
                f" {self._text.n_tokens:,} of {self._max_tokens:,} are taken",
                "it is still edited as usual, only without drafts from it",
            )

    def _rebuild_if_due(self) -> None:
        if self._text.rebuild_due():
            self._text.rebuild()

    def begin(self, ids: Sequence[int]) -> None:
        """The decoding context begins with these tokens: the last piece of a prompt.

        Raises:
            DraftError: an id is out of range.
        """
        self._context = array("i", checked(ids).tobytes())
        self._read_version = -1

    def feed(self, ids: Sequence[int]) -> None:
        """The decoding context goes on.

        Raises:
            DraftError: an id is out of range; nothing has changed then.
        """
        new = checked(ids)
        self._context.frombytes(new.tobytes())
        if self._read_version == self._text.version and not self._cursor.advance(new):
            self._read_version = -1

    def match_length(self) -> int:
        """Length of the longest suffix of the context that occurs in a view, in tokens."""
        return self._cursor.length() if self._refresh() else 0

    def draft(self, k: int) -> Copied:
        """Up to `k` tokens that follow the first occurrence of the match in its view.

        Returns:
            Token ids, the document `path (view)`, and the offset in it.
        """
        if not self._refresh():
            return (), "", 0
        ids, document, offset = self._text.draft(self._cursor, k)
        return self._named(ids, document, offset)

    def place(self) -> Place | None:
        """Where such a draft would be copied from; None without one."""
        if not self._refresh():
            return None
        ids, document, offset = self._text.draft(self._cursor, 1)
        return (document, offset) if ids else None

    def read(self, place: Place, k: int) -> Copied:
        """Up to `k` tokens of a view from a place on; none if it was taken out.

        Returns:
            Token ids, the document `path (view)`, and the offset in it.
        """
        return self._named(*self._text.read_document(*place, k))

    def _named(self, ids: Sequence[int], document: int, offset: int) -> Copied:
        # The view may have been taken out since; then it is no text to draft from.
        name = self._names.get(document, "") if ids else ""
        return (tuple(ids), name, offset) if name else ((), "", 0)

    def _refresh(self) -> bool:
        """Read the context again after the corpus changed: it may match more, or less, by now.

        Returns:
            Whether the cursor has read the context.
        """
        version = self._text.version
        if self._read_version != version:
            context = np.array(self._context[-_N_READ_AGAIN:], np.int32)
            if self._cursor.read(context):
                # A change in the meantime has a higher version: the next call reads once more.
                self._read_version = version
        return self._read_version == version

    @property
    def n_tokens(self) -> int:
        """Tokens in the views."""
        return self._text.n_tokens

    @property
    def memory_bytes(self) -> int:
        """Bytes that the compiled core holds for it."""
        return self._text.memory_bytes
