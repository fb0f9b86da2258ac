"""`own`: the drafter's own length rule decides."""

from agspec_tui.policy.types import Budget, Evidence, Outcome


class Own:
    """Asks for all that there is room for; for drafters that limit their drafts themselves."""

    name = "own"

    def budget(self, role: str, evidence: Evidence, room: int) -> Budget:
        """The room, whatever matched."""
        return Budget(max(0, room), censored=True)

    def observe(self, role: str, evidence: Evidence, outcome: Outcome) -> None:
        """The drafter learns, not the policy."""

    def alpha(self, role: str) -> float:
        """There is no scale; 1.0."""
        return 1.0

    def cap(self, role: str) -> int:
        """There is none: 0."""
        return 0

    def reset(self) -> None:
        """There is no state."""
