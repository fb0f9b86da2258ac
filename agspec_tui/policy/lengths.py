"""The best draft length of every cell of evidence, for a cost of passes and any room.

How many tokens of a copy will hold does not depend on how they are drafted, only the time does. So
the best lengths are those that bring the decoding through the copy, and one token past its end,
in the least expected time. With j tokens of a copy behind, and S(j) = Pr(R ≥ j):

    V(j) = min over 0 ≤ k ≤ room of T(k + 1) + S(j + k + 1)/S(j) · V(j + k + 1)

and the draft of a step is the k that is best at j = 0. A pass over k drafted tokens moves on by
k + 1 if all of them hold and the bonus token goes on with the copy; else the copy is over, and what
comes then is the same for every k. That a draft may end inside a copy, and that the next one goes
on, is the difference to maximising E(k) − θ·T(k + 1), which pays for every token what a token costs
on average, and drafts too far.

Where the reply has room for only r + 1 tokens more, V(j) is 0 from j = r + 1 on, and later drafts
have less room as well. The best length there is not the best length cut to it: where 4 tokens cost
nearly what 16 do, the answer to a room of 6 may be 1, or nothing.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from agspec_tui.policy.cost import K_MAX
from agspec_tui.policy.evidence_key import NO_MATCH
from agspec_tui.policy.survival import Counts, Shrunk, Survival, survival_of

N_TAIL = 16
"""Last positions, whose mean hazard is taken for all that lie behind `K_MAX`."""
N_BEHIND = 64
"""Positions behind `K_MAX` at which a copy may still be; further ones change nothing."""
_SURE = 0.999_999

Floats = npt.NDArray[np.float64]


def times_by_length(hazards: Counts, times: Floats, room: int) -> Floats:
    """Least expected time through a copy for each length of its first draft.

    Args:
        hazards: of failing at position 1 … K_MAX, shape (n, K_MAX + 1); position 0 is not used.
        times: T(1 + k)/T(1) for k = 0 … K_MAX.
        room: most tokens of a draft, 1 … K_MAX.

    Returns:
        Shape (n, room + 1), in units of T(1).
    """
    tail = hazards[:, -N_TAIL:].mean(axis=1, keepdims=True)
    n_ahead = N_BEHIND + room + 1
    all_hazards = np.concatenate([hazards, np.repeat(tail, n_ahead, axis=1)], axis=1)
    holds = 1.0 - np.minimum(all_hazards, _SURE)
    holds[:, 0] = 1.0
    alive = np.cumprod(holds, axis=1)
    costs = times[: room + 1]
    # S(j)·V(j) instead of V(j): the same minima, and nothing to divide by.
    least = np.zeros((len(hazards), K_MAX + n_ahead + 1))
    by_length = np.tile(costs, (len(hazards), 1))
    for j in range(K_MAX + N_BEHIND - 1, -1, -1):
        by_length = alive[:, j : j + 1] * costs
        by_length += least[:, j + 1 : j + room + 2]
        least[:, j] = by_length.min(axis=1)
    return by_length


def times_to_the_end(hazards: Counts, times: Floats, room: int) -> Floats:
    """The same where the reply is over `room` + 1 tokens on, at the latest.

    Args:
        hazards: of failing at position 1 … K_MAX, shape (K_MAX + 1,); position 0 is not used.
        times: T(1 + k)/T(1) for k = 0 … K_MAX.
        room: most tokens that may still be drafted, 0 … K_MAX.

    Returns:
        Shape (room + 1,), in units of T(1).
    """
    holds = 1.0 - np.minimum(hazards[: room + 1], _SURE)
    holds[0] = 1.0
    alive = np.cumprod(holds)
    least = np.zeros(room + 2)
    by_length = times[:1]
    for j in range(room, -1, -1):
        by_length = alive[j] * times[: room - j + 1] + least[j + 1 :]
        least[j] = by_length.min()
    return by_length


def worth_of(later: Floats) -> Floats:
    """Slopes, downwards, of the lower convex hull of times by length, as far as they are above 0.

    Args:
        later: time that a copy still takes behind a pass with k = 0, 1, … drafted tokens.

    Returns:
        Worth of positions 1, 2, …, never rising.
    """
    runs: list[tuple[float, int]] = []
    for worth in (later[:-1] - later[1:]).tolist():
        mean, n = worth, 1
        while runs and runs[-1][0] < mean:
            before, n_before = runs.pop()
            mean = (before * n_before + mean * n) / (n_before + n)
            n += n_before
        runs.append((mean, n))
    return np.array([mean for mean, n in runs if mean > 0.0 for _ in range(n)], dtype=np.float64)


class Lengths:
    """Best lengths of the cells that an estimate knows; others are looked up when first met."""

    def __init__(self, estimate: Shrunk, keys: Iterable[int], times: Floats) -> None:
        """Nothing is decided until `decide`.

        Args:
            estimate: hazards of each cell.
            keys: cells to decide beforehand.
            times: T(1 + k)/T(1) for k = 0 … K_MAX.
        """
        self._estimate = estimate
        self._times = times
        self._keys = [key for key in keys if key != NO_MATCH]
        self._room = 0
        self._of_room: dict[int, dict[int, int]] = {}
        self._best: dict[int, int] = {}
        self._at_end: dict[int, dict[int, int]] = {}
        # Asked for at every step; worked out once for every change.
        self._longest: int | None = None
        self._told: dict[int, int] = {}
        self._told_hazards: dict[int, Counts] = {}
        self._worths: dict[int, dict[int, Floats]] = {}

    def decide(self, room: int) -> None:
        """Choose the lengths of steps that have this much room, 1 … K_MAX, until a reply ends.

        What `update` was told is forgotten.
        """
        self._room = room
        self._told.clear()
        self._told_hazards.clear()
        self._at_end.clear()
        self._worths.clear()
        if room not in self._of_room:
            best = self._lengths(self._estimate.hazards(self._keys))
            self._of_room[room] = dict(zip(self._keys, best, strict=True))
        self._best = self._of_room[room]
        self._longest = None

    def best(self, key: int, room: int) -> int:
        """Best length of a cell; with less room than was decided for the reply is about to end."""
        if room < self._room:
            return self._best_at_end(key, room)
        found = self._told.get(key)
        if found is None:
            found = self._best.get(key)
        if found is None:
            found = self._best[key] = self._lengths(self.prior(key)[None])[0]
            self._longest = None
        return found

    def _best_at_end(self, key: int, room: int) -> int:
        of_room = self._at_end.setdefault(key, {})
        found = of_room.get(room)
        if found is None:
            by_length = times_to_the_end(self._hazards(key), self._times, room)
            found = of_room[room] = int(by_length.argmin())
        return found

    def update(self, key: int, hazards: Counts) -> None:
        """Decide a cell by other hazards, shape (K_MAX + 1,), until `decide` is called."""
        self._told[key] = self._lengths(hazards[None])[0]
        self._told_hazards[key] = hazards
        self._at_end.pop(key, None)
        for of_key in self._worths.values():
            of_key.pop(key, None)

    def worths(
        self, keys: Iterable[int], n_active: int, share: Floats, least: float = 0.0
    ) -> dict[int, Floats]:
        """What each position of a draft is worth to one of several sequences, in units of T(1).

        With j drafted tokens a sequence saves the time that the rest of the copy would have taken
        in later passes. Where that does not fall evenly, positions are worth their mean up to the
        next corner of its lower convex hull, so that worths never rise along a draft.

        Args:
            keys: cells.
            n_active: how many sequences decode in the pass; results are kept by it.
            share: what a pass costs one of them with k = 0 … K_MAX drafted tokens.
            least: positions of less worth are left out.

        Returns:
            For each key, and others, a shape (n,), n ≤ the room that was decided for.
        """
        known = self._worths.setdefault(n_active, {})
        missing = [key for key in dict.fromkeys(keys) if key not in known]
        if missing and self._room:
            hazards = np.stack([self._hazards(key) for key in missing])
            later = times_by_length(hazards, share, self._room) - share[: self._room + 1]
            for key, times in zip(missing, later, strict=True):
                worths = worth_of(times)
                known[key] = worths[worths >= least]
        return known

    def prior(self, key: int) -> Counts:
        """Hazards of a cell by the estimate, whatever `update` was told."""
        hazards: Counts = self._estimate.hazards([key])[0]
        return hazards

    def longest(self) -> int:
        """The longest draft that any cell would get."""
        if self._longest is None:
            self._longest = max(self._best.values(), default=0)
        return self._longest

    def survival(self, key: int) -> Survival:
        """Pr(R ≥ k) of a cell for k = 0 … K_MAX, by what `update` was told."""
        return survival_of(self._hazards(key))

    def _hazards(self, key: int) -> Counts:
        told = self._told_hazards.get(key)
        return self.prior(key) if told is None else told

    def _lengths(self, hazards: Counts) -> list[int]:
        lengths: list[int] = (
            times_by_length(hazards, self._times, self._room).argmin(axis=1).tolist()
        )
        return lengths
