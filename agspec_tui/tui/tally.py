"""What speculation did, counted by role, turn, edit form and corpus."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Literal, NamedTuple

from agspec_tui.events import Calibrated, StepCommitted

_N_OWN = 8
"""Passes without a draft after which their own mean is the time of a plain pass."""
Dimension = Literal["role", "turn", "source", "form"]
DIMENSIONS: tuple[Dimension, ...] = ("role", "turn", "source", "form")
"""What the counts can be grouped by."""
NOTHING = "–"
"""Name of no source and of no form."""


class Key(NamedTuple):
    """What a step belongs to."""

    role: str
    """Who spoke."""
    turn: int
    """In which turn."""
    source: str
    """Corpus of the draft; `NOTHING` without one."""
    form: str
    """Form of the edits asked for; `NOTHING` without one."""


@dataclass(slots=True)
class Tally:
    """Sums over steps."""

    n_tokens: int = 0
    """Tokens committed."""
    n_steps: int = 0
    """Target passes."""
    n_drafted: int = 0
    """ΣD."""
    n_accepted: int = 0
    """ΣA."""
    saved_s: float = 0.0
    """Seconds that drafts have saved, over the steps where they saved some."""
    lost_s: float = 0.0
    """Seconds that drafts have cost, over the steps where they cost some."""

    @property
    def accept_length(self) -> float:
        """Mean of A + 1 over the steps; 0 without steps."""
        return (self.n_accepted + self.n_steps) / self.n_steps if self.n_steps else 0.0

    @property
    def n_rejected(self) -> int:
        """ΣD − ΣA."""
        return self.n_drafted - self.n_accepted

    @property
    def accepted_share(self) -> float | None:
        """ΣA / ΣD; None where nothing was drafted."""
        return self.n_accepted / self.n_drafted if self.n_drafted else None

    def add(self, other: "Tally") -> None:
        """Take in the sums of other steps."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


@dataclass(slots=True)
class PlainPass:
    """Time of a target pass over one token: as calibrated, then as seen in this session."""

    calibrated_s: float = 0.0
    """T(1) of the calibration; 0 until there is one."""
    n: int = 0
    """Passes without a draft, of one sequence, that were seen."""
    sum_s: float = 0.0
    """Their time."""

    @property
    def seconds(self) -> float:
        """Its length; 0 while it is not known."""
        if self.n >= _N_OWN or (self.n and not self.calibrated_s):
            return self.sum_s / self.n
        return self.calibrated_s

    def calibrated(self, event: Calibrated) -> None:
        """Take T(1) of one sequence."""
        times = dict(event.times)
        if event.batch == 1 and 1 in times:
            self.calibrated_s = times[1]

    def step(self, event: StepCommitted) -> None:
        """Take in a pass if it was a plain one."""
        if event.n_drafted == 0 and event.n_beside == 0 and event.decode_us > 0:
            self.n += 1
            self.sum_s += event.decode_us / 1e6


@dataclass(slots=True)
class Speculation:
    """All counts of a session."""

    tallies: dict[Key, Tally] = field(default_factory=dict)
    """Sums by role, turn, source and form, in the order of their first step."""
    plain: PlainPass = field(default_factory=PlainPass)
    """What a pass without drafts costs."""

    def step(self, event: StepCommitted) -> None:
        """Take in one step.

        A draft saves the plain passes that its accepted tokens and the bonus token stand for, less
        the time of its own pass, matching and drafting included. What a pass that several replies
        share would have cost without drafts is not known: it saves and loses nothing here.
        """
        self.plain.step(event)
        key = Key(event.role, event.turn, event.source or NOTHING, event.form or NOTHING)
        tally = self.tallies.setdefault(key, Tally())
        tally.n_tokens += len(event.ids)
        tally.n_steps += 1
        tally.n_drafted += event.n_drafted
        tally.n_accepted += event.n_accepted
        if event.n_drafted and not event.n_beside and self.plain.seconds:
            took_s = (event.decode_us + event.draft_us) / 1e6
            gain_s = self.plain.seconds * (event.n_accepted + 1) - took_s
            tally.saved_s += max(gain_s, 0.0)
            tally.lost_s += max(-gain_s, 0.0)

    @property
    def newest_turn(self) -> int:
        """The turn of the newest kind of step; 0 before the first."""
        return next(reversed(self.tallies)).turn if self.tallies else 0

    def total(self, *, turn: int = 0) -> Tally:
        """Sums over a turn, or all there is."""
        return _sum(tally for key, tally in self.tallies.items() if turn in (0, key.turn))

    def grouped(self, by: Dimension) -> dict[str, Tally]:
        """Sums by one dimension; turns by number, the rest in the order of their first step."""
        groups: dict[str, Tally] = {}
        keys = sorted(self.tallies, key=lambda key: key.turn) if by == "turn" else self.tallies
        for key in keys:
            name = str(getattr(key, by))
            groups.setdefault(name, Tally()).add(self.tallies[key])
        return groups

    def as_csv(self) -> str:
        """Every tally as a row."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        sums = [one.name for one in fields(Tally)]
        rows.writerow([*Key._fields, *sums, "accept_length", "n_rejected"])
        for key, tally in self.tallies.items():
            names = ["" if part == NOTHING else part for part in key]
            values = [getattr(tally, name) for name in sums]
            rounded = [round(one, 6) if isinstance(one, float) else one for one in values]
            rows.writerow([*names, *rounded, round(tally.accept_length, 4), tally.n_rejected])
        return text.getvalue()


def _sum(tallies: Iterable[Tally]) -> Tally:
    total = Tally()
    for tally in tallies:
        total.add(tally)
    return total
