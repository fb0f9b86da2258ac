"""An edit under review: which of its hunks are taken, left out or written otherwise, and how it
looks.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import set_cell_size

from agspec_tui.commands import AnswerApproval, HunkText
from agspec_tui.events import HunkPlaced
from agspec_tui.forms.linediff import changes
from agspec_tui.forms.text import normalise
from agspec_tui.tui.diff import DiffLine, Kind, parse
from agspec_tui.tui.entries import DIFF_STYLES
from agspec_tui.tui.lines import Line, Span, line
from agspec_tui.tui.placing import beside
from agspec_tui.tui.text import visible

_STARTS = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)")
_TAKEN, _LEFT, _WRITTEN = "✓", "✗", "✎"
N_GUTTER = 4
"""Cells before a line, in which a hunk's mark stands."""
_PLAIN = Span(" " * N_GUTTER, "")
_NUMBER = 5
"""Cells of a line number and the blank behind it."""


@dataclass(slots=True)
class ReviewedHunk:
    """One hunk."""

    head: str
    """Its first line."""
    body: list[DiffLine]
    """Its other lines."""
    note: str = ""
    """How it found its place; empty if that is not known."""
    taken: bool = True
    """Whether it is to be written."""
    written: str | None = None
    """What the person wrote in place of its new side; None if they did not."""

    @property
    def mark(self) -> str:
        """A sign for what becomes of it."""
        if not self.taken:
            return _LEFT
        return _TAKEN if self.written is None else _WRITTEN

    @property
    def new_text(self) -> str:
        """Its new side, context included, with `\\n` line ends."""
        if self.written is not None:
            return self.written
        return "".join(f"{_bare(item)}\n" for item in self.body if item.kind in _NEW)

    def shown(self) -> list[DiffLine]:
        """Its lines, those that the person wrote in place of the new side."""
        if self.written is None:
            return self.body
        old = [_bare(item) for item in self.body if item.kind in _OLD]
        new = self.written.removesuffix("\n").split("\n") if self.written else []
        found: list[DiffLine] = []
        at = 0
        for run in changes(old, new):
            found += _signed("context", " ", old[at : run.i1])
            found += _signed("removed", "-", old[run.i1 : run.i2])
            found += _signed("added", "+", new[run.j1 : run.j2])
            at = run.i2
        return [*found, *_signed("context", " ", old[at:])]


_OLD: tuple[Kind, ...] = ("context", "removed")
_NEW: tuple[Kind, ...] = ("context", "added")


@dataclass(slots=True)
class Review:
    """An edit under review."""

    parts: list[DiffLine | ReviewedHunk] = field(default_factory=list)
    """Lines of file headers, and hunks, in the order of the diff."""
    at: int = 0
    """Number of the hunk that is looked at, from 0."""

    @classmethod
    def of(cls, diff: str, placed: Sequence[HunkPlaced] = ()) -> "Review":
        """A review of a diff, with everything taken."""
        items, _ = parse(diff)
        notes = beside(items, placed)
        made = cls()
        for number, item in enumerate(items):
            last = made.parts[-1] if made.parts else None
            if item.kind == "hunk":
                made.parts.append(ReviewedHunk(item.text, [], notes.get(number, "")))
            elif isinstance(last, ReviewedHunk) and not _begins_file(item):
                last.body.append(item)
            else:
                made.parts.append(item)
        return made

    @property
    def hunks(self) -> list[ReviewedHunk]:
        """The hunks, in order."""
        return [part for part in self.parts if isinstance(part, ReviewedHunk)]

    @property
    def present(self) -> ReviewedHunk | None:
        """The hunk that is looked at; None if there is none."""
        hunks = self.hunks
        return hunks[self.at] if hunks else None

    def move(self, step: int) -> None:
        """Look at another hunk."""
        self.at = max(0, min(len(self.hunks) - 1, self.at + step))

    def write(self, text: str) -> None:
        """Take the present hunk with this text as its new side; its own text undoes that."""
        hunk = self.present
        if hunk is None:
            return
        hunk.written = None
        text = normalise(text)
        text = text if not text or text.endswith("\n") else f"{text}\n"
        hunk.taken, hunk.written = True, None if text == hunk.new_text else text

    def answer(self, call_id: int) -> AnswerApproval:
        """The answer that it stands for; no if nothing is taken."""
        hunks = self.hunks
        left_out = tuple(number for number, hunk in enumerate(hunks) if not hunk.taken)
        if hunks and len(left_out) == len(hunks):
            return AnswerApproval(call_id=call_id, approved=False)
        written = tuple(
            HunkText(number, hunk.written)
            for number, hunk in enumerate(hunks)
            if hunk.taken and hunk.written is not None
        )
        return AnswerApproval(call_id=call_id, approved=True, left_out=left_out, written=written)

    def lines(self, width: int = 0) -> Iterator[tuple[Line, int]]:
        """What is shown, each line with the number of its hunk, −1 for none.

        Args:
            width: cells of both sides together, one beside the other; 0 for one below the other.
        """
        number = -1
        for part in self.parts:
            if isinstance(part, DiffLine):
                yield line((part.text, DIFF_STYLES[part.kind]), gutter=_PLAIN), -1
                continue
            number += 1
            here = "▸" if number == self.at else " "
            gutter = Span(f"{here} {part.mark} ", "strong" if number == self.at else "muted")
            yield line((part.head, "hunk" if part.taken else "muted"), gutter=gutter), number
            words = [part.note] * bool(part.note)
            words += ["left out"] * (not part.taken) + ["written by you"] * (part.mark == _WRITTEN)
            if words:
                yield line(("; ".join(words), "muted"), gutter=_PLAIN), number
            shown = part.shown()
            rows = _beside(part, shown, width) if width else map(_below, shown)
            for row in rows:
                if not part.taken:
                    row = line((row.text(), "muted"), gutter=row.gutter, wrap=row.wrap)
                yield row, number


def _bare(item: DiffLine) -> str:
    """A line of a hunk without its sign and its line end."""
    return item.text[1:].removesuffix("\r")


def _begins_file(item: DiffLine) -> bool:
    return item.kind == "meta" and item.text.startswith("diff --git ")


def _signed(kind: Kind, sign: str, texts: Sequence[str]) -> list[DiffLine]:
    return [DiffLine(kind, sign + text) for text in texts]


def _below(item: DiffLine) -> Line:
    return line((item.text, DIFF_STYLES[item.kind]), gutter=_PLAIN)


def _beside(hunk: ReviewedHunk, shown: Sequence[DiffLine], width: int) -> Iterator[Line]:
    """Old lines on the left, new ones on the right, both with their numbers."""
    found = _STARTS.match(hunk.head)
    old, new = (int(found[1]), int(found[2])) if found else (1, 1)
    half = max(_NUMBER + 4, (width - len(_PLAIN.text) - 1) // 2)
    left: list[str] = []
    right: list[str] = []

    def pairs() -> Iterator[Line]:
        nonlocal old, new
        for row in range(max(len(left), len(right))):
            one = _cell(old, left[row], half) if row < len(left) else " " * half
            other = _cell(new, right[row], half) if row < len(right) else ""
            old, new = old + (row < len(left)), new + (row < len(right))
            yield line(
                (one, "removed"), ("│", "muted"), (other, "added"), gutter=_PLAIN, wrap=False
            )
        left.clear()
        right.clear()

    for item in shown:
        text = item.text[1:]
        if item.kind == "removed":
            if right:
                yield from pairs()
            left.append(text)
        elif item.kind == "added":
            right.append(text)
        elif item.kind == "context":
            yield from pairs()
            cells = (_cell(old, text, half), _cell(new, text, half))
            yield _sides(*cells)
            old, new = old + 1, new + 1
    yield from pairs()


def _sides(one: str | tuple[str, str], other: str | tuple[str, str]) -> Line:
    return line(one, ("│", "muted"), other, gutter=_PLAIN, wrap=False)


def _cell(number: int, text: str, width: int) -> str:
    return set_cell_size(f"{number:>{_NUMBER - 1}} {visible(text)}", width)
