"""T(n) as the passes of a recording took: the cost that a measurement before the run misses.

A measurement is made behind one length of context and in one hour. In a run contexts are longer or
shorter, and a shared machine has other hours. So the measured T(n) is scaled, size by size, to what
the run's own passes took.
"""

from collections.abc import Iterable
from itertools import pairwise
from statistics import median

from agspec_tui.engine.recording import RecordedLine
from agspec_tui.policy.cost import Cost
from agspec_tui.replay.live import Generation, entries

_EDGES = (2, 5, 9, 17, 33, 1 << 30)
"""Sizes at which a range of passes begins that are scaled together."""
_N_PLAIN = 3
"""Passes over one token that a reply needs to be a measure of its own passes."""
_N_PASSES = 8
"""Passes that a range needs; one with fewer is scaled as the range below it."""


def as_recorded(lines: Iterable[RecordedLine], measured: Cost) -> Cost:
    """The measured cost, scaled to the passes of a recording.

    Each pass is compared with the passes over one token of its own reply, which ran in the same
    minute behind the same context.

    Args:
        lines: the recording.
        measured: T(n)/T(1) as measured before.
    """
    spent = [0.0] * (len(_EDGES) - 1)
    expected = [0.0] * len(spent)
    n_passes = [0] * len(spent)
    for entry in entries(iter(lines)):
        if not isinstance(entry, Generation):
            continue
        # The first pass of a reply may come with the rest of its prompt.
        steps = [step.event for step in entry.steps[1:] if step.event.n_beside == 0]
        plain = [step.decode_us for step in steps if step.n_drafted == 0]
        if len(plain) < _N_PLAIN:
            continue
        unit = median(plain)
        for step in steps:
            if step.n_drafted == 0:
                continue
            size = 1 + step.n_drafted
            place = next(i for i, (low, high) in enumerate(pairwise(_EDGES)) if low <= size < high)
            spent[place] += step.decode_us
            expected[place] += unit * measured.at(size)
            n_passes[place] += 1
    scale, points = 1.0, [(1, 1.0)]
    for place, (low, high) in enumerate(pairwise(_EDGES)):
        if n_passes[place] >= _N_PASSES:
            scale = spent[place] / expected[place]
        points += [(n, t * scale) for n, t in measured.points if low <= n < high]
    return Cost(f"{measured.name}, as in the run", points)


def time_by_request(lines: Iterable[RecordedLine], cost: Cost) -> dict[int, float]:
    """By request, what the passes of its reply cost together, in units of T(1)."""
    return {
        entry.prompt.request: sum(cost.at(1 + step.event.n_drafted) for step in entry.steps)
        for entry in entries(iter(lines))
        if isinstance(entry, Generation)
    }
