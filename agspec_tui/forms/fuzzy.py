"""The last rule of the ladder: the one place that a hunk is clearly most like.

What it finds is never written without asking: the file differs from what the reply believed.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher

from agspec_tui.forms.indent import fit
from agspec_tui.forms.linediff import changes_of
from agspec_tui.forms.locate import Place
from agspec_tui.forms.types import FUZZY, Hunk

_LEAST = 0.8
_LEAST_LINE = 0.6
_MARGIN = 0.15
_MIN_CHARS = 20
_MAX_LINES = 5000


def fuzzy_place(hunk: Hunk, lines: Sequence[str]) -> Place | None:
    """The place whose lines are most like the old side, as many as it has; None if in doubt.

    Likeness is the mean ratio of the lines that are not blank, by their inner text, weighted by
    length. The best place must reach 0.8, each line that changes 0.6, and every place that does not
    overlap it must be worse by 0.15. Indentation must differ uniformly.
    """
    old = [line.strip() for line in hunk.old]
    n_old = len(old)
    if sum(map(len, old)) < _MIN_CHARS or not n_old <= len(lines) <= _MAX_LINES:
        return None
    scores = _scores(old, [line.strip() for line in lines])
    best = max(range(len(scores)), key=scores.__getitem__)
    others = [score for at, score in enumerate(scores) if abs(at - best) >= n_old]
    if scores[best] < _LEAST or max(others, default=0.0) > scores[best] - _MARGIN:
        return None
    if scores.count(scores[best]) > 1:
        return None
    found = lines[best : best + n_old]
    for run in changes_of(hunk):
        pairs = zip(old[run.i1 : run.i2], found[run.i1 : run.i2], strict=True)
        if any(_ratio(mine, theirs.strip()) < _LEAST_LINE for mine, theirs in pairs):
            return None
    even = [
        (mine, theirs[: len(theirs) - len(theirs.lstrip())] + mine.lstrip())
        for mine, theirs in zip(hunk.old, found, strict=True)
        if mine.strip() and theirs.strip()
    ]
    shift = fit([mine for mine, _ in even], [theirs for _, theirs in even])
    if shift is None:
        return None
    return Place(FUZZY, tuple(range(best, best + n_old)), shift, scores[best])


def _scores(old: Sequence[str], lines: Sequence[str]) -> list[float]:
    """Likeness of the old side to as many lines from each line on."""
    known: dict[tuple[str, str], float] = {}

    def like(mine: str, theirs: str) -> float:
        key = (mine, theirs)
        if key not in known:
            known[key] = _ratio(mine, theirs)
        return known[key]

    total = sum(map(len, old))
    return [
        sum(len(mine) * like(mine, lines[at + i]) for i, mine in enumerate(old) if mine) / total
        for at in range(len(lines) - len(old) + 1)
    ]


def _ratio(mine: str, theirs: str) -> float:
    if mine == theirs:
        return 1.0
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    if matcher.real_quick_ratio() < _LEAST_LINE or matcher.quick_ratio() < _LEAST_LINE:
        return 0.0
    return matcher.ratio()
