"""`oracle`: K = R, the yardstick. It drafts what will be accepted and nothing else.

Where sequences share a pass, K = R for each, and then the best cut: of the ΣR tokens as many are
drafted as make n/θ − T(b + n) largest, where θ is what it reaches itself, in tokens per unit of
time. It is no upper bound: what a pass leaves out may be drafted later, which it does not weigh.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from agspec_tui.policy.cost import Cost
from agspec_tui.policy.types import Ask, Budget, Evidence, Outcome

Floats = npt.NDArray[np.float64]


def oracle_time(reusable: Sequence[int], times: Sequence[float]) -> float:
    """Time in which the oracle decodes one reply by itself.

    Args:
        reusable: R at every position: leading tokens of the longest draft there that the reply
            repeats; shape (n,).
        times: T(1 + k) for drafts of k = 0 … K tokens, K being the longest that may be drafted;
            shape (K + 1,).

    Returns:
        In the unit of `times`; 0 for an empty reply.
    """
    n, longest = len(reusable), len(times) - 1
    spent, i = 0.0, 0
    while i < n:
        # A draft that reaches the last token leaves nothing for the bonus token.
        k = min(reusable[i], longest, n - 1 - i)
        spent += times[k]
        i += k + 1
    return spent


class Oracle:
    """Knows how far the drafter's own proposal will agree, which no policy can know."""

    name = "oracle"

    def __init__(self) -> None:
        """Make one that knows of nothing yet."""
        self._reusable = 0

    def foresee(self, n_reusable: int) -> None:
        """R of the step that is to be decided, in tokens."""
        self._reusable = n_reusable

    def budget(self, role: str, evidence: Evidence, room: int) -> Budget:
        """R, or what room is left."""
        return Budget(max(0, min(self._reusable, room)), censored=True)

    def observe(self, role: str, evidence: Evidence, outcome: Outcome) -> None:
        """There is nothing to learn."""

    def alpha(self, role: str) -> float:
        """There is no scale; 1.0."""
        return 1.0

    def cap(self, role: str) -> int:
        """There is none: 0."""
        return 0

    def reset(self) -> None:
        """There is no state beyond a step."""


class SharedOracle(Oracle):
    """The oracle of several sequences that share each pass."""

    def __init__(self, cost: Cost, price: float) -> None:
        """Make one.

        Args:
            cost: of a pass over all tokens of its sequences.
            price: 1/θ, what a token is worth in units of T(1).
        """
        super().__init__()
        self._cost = cost
        self._times = cost.up_to(1)
        self._price = price
        self._told: list[int] = []

    def foresee(self, n_reusable: int) -> None:
        """R of the next sequence of the pass, in tokens."""
        self._told.append(n_reusable)

    def budget(self, role: str, evidence: Evidence, room: int) -> Budget:
        """The best length within R for a sequence that has the pass for itself."""
        (worths,) = self.worths([Ask(role, evidence, room)], 1)
        saved = np.cumsum([0.0, *worths]) - self.pass_times(1 + len(worths))[1 : len(worths) + 2]
        return Budget(int(saved.argmax()), censored=True)

    def worths(self, asks: Sequence[Ask], n_active: int) -> list[Floats]:
        """Each token that will be accepted is worth the time of a token, the others nothing."""
        told, self._told = self._told, []
        return [
            np.full(max(0, min(reusable, ask.room)), self._price)
            for reusable, ask in zip(told, asks, strict=True)
        ]

    def chances(self, asks: Sequence[Ask]) -> list[Floats]:
        """All that has a worth will be accepted."""
        return [np.ones(max(0, ask.room)) for ask in asks]

    def pass_times(self, n: int) -> Floats:
        """T(k)/T(1) of passes over k = 0 … n tokens or more."""
        if n >= len(self._times):
            self._times = self._cost.up_to(2 * n)
        return self._times
