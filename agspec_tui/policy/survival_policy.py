"""`survival`: `goodput` that goes on learning Pr(R ≥ k) in the session.

Every verification counts, whatever limited its draft: behind a full acceptance it is censored, not
failed, so a policy that drafts little does not come to believe that nothing longer would hold. The
profile stays as a prior of bounded weight, position by position, which also keeps alive the lengths
that are not being tried.
"""

from agspec_tui.policy.cost import Cost
from agspec_tui.policy.evidence_key import key_of
from agspec_tui.policy.goodput import Goodput
from agspec_tui.policy.lengths import Lengths
from agspec_tui.policy.profile import Profile
from agspec_tui.policy.survival import Counts, count, hazard, no_counts
from agspec_tui.policy.types import Evidence, Outcome

WEIGHT = 100.0
"""Drafts of the session that the profile counts for, at each position of a cell."""
_FIRST_LOOK = 8


class SurvivalPolicy(Goodput):
    """`goodput` with estimates that follow the session."""

    name = "survival"

    def __init__(
        self, cost: Cost, profile: Profile, min_match: int = 1, weight: float = WEIGHT
    ) -> None:
        """Start from the profile, which counts for `weight` drafts."""
        super().__init__(cost, profile, min_match)
        self._weight = weight
        self._seen: dict[tuple[Lengths, int], Counts] = {}

    def observe(self, role: str, evidence: Evidence, outcome: Outcome) -> None:
        """Count the verification; choose the cell's length anew when its drafts have doubled."""
        super().observe(role, evidence, outcome)
        lengths = self._of_reply.get((role, evidence.form))
        if outcome.n_drafted == 0 or lengths is None:
            return
        key = key_of(evidence)
        counts = self._seen.get((lengths, key))
        if counts is None:
            counts = self._seen[lengths, key] = no_counts()
        count(counts, outcome.n_drafted, outcome.n_accepted)
        n_drafts = int(counts.sum())
        if n_drafts >= _FIRST_LOOK and n_drafts & (n_drafts - 1) == 0:
            lengths.update(key, hazard(counts, lengths.prior(key), self._weight))

    def reset(self) -> None:
        """Forget the session."""
        super().reset()
        self._seen.clear()
