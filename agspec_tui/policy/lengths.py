"""The best draft length of every cell of evidence, for a price of time and any room.

At a step that may draft up to `room` tokens the best length is

    K = argmax over 0 ≤ k ≤ room of E(k) − θ·T(k + 1),    E(k) = 1 + Σ over j ≤ k of Pr(R ≥ j),

where θ, tokens per unit of time, is what time is worth elsewhere. The best length within a room is
not the best length cut to it: where 4 tokens cost nearly what 16 do, the answer to a room of 6 may
be 1, or nothing.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from agspec_tui.policy.evidence_key import NO_MATCH
from agspec_tui.policy.survival import Counts, Shrunk, survival_of

_ROUNDS = 60
_CLOSE = 1e-4

Floats = npt.NDArray[np.float64]


def best_by_room(gain: Floats) -> npt.NDArray[np.int64]:
    """Position of the first maximum of each row among its entries 0 … r, for every r.

    Args:
        gain: shape (n, K_MAX + 1).

    Returns:
        Shape (n, K_MAX + 1); the entry at r is the best k ≤ r.
    """
    highest = np.maximum.accumulate(gain, axis=1)
    is_new = np.ones(gain.shape, dtype=bool)
    is_new[:, 1:] = gain[:, 1:] > highest[:, :-1]
    return np.maximum.accumulate(np.where(is_new, np.arange(gain.shape[1]), 0), axis=1)


def expected_tokens(hazards: Counts) -> Floats:
    """E(k) for k = 0 … K_MAX: tokens that a step with a draft of k yields, the bonus included."""
    return np.cumsum(survival_of(hazards), axis=-1)


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
        self._rows = {key: row for row, key in enumerate(self._keys)}
        self._expected = expected_tokens(estimate.hazards(self._keys))
        self._price = 1.0
        self._best: dict[int, list[int]] = {}

    def decide(self, price: float) -> None:
        """Choose every length anew for a price of time, in tokens per T(1)."""
        self._price = price
        best = best_by_room(self._expected - price * self._times).tolist()
        self._best = dict(zip(self._keys, best, strict=True))

    def best(self, key: int) -> list[int]:
        """Best lengths of a cell by room, 0 … K_MAX."""
        found = self._best.get(key)
        return found if found is not None else self.update(key, self._estimate.hazards([key])[0])

    def update(self, key: int, hazards: Counts) -> list[int]:
        """Take new hazards of a cell, shape (K_MAX + 1,); returns its best lengths by room."""
        expected = expected_tokens(hazards)
        row = self._rows.get(key)
        if row is None:
            self._rows[key] = len(self._keys)
            self._keys.append(key)
            self._expected = np.vstack([self._expected, expected])
        else:
            self._expected[row] = expected
        best: list[int] = best_by_room((expected - self._price * self._times)[None])[0].tolist()
        self._best[key] = best
        return best

    def longest(self, room: int) -> int:
        """The longest draft that any cell would get."""
        return max((best[room] for best in self._best.values()), default=0)

    def throughput(self, weights: Mapping[int, float], room: int) -> float:
        """θ: the most tokens per T(1) that choosing by these cells can give.

        The rate of the choices that are best at a price is the next price; the highest attainable
        rate is the price that equals its own (renewal reward; Dinkelbach 1967).

        Args:
            weights: how many steps each cell has, `NO_MATCH` included.
            room: most tokens of a draft.
        """
        of = np.array([weights.get(key, 0.0) for key in self._keys])
        n_without = weights.get(NO_MATCH, 0.0)
        if of.sum() + n_without <= 0.0:
            return 1.0
        rows = np.arange(len(self._keys))
        price = 1.0
        for _ in range(_ROUNDS):
            k = (self._expected - price * self._times)[:, : room + 1].argmax(axis=1)
            n_tokens = n_without + float(of @ self._expected[rows, k])
            time = n_without + float(of @ self._times[k])
            reached, price = price, n_tokens / time
            if abs(price - reached) < _CLOSE:
                break
        return price

