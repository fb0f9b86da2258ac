"""What verifications have shown so far, as counts: never a token, never a text.

For each role, form of its edits, and cell of evidence a profile counts at which position drafts
failed and how many were accepted whole. It is made from replayed sessions, grows with live ones,
and gives policies their prior. Counts made with one vocabulary say little about another, so a file
is tied to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from agspec_tui.errors import DraftError
from agspec_tui.policy.evidence_key import key_of
from agspec_tui.policy.survival import (
    CENSORED,
    Counts,
    Shrunk,
    Survival,
    at_risk,
    count,
    hazard,
    no_counts,
    survival_of,
)
from agspec_tui.policy.types import Evidence

N_OF_ITS_OWN = 200
"""Drafts from which on a role has estimates of its own; below, it has those of all roles."""
MOST_STEPS = 50_000
"""Steps of a role that a session leaves in its profile; older ones fade as new ones come."""
BASE_WEIGHT = 100.0
"""Drafts that the base of a profile counts for: of all roles at each position of a cell, of a role
together, at least."""
MOST_OF_BASE = 1500.0
"""Drafts of a role that the base counts for at most."""
TOGETHER = "all"
"""Stands for all roles in a profile for every model; no role has this name."""
HINT = "make one with agspec-tui profile"
"""What an error about a profile advises."""


@dataclass(slots=True)
class Profile:
    """Counts of drafts by role and cell."""

    model: str = ""
    """Name of the model; empty for every model."""
    tokenizer: str = ""
    """Fingerprint of the vocabulary, hex; empty for every vocabulary."""
    created: str = ""
    """When it was written, ISO 8601; empty if it never was."""
    counts: dict[tuple[str, str], dict[int, Counts]] = field(default_factory=dict)
    """By role and form of the edits (empty for none), then by key: counts, shape (2, K_MAX + 1), as
    in `policy/survival.py`."""
    base: "Profile | None" = None
    """What the estimates lean on where there are few counts, e.g. the shipped profile; it is not
    written with the profile."""

    def add(self, role: str, evidence: Evidence, n_drafted: int, n_accepted: int) -> None:
        """Count a step: D tokens drafted (0 for none), A of them accepted, both cut at `K_MAX`.

        A replay that knows the reusable length R adds the whole draft: D its length, A = R.
        """
        cells = self.counts.setdefault((role, evidence.form), {})
        key = key_of(evidence)
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = no_counts()
        count(cell, n_drafted, n_accepted)

    def n_steps(self, role: str | None = None) -> float:
        """Steps that were counted, of one role or of all; faded ones count in part."""
        return float(sum(cell.sum() for _, cell in self._cells(role)))

    def n_drafts(self, role: str | None = None) -> float:
        """Of those, steps with a draft."""
        return float(sum(cell.sum() - cell[CENSORED, 0] for _, cell in self._cells(role)))

    def shrunk(self, role: str | None = None, form: str = "") -> Shrunk:
        """Estimates for all together, for a role, or for a role and the form of its edits.

        What is narrower leans on what is wider. A role with few drafts has the estimates of all,
        and a form that nothing is known of those of its role.
        """
        pooled = _pooled(self._cells(None))
        base = self.base.shrunk() if self.base is not None else None
        everywhere = Shrunk(list(pooled), _stacked(pooled), base, BASE_WEIGHT)
        if role is None or not self.is_known(role):
            return everywhere
        own = _pooled(self._cells_known(role))
        of_role = Shrunk(list(own), _stacked(own), prior=everywhere)
        in_form = _pooled(self._cells_known(role, form)) if form else {}
        return Shrunk(list(in_form), _stacked(in_form), prior=of_role) if in_form else of_role

    def is_known(self, role: str) -> bool:
        """Whether a role has estimates of its own, by its drafts in the profile and its base."""
        of_base = self.base.n_drafts(role) if self.base is not None else 0.0
        return self.n_drafts(role) + of_base >= N_OF_ITS_OWN

    def survival(self, role: str, evidence: Evidence) -> Survival:
        """Pr(R ≥ k) for k = 1 … K_MAX at a step with this evidence, shape (K_MAX,)."""
        estimate = self.shrunk(role, evidence.form)
        return survival_of(estimate.hazards([key_of(evidence)]))[0, 1:]

    def keys(self, role: str | None = None) -> list[int]:
        """Cells that were met, of one role or of all, those of the base included, in order."""
        keys = {key for key, _ in self._cells(role)}
        return sorted(keys.union(self.base.keys() if self.base is not None else ()))

    def weights(self) -> dict[int, float]:
        """Steps in each cell, of all roles and of the base; those without a match among them."""
        weights = self.base.weights() if self.base is not None else {}
        for key, cell in self._cells(None):
            weights[key] = weights.get(key, 0.0) + float(cell.sum())
        return weights

    def cap(self, role: str | None, break_even: float) -> int:
        """K_max of a role: the last k with Pr(R ≥ k) ≥ λ over all drafts, at least 1 (paper)."""
        if role is not None and self.n_drafts(role) < N_OF_ITS_OWN:
            role = None
        hazards = hazard(_summed(self._cells(role)), prior=1.0, weight=1e-6)
        return max(1, int(np.count_nonzero(survival_of(hazards)[1:] >= break_even)))

    def mean_reusable(self, role: str | None = None) -> float:
        """Mean of R cut at `K_MAX`, over all drafts: the area under Pr(R ≥ k)."""
        total = _summed(self._cells(role))
        if at_risk(total)[1] == 0:
            return 0.0
        return float(survival_of(hazard(total, prior=1.0, weight=1e-6))[1:].sum())

    def merge(self, other: "Profile") -> None:
        """Add the counts of another profile of this vocabulary.

        Raises:
            DraftError: it is of another vocabulary.
        """
        require_vocabulary(other, self.tokenizer)
        for reply, cells in other.counts.items():
            mine = self.counts.setdefault(reply, {})
            for key, cell in cells.items():
                mine[key] = mine[key] + cell if key in mine else cell.copy()

    def together(self) -> "Profile":
        """The counts of all roles under one name, for every model."""
        out = Profile()
        for cells in self.counts.values():
            out.merge(Profile(counts={(TOGETHER, ""): cells}))
        return out

    def fade(self, most_steps: float = MOST_STEPS) -> None:
        """Scale the counts of each role down to `most_steps`; what comes next weighs more then."""
        for role in self.roles():
            n_steps = self.n_steps(role)
            left = min(1.0, most_steps / n_steps) if n_steps else 1.0
            for cells in self._of(role):
                cells.update({key: cell * left for key, cell in cells.items()})

    def roles(self) -> list[str]:
        """Roles that were counted, in order."""
        return sorted({role for role, _ in self.counts})

    def _cells(self, role: str | None, form: str = "") -> list[tuple[int, Counts]]:
        """Keys and counts of all, of a role in all forms, or of a role in one form."""
        return [cell for cells in self._of(role, form) for cell in cells.items()]

    def _of(self, role: str | None, form: str = "") -> list[dict[int, Counts]]:
        return [
            cells
            for (who, how), cells in self.counts.items()
            if role in (None, who) and form in ("", how)
        ]

    def _cells_known(self, role: str, form: str = "") -> list[tuple[int, Counts]]:
        """The same, with those of the base: what is known of a role is not learnt anew.

        Drafts of its own take the place of the base's, one for one, all but a few.
        """
        own = self._cells(role, form)
        n_of_base = self.base.n_drafts(role) if self.base is not None else 0.0
        if self.base is None or not n_of_base:
            return own
        n_left = max(BASE_WEIGHT, min(n_of_base, MOST_OF_BASE) - self.n_drafts(role))
        left = min(1.0, n_left / n_of_base)
        return own + [(key, cell * left) for key, cell in self.base._cells(role, form)]


def require_vocabulary(profile: Profile, tokenizer: str) -> None:
    """Check that a profile was made with this vocabulary; an empty fingerprint fits every one.

    Raises:
        DraftError: it was made with another one.
    """
    if profile.tokenizer and tokenizer and profile.tokenizer != tokenizer:
        made_for = f" ({profile.model})" if profile.model else ""
        raise DraftError(f"the profile was made for another vocabulary{made_for}", HINT)


def _stacked(cells: Mapping[int, Counts]) -> Counts:
    return np.stack(list(cells.values())) if cells else no_counts(0)


def _pooled(cells: list[tuple[int, Counts]]) -> dict[int, Counts]:
    out: dict[int, Counts] = {}
    for key, cell in cells:
        out[key] = out[key] + cell if key in out else cell
    return dict(sorted(out.items()))


def _summed(cells: list[tuple[int, Counts]]) -> Counts:
    total = no_counts()
    for _, cell in cells:
        total += cell
    # Steps without a draft say nothing about R.
    total[CENSORED, 0] = 0.0
    return total
