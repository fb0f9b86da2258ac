"""A uniform difference of indentation between a reply and a file, and its undoing."""

from collections.abc import Sequence
from dataclasses import dataclass

_UNITS = (4, 2, 8, 3)


@dataclass(frozen=True, slots=True)
class Shift:
    """How a line's indentation in the reply becomes the one in the file."""

    unit: int = 0
    """Spaces a tab stands for where the two differ; positive: to tabs, negative: to spaces."""
    add: str = ""
    """Put before every line that is not blank."""
    drop: str = ""
    """Taken from the beginning of every such line."""

    def apply(self, line: str) -> str | None:
        """The line as the file would have it; None if it is indented too little for that."""
        if not line.strip():
            return line
        body = line.lstrip(" \t")
        margin = _converted(line[: len(line) - len(body)], self.unit)
        if margin is None or not margin.startswith(self.drop):
            return None
        return self.add + margin[len(self.drop) :] + body


def fit(reply: Sequence[str], found: Sequence[str]) -> Shift | None:
    """The shift under which each reply line has the indentation of the file's line beside it.

    Blank lines do not count. A shift by nothing is preferred, then the same characters, then tabs
    for spaces or the reverse.

    Args:
        reply: Lines as the reply gives them.
        found: As many lines of the file, equal to them apart from blanks at both ends.
    """
    pairs = [
        (_margin(mine), _margin(theirs))
        for mine, theirs in zip(reply, found, strict=True)
        if mine.strip()
    ]
    if not pairs:
        return Shift()
    units = [0, *_UNITS, *(-unit for unit in _UNITS)]
    shifts = [shift for unit in units if (shift := _shift(pairs, unit)) is not None]
    still = [shift for shift in shifts if not shift.add and not shift.drop]
    return next(iter(still or shifts), None)


def _shift(pairs: list[tuple[str, str]], unit: int) -> Shift | None:
    """The one prefix to add or to drop that fits all pairs after conversion."""
    mine, theirs = pairs[0]
    first = _converted(mine, unit)
    if first is None:
        return None
    if theirs.endswith(first):
        shift = Shift(unit, add=theirs[: len(theirs) - len(first)])
    elif first.endswith(theirs):
        shift = Shift(unit, drop=first[: len(first) - len(theirs)])
    else:
        return None
    fits = all(shift.apply(f"{mine}x") == f"{theirs}x" for mine, theirs in pairs)
    return shift if fits else None


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _converted(margin: str, unit: int) -> str | None:
    """Indentation with spaces made tabs or the reverse; None if it does not divide."""
    if unit == 0:
        return margin
    if unit < 0:
        return margin.replace("\t", " " * -unit)
    if "\t" in margin or len(margin) % unit:
        return None
    return "\t" * (len(margin) // unit)
