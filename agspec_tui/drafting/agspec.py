"""AgSpec's drafters: session, workspace and global corpus, and the rule that chooses among them."""

from collections.abc import Callable, Sequence
from typing import Protocol

from agspec_tui.drafting.copy_tracker import CopySource, CopyTracker
from agspec_tui.drafting.token_ids import checked
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Copied, Draft, Match, Piece, Place, Views
from agspec_tui.drafting.workspace_corpus import WorkspaceCorpus

SESSION = "session"
WORKSPACE = "workspace"
GLOBAL = "global"
GLOBAL_BIAS = 5
"""δ, in tokens: what a global match must be longer by, as in SAM-Decoding."""


class SessionStore(Protocol):
    """A session corpus on some engine; its end is the decoding context."""

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """Index what is new in a prompt and make its end the decoding context."""
        ...

    def feed(self, ids: Sequence[int]) -> None:
        """Append committed tokens."""
        ...

    def match(self) -> tuple[int, int, int]:
        """The engine's match of the decoding context.

        Returns:
            Its length in tokens (0 without one), how often it occurred before, and how often the
            tokens followed that a draft begins with.
        """
        ...

    def draft(self, k: int) -> Copied:
        """Up to `k` tokens that followed the match."""
        ...

    def place(self) -> Place | None:
        """Where they would be copied from; None without a match."""
        ...

    def read(self, place: Place, k: int) -> Copied:
        """Up to `k` tokens of its text from a place on."""
        ...


class StaticCorpus(Protocol):
    """A corpus that was built before serving, and the decoding context's match in it."""

    def beside(self) -> "StaticCorpus":
        """The same corpus for another context."""
        ...

    def begin(self, ids: Sequence[int]) -> None:
        """The decoding context begins with these tokens."""
        ...

    def feed(self, ids: Sequence[int]) -> None:
        """The decoding context goes on."""
        ...

    def match_length(self) -> int:
        """Length of the longest suffix of the context that occurs in it, in tokens."""
        ...

    def draft(self, k: int) -> Copied:
        """Up to `k` tokens that followed the match."""
        ...


class Agspec:
    """Copies what followed the longest match of the decoding context.

    Source rule: the longer live match wins, a tie goes to the session. The global corpus is drafted
    from only where its match is longer than both by more than δ.
    """

    steady = True

    def __init__(
        self,
        name: str,
        make_session: Callable[[], SessionStore],
        static: StaticCorpus | None = None,
        *,
        resume: bool = False,
    ) -> None:
        """Make one with empty live corpora.

        Args:
            name: name on the command line and in reports.
            make_session: makes an empty session corpus on the engine of this drafter.
            static: the global corpus; None for none.
            resume: go on with a copy of a live corpus where an edit interrupted it.
        """
        self.name = name
        self._make_session = make_session
        self._session = make_session()
        self._workspace = WorkspaceCorpus()
        self._static = static
        self._copy = CopyTracker() if resume else None

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """Index what is new in the prompt; its last piece begins the context of the others.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer; nothing has changed then.
        """
        # It checks what is new in the prompt before it changes anything; the rest it knows.
        self._session.begin(sequence, pieces)
        self._workspace.begin(pieces[-1].ids)
        if self._static is not None:
            self._static.begin(pieces[-1].ids)
        if self._copy is not None:
            self._copy = CopyTracker(pieces[-1].ids)
            self._copy.start(*self._live_match())

    def feed(self, ids: Sequence[int]) -> None:
        """Append committed tokens to the session corpus and match them in the others.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer; nothing has changed then.
        """
        if not ids:
            return
        checked(ids)
        if self._copy is None:
            self._append(ids)
            return
        while ids:
            n_agreeing = self._copy.follow(ids)
            self._append(ids[: n_agreeing or 1])
            if not n_agreeing:
                self._copy.look(ids[0], *self._live_match())
            ids = ids[n_agreeing or 1 :]

    def _append(self, ids: Sequence[int]) -> None:
        self._session.feed(ids)
        self._workspace.feed(ids)
        if self._static is not None:
            self._static.feed(ids)

    def _live_match(self) -> tuple[int, CopySource]:
        """Length and corpus of the longer live match."""
        m_session, m_workspace = self._session.match()[0], self._workspace.match_length()
        if m_workspace > m_session:
            return m_workspace, self._workspace
        return m_session, self._session

    def match(self) -> Match:
        """The longest match of the present context by the source rule, and its corpus."""
        length, n_seen, n_group = self._session.match()
        match = Match(length, SESSION, n_seen, n_group) if length else NO_MATCH
        m_workspace = self._workspace.match_length()
        if m_workspace > length:
            match = Match(m_workspace, WORKSPACE)
        if self._copy is not None and self._copy.is_resumed:
            match = self._resumed(self._copy, match)
        if self._static is not None:
            m_global = self._static.match_length()
            if m_global > match.length + GLOBAL_BIAS:
                match = Match(m_global, GLOBAL)
        return match

    def _resumed(self, copy: CopyTracker, match: Match) -> Match:
        """The match that a resumed copy stands for, in the place of the longest one.

        Its counts tell how often the tokens followed that the copy goes on with.
        """
        length = max(match.length, copy.length)
        if copy.source is self._workspace:
            return Match(length, WORKSPACE)
        _, n_seen, n_group = self._session.match()
        if n_seen > 1 and self._session.draft(1)[0] != copy.draft(1)[0]:
            n_group = n_seen - n_group
        return Match(length, SESSION, max(1, n_seen), n_group)

    def draft(self, match: Match, k: int) -> Draft:
        """Up to `k` tokens that followed the present match; its corpus decides which occurrence."""
        if match.length < 1 or k < 1:
            return NO_DRAFT
        corpus: SessionStore | StaticCorpus | CopyTracker = self._session
        if match.source == GLOBAL and self._static is not None:
            corpus = self._static
        elif self._copy is not None and self._copy.is_resumed:
            corpus = self._copy
        elif match.source == WORKSPACE:
            corpus = self._workspace
        ids, document, offset = corpus.draft(k)
        return Draft(ids, match.source, document, offset) if ids else NO_DRAFT

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """Lengths are the policy's matter; the corpora learn from what is fed."""

    def beside(self) -> "Agspec":
        """One with a session corpus of its own, on the same workspace and global corpora."""
        static = self._static.beside() if self._static is not None else None
        other = Agspec(self.name, self._make_session, static)
        other._workspace = self._workspace.beside()
        return other

    def index(self, path: str, views: Views) -> int:
        """Put a file's views into the workspace corpus; returns the corpus' tokens.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer; nothing has changed then.
        """
        return self._workspace.index(path, [(name, checked(ids)) for name, ids in views])

    def forget(self, path: str) -> None:
        """Take a file out of the workspace corpus; unknown paths are no error."""
        self._workspace.forget(path)

    def reset(self) -> None:
        """Drop both live corpora; the global one stays."""
        self._session = self._make_session()
        self._workspace = WorkspaceCorpus()
        self._copy = CopyTracker() if self._copy is not None else None
