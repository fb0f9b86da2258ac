"""Files on their way into the workspace corpus: tokens of their views, and where their lines begin.

Runs on the indexing thread. Where a session is recorded, the corpus changes between two steps only.
"""

import contextlib
from collections.abc import Sequence

from agspec_tui.commands import IndexDocument
from agspec_tui.engine.loop import Decoder
from agspec_tui.engine.recording import RecordedDocument, RecordedForget, Recorder
from agspec_tui.engine.types import Backend, Ids
from agspec_tui.events import DocumentIndexed


class IndexedFiles:
    """The workspace corpus of a decoder, as files go in and out."""

    def __init__(self, backend: Backend, decoder: Decoder, recorder: Recorder | None) -> None:
        self._backend = backend
        self._decoder = decoder
        self._recorder = recorder

    def index(self, command: IndexDocument) -> DocumentIndexed:
        """Put a file in, in place of its older version.

        Raises:
            DraftError: the corpus has no room for it.
        """
        tokenize = self._backend.tokenize
        views = [(view.name, tokenize(view.text, special=False)) for view in command.views]
        with self._change():
            self._record(command.path, views)
            n_corpus = self._decoder.drafter.index(command.path, views)
        ids = (ids for _, ids in views)
        self._decoder.lines.add(command.path, list(zip(command.views, ids, strict=True)))
        return DocumentIndexed(
            path=command.path,
            n_tokens=sum(len(ids) for _, ids in views),
            n_corpus_tokens=n_corpus,
            skipped="",
        )

    def forget(self, path: str) -> None:
        """Take a file out."""
        with self._change():
            if self._recorder is not None:
                self._recorder.write(RecordedForget(path=path))
            self._decoder.drafter.forget(path)
        self._decoder.lines.forget(path)

    def _change(self) -> contextlib.AbstractContextManager[None]:
        return self._recorder.gate.change() if self._recorder else contextlib.nullcontext()

    def _record(self, path: str, views: Sequence[tuple[str, Ids]]) -> None:
        if self._recorder is not None:
            listed = tuple((name, tuple(ids.tolist())) for name, ids in views)
            self._recorder.write(RecordedDocument(path=path, views=listed))
