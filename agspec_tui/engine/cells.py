"""Which cells of a unified key-value cache several sequences have in common.

A fork puts the leading cells of one sequence into another one as well; both then grow, and are
trimmed, on their own. So two sequences share a prefix of their cells or nothing, and all of them
together are a trie, of which each node is a cell. Equal tokens that two sequences read apart from
each other stand in two cells and are not shared.
"""

from collections.abc import Mapping


class SharedCells:
    """How many leading cells each pair of slots shares. Knows no tokens."""

    def __init__(self) -> None:
        self._n_shared: dict[tuple[int, int], int] = {}

    def shared(self, slot: int, other: int) -> int:
        """Leading cells that two slots have in common."""
        return self._n_shared.get(_pair(slot, other), 0)

    def fork(self, source: int, slot: int, n_tokens: int) -> None:
        """The slot, empty before, begins with the first `n_tokens` cells of the source."""
        slots = {one for pair in self._n_shared for one in pair} - {source, slot}
        for other in slots:
            self._set(slot, other, min(n_tokens, self.shared(source, other)))
        self._set(slot, source, n_tokens)

    def trim(self, slot: int, n_keep: int) -> None:
        """The slot keeps its first `n_keep` cells only."""
        for one, other in [pair for pair in self._n_shared if slot in pair]:
            self._set(one, other, min(n_keep, self.shared(one, other)))

    def n_exclusive(self, slot: int, lengths: Mapping[int, int]) -> int:
        """Cells that would be free if the slot were emptied.

        Args:
            slot: the slot, one of `lengths`.
            lengths: tokens in the cache of every slot in use.
        """
        others = (self.shared(slot, other) for other in lengths if other != slot)
        return lengths[slot] - max(others, default=0)

    def n_used(self, lengths: Mapping[int, int]) -> int:
        """Cells that the slots hold together, each cell counted once.

        Args:
            lengths: tokens in the cache of each of them.
        """
        if not self._n_shared:  # asked at every step
            return sum(lengths.values())
        n_used = 0
        counted: list[int] = []
        for slot, length in lengths.items():
            # What it shares with any slot counted before is a prefix: the longest one holds all.
            n_used += length - max((self.shared(slot, other) for other in counted), default=0)
            counted.append(slot)
        return n_used

    def clear(self) -> None:
        """Nothing is shared any more."""
        self._n_shared.clear()

    def _set(self, slot: int, other: int, n_shared: int) -> None:
        if n_shared:
            self._n_shared[_pair(slot, other)] = n_shared
        else:
            self._n_shared.pop(_pair(slot, other), None)


def _pair(slot: int, other: int) -> tuple[int, int]:
    return (slot, other) if slot < other else (other, slot)
