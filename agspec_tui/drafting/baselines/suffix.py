"""`suffix`: SuffixDecoding's linear drafts (arctic-inference 0.3.0, with its cache's defaults)."""

from collections.abc import Sequence

from agspec_tui._native import SuffixTree
from agspec_tui.drafting.baselines.context_drafter import CONTEXT, ContextOnly
from agspec_tui.drafting.context_text import ContextText
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Match, Piece

OUTPUTS = "outputs"

_DEPTH = 64
"""Most tokens of a match and its draft together."""
_FACTOR = 1.0
"""Most tokens proposed for each token of the match."""
_OFFSET = 0.0
"""Added to that."""
_MIN_PROB = 0.1
"""A token with a smaller share of what was counted ends the draft before it."""

_LOCAL = 0
"""The one sequence of the local tree."""

_Found = tuple[list[int], float, int, int, int]


class Suffix(ContextOnly):
    """Follows counts in two suffix trees; the draft with the higher score is proposed.

    The local tree holds prompt and output of the present call and is made anew for the next one,
    unless that only goes on from it. The global tree holds the outputs of all calls of the session,
    the present one among them, and no prompts or tool results. Ties go to the local tree. The most
    tokens that the caller wants limit the search itself, and with it the match that is chosen.
    """

    name = "suffix"
    steady = False

    def __init__(self) -> None:
        """Make one with empty trees."""
        self.reset()

    def reset(self) -> None:
        """Drop both trees."""
        self._text = ContextText()
        self._local = SuffixTree(_DEPTH)
        self._global = SuffixTree(_DEPTH)
        # Label and length of the piece that each output goes on with, by the output's sequence.
        self._outputs: list[tuple[str, int]] = [("context", 0)]
        self._widest: tuple[_Found, str] | None = None

    def begin(self, sequence: str, pieces: Sequence[Piece]) -> None:
        """The prompt becomes the local tree's text, and another output begins.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer; nothing has changed then.
        """
        n_kept = self._text.begin(pieces)
        if n_kept < self._local.n_tokens:
            self._local = SuffixTree(_DEPTH)
            n_kept = 0
        self._local.append(_LOCAL, self._text.ids[n_kept:])
        self._outputs.append((pieces[-1].label, len(pieces[-1].ids)))
        self._widest = None

    def feed(self, ids: Sequence[int]) -> None:
        """Append committed tokens to both trees.

        Raises:
            DraftError: a token id is negative, or no 32-bit integer; nothing has changed then.
        """
        tokens = self._text.feed(ids)
        self._local.append(_LOCAL, tokens)
        self._global.append(len(self._outputs) - 1, tokens)
        self._widest = None

    def _search(self, k: int) -> tuple[_Found, str]:
        """The better tree's draft of at most `k` tokens, and the name of the tree."""
        if not len(self._text):
            return ([], 0.0, 0, -1, 0), CONTEXT
        rule = (k, _FACTOR, _OFFSET, _MIN_PROB)
        local = self._local.draft_sequence(_LOCAL, *rule)
        outputs = self._global.draft(self._text.ids[-_DEPTH:], *rule)
        return (local, CONTEXT) if local[1] >= outputs[1] else (outputs, OUTPUTS)

    def _found(self) -> tuple[_Found, str]:
        """What is proposed where there is room for all of it; searched once a step."""
        if self._widest is None:
            self._widest = self._search(_DEPTH)
        return self._widest

    def match(self) -> Match:
        """The match with the best score, which need not be the longest."""
        (ids, _, length, _, _), source = self._found()
        return Match(length, source) if ids else NO_MATCH

    def draft(self, match: Match, k: int) -> Draft:
        """The draft with the best score among those of at most `k` tokens."""
        if match.length < 1 or k < 1:
            return NO_DRAFT
        found, source = self._found()
        if len(found[0]) > k:
            found, source = self._search(k)
        ids, _, _, output, offset = found
        if not ids:
            return NO_DRAFT
        if source == CONTEXT:
            document, offset = self._text.place(offset)
        else:
            document, n_before = self._outputs[output]
            offset += n_before
        return Draft(tuple(ids), source, document, offset)
