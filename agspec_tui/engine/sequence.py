"""A sequence: the tokens of one role's transcript that the key-value cache holds."""

from collections.abc import Iterator
from dataclasses import dataclass, field

_BLOCK = 1024  # tokens compared at a time


@dataclass(slots=True)
class Sequence:
    """One token stream in the cache. Owns its token ids and nothing else."""

    slot: int
    """Sequence number in the backend's cache."""
    tokens: list[int] = field(default_factory=list)
    """Token ids in the cache, position by position; committed ones only."""
    last_used: int = 0
    """Number of the request that used it last; the oldest one makes room first."""
    busy: bool = False
    """Whether a generation is under way in it; it never makes room then."""
    prompt: list[int] = field(default_factory=list)
    """While busy: the prompt, and what was said since. Cells of what is not read yet are kept free;
    empty while it is put off."""
    n_reused: int = 0
    """While busy: leading tokens of the prompt that it need not read."""
    source: "Sequence | None" = None
    """The sequence that reads a prefix which both prompts share, while this one waits for it."""
    n_awaited: int = 0
    """Tokens of that prefix."""
    n_lost: int = 0
    """Tokens that it gave away to make room since it was used last."""

    @property
    def reads(self) -> bool:
        """Whether part of its prompt is still unread; its last token is no part of it."""
        return len(self.tokens) < len(self.prompt) - 1

    @property
    def n_unread(self) -> int:
        """Cells that its prompt will still take, those left out that a fork will bring."""
        n_there = max(len(self.tokens), self.n_awaited if self.source is not None else 0)
        return max(0, len(self.prompt) - n_there)

    def begin(self, prompt: list[int], source: "Sequence | None", n_awaited: int) -> None:
        """A generation begins; what it reuses is in the cache, or is being read by `source`."""
        self.busy, self.prompt, self.n_reused = True, prompt, len(self.tokens)
        self.source, self.n_awaited, self.n_lost = source, n_awaited, 0

    def end(self) -> None:
        """The generation is over."""
        self.busy, self.prompt, self.source = False, [], None

    def common_prefix(self, ids: list[int]) -> int:
        """How many leading tokens of `ids` are in the cache already."""
        return n_common(self.tokens, ids)


def n_common(one: list[int], other: list[int]) -> int:
    """Length of the longest common prefix of two token lists."""
    limit = min(len(one), len(other))
    for start in range(0, limit, _BLOCK):
        end = min(start + _BLOCK, limit)
        if one[start:end] != other[start:end]:
            return next(i for i in range(start, end) if one[i] != other[i])
    return limit


class SequenceTable:
    """Names to sequences, at most `n_slots` of them alive at once."""

    def __init__(self, n_slots: int) -> None:
        self._n_slots = n_slots
        self._by_name: dict[str, Sequence] = {}

    def __iter__(self) -> Iterator[Sequence]:
        return iter(self._by_name.values())

    @property
    def is_full(self) -> bool:
        """Whether every slot is taken."""
        return len(self._by_name) >= self._n_slots

    def find(self, name: str) -> Sequence | None:
        """The sequence of this name; None if there is none."""
        return self._by_name.get(name)

    def named(self) -> list[tuple[str, Sequence]]:
        """Names and sequences, the one used last first."""
        return sorted(self._by_name.items(), key=lambda item: -item[1].last_used)

    def can_take(self, name: str) -> bool:
        """Whether `take` has a sequence for this name that is not busy."""
        sequence = self._by_name.get(name)
        if sequence is not None:
            return not sequence.busy
        return len(self._by_name) < self._n_slots or not all(one.busy for one in self)

    def take(self, name: str, request: int) -> Sequence:
        """The sequence of this name, made if needed.

        Where every slot is taken, the slot of the sequence that was used longest ago, and is not
        busy, goes over to the new name *with its tokens*, so that the caller trims what it cannot
        reuse.
        """
        sequence = self._by_name.get(name)
        if sequence is None:
            if len(self._by_name) < self._n_slots:
                used = {other.slot for other in self}
                sequence = Sequence(min(set(range(self._n_slots)) - used))
            else:
                idle = {name: one for name, one in self._by_name.items() if not one.busy}
                oldest = min(idle, key=lambda other: idle[other].last_used)
                sequence = self._by_name.pop(oldest)
            self._by_name[name] = sequence
        sequence.last_used = request
        return sequence

    def others(self, sequence: Sequence) -> list[Sequence]:
        """Every other sequence, the one used longest ago first."""
        rest = [other for other in self if other is not sequence]
        return sorted(rest, key=lambda other: other.last_used)

    def n_cached(self) -> int:
        """Tokens of all sequences together; what they share is counted for each."""
        return sum(len(sequence.tokens) for sequence in self)

    def clear(self) -> list[int]:
        """Forget every sequence; returns the slots that were in use."""
        slots = [sequence.slot for sequence in self]
        self._by_name.clear()
        return slots
