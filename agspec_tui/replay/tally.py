"""Counts of the steps of replayed calls, from which every reported measure follows.

A tally keeps no positions and no text: how often each draft length occurred, how many tokens were
accepted, and a histogram of drafting times. Tallies add up, so sessions can be replayed in any
order and by any number of processes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_DRAFTED = 256
"""Longest draft that is told apart, in tokens."""
ALL = "all"
_LEAST_US = 0.01
_BUCKETS_PER_E = 50
"""Buckets of a factor of e: a percentile is right to 2 %."""
_N_BUCKETS = 1040

_TURNS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 10), (11, 20))
TURNS = (*(f"{a}" if a == b else f"{a}-{b}" for a, b in _TURNS), "21+")
"""Groups of turns in a report, in order. A turn is the number of a call among its role's calls."""


class PassCost(Protocol):
    """What a target pass costs."""

    def at(self, n: float) -> float:
        """T(n)/T(1) of a pass over n tokens."""
        ...


class Key(NamedTuple):
    """What a tally is of."""

    drafter: str
    """Name of the drafter."""
    policy: str
    """Name of the policy."""
    walked: str
    """Cost that the policy decided by; empty where its decisions depend on none."""
    source: str
    """Stem of the trace file."""
    role: str
    """Role of the calls, or `all`."""
    turn: str
    """One of `TURNS`, or `all`."""


def pass_times(cost: PassCost) -> Floats:
    """T(1 + D)/T(1) at D = 0 … `MOST_DRAFTED`."""
    return np.array([cost.at(1 + d) for d in range(MOST_DRAFTED + 1)]) / cost.at(1)


def turn_group(turn: int) -> str:
    """The group of turns that a turn, counted from 1, belongs to."""
    for (first, last), name in zip(_TURNS, TURNS, strict=False):
        if first <= turn <= last:
            return name
    return TURNS[-1]


@dataclass(slots=True)
class Shared:
    """What calls paid of passes that they shared with others, in units of T(1)."""

    spent: float = 0.0
    """With their drafts."""
    plain: float = 0.0
    """Had all of them been decoded plainly, side by side in the same way."""

    def add(self, other: "Shared") -> None:
        """Add what other calls paid."""
        self.spent += other.spent
        self.plain += other.plain


@dataclass(slots=True)
class Tally:
    """Counts of steps."""

    n_calls: int = 0
    """Calls of the model."""
    n_tokens: int = 0
    """Tokens of the recorded outputs."""
    n_accepted: int = 0
    """ΣA, drafted tokens that agreed with the output."""
    drafted: Ints = field(default_factory=lambda: np.zeros(MOST_DRAFTED + 1, np.int64))
    """Number of steps at each D."""
    times: Ints = field(default_factory=lambda: np.zeros(_N_BUCKETS, np.int64))
    """Number of steps in each bucket of drafting time; the buckets grow by 2 %."""
    shared: dict[str, Shared] = field(default_factory=dict)
    """By the name of a cost: what was paid of passes with more than one sequence; empty where each
    sequence had its passes for itself."""

    @property
    def n_steps(self) -> int:
        """Target passes."""
        return int(self.drafted.sum())

    @property
    def n_drafted(self) -> int:
        """ΣD."""
        return int(self.drafted @ np.arange(MOST_DRAFTED + 1))

    @property
    def accept_length(self) -> float:
        """Mean of A + 1 over steps; 1.0 without a step."""
        return 1.0 + self.n_accepted / max(1, self.n_steps)

    @property
    def rejected_per_step(self) -> float:
        """Mean of D − A over steps."""
        return (self.n_drafted - self.n_accepted) / max(1, self.n_steps)

    @property
    def accept_rate(self) -> float:
        """ΣA / ΣD; 0 where nothing was drafted."""
        return self.n_accepted / max(1, self.n_drafted)

    def pass_cost(self, times: Floats) -> float:
        """ΣT(1 + D) / T(1) over steps, with the times that `pass_times` gives."""
        return float(self.drafted @ times)

    def speedup(self, times: Floats) -> float:
        """Modelled speed-up over plain decoding: tokens · T(1) / ΣT(1 + D); 1.0 without a step."""
        spent = self.pass_cost(times)
        return self.n_tokens / spent if spent else 1.0

    def draft_us(self, share: float) -> float:
        """The drafting time that `share` of the steps stay below, in µs; 0 without a step."""
        total = int(self.times.sum())
        if not total:
            return 0.0
        bucket = int(np.searchsorted(np.cumsum(self.times), share * total))
        return float(_LEAST_US * np.exp((bucket + 0.5) / _BUCKETS_PER_E))

    def add_call(self, n_tokens: int, drafted: Ints, accepted: Ints, draft_us: Floats) -> None:
        """Count one call.

        Args:
            n_tokens: tokens of its output.
            drafted: D of each step.
            accepted: A of each step.
            draft_us: drafting time of each step in µs, or nothing.

        Raises:
            ValueError: a step accepts more than was drafted, or drafts more than is told apart.
        """
        if np.any(accepted > drafted) or np.any(accepted < 0) or np.any(drafted > MOST_DRAFTED):
            raise ValueError("a step accepts more than it drafts, or drafts too much")
        self.n_calls += 1
        self.n_tokens += n_tokens
        self.n_accepted += int(accepted.sum())
        self.drafted += np.bincount(drafted, minlength=MOST_DRAFTED + 1)
        if len(draft_us):
            logs = np.log(np.maximum(draft_us, _LEAST_US) / _LEAST_US)
            buckets = np.minimum((logs * _BUCKETS_PER_E).astype(np.int64), _N_BUCKETS - 1)
            self.times += np.bincount(buckets, minlength=_N_BUCKETS)

    def merge(self, other: "Tally") -> None:
        """Add the counts of another."""
        self.n_calls += other.n_calls
        self.n_tokens += other.n_tokens
        self.n_accepted += other.n_accepted
        self.drafted += other.drafted
        self.times += other.times
        for name, shared in other.shared.items():
            self.shared.setdefault(name, Shared()).add(shared)


Tallies = dict[Key, Tally]


def merge(into: Tallies, more: Mapping[Key, Tally]) -> None:
    """Add tallies to others, key by key."""
    for key, tally in more.items():
        into.setdefault(key, Tally()).merge(tally)


def total(tallies: Mapping[Key, Tally], roles: bool, turns: bool) -> Tallies:
    """Sum over roles and turns; those that are kept apart stay beside their sums.

    Args:
        tallies: of single roles and turns.
        roles: whether roles are kept apart too.
        turns: whether turns are kept apart too.
    """
    summed: Tallies = {}
    for key, tally in tallies.items():
        for role in _and_all(key.role, roles):
            for turn in _and_all(key.turn, turns):
                merge(summed, {key._replace(role=role, turn=turn): tally})
    return summed


def _and_all(name: str, apart: bool) -> Iterable[str]:
    return (ALL, name) if apart else (ALL,)
