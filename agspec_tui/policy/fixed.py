"""`fixed`: the same draft length at every match."""

from agspec_tui.errors import DraftError
from agspec_tui.policy.types import Budget, Evidence, Outcome


class Fixed:
    """K tokens wherever something matches."""

    name = "fixed"

    def __init__(self, k: int, min_match: int = 1) -> None:
        if k < 1:
            raise DraftError(f"a fixed draft length of {k} is no length", "use 1 or more")
        self._k = k
        self._min_match = max(1, min_match)

    def budget(self, role: str, evidence: Evidence, room: int) -> Budget:
        """K, or what room is left; zero where the match is too short."""
        if evidence.match_len < self._min_match:
            return Budget(0, censored=True)
        return Budget(max(0, min(self._k, room)), censored=True)

    def observe(self, role: str, evidence: Evidence, outcome: Outcome) -> None:
        """A fixed length learns nothing."""

    def alpha(self, role: str) -> float:
        """There is no scale; 1.0."""
        return 1.0

    def cap(self, role: str) -> int:
        """K."""
        return self._k

    def reset(self) -> None:
        """There is no state."""
