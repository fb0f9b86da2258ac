"""AgSpec's drafter over suffix automata: the session corpus and the workspace corpus."""

from collections.abc import Sequence

from agspec_tui.drafting.session_corpus import SessionCorpus
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Match, Piece, Views
from agspec_tui.drafting.workspace_corpus import WorkspaceCorpus

SESSION = "session"
WORKSPACE = "workspace"


class AgspecSam:
    """Copies what followed the longest match of the decoding context.

    Source rule: the longer live match wins, a tie goes to the session.
    """

    name = "agspec-sam"

    def __init__(self) -> None:
        """Make one with empty corpora."""
        self._session = SessionCorpus()
        self._workspace = WorkspaceCorpus()

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """Index what is new in the prompt; its last piece begins the context of the workspace."""
        self._session.begin(sequence, pieces)
        self._workspace.begin(pieces[-1].ids)

    def feed(self, ids: Sequence[int]) -> None:
        """Append committed tokens to the session corpus and match them in the workspace."""
        if ids:
            self._session.feed(ids)
            self._workspace.feed(ids)

    def match(self) -> Match:
        """The longest match of the present context, and its corpus."""
        m_session = self._session.match_length()
        m_workspace = self._workspace.match_length()
        if m_workspace > m_session:
            return Match(m_workspace, WORKSPACE)
        return Match(m_session, SESSION) if m_session else NO_MATCH

    def draft(self, match: Match, k: int) -> Draft:
        """Up to `k` tokens that followed the present match; its corpus decides which occurrence."""
        if match.length < 1 or k < 1:
            return NO_DRAFT
        corpus = self._workspace if match.source == WORKSPACE else self._session
        ids, document, offset = corpus.draft(k)
        return Draft(ids, match.source, document, offset) if ids else NO_DRAFT

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """Lengths are the policy's matter; the corpora learn from what is fed."""

    def index(self, path: str, views: Views) -> int:
        """Put a file's views into the workspace corpus; returns the corpus' tokens."""
        return self._workspace.index(path, views)

    def forget(self, path: str) -> None:
        """Take a file out of the workspace corpus; unknown paths are no error."""
        self._workspace.forget(path)

    def reset(self) -> None:
        """Drop both corpora."""
        self._session = SessionCorpus()
        self._workspace = WorkspaceCorpus()
