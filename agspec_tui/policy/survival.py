"""Pr(R ≥ k): how far drafts are right, estimated from verifications that were cut short.

A draft that is rejected at position j failed there. One that is accepted whole tells nothing about
what lies behind it: it is censored, not failed. The estimate of Kaplan and Meier (1958) counts it
as at risk as far as it went, and no further. Counting censored drafts as failures would make a
policy believe that drafts of K tokens never reach K + 1, since it never asks for more.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from agspec_tui.policy.cost import K_MAX
from agspec_tui.policy.evidence_key import N_LENGTHS, N_PARENTS, N_SOURCES, parent_of

Counts = npt.NDArray[np.float64]
"""Shape (…, 2, K_MAX + 1). Row 0: drafts that failed at position j, from 1. Row 1: drafts of which
all j tokens were accepted; j = 0 are steps without a draft."""
Survival = npt.NDArray[np.float64]
"""Pr(R ≥ k) for k = 0 … K_MAX, shape (…, K_MAX + 1); falls from 1."""

FAILED, CENSORED = 0, 1
PRIOR_WEIGHT = 20.0
"""Drafts that an estimate of a wider cell counts for in a narrower one."""
SCALED_WEIGHT = 60.0
"""The same for the estimate of other drafts, e.g. those of all roles, scaled to the own ones."""
RATIO_WEIGHT = 30.0
"""Failures that a scale of 1 counts for."""


def no_counts(*shape: int) -> Counts:
    """Counts of zero."""
    return np.zeros((*shape, 2, K_MAX + 1))


def count(counts: Counts, n_drafted: int, n_accepted: int) -> None:
    """Count a step in a cell, shape (2, K_MAX + 1): D tokens drafted (0: none), A accepted."""
    if n_accepted < n_drafted and n_accepted < K_MAX:
        counts[FAILED, n_accepted + 1] += 1
    else:
        counts[CENSORED, min(n_drafted, K_MAX)] += 1


def at_risk(counts: Counts) -> Counts:
    """Drafts that were verified at each position, shape (…, K_MAX + 1); all steps at 0."""
    either = counts[..., FAILED, :] + counts[..., CENSORED, :]
    reached: Counts = np.cumsum(either[..., ::-1], axis=-1)[..., ::-1]
    return reached


def hazard(counts: Counts, prior: Counts | float = 0.0, weight: float = 0.0) -> Counts:
    """Share of the drafts that failed at a position among those verified there.

    Args:
        counts: the observations.
        prior: hazards of a wider cell, which stand in where few drafts got this far.
        weight: how many drafts they count for.
    """
    risk = at_risk(counts)
    failed = counts[..., FAILED, :]
    out: Counts = np.clip((failed + weight * prior) / np.maximum(risk + weight, 1e-9), 0.0, 1.0)
    out[..., 0] = 0.0
    return out


def survival_of(hazards: Counts) -> Survival:
    """Π over j ≤ k of (1 − hazard at j)."""
    out: Survival = np.cumprod(1.0 - hazards, axis=-1, dtype=np.float64)
    return out


class Shrunk:
    """Hazards of every cell of a set of counts, each cell leaning on a wider one.

    From wide to narrow: everything together, a match length, that length in one class of corpora,
    the cell. A prior is needed behind the first positions, since few drafts of a cell get there.

    Counts of one role lean on the estimate of all roles instead, scaled for each match length and
    stretch of positions by how many drafts failed there over how many would have by that estimate.
    A team that rewrites whole files leaves a copy of twelve tokens far less often than agents that
    write commands, and a few replies say so long before every cell has drafts of its own.
    """

    def __init__(
        self,
        keys: Sequence[int],
        counts: Counts,
        prior: "Shrunk | None" = None,
        weight: float = SCALED_WEIGHT,
    ) -> None:
        """Estimate from `counts`, shape (len(keys), 2, K_MAX + 1).

        Args:
            keys: the cells, each once.
            counts: what was seen of each.
            prior: estimates that the cells lean on instead, for one role those of all roles.
            weight: drafts that the prior counts for, at each position.
        """
        self._prior = prior
        self._row = {key: row for row, key in enumerate(keys)}
        if prior is not None:
            expected = prior.hazards(keys)
            self._ratio = _ratios(keys, counts, expected)
            self._of_key = hazard(counts, self._scaled(keys, expected), weight)
            return
        parents = np.array([parent_of(key) for key in keys], dtype=np.int64)
        of_length, of_parent = no_counts(N_LENGTHS), no_counts(N_PARENTS)
        np.add.at(of_length, parents // N_SOURCES, counts)
        np.add.at(of_parent, parents, counts)
        # Nobody knows what lies behind the longest draft ever seen: one failure more, everywhere.
        pooled = hazard(counts.sum(axis=0), prior=1.0, weight=1.0)
        lengths = hazard(of_length, pooled, PRIOR_WEIGHT)
        self._of_parent = hazard(of_parent, np.repeat(lengths, N_SOURCES, axis=0), PRIOR_WEIGHT)
        self._of_key = hazard(counts, self._of_parent[parents], PRIOR_WEIGHT)

    def hazards(self, keys: Sequence[int]) -> Counts:
        """Hazards of cells, shape (len(keys), K_MAX + 1); a wider cell's where nothing was seen."""
        out = np.empty((len(keys), K_MAX + 1))
        for index, key in enumerate(keys):
            row = self._row.get(key)
            if row is not None:
                out[index] = self._of_key[row]
            elif self._prior is not None:
                out[index] = self._scaled([key], self._prior.hazards([key]))[0]
            else:
                out[index] = self._of_parent[parent_of(key)]
        return out

    def _scaled(self, keys: Sequence[int], hazards: Counts) -> Counts:
        """Hazards by the prior, scaled to what was seen, shape (len(keys), K_MAX + 1)."""
        out: Counts = np.minimum(hazards * self._ratio[_lengths_of(keys)], 1.0)
        return out


def _lengths_of(keys: Sequence[int]) -> npt.NDArray[np.int64]:
    """Bucket of the match length of each cell."""
    return np.array([parent_of(key) // N_SOURCES for key in keys], dtype=np.int64)


def _ratios(keys: Sequence[int], counts: Counts, expected: Counts) -> Counts:
    """Failures over those that were expected, by match length and position.

    Args:
        keys: the cells.
        counts: what was seen of each.
        expected: hazards of each by the prior.

    Returns:
        Shape (N_LENGTHS, K_MAX + 1); equal within 1, 2…3, 4…7, 8…15, … positions. Where few
        failures were expected it is drawn to the ratio of the match length, and that one to 1.
    """
    due, failed = np.zeros((N_LENGTHS, K_MAX + 1)), np.zeros((N_LENGTHS, K_MAX + 1))
    lengths = _lengths_of(keys)
    np.add.at(due, lengths, at_risk(counts) * expected)
    np.add.at(failed, lengths, counts[..., FAILED, :])
    of_length = (failed.sum(axis=1) + RATIO_WEIGHT) / (due.sum(axis=1) + RATIO_WEIGHT)
    out: Counts = np.ones((N_LENGTHS, K_MAX + 1))
    start = 1
    while start <= K_MAX:
        stretch = slice(start, min(2 * start, K_MAX + 1))
        n_failed = failed[:, stretch].sum(axis=1) + RATIO_WEIGHT * of_length
        out[:, stretch] = (n_failed / (due[:, stretch].sum(axis=1) + RATIO_WEIGHT))[:, None]
        start *= 2
    return out
