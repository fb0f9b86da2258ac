"""What verifications have shown so far, as counts: never a token, never a text.

For each role and cell of evidence a profile counts at which position drafts failed and how many
were accepted whole. It is made from replayed sessions, grows with live ones, and gives policies
their prior. Counts made with one vocabulary say little about another, so a file is tied to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
import numpy as np

from agspec_tui.errors import DraftError
from agspec_tui.policy.cost import K_MAX
from agspec_tui.policy.evidence_key import N_KEYS, NO_MATCH, key_of
from agspec_tui.policy.survival import (
    CENSORED,
    FAILED,
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
from agspec_tui.resources import find

SCHEMA = 1
N_OF_ITS_OWN = 200
"""Drafts from which on a role has estimates of its own; below, it has those of all roles."""
MOST_STEPS = 50_000
"""Steps of a role that a session leaves in its profile; older ones fade as new ones come."""
BASE_WEIGHT = 100.0
"""Drafts that the base of a profile counts for, at each position of a cell."""
_HINT = "make one with agspec-tui profile"


class _Cell(msgspec.Struct, frozen=True, array_like=True):
    """Counts of one cell, without the zeros."""

    key: int
    """The cell."""
    failed: tuple[tuple[int, float], ...]
    """Position and number of drafts that failed there."""
    accepted: tuple[tuple[int, float], ...]
    """Length and number of drafts that were accepted whole; length 0 are steps without a draft."""


class _File(msgspec.Struct, frozen=True, kw_only=True):
    """A profile on disk."""

    schema: int
    """Number of the format."""
    model: str
    """Name of the model; empty for a profile that serves every model."""
    tokenizer: str
    """Fingerprint of the vocabulary, hex; empty for a profile that serves every model."""
    created: str
    """When it was written."""
    roles: dict[str, tuple[_Cell, ...]]
    """Counts of each role."""


@dataclass(slots=True)
class Profile:
    """Counts of drafts by role and cell."""

    model: str = ""
    """Name of the model; empty for every model."""
    tokenizer: str = ""
    """Fingerprint of the vocabulary, hex; empty for every vocabulary."""
    created: str = ""
    """When it was written, ISO 8601; empty if it never was."""
    counts: dict[str, dict[int, Counts]] = field(default_factory=dict)
    """By role, then by key: counts, shape (2, K_MAX + 1), as in `policy/survival.py`."""

    base: "Profile | None" = None
    """What the estimates lean on where there are few counts, e.g. the shipped profile; it is not
    written with the profile."""

    def add(self, role: str, evidence: Evidence, n_drafted: int, n_accepted: int) -> None:
        """Count a step: D tokens drafted (0 for none), A of them accepted, both cut at `K_MAX`.

        A replay that knows the reusable length R adds the whole draft: D its length, A = R.
        """
        cells = self.counts.setdefault(role, {})
        key = key_of(evidence)
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = no_counts()
        count(cell, n_drafted, n_accepted)

    def n_steps(self, role: str | None = None) -> float:
        """Steps that were counted, of one role or of all; faded ones count in part."""
        return float(sum(cell.sum() for cell in self._cells(role)))

    def n_drafts(self, role: str | None = None) -> float:
        """Of those, steps with a draft."""
        return float(sum(cell.sum() - cell[CENSORED, 0] for cell in self._cells(role)))

    def shrunk(self, role: str | None = None) -> Shrunk:
        """Estimates for a role, or for all together; a role with few drafts has those of all."""
        pooled = self._pooled()
        base = self.base.shrunk() if self.base is not None else None
        everywhere = Shrunk(list(pooled), _stacked(pooled), base, BASE_WEIGHT)
        if role is None or self.n_drafts(role) < N_OF_ITS_OWN:
            return everywhere
        own = self.counts[role]
        return Shrunk(list(own), _stacked(own), prior=everywhere)

    def survival(self, role: str, evidence: Evidence) -> Survival:
        """Pr(R ≥ k) for k = 1 … K_MAX at a step with this evidence, shape (K_MAX,)."""
        return survival_of(self.shrunk(role).hazards([key_of(evidence)]))[0, 1:]

    def keys(self, role: str | None = None) -> list[int]:
        """Cells that were met, of one role or of all, those of the base included, in order."""
        keys = set(self._pooled() if role is None else self.counts.get(role, {}))
        return sorted(keys.union(self.base.keys() if self.base is not None else ()))

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
        for role, cells in other.counts.items():
            mine = self.counts.setdefault(role, {})
            for key, cell in cells.items():
                mine[key] = mine[key] + cell if key in mine else cell.copy()

    def fade(self, most_steps: float = MOST_STEPS) -> None:
        """Scale the counts of each role down to `most_steps`; what comes next weighs more then."""
        for role, cells in self.counts.items():
            n_steps = self.n_steps(role)
            if n_steps > most_steps:
                for key in cells:
                    cells[key] = cells[key] * (most_steps / n_steps)

    def _cells(self, role: str | None) -> list[Counts]:
        roles = self.counts if role is None else {role: self.counts.get(role, {})}
        return [cell for cells in roles.values() for cell in cells.values()]

    def _pooled(self) -> dict[int, Counts]:
        out: dict[int, Counts] = {}
        for cells in self.counts.values():
            for key, cell in cells.items():
                out[key] = out[key] + cell if key in out else cell
        return dict(sorted(out.items()))


def encode(profile: Profile) -> bytes:
    """The profile as JSON, in a fixed order; counts are rounded to hundredths."""
    roles = {
        role: tuple(
            _Cell(key, _pairs(cell[FAILED]), _pairs(cell[CENSORED]))
            for key, cell in sorted(cells.items())
        )
        for role, cells in sorted(profile.counts.items())
    }
    return msgspec.json.encode(
        _File(
            schema=SCHEMA,
            model=profile.model,
            tokenizer=profile.tokenizer,
            created=profile.created or datetime.now(UTC).isoformat(timespec="seconds"),
            roles=roles,
        )
    )


def decode(data: bytes | str, name: str) -> Profile:
    """Read a profile.

    Args:
        data: JSON of `encode`.
        name: what an error calls it.

    Raises:
        DraftError: it is no profile, or has impossible counts.
    """
    try:
        found = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DraftError(f"{name} is no profile: {error}", _HINT) from error
    if found.schema != SCHEMA:
        raise DraftError(f"{name} has schema {found.schema}, not {SCHEMA}", _HINT)
    profile = Profile(found.model, found.tokenizer, found.created)
    for role, cells in found.roles.items():
        profile.counts[role] = {cell.key: _unpacked(cell, name) for cell in cells}
    return profile


def default_profile() -> Profile:
    """The shipped profile: counts of public recorded sessions, all roles together.

    Raises:
        AgspecError: the installation lacks it.
    """
    return decode(find("profiles", "default.json").read_bytes(), "the built-in profile")


def require_vocabulary(profile: Profile, tokenizer: str) -> None:
    """Check that a profile was made with this vocabulary; an empty fingerprint fits every one.

    Raises:
        DraftError: it was made with another one.
    """
    if profile.tokenizer and tokenizer and profile.tokenizer != tokenizer:
        made_for = f" ({profile.model})" if profile.model else ""
        raise DraftError(f"the profile was made for another vocabulary{made_for}", _HINT)


def _stacked(cells: Mapping[int, Counts]) -> Counts:
    return np.stack(list(cells.values())) if cells else no_counts(0)


def _summed(cells: list[Counts]) -> Counts:
    total = no_counts()
    for cell in cells:
        total += cell
    # Steps without a draft say nothing about R.
    total[CENSORED, 0] = 0.0
    return total


def _pairs(row: Counts) -> tuple[tuple[int, float], ...]:
    """What is not zero; whole numbers without a point, to keep the file small."""
    found = ((at, round(value, 2)) for at, value in enumerate(row.tolist()))
    return tuple((at, int(n) if n.is_integer() else n) for at, n in found if n)


def _unpacked(cell: _Cell, name: str) -> Counts:
    counts = no_counts()
    for row, pairs, first in ((FAILED, cell.failed, 1), (CENSORED, cell.accepted, 0)):
        for at, value in pairs:
            if not first <= at <= K_MAX or not 0.0 <= value < 1e12:
                raise DraftError(f"{name} counts {value} drafts at position {at}", _HINT)
            counts[row, at] += value
    if not NO_MATCH <= cell.key < N_KEYS:
        raise DraftError(f"{name} has an unknown cell, {cell.key}", _HINT)
    return counts
