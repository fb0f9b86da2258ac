"""From hunks to line edits of one file: each gets one place, and none may touch another's."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from agspec_tui.errors import EditError
from agspec_tui.forms import refusals
from agspec_tui.forms.fuzzy import fuzzy_place
from agspec_tui.forms.linediff import Change, changes, changes_of
from agspec_tui.forms.locate import Finder, Place, choose
from agspec_tui.forms.phrase import whole_line
from agspec_tui.forms.splice import LineEdit
from agspec_tui.forms.types import FUZZY, FileEdit, Hunk


def placements(
    edit: FileEdit, lines: Sequence[str], *, fuzzy: bool = False
) -> list[tuple[Hunk, Place | None]]:
    """Every hunk with its place; None for one that appends. Order settles what hints do not.

    Args:
        edit: An edit with hunks.
        lines: Lines of the old file without their ends.
        fuzzy: Also take the one place that a hunk is clearly most like.

    Raises:
        EditError: a hunk fits nowhere, or in several places that nothing tells apart.
    """
    finder = Finder(lines)
    found: list[list[Place]] = []
    picked: list[Place | None] = []
    hunks = list(edit.hunks)
    for index, hunk in enumerate(hunks):
        if hunk.old:
            _refuse_blank(edit.path, hunk)
            refusals.refuse_elision(edit.path, hunk, lines)
            places = finder.places(hunk)
            if not places and (widened := whole_line(edit.path, hunk, lines)) is not None:
                hunks[index] = hunk = widened
                places = finder.places(hunk)
            if not places and fuzzy and (like := fuzzy_place(hunk, lines)) is not None:
                places = [like]
            if not places:
                raise refusals.not_found(edit.path, hunk, lines)
        else:
            _refuse_unanchored(edit.path, hunk, len(lines))
            places = []
        found.append(places)
        picked.append(choose(places, hunk, lines) if places else None)
    for index, hunk in enumerate(hunks):
        if found[index] and picked[index] is None:
            picked[index] = _by_order(index, hunks, found, picked)
            if picked[index] is None:
                raise refusals.not_unique(edit.path, hunk, found[index])
    return [
        (hunk if place is None else _as_in_file(hunk, place, lines), place)
        for hunk, place in zip(hunks, picked, strict=True)
    ]


def _as_in_file(hunk: Hunk, place: Place, lines: Sequence[str]) -> Hunk:
    """A hunk without marks in the characters of the file; its indentation stays the reply's.

    What it gives on both sides was copied. Where the copy is inexact, a line that it moves or
    repeats would else bring the careless copy into the file.
    """
    if hunk.marks:
        return hunk
    own: dict[str, str] = {}
    for line, at in zip(hunk.old, place.at, strict=True):
        if at < 0 or not line:  # an empty line may be a new one as well as a copied one
            continue
        body = line.lstrip()
        margin = line[: len(line) - len(body)]  # a blank line has none to keep
        own.setdefault(line, margin + lines[at].lstrip() if body else lines[at])
    return replace(
        hunk,
        old=tuple(own.get(line, line) for line in hunk.old),
        new=tuple(own.get(line, line) for line in hunk.new),
    )


def _by_order(
    index: int,
    hunks: Sequence[Hunk],
    found: Sequence[list[Place]],
    picked: Sequence[Place | None],
) -> Place | None:
    """The one place between those of the hunks before and after.

    Equal hunks in a row take equal places in a row, if there are as many of both. A place found by
    likeness settles nothing for others.
    """
    sure = [None if place is None or place.rule == FUZZY else place for place in picked]
    before = [place.end for place in sure[:index] if place is not None]
    after = [place.start for place in sure[index + 1 :] if place is not None]
    low, high = max(before, default=0), min(after, default=1 << 60)
    fits = [place for place in found[index] if place.start >= low and place.end <= high]
    twins = [
        i
        for i in range(index, len(hunks))
        if picked[i] is None and hunks[i].old == hunks[index].old and found[i]
    ]
    return fits[0] if fits and len(fits) == len(twins) else None


def _refuse_unanchored(path: str, hunk: Hunk, n_lines: int) -> None:
    """Lines without any context may only go to the end, and only if nothing says otherwise."""
    if n_lines and (hunk.hint or 0 < hunk.line < n_lines):
        raise EditError(
            f"{path}, hunk {hunk.number}: it has only new lines, and no line to put them beside",
            "give at least one unchanged line before or after them",
        )


def edits_of(
    path: str, placed: Sequence[tuple[Hunk, Place | None]], n_lines: int
) -> list[LineEdit]:
    """The changed lines of all placed hunks, ascending.

    Raises:
        EditError: two hunks change the same lines, or a line cannot be indented as the file is.
    """
    out = [one for hunk, place in placed for one in _line_edits(path, hunk, place, n_lines)]
    out.sort(key=lambda one: (one.start, one.end))
    for one, two in pairwise(out):
        if two.start < one.end or (one.start == two.start and one.end == two.end):
            raise EditError(
                f"{path}, hunks {one.hunk} and {two.hunk}: both change line {two.start + 1}",
                "give one hunk for one place",
            )
    return out


def _refuse_blank(path: str, hunk: Hunk) -> None:
    """Blank lines alone are no context to put new lines beside."""
    if hunk.marks and "-" not in hunk.marks and not any(line.strip() for line in hunk.old):
        raise EditError(
            f"{path}, hunk {hunk.number}: it has only new lines, and blank ones to put them beside",
            "give at least one unchanged line that is not blank",
        )


def _line_edits(path: str, hunk: Hunk, place: Place | None, n_lines: int) -> list[LineEdit]:
    """A hunk's changed lines alone: its context keeps the bytes of the file."""
    if place is None:
        return [LineEdit(n_lines, n_lines, hunk.new, hunk.number, "append")]
    _refuse_two_readings(path, hunk, place)
    out: list[LineEdit] = []
    for run in changes_of(hunk):
        lines = [place.shift.apply(line) for line in hunk.new[run.j1 : run.j2]]
        new = tuple(line for line in lines if line is not None)
        if len(new) < len(lines):
            raise EditError(
                f"{path}, hunk {hunk.number}: a new line is indented less than its neighbours "
                "allow",
                "copy the indentation of the file",
            )
        hit = [line for line in place.at[run.i1 : run.i2] if line >= 0]
        if hit:
            start, end = min(hit), max(hit) + 1
        else:
            start = end = _boundary(place.at, run.i1)
        if new or end > start:
            out.append(LineEdit(start, end, new, hunk.number, place.rule, place.likeness))
    return out


def _refuse_two_readings(path: str, hunk: Hunk, place: Place) -> None:
    """Where blank lines of the file stand between, it matters which of two like lines stays.

    A hunk without marks does not say it: its diff from the front and that from the back differ.
    """
    if hunk.marks or place.end - place.start == len(hunk.old):
        return
    n_old, n_new = len(hunk.old), len(hunk.new)
    front = changes_of(hunk)
    back = [
        Change(n_old - one.i2, n_old - one.i1, n_new - one.j2, n_new - one.j1)
        for one in reversed(changes(hunk.old[::-1], hunk.new[::-1]))
    ]
    if front != back:
        raise EditError(
            f"{path}, hunk {hunk.number}: it leaves out blank lines; which lines go is not sure",
            "copy the blank lines too",
        )


def _boundary(at: Sequence[int], index: int) -> int:
    """The file line before which something stands that comes before old line `index`."""
    for line in reversed(at[:index]):
        if line >= 0:
            return line + 1
    return next(line for line in at[index:] if line >= 0)
