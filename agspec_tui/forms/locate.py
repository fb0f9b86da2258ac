"""The ladder: where in a file the old side of a hunk stands.

Rules go from strict to lenient; the first that finds anything decides. Text is folded for
comparison only, and every result names lines of the file as it is.
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from agspec_tui.forms.indent import Shift, fit
from agspec_tui.forms.linediff import changes_of
from agspec_tui.forms.types import Hunk

_FOLD = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′´`", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u200b\u200c\u200d\ufeff\u00ad", None),
    }
)
_MIN_CHARS = 10
_MIN_LINES = 2
_RIVAL = 0.85


@dataclass(frozen=True, slots=True)
class Place:
    """One place of a hunk's old side."""

    rule: str
    """Name of the rule that found it."""
    at: tuple[int, ...]
    """File line of each old line; -1 for a blank or trimmed one the file does not have there."""
    shift: Shift
    """What turns the indentation of the reply into that of the file."""
    likeness: float = 1.0
    """How alike it is to the old side, 0 to 1; below 1 only where nothing else found it."""

    @property
    def start(self) -> int:
        """First file line of the place."""
        return min(line for line in self.at if line >= 0)

    @property
    def end(self) -> int:
        """File line after the last one of the place."""
        return max(self.at) + 1


@dataclass(frozen=True, slots=True)
class _Rule:
    """One step of the ladder."""

    name: str
    """Name that placements carry."""
    key: Callable[[str], str]
    """What of a line is compared."""
    shifts: bool = False
    """Indentation may differ, uniformly."""
    skips_blank: bool = False
    """Blank lines may be missing or more on either side."""


def _same(line: str) -> str:
    return line


def _without_trailing(line: str) -> str:
    return line.rstrip()


def _inner(line: str) -> str:
    return line.strip()


def _folded(line: str) -> str:
    return unicodedata.normalize("NFKC", line.translate(_FOLD)).strip()


_RULES = (
    _Rule("exact", _same),
    _Rule("trailing blanks", _without_trailing),
    _Rule("indentation", _inner, shifts=True),
    _Rule("blank lines", _inner, shifts=True, skips_blank=True),
    _Rule("unicode", _folded, shifts=True),
    _Rule("unicode", _folded, shifts=True, skips_blank=True),
)


@dataclass(frozen=True, slots=True)
class _Keys:
    """The lines of a file as one rule compares them."""

    lines: tuple[int, ...]
    """File line of each key."""
    keys: tuple[str, ...]
    """Keys in file order; without blank lines where the rule skips them."""
    where: dict[str, list[int]]
    """Positions of each key in `keys`."""


class Finder:
    """Finds hunks in one file; the folded forms of its lines are made once."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        """Lines of the file without their ends."""
        self._keys: dict[int, _Keys] = {}

    def places(self, hunk: Hunk) -> list[Place]:
        """All places that the first successful rule finds, ascending; empty if none does."""
        found = self._ladder(hunk.old)
        return found or self._trimmed(hunk)

    def _ladder(self, old: Sequence[str]) -> list[Place]:
        for number in range(len(_RULES)):
            found = self._by_rule(number, old)
            if found:
                return found
        return []

    def _keyed(self, number: int) -> _Keys:
        if number not in self._keys:
            rule = _RULES[number]
            kept = [
                (index, rule.key(line))
                for index, line in enumerate(self.lines)
                if not rule.skips_blank or line.strip()
            ]
            where: dict[str, list[int]] = {}
            for position, (_, key) in enumerate(kept):
                where.setdefault(key, []).append(position)
            self._keys[number] = _Keys(tuple(i for i, _ in kept), tuple(k for _, k in kept), where)
        return self._keys[number]

    def _by_rule(self, number: int, old: Sequence[str]) -> list[Place]:
        rule = _RULES[number]
        own = [i for i, line in enumerate(old) if not rule.skips_blank or line.strip()]
        if not own or (rule.shifts and not any(old[i].strip() for i in own)):
            return []
        needle = tuple(rule.key(old[i]) for i in own)
        keyed = self._keyed(number)
        # The rarest line leads: long files of like lines stay cheap.
        lead = min(range(len(needle)), key=lambda i: len(keyed.where.get(needle[i], ())))
        found: list[Place] = []
        for position in keyed.where.get(needle[lead], ()):
            first = position - lead
            if first < 0 or keyed.keys[first : first + len(needle)] != needle:
                continue
            lines = keyed.lines[first : first + len(needle)]
            shift = Shift()
            if rule.shifts:
                fitted = fit([old[i] for i in own], [self.lines[i] for i in lines])
                if fitted is None:
                    continue
                shift = fitted
            at = self._mapped(old, dict(zip(own, lines, strict=True)))
            found.append(Place(rule.name, at, shift))
        return found

    def _mapped(self, old: Sequence[str], known: dict[int, int]) -> tuple[int, ...]:
        """File lines of all old lines; blank ones that a rule skipped are paired in order."""
        at = [known.get(i, -1) for i in range(len(old))]
        for i in range(1, len(old)):  # forward from a line that is known
            following = at[i - 1] + 1
            if at[i] < 0 and at[i - 1] >= 0 and self._is_blank(following):
                at[i] = following
        for i in range(len(old) - 2, -1, -1):  # backward, for blank lines before the first known
            before = at[i + 1] - 1
            if at[i] < 0 and at[i + 1] >= 0 and self._is_blank(before) and before not in at:
                at[i] = before
        return tuple(at)

    def _is_blank(self, line: int) -> bool:
        return 0 <= line < len(self.lines) and not self.lines[line].strip()

    def _trimmed(self, hunk: Hunk) -> list[Place]:
        """Context lines given up from the outside in, the least number first.

        The lines that go must be there in full, and be enough to know them by: 10 characters or 2
        lines. Where no context is left, no like line may stand elsewhere.
        """
        runs = changes_of(hunk)
        if not runs:
            return []
        lead, stop = runs[0].i1, runs[-1].i2
        trail = len(hunk.old) - stop
        gone = [line.strip() for run in runs for line in hunk.old[run.i1 : run.i2]]
        gone = [line for line in gone if line]
        if len(gone) < _MIN_LINES and sum(len("".join(x.split())) for x in gone) < _MIN_CHARS:
            return []
        for total in range(1, lead + trail + 1):
            places: dict[int, Place] = {}
            for head in range(max(0, total - trail), min(lead, total) + 1):
                tail = total - head
                kept = hunk.old[head : len(hunk.old) - tail]
                for place in self._ladder(kept):
                    at = (-1,) * head + place.at + (-1,) * tail
                    places.setdefault(place.start - head, Place("context", at, place.shift))
            if places:
                rivals = total == lead + trail and self._has_rival(gone)
                return [] if rivals else [places[key] for key in sorted(places)]
        return []

    def _has_rival(self, gone: Sequence[str]) -> bool:
        """Whether lines much like the first that goes stand more than once in the file."""
        stripped = [line.strip() for line in self.lines if line.strip()]
        return len(get_close_matches(gone[0], stripped, n=2, cutoff=_RIVAL)) > 1


def choose(places: Sequence[Place], hunk: Hunk, lines: Sequence[str]) -> Place | None:
    """The one place that the hunk's own hints single out; None if they do not.

    First the text of the `@@` line: the place must lie in the block which that line opens. Then
    the stated line, if a place begins there or if one is far nearer than all others.
    """
    if len(places) == 1:
        return places[0]
    if hunk.hint:
        inside = [place for place in places if _within(hunk.hint, place, lines)]
        if len(inside) == 1:
            return inside[0]
        places = inside or places
    if hunk.line:
        ranked = sorted(places, key=lambda place: abs(place.start + 1 - hunk.line))
        nearest, next_ = (abs(place.start + 1 - hunk.line) for place in ranked[:2])
        if nearest == 0 or (nearest <= 3 and next_ >= 3 * nearest + 3):
            return ranked[0]
    return None


def _within(hint: str, place: Place, lines: Sequence[str]) -> bool:
    """Whether the place lies in the block opened by the last line above it that holds `hint`.

    The block goes on while lines are indented more than its first one. A hint that is not in the
    file rules nothing in.
    """
    heads = [i for i in range(min(place.end, len(lines))) if hint in lines[i]]
    if not heads:
        return False
    head = heads[-1]
    margin = len(lines[head]) - len(lines[head].lstrip())
    between = [line for line in lines[head + 1 : place.start] if line.strip(" \t{)")]
    return all(len(line) - len(line.lstrip()) > margin for line in between) and (
        head >= place.start or _deeper(lines, place, margin)
    )


def _deeper(lines: Sequence[str], place: Place, margin: int) -> bool:
    """Whether the place's first line that is not blank is indented more than the head."""
    body = next((line for line in lines[place.start : place.end] if line.strip()), "")
    return len(body) - len(body.lstrip()) > margin
