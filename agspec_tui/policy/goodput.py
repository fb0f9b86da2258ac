"""`goodput`: the draft length that gives most tokens per unit of time over the whole session.

K = argmax over k ≥ 0 of E(k) − θ·T(k + 1). Maximising E/T step by step would ignore that the time of
a long draft is taken from steps that could use it better. A step without a draft is a choice like
any other, so where verification is dear nothing is drafted rather than something that does not pay.

Pr(R ≥ j) comes from a profile and is not learnt here: a policy that learns only from the lengths it
chose never sees long runs, and stays short. θ is the profile's too: following the throughput of the
present session made every source slower in replay, since a session that copies little then pays
more for each draft, not less.
"""

from agspec_tui.policy.cost import K_MAX, Cost
from agspec_tui.policy.evidence_key import key_of
from agspec_tui.policy.lengths import Lengths
from agspec_tui.policy.profile import N_OF_ITS_OWN, Profile
from agspec_tui.policy.types import Budget, Evidence, Outcome

CAUTION = 1.1
"""What the price of time is multiplied by. Tokens inside a long copy are worth a little less than
the average one, since a draft that ends there loses nothing: the next one goes on. 1.1 was best
where the profile came from other sources than the session."""

_NO_DRAFT = Budget(0, censored=True)


class Goodput:
    """Lengths from a profile and the cost of a pass, for every role and room."""

    name = "goodput"

    def __init__(
        self, cost: Cost, profile: Profile, min_match: int = 1, caution: float = CAUTION
    ) -> None:
        """Estimate from the profile; lengths are chosen at the first step, when room is known."""
        self._times = cost.table
        self._profile = profile
        self._min_match = max(1, min_match)
        self._caution = caution
        self._everyone = self._made(None)
        self._of_role: dict[str, Lengths] = {}
        self._room = 0
        self._theta = 1.0

    @property
    def theta(self) -> float:
        """θ: tokens per T(1) that these lengths give on the profile; 1.0 before the first step."""
        return self._theta

    def budget(self, role: str, evidence: Evidence, room: int) -> Budget:
        """The best length within the room."""
        if evidence.match_len < self._min_match or room < 1:
            return _NO_DRAFT
        room = min(room, K_MAX)
        if room > self._room:
            self._widen(room)
        lengths = self._of_role.get(role) or self._lengths(role)
        return Budget(lengths.best(key_of(evidence))[room], censored=True)

    def observe(self, role: str, evidence: Evidence, outcome: Outcome) -> None:
        """The profile decides, not the session."""

    def alpha(self, role: str) -> float:
        """There is no scale; 1.0."""
        return 1.0

    def cap(self, role: str) -> int:
        """The longest draft that any evidence would get."""
        return self._lengths(role).longest(self._room)

    def reset(self) -> None:
        """There is nothing of the session to forget."""

    def _widen(self, room: int) -> None:
        """More room than ever: the throughput to expect is another one, and with it each length."""
        self._room = room
        self._theta = self._everyone.throughput(self._profile.weights(), room)
        for lengths in {id(each): each for each in (self._everyone, *self._of_role.values())}.values():
            lengths.decide(self._theta * self._caution)

    def _lengths(self, role: str) -> Lengths:
        """Lengths of a role: its own if the profile knows it, else those of all roles."""
        found = self._of_role.get(role)
        if found is None:
            found = self._everyone
            if self._profile.n_drafts(role) >= N_OF_ITS_OWN:
                found = self._made(role)
                found.decide(self._theta * self._caution)
            self._of_role[role] = found
        return found

    def _made(self, role: str | None) -> Lengths:
        return Lengths(self._profile.shrunk(role), self._profile.weights(role), self._times)
