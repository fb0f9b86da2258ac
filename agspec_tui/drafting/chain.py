"""A chain of two drafters: the second one drafts where the first one's match is short or absent."""

from collections.abc import Sequence

from agspec_tui.drafting.types import Draft, Drafter, Match, Piece, Views

MIN_MATCH = 3
"""Matches of one or two tokens are mostly chance; from three on, the occurrences are grouped."""


class Chain:
    """Retrieval first, a model where there is nothing to copy; see `MIN_MATCH`.

    Both see every prompt and every committed token. A verification is reported to the one whose
    draft it was. The second one must name its matches by one source of its own.
    """

    def __init__(
        self, name: str, first: Drafter, second: Drafter, min_match: int = MIN_MATCH
    ) -> None:
        """Chain two drafters.

        Args:
            name: name on the command line and in reports.
            first: asked first.
            second: asked where the first one's match is shorter than `min_match`, or its draft is
                empty.
            min_match: shortest match of the first one that is drafted from, in tokens, as long as
                the second one has a match.
        """
        self.name = name
        self.steady = first.steady and second.steady
        self._first, self._second = first, second
        self._min_match = min_match
        self._last = first
        self._second_match = Match(0, "")

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """Begin both."""
        self._first.begin(sequence, pieces)
        self._second.begin(sequence, pieces)

    def feed(self, ids: Sequence[int]) -> None:
        """Feed both."""
        self._first.feed(ids)
        self._second.feed(ids)

    def match(self) -> Match:
        """The first one's match if it is long enough, else the second one's, if it has any."""
        match = self._first.match()
        self._second_match = self._second.match()
        if match.length >= self._min_match or not self._second_match.length:
            return match
        return self._second_match

    def draft(self, match: Match, k: int) -> Draft:
        """The draft of whoever matched; the second one's where the first one's is empty."""
        if match != self._second_match:
            self._last = self._first
            draft = self._first.draft(match, k)
            if draft.ids or not self._second_match.length:
                return draft
        self._last = self._second
        return self._second.draft(self._second_match, k)

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """Report to the one that drafted last."""
        self._last.observe(n_drafted, n_accepted)

    def beside(self) -> Drafter:
        """The first one's alone: a model that drafts keeps up with one context at a time."""
        return self._first.beside()

    def index(self, path: str, views: Views) -> int:
        """Index with both; returns the first one's tokens."""
        self._second.index(path, views)
        return self._first.index(path, views)

    def forget(self, path: str) -> None:
        """Forget with both."""
        self._first.forget(path)
        self._second.forget(path)

    def reset(self) -> None:
        """Reset both."""
        self._first.reset()
        self._second.reset()
