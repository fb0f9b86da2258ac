"""`sam`: SAM-Decoding without a model drafter (hyx1999/SAM-Decoding, with its defaults)."""

from agspec_tui.drafting.agspec import GLOBAL
from agspec_tui.drafting.baselines.automaton_drafter import AutomatonDrafter
from agspec_tui.drafting.baselines.context_drafter import CONTEXT, Copy
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Match

_STATIC_BIAS = 5
"""Ids that a static match is counted shorter by; ties go to the context."""
_FACTOR = 4
"""Most tokens proposed for each token of the match."""
_N_MOST = 59
"""Most tokens proposed: 60 with the newest token, which the original counts."""


class Sam(AutomatonDrafter):
    """Copies what followed the longest match, min(59, 4·m) tokens of it.

    The context is prompt and output of the present call; another prompt starts anew. Its match is
    the longest suffix that occurred before, and is copied from its first occurrence. Where fewer
    tokens follow that than are wanted, suffix links are climbed to an earlier one, but not to the
    root. The two variants there are joined in this: length by the match as in `samd_sam_only`,
    which does not climb; climbing as in `samd`, whose length is constant.

    A static match is counted 5 shorter and is used where it is longer all the same. The original
    proposes a tree from its static corpus; here a sequence is verified, so that the corpus' own
    choice of one continuation is followed.
    """

    name = "sam"

    def _search(self) -> Copy | None:
        length = self._automaton.match_length()
        if length == 0:
            return None
        n_tokens = min(_N_MOST, _FACTOR * length)
        return Copy(length, self._automaton.first_copy_start(n_tokens), n_tokens)

    def match(self) -> Match:
        """The longer match, the static one counted 5 shorter."""
        dynamic = self._found()
        length = 0 if dynamic is None else dynamic.length
        static = self._static.match_length() - _STATIC_BIAS if self._static is not None else 0
        if static > length:
            return Match(static, GLOBAL)
        return Match(length, CONTEXT) if length else NO_MATCH

    def draft(self, match: Match, k: int) -> Draft:
        """What followed the match: min(59, 4·m) tokens, at most `k`."""
        if match.source != GLOBAL or self._static is None or k < 1:
            return super().draft(match, k)
        n_tokens = min(k, _N_MOST, _FACTOR * match.length)
        ids, document, offset = self._static.draft(n_tokens)
        return Draft(ids, GLOBAL, document, offset) if ids else NO_DRAFT
