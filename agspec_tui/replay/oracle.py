"""`oracle`: K = R, the yardstick. It drafts what will be accepted and nothing else."""

from agspec_tui.policy.types import Budget, Evidence, Outcome


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
