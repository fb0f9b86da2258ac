"""No drafter: the target decodes plainly."""

from collections.abc import Sequence

from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Match, Piece, Views


class Plain:
    """Never matches and never drafts."""

    name = "none"
    steady = True

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """Nothing is indexed."""

    def feed(self, ids: Sequence[int]) -> None:
        """Nothing is indexed."""

    def match(self) -> Match:
        """No match."""
        return NO_MATCH

    def draft(self, match: Match, k: int) -> Draft:
        """No draft."""
        return NO_DRAFT

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """Nothing is learned."""

    def beside(self) -> "Plain":
        """Itself: it holds nothing."""
        return self

    def index(self, path: str, views: Views) -> int:
        """Nothing is indexed; the corpus has 0 tokens."""
        return 0

    def forget(self, path: str) -> None:
        """Nothing to forget."""

    def reset(self) -> None:
        """Nothing to drop."""
