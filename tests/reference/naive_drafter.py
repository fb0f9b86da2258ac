"""A drafter that looks everything up in plain lists: the oracle of the drafter protocol."""

from collections.abc import Sequence

from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Match, Piece, Views


class NaiveDrafter:
    """Longest suffix of the context that occurred before in it; copies from its last occurrence."""

    name = "naive"
    steady = True

    def __init__(self, longest: int = 64) -> None:
        self.context: list[int] = []
        self._longest = longest
        self._position = 0

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        self.context = [token for piece in pieces for token in piece.ids]

    def feed(self, ids: Sequence[int]) -> None:
        self.context += ids

    def match(self) -> Match:
        n = len(self.context)
        for length in range(min(self._longest, n - 1), 0, -1):
            suffix = self.context[n - length :]
            for end in range(n - 1, length - 1, -1):
                if self.context[end - length : end] == suffix:
                    self._position = end
                    return Match(length, "session")
        return NO_MATCH

    def draft(self, match: Match, k: int) -> Draft:
        if not match.length:
            return NO_DRAFT
        ids = tuple(self.context[self._position : self._position + k])
        return Draft(ids, "session", "context", self._position)

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        pass

    def beside(self) -> "NaiveDrafter":
        return type(self)()

    def index(self, path: str, views: Views) -> int:
        return 0

    def forget(self, path: str) -> None:
        pass

    def reset(self) -> None:
        self.context = []
