"""Session corpora that hold less than a session: what AgSpec is without part of its memory."""

from collections.abc import Callable, Sequence
from typing import Literal

from agspec_tui.drafting.agspec import SessionStore
from agspec_tui.drafting.types import Copied, Piece, Place

SessionScope = Literal["session", "call", "off"]
"""What a session corpus holds: the whole session, the present call, or nothing."""


class CallCorpus:
    """Prompt and output of the present call, as prior drafters keep them.

    A prompt that goes on from the text of the last call extends it, which gives the same text;
    any other prompt begins a new corpus.
    """

    def __init__(self, make: Callable[[], SessionStore]) -> None:
        """Make an empty one; `make` gives the session corpus that holds a call."""
        self._make = make
        self._call = make()
        self._sequence = ""
        self._pieces: Sequence[Piece] = ()
        self._fed: list[int] = []

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """The prompt becomes the corpus.

        Raises:
            DraftError: an id is out of range.
        """
        if not self._goes_on(sequence, pieces):
            self._call = self._make()
        self._call.begin(sequence, pieces)
        self._sequence, self._pieces, self._fed = sequence, tuple(pieces), []

    def _goes_on(self, sequence: str, pieces: Sequence[Piece]) -> bool:
        """Whether the prompt begins with the last one and its output."""
        n = len(self._pieces)
        if sequence != self._sequence or len(pieces) <= n or list(pieces[n].ids) != self._fed:
            return False
        pairs = zip(self._pieces, pieces, strict=False)
        return all(old.ids is new.ids or old.ids == new.ids for old, new in pairs)

    def feed(self, ids: Sequence[int]) -> None:
        """Append committed tokens.

        Raises:
            DraftError: an id is out of range; nothing has changed then.
        """
        self._call.feed(ids)
        self._fed += ids

    def match(self) -> tuple[int, int, int]:
        """The call's match; see `SessionStore`."""
        return self._call.match()

    def draft(self, k: int) -> Copied:
        """Up to `k` tokens that followed the match."""
        return self._call.draft(k)

    def place(self) -> Place | None:
        """Where a draft would be copied from."""
        return self._call.place()

    def read(self, place: Place, k: int) -> Copied:
        """Up to `k` tokens from a place on."""
        return self._call.read(place, k)


class NoSession:
    """Nothing of the session: drafts come from the other corpora alone."""

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """Nothing is indexed."""

    def feed(self, ids: Sequence[int]) -> None:
        """Nothing is indexed."""

    def match(self) -> tuple[int, int, int]:
        """No match."""
        return 0, 0, 0

    def draft(self, k: int) -> Copied:
        """No draft."""
        return (), "", 0

    def place(self) -> Place | None:
        """No place."""
        return None

    def read(self, place: Place, k: int) -> Copied:
        """No text."""
        return (), "", 0


def scoped(make: Callable[[], SessionStore], scope: SessionScope) -> Callable[[], SessionStore]:
    """From what makes a session corpus to what makes one of this scope."""
    match scope:
        case "session":
            return make
        case "call":
            return lambda: CallCorpus(make)
        case "off":
            return NoSession
