"""`scaled`: a draft length in proportion to the match, the same for every role."""

from agspec_tui.errors import DraftError
from agspec_tui.policy.types import Budget, Evidence, Outcome


class Scaled:
    """K = min(K_max, round(K₀ + factor·m)); SAM-Decoding has K₀ = 1, factor 4 and K_max = 60."""

    name = "scaled"

    def __init__(
        self, factor: float = 4.0, offset: float = 1.0, most: int = 60, min_match: int = 1
    ) -> None:
        """Set the factor, K₀ = `offset` and K_max = `most` tokens.

        Raises:
            DraftError: a value is out of its range.
        """
        if not 0.0 < factor < float("inf"):
            raise DraftError(f"a draft cannot be {factor} times its match", "use a factor above 0")
        if not 0.0 <= offset < float("inf"):
            raise DraftError(f"an offset of {offset} is out of range", "use 0 or more")
        if most < 1:
            raise DraftError(f"at most {most} tokens leave no draft", "use 1 or more")
        self._factor = factor
        self._offset = offset
        self._most = most
        self._min_match = max(1, min_match)

    def budget(self, role: str, evidence: Evidence, room: int) -> Budget:
        """K by the match length, or what room is left; zero where the match is too short."""
        if evidence.match_len < self._min_match:
            return Budget(0, censored=True)
        k = round(self._offset + self._factor * evidence.match_len)
        return Budget(max(0, min(k, self._most, room)), censored=True)

    def observe(self, role: str, evidence: Evidence, outcome: Outcome) -> None:
        """A fixed factor learns nothing."""

    def alpha(self, role: str) -> float:
        """The factor, which is the same for every role."""
        return self._factor

    def cap(self, role: str) -> int:
        """K_max."""
        return self._most

    def reset(self) -> None:
        """There is no state."""
