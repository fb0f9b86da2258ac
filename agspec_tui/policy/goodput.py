"""`goodput`: the draft lengths that give most tokens per unit of time, by profile and cost.

The rule is in `policy/lengths.py`. A step without a draft is a choice like any other, so where
verification is dear nothing is drafted rather than something that does not pay. How likely a draft
holds comes from a profile and is not learnt here: a policy that learns only from the lengths it
chose never sees long runs, and stays short.

Its α is none that it decides by: it says what α would have to be for paper mode to draft as long as
this policy did of late.

Where several sequences decode in one pass they share it, see `policy/sharing.py`: each position of
a draft is worth the time that it saves the sequence later on.
"""

from collections.abc import Sequence

import numpy as np

from agspec_tui.policy.cost import K_MAX, Cost
from agspec_tui.policy.evidence_key import key_of
from agspec_tui.policy.lengths import Floats, Lengths
from agspec_tui.policy.pass_share import pass_share
from agspec_tui.policy.profile import Profile
from agspec_tui.policy.types import Ask, Budget, Evidence, Outcome

_NEWEST = 0.1
"""What the newest draft counts for in α, the η of paper mode."""
_NO_DRAFT = Budget(0, censored=True)
_WORTHLESS = np.zeros(0)


class Goodput:
    """Lengths from a profile and the cost of a pass, for every role and room."""

    name = "goodput"

    def __init__(self, cost: Cost, profile: Profile, min_match: int = 1) -> None:
        """Estimate from the profile; lengths are chosen at the first step, when room is known."""
        self._cost = cost
        self._times = cost.table
        self._pass_times = cost.up_to(1)
        # A worth a rounding error below the slope of the pass is not below it.
        self._least_worth = cost.least_slope() * (1.0 - 1e-9)
        self._shares: dict[int, Floats] = {}
        self._profile = profile
        self._min_match = max(1, min_match)
        self._everyone = self._made(None)
        self._of_reply: dict[tuple[str, str], Lengths] = {}
        self._alpha: dict[str, float] = {}
        self._room = 0

    def budget(self, role: str, evidence: Evidence, room: int) -> Budget:
        """The best length within the room."""
        if evidence.match_len < self._min_match or room < 1:
            return _NO_DRAFT
        room = min(room, K_MAX)
        if room > self._room:
            self._widen(room)
        reply = (role, evidence.form)
        lengths = self._of_reply.get(reply) or self._lengths_of(reply)
        return Budget(lengths.best(key_of(evidence), room), censored=True)

    def worths(self, asks: Sequence[Ask], n_active: int) -> list[Floats]:
        """Of each ask what its positions are worth, in units of T(1), never rising."""
        rooms = [
            min(ask.room, K_MAX) if ask.evidence.match_len >= self._min_match else 0 for ask in asks
        ]
        most = max(rooms, default=0)
        if most < 1:
            return [_WORTHLESS] * len(asks)
        if most > self._room:
            self._widen(most)
        share = self._shares.get(n_active)
        if share is None:
            share = self._shares[n_active] = pass_share(self._cost, self._profile, n_active)
        of = [
            (self._lengths_of((ask.role, ask.evidence.form)), key_of(ask.evidence)) for ask in asks
        ]
        known = {
            lengths: lengths.worths(
                [key for each, key in of if each is lengths], n_active, share, self._least_worth
            )
            for lengths in dict.fromkeys(lengths for lengths, _ in of)
        }
        return [
            known[lengths][key][:room] if room > 0 else _WORTHLESS
            for (lengths, key), room in zip(of, rooms, strict=True)
        ]

    def chances(self, asks: Sequence[Ask]) -> list[Floats]:
        """Of each ask Pr(R ≥ k) for k = 1 … K_MAX."""
        return [
            self._lengths_of((ask.role, ask.evidence.form)).survival(key_of(ask.evidence))[1:]
            for ask in asks
        ]

    def pass_times(self, n: int) -> Floats:
        """T(k)/T(1) of passes over k = 0 … n tokens or more."""
        if n >= len(self._pass_times):
            self._pass_times = self._cost.up_to(2 * n)
        return self._pass_times

    def observe(self, role: str, evidence: Evidence, outcome: Outcome) -> None:
        """The profile decides, not the session; only α is kept."""
        if outcome.n_drafted:
            alpha = self._alpha.get(role, 1.0)
            drift = outcome.n_drafted / max(1, evidence.match_len) - alpha
            self._alpha[role] = alpha + _NEWEST * drift

    def alpha(self, role: str) -> float:
        """Drafted tokens over tokens of the match, smoothed over the role's drafts; 1.0 at first.

        Steps without a draft are no drafts of length 0, as for paper mode's α.
        """
        return self._alpha.get(role, 1.0)

    def cap(self, role: str) -> int:
        """The longest draft that any evidence would get; 0 before the first step."""
        known = [lengths.longest() for (who, _), lengths in self._of_reply.items() if who == role]
        return max(known, default=0)

    def reset(self) -> None:
        """Forget how much room there was, and every α."""
        self._room = 0
        self._alpha.clear()

    def _widen(self, room: int) -> None:
        """More room than ever: what comes behind a draft is drafted with it, too.

        Less room than that is then the end of a reply or of the context.
        """
        self._room = room
        for lengths in {self._everyone, *self._of_reply.values()}:
            lengths.decide(self._room)

    def _lengths_of(self, reply: tuple[str, str]) -> Lengths:
        """Lengths of a role and form: their own if the profile knows the role, else everyone's."""
        found = self._of_reply.get(reply)
        if found is not None:
            return found
        found = self._everyone
        if self._profile.is_known(reply[0]):
            found = self._made(*reply)
            found.decide(self._room)
        self._of_reply[reply] = found
        return found

    def _made(self, role: str | None, form: str = "") -> Lengths:
        return Lengths(self._profile.shrunk(role, form), self._profile.keys(role), self._times)
