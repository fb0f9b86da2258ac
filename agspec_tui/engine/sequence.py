"""A sequence: the tokens of one role's transcript that the key-value cache holds."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Sequence:
    """One token stream in the cache. Owns its token ids and nothing else."""

    slot: int
    """Sequence number in the backend's cache."""
    tokens: list[int] = field(default_factory=list)
    """Token ids in the cache, position by position; committed ones only."""
    last_used: int = 0
    """Number of the request that used it last; the oldest one makes room first."""

    def common_prefix(self, ids: list[int]) -> int:
        """How many leading tokens of `ids` are in the cache already."""
        limit = min(len(self.tokens), len(ids))
        if self.tokens[:limit] == ids[:limit]:
            return limit
        return next(i for i in range(limit) if self.tokens[i] != ids[i])


class SequenceTable:
    """Names to sequences, at most `n_slots` of them alive at once."""

    def __init__(self, n_slots: int) -> None:
        self._n_slots = n_slots
        self._by_name: dict[str, Sequence] = {}

    def take(self, name: str, request: int) -> Sequence:
        """The sequence of this name, made if needed.

        Where every slot is taken, the slot of the sequence that was used longest ago goes over to
        the new name *with its tokens*, so that the caller trims what it cannot reuse.
        """
        sequence = self._by_name.get(name)
        if sequence is None:
            if len(self._by_name) < self._n_slots:
                used = {other.slot for other in self._by_name.values()}
                sequence = Sequence(min(set(range(self._n_slots)) - used))
            else:
                oldest = min(self._by_name, key=lambda other: self._by_name[other].last_used)
                sequence = self._by_name.pop(oldest)
            self._by_name[name] = sequence
        sequence.last_used = request
        return sequence

    def others(self, sequence: Sequence) -> list[Sequence]:
        """Every other sequence, the one used longest ago first."""
        rest = [other for other in self._by_name.values() if other is not sequence]
        return sorted(rest, key=lambda other: other.last_used)

    def n_cached(self) -> int:
        """Tokens in the cache, all sequences together."""
        return sum(len(sequence.tokens) for sequence in self._by_name.values())

    def clear(self) -> list[int]:
        """Forget every sequence; returns the slots that were in use."""
        slots = [sequence.slot for sequence in self._by_name.values()]
        self._by_name.clear()
        return slots
