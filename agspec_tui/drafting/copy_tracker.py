"""Where a copy goes on after an edit.

A model that rewrites a text leaves the copy for a token or a line, and comes back just behind where
it left. A suffix match has forgotten the copy by then: it begins again at one token, and finds that
token somewhere else. The tracker remembers where the copy was left, and looks there first.

It knows committed tokens only, never what was drafted, so that it is the same whatever the drafts.
"""

from collections.abc import Sequence
from typing import Protocol

from agspec_tui.drafting.types import Copied, Place

MIN_COPY = 8
"""Shortest match that counts as a copy under way, in tokens."""
MIN_MOVE = 4
"""Tokens that must have been copied on after an edit for the copy to be left anew where they end;
fewer may be chance."""
MOST_INSERTED = 64
"""Committed tokens after which a copy that was left is forgotten."""
MOST_SKIPPED = 64
"""Tokens of the source behind the place that was left, among which the copy may go on."""
SKIPPED_PER_TOKEN = 8
"""How many of them may be skipped for each token that agrees before the place to go on at."""
MOST_AGREEING = 16
"""Most tokens before such a place that are compared."""
MOST_EARLIER = 64
"""Most tokens copied before the edit that count."""
DISCOUNT = 4
"""How many of those count for one token of match length."""
_AHEAD = 128
_NOTHING: list[int] = []


class CopySource(Protocol):
    """A corpus that is copied from."""

    def place(self) -> Place | None:
        """Where a draft from the present match would be copied from; None without a match."""
        ...

    def read(self, place: Place, k: int) -> Copied:
        """Up to `k` tokens from a place on; none if it is not there any more."""
        ...


class CopyTracker:
    """Follows a copy through the committed tokens, and finds where it goes on after an edit."""

    def __init__(self, context: Sequence[int] = ()) -> None:
        """Make one that follows nothing yet; `context` is the last text of the context."""
        self.source: CopySource | None = None
        """The corpus that is copied from; None between copies."""
        self.n_agreeing = 0
        """Tokens of the context's end that are known to agree with the source."""
        self.n_earlier = 0
        """Tokens that were copied before the edit, halved at every one; 0 before any edit."""
        self._document = 0
        self._start = 0
        self._ahead = _NOTHING
        self._at = 0
        self._recent = list(context[-MOST_AGREEING:])
        self._left: CopySource | None = None
        self._left_place = (0, 0)
        self._around = _NOTHING
        self._n_back = 0
        self._n_inserted = 0

    @property
    def is_resumed(self) -> bool:
        """Whether the context goes on with a copy that an edit had interrupted."""
        return self.source is not None and self.n_earlier > 0

    @property
    def length(self) -> int:
        """The match length that the copy stands for, in tokens."""
        return self.n_agreeing + self.n_earlier // DISCOUNT

    def draft(self, k: int) -> Copied:
        """Up to `k` tokens with which the source goes on; none between copies."""
        return self.source.read(self._place, k) if self.source is not None else ((), "", 0)

    @property
    def _place(self) -> Place:
        return self._document, self._start + self._at

    def follow(self, ids: Sequence[int]) -> int:
        """Go on with the copy as far as committed tokens do.

        Returns:
            How many leading tokens agree. If there is none, the copy ends here; else it may go on
            in text that is known only once these tokens have been fed.
        """
        if self.source is None:
            return 0
        n = 0
        for token in ids:
            if self._at == len(self._ahead):
                self._read_on(self.source)
            if self._at == len(self._ahead) or self._ahead[self._at] != token:
                break
            self._at += 1
            n += 1
        if n:
            self.n_agreeing += n
            self._recent += ids[:n]
            del self._recent[:-MOST_AGREEING]
        return n

    def look(self, token: int, match_length: int, corpus: CopySource) -> None:
        """A token was fed with which no copy went on: look for where one does.

        Args:
            token: the token.
            match_length: length of the present live match, in tokens.
            corpus: the corpus of that match.
        """
        if self.source is not None:
            self._leave(self.source)
        self._recent.append(token)
        del self._recent[:-MOST_AGREEING]
        if self._left is not None:
            self._n_inserted += 1
            if self._n_inserted > MOST_INSERTED:
                self._left = None
            elif self._resume(self._left, match_length):
                return
        self.start(match_length, corpus)

    def start(self, match_length: int, corpus: CopySource) -> None:
        """Follow the present live match if it is long enough to be a copy under way."""
        if match_length < MIN_COPY:
            return
        place = corpus.place()
        if place is not None:
            self._go_on(corpus, place, match_length)
            self.n_earlier, self._left = 0, None

    def _go_on(self, source: CopySource, place: Place, n_agreeing: int) -> None:
        self.source, self.n_agreeing = source, n_agreeing
        self._document, self._start = place
        self._ahead, self._at = _NOTHING, 0

    def _read_on(self, source: CopySource) -> None:
        self._start, self._at = self._start + self._at, 0
        self._ahead = list(source.read((self._document, self._start), _AHEAD)[0])

    def _leave(self, source: CopySource) -> None:
        """The copy ends; where it was left before stands if this was no copy to speak of."""
        self.source = None
        if self.n_agreeing < MIN_MOVE:
            return
        self.n_earlier = min(MOST_EARLIER, self.n_agreeing + self.n_earlier // 2)
        self._left, self._left_place = source, self._place
        back = self._recent[-min(self.n_agreeing, MOST_AGREEING) :]
        # What was copied last is the same in the source and in the context.
        self._around = [*back, *source.read(self._left_place, MOST_SKIPPED)[0]]
        self._n_back = len(back)
        self._n_inserted = 0

    def _resume(self, source: CopySource, match_length: int) -> bool:
        """Go on at the nearest place behind the one that was left, if one fits.

        No suffix but the longest one that occurs anywhere, or one a token shorter, is as good a
        reason to go on there as the match is to go on elsewhere.
        """
        around, last = self._around, self._recent[-1]
        at, end = self._n_back - 1, len(around) - 1
        while True:
            try:
                at = around.index(last, at, end) + 1
            except ValueError:
                return False
            n = self._n_agreeing_before(at)
            n_skipped = at - self._n_back
            if n_skipped <= SKIPPED_PER_TOKEN * n and n >= match_length - (n > 1):
                document, offset = self._left_place
                self._go_on(source, (document, offset + n_skipped), n)
                return True

    def _n_agreeing_before(self, at: int) -> int:
        """Tokens before a place around the one that was left which the context ends with."""
        n, most = 1, min(at, len(self._recent))
        while n < most and self._around[at - 1 - n] == self._recent[-1 - n]:
            n += 1
        return n
