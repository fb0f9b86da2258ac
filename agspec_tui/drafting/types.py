"""The one protocol that AgSpec and every baseline serve, live and in replay."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]
Views = Sequence[tuple[str, Ids | Sequence[int]]]
"""Name and token ids of each view of a file, in the order of indexing."""


Copied = tuple[tuple[int, ...], str, int]
"""Copied token ids, the document they come from, and the token offset in it."""
Place = tuple[int, int]
"""The number of a document in its corpus, and a token offset in it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of prompt tokens that is indexed once: one message with its template scaffold."""

    label: str
    """What provenance shows, e.g. `coder:user 3`."""
    ids: tuple[int, ...]
    """Its token ids."""


@dataclass(frozen=True, slots=True)
class Match:
    """The longest match of the decoding context's suffix."""

    length: int
    """m, in tokens; 0 if nothing matches."""
    source: str
    """Corpus it was found in: `session`, `workspace`, `global`, or a baseline's own store; empty if
    none."""
    n_seen: int = field(default=0, compare=False)
    """How often it occurred before in that corpus; 0 where the corpus does not count."""
    n_group: int = field(default=0, compare=False)
    """Of those, how often the tokens followed that a draft would begin with; 0 if not counted."""


NO_MATCH = Match(0, "")


@dataclass(frozen=True, slots=True)
class Draft:
    """Tokens proposed to the target, with their provenance."""

    ids: tuple[int, ...]
    """Proposed token ids, at most as many as asked for."""
    source: str
    """Corpus they were copied from; empty for an empty draft."""
    document: str
    """Document they were copied from: `path (view)` or a message label."""
    offset: int
    """Token offset of the copy within that document."""


NO_DRAFT = Draft((), "", "", 0)


class Drafter(Protocol):
    """Proposes tokens for one decoding sequence at a time.

    Life cycle: `begin` (a prompt), then per step `match` → `draft` → `observe` (the verification)
    → `feed` (what was committed). After a rejection nothing is undone, because only committed
    tokens are ever fed. A drafter with a length rule of its own drafts fewer tokens than asked for;
    under the policy `own` it is asked for all that there is room for.
    """

    name: str
    """Name on the command line and in reports."""
    steady: bool
    """Whether its proposals depend on the committed tokens alone, and a shorter draft is always the
    beginning of a longer one. One walk over a recording then serves every policy."""

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """A generation begins: its whole prompt in pieces, the last of which ends the context."""
        ...

    def feed(self, ids: Sequence[int]) -> None:
        """Committed tokens of the decoding sequence, in order."""
        ...

    def match(self) -> Match:
        """The longest match of the present context."""
        ...

    def draft(self, match: Match, k: int) -> Draft:
        """Up to `k` tokens that followed the match; fewer where its document ends."""
        ...

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """The last draft was verified: D tokens were sent to the target, A of them accepted.

        D is smaller than the draft where the engine cut it. Nothing is reported without a draft.
        """
        ...

    def beside(self) -> "Drafter":
        """Another one for a context that is decoded at the same time, with nothing in it.

        It shares what is not of one context: workspace and global corpora, read by the decoding
        thread alone.
        """
        ...

    def index(self, path: str, views: Views) -> int:
        """Put a file's views into the workspace corpus; returns the corpus' tokens.

        Called from the indexing thread, as `forget` is, while another thread matches and drafts.

        Raises:
            DraftError: the corpus has no room for it.
        """
        ...

    def forget(self, path: str) -> None:
        """Take a file out of the workspace corpus; unknown paths are no error."""
        ...

    def reset(self) -> None:
        """Drop every live corpus."""
        ...
