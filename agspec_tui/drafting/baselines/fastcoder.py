"""`fastcoder`: FastCoder, made from its abstract; its code and its rules could not be read."""

from collections.abc import Sequence

from agspec_tui.drafting.agspec import GLOBAL, WORKSPACE, StaticCorpus
from agspec_tui.drafting.baselines.automaton_drafter import N_CONTEXT, AutomatonDrafter
from agspec_tui.drafting.baselines.context_drafter import CONTEXT, Copy
from agspec_tui.drafting.token_ids import checked
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Match, Piece, Views
from agspec_tui.drafting.workspace_corpus import WorkspaceCorpus

_RAW = "raw"
_LONGEST = 16
"""Longest match that is told from a longer one, in tokens."""
_SHORTEST = 2
"""Shortest match that is drafted from, in tokens."""
_N_DRAFT = 10
"""Most tokens proposed."""
_N_GENERATED = 16
"""Tokens of output from which on the cache is used."""
_N_TRIED = 8
"""Drafts behind a token after which it may be skipped."""
_LEAST_SHARE = 0.1
"""Share of them whose first token must have been accepted."""


class FastCoder(AutomatonDrafter):
    """Copies from a general store, a repository store, and a cache of context and output.

    The abstract says: a multi-source datastore of general and project knowledge, retrieval at
    controlled times, parallel retrieval, and a cache that knows the context and what the model
    prefers. All else is chosen here:
      - matches of 16 to 2 tokens and drafts of up to 10, as in REST, on whose retriever it builds;
        one sequence is proposed, no tree;
      - the general store is the static corpus, with its own choice of a continuation; the
        repository store holds the raw views of the indexed files and is copied from the first
        occurrence;
      - the cache holds prompt and output of the present call, and its most frequent continuation
        counts; it is used from the 16th token of output on;
      - all of them are asked in every step, and the longest match counts; ties go to the cache,
        then to the repository;
      - nothing is retrieved behind a token behind which less than a tenth of at least 8 drafts in
        this session had their first token accepted.
    """

    name = "fastcoder"
    steady = False

    def __init__(self, static: StaticCorpus | None = None) -> None:
        """Make one with empty stores.

        Args:
            static: the general store; None for none.
        """
        super().__init__(static)
        self._repository = WorkspaceCorpus()
        # Of every token: drafts verified behind it, and those whose first token was accepted.
        self._records: dict[int, tuple[int, int]] = {}
        self._newest = -1

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """The prompt becomes the context of every store.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer.
        """
        super().begin(sequence, pieces)
        tail = self._text.ids[-N_CONTEXT:].tolist()
        self._repository.begin(tail)
        self._newest = tail[-1] if tail else -1

    def feed(self, ids: Sequence[int]) -> None:
        """Append committed tokens to the context of every store.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer.
        """
        super().feed(ids)
        if len(ids):
            self._repository.feed(ids)
            self._newest = int(ids[-1])

    def _search(self) -> Copy | None:
        if len(self._text) - self._text.n_prompt < _N_GENERATED:
            return None
        length = self._automaton.match_length()
        start = self._automaton.copy_start() if length >= _SHORTEST else -1
        return Copy(min(length, _LONGEST), start, _N_DRAFT) if start >= 0 else None

    def match(self) -> Match:
        """The longest match of cache and stores; none where retrieval is skipped."""
        n_tried, n_accepted = self._records.get(self._newest, (0, 0))
        if n_tried >= _N_TRIED and n_accepted < _LEAST_SHARE * n_tried:
            return NO_MATCH
        cached = self._found()
        length, source = (cached.length, CONTEXT) if cached is not None else (_SHORTEST - 1, "")
        stores: list[tuple[str, WorkspaceCorpus | StaticCorpus | None]] = [
            (WORKSPACE, self._repository),
            (GLOBAL, self._static),
        ]
        for name, store in stores:
            in_store = min(_LONGEST, store.match_length()) if store is not None else 0
            if in_store > length:
                length, source = in_store, name
        return Match(length, source) if source else NO_MATCH

    def draft(self, match: Match, k: int) -> Draft:
        """Up to 10 tokens that followed the match, at most `k`."""
        store: WorkspaceCorpus | StaticCorpus | None = None
        if match.source == WORKSPACE:
            store = self._repository
        elif match.source == GLOBAL:
            store = self._static
        if store is None:
            return super().draft(match, k)
        if k < 1:
            return NO_DRAFT
        ids, document, offset = store.draft(min(k, _N_DRAFT))
        return Draft(ids, match.source, document, offset) if ids else NO_DRAFT

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """Remember whether retrieval was worth its cost behind the newest token."""
        n_tried, n_good = self._records.get(self._newest, (0, 0))
        self._records[self._newest] = (n_tried + 1, n_good + (n_accepted > 0))

    def beside(self) -> "FastCoder":
        """One with a cache and records of its own, on the same repository and general stores."""
        other = super().beside()
        other._repository = self._repository.beside()
        return other

    def index(self, path: str, views: Views) -> int:
        """Put a file's raw view into the repository store; returns the store's tokens.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer; or there is no room for it.
        """
        raw = [(name, checked(ids)) for name, ids in views if name == _RAW]
        return self._repository.index(path, raw)

    def forget(self, path: str) -> None:
        """Take a file out of the repository store; unknown paths are no error."""
        self._repository.forget(path)

    def reset(self) -> None:
        """Drop all but the general store."""
        super().reset()
        self._repository = WorkspaceCorpus()
        self._records.clear()
        self._newest = -1
