"""Policies that tests walk with."""

from agspec_tui.policy.types import Budget, Evidence, Outcome


class Whim:
    """Decides by a running hash of a seed and everything that it was told."""

    name = "whim"

    def __init__(self, seed: int, largest: int = 40) -> None:
        self.told: list[tuple[str, Evidence, Outcome]] = []
        self._seed, self._largest = seed, largest
        self._state = seed

    def budget(self, role: str, evidence: Evidence, room: int) -> Budget:
        self._mix(len(role), evidence.match_len, evidence.n_seen, evidence.n_group, room)
        k = max(0, min(self._state // 64 % self._largest - 4, room))
        return Budget(k, censored=self._state % 3 == 0)

    def observe(self, role: str, evidence: Evidence, outcome: Outcome) -> None:
        self.told.append((role, evidence, outcome))
        self._mix(outcome.n_drafted, outcome.n_accepted, outcome.censored)

    def alpha(self, role: str) -> float:
        return 1.0

    def cap(self, role: str) -> int:
        return self._largest

    def reset(self) -> None:
        self.told.clear()
        self._state = self._seed

    def _mix(self, *numbers: int) -> None:
        for number in numbers:
            self._state = (self._state * 1103515245 + number + 12345) % 2**31
