"""Drafters side by side: one for each generation that is under way.

A drafter follows one decoding context at a time. The first lane's serves every generation that is
alone, so its session corpus holds the whole session. Only while several decode at once do others
take part: they share its workspace and global corpora and have a session corpus of their own.
"""

from agspec_tui.drafting.types import Drafter


class Lanes:
    """Lends drafters."""

    def __init__(self, first: Drafter) -> None:
        self.first = first
        """The drafter of the first lane."""
        self._others: list[Drafter] = []
        self._taken: set[int] = set()

    def replace(self, first: Drafter) -> None:
        """Another drafter from now on. Nothing is under way."""
        self.first = first
        self._others.clear()

    def reset(self) -> None:
        """Drop every live corpus. Nothing is under way."""
        self.first.reset()
        self._others.clear()

    def take(self) -> tuple[int, Drafter]:
        """The lowest lane that is free, and its drafter."""
        lane = min(set(range(len(self._taken) + 1)) - self._taken)
        self._taken.add(lane)
        while lane > len(self._others):
            self._others.append(self.first.beside())
        return lane, self.first if lane == 0 else self._others[lane - 1]

    def give_back(self, lane: int) -> None:
        """A lane is free again."""
        self._taken.discard(lane)
