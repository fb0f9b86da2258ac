"""What drafters that copy from the decoding context have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from agspec_tui.drafting.context_text import ContextText
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Match, Piece, Views

CONTEXT = "context"


@dataclass(frozen=True, slots=True)
class Copy:
    """A stretch of the context to propose."""

    length: int
    """Ids of the match that it follows."""
    start: int
    """Position of its first token in the context."""
    n_tokens: int
    """Its tokens, by the drafter's own length rule; at least 1."""


class ContextOnly:
    """The part of the protocol that drafters without files and without learning leave empty."""

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """Nothing is learned."""

    def beside(self) -> Self:
        """A new one: it holds one context and nothing else."""
        return type(self)()

    def index(self, path: str, views: Views) -> int:
        """Files are not used; the corpus has 0 tokens."""
        return 0

    def forget(self, path: str) -> None:
        """Nothing to forget."""


class ContextDrafter(ContextOnly, ABC):
    """Keeps the context and copies from it where a subclass says.

    The search runs once for every state of the context, when it is first asked for.
    """

    name: str
    steady = True

    def __init__(self) -> None:
        """Make one with an empty context."""
        self._text = ContextText()
        self._searched = False
        self._copy: Copy | None = None

    @abstractmethod
    def _search(self) -> Copy | None:
        """Find what to propose in the present context; None for nothing."""

    @abstractmethod
    def _keep(self, n_kept: int) -> None:
        """A prompt was put in; of the old context only the first `n_kept` tokens are left."""

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """The prompt becomes the context.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer.
        """
        n_kept = self._text.begin(pieces)
        self._searched = False
        self._keep(n_kept)

    def feed(self, ids: Sequence[int]) -> None:
        """Append committed tokens to the context.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer.
        """
        self._text.feed(ids)
        self._searched = False

    def _found(self) -> Copy | None:
        if not self._searched:
            self._copy = self._search()
            self._searched = True
        return self._copy

    def match(self) -> Match:
        """The match that would be drafted from."""
        copy = self._found()
        return NO_MATCH if copy is None else Match(copy.length, CONTEXT)

    def draft(self, match: Match, k: int) -> Draft:
        """What followed the present match: its own length, at most `k` tokens."""
        copy = self._found()
        if copy is None or match.length < 1 or k < 1:
            return NO_DRAFT
        ids = self._text.ids[copy.start : copy.start + min(k, copy.n_tokens)]
        document, offset = self._text.place(copy.start)
        return Draft(tuple(ids.tolist()), CONTEXT, document, offset)

    def reset(self) -> None:
        """Drop the context."""
        self._text = ContextText()
        self._searched = False
        self._keep(0)
