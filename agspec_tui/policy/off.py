"""`off`: never draft."""

from agspec_tui.policy.types import Budget, Evidence, Outcome


class Off:
    """Plain decoding, whatever the drafter finds."""

    name = "off"

    def budget(self, role: str, evidence: Evidence, room: int) -> Budget:
        """Always zero."""
        return Budget(0, censored=True)

    def observe(self, role: str, evidence: Evidence, outcome: Outcome) -> None:
        """There is nothing to learn."""

    def alpha(self, role: str) -> float:
        """There is no scale; 1.0."""
        return 1.0

    def cap(self, role: str) -> int:
        """Zero."""
        return 0

    def reset(self) -> None:
        """There is no state."""
