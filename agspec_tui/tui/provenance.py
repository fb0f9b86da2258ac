"""Where accepted text was copied from: pure functions over what an event says and a file's text."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from agspec_tui.events import StepCommitted

_MARKS = re.compile(r"^[+\- ]?\s*")
_N_MIN_CHARS = 3
_N_SEARCHED = 2000
"""Lines above a run that are searched for what it was copied from."""


class Origin(NamedTuple):
    """One step's accepted text and its source."""

    text: str
    """The accepted text."""
    role: str
    """Whose reply it stands in."""
    turn: int
    """The reply's turn."""
    source: str
    """Corpus: `session`, `workspace` or `global`."""
    document: str
    """`path (view)`, or the label of a message."""
    line: int
    """Line of the file, from 1, in which the draft begins; 0 if it is no file's."""
    match_len: int
    """m: tokens before the draft that were the same there."""
    n_accepted: int
    """A: accepted tokens of the step."""
    n_drafted: int
    """D: drafted tokens of the step."""

    @property
    def path(self) -> str:
        """The document without its view."""
        path, opening, _ = self.document.rpartition(" (")
        return path if opening else self.document


class Place(NamedTuple):
    """Lines of a file or of the transcript."""

    first: int
    """Index of the first copied line, from 0; −1 if it was not found."""
    n_lines: int
    """How many lines were copied, in part at least."""
    note: str
    """What is to be said about it; empty if it is just there."""


def origin_of(event: StepCommitted, text: str) -> Origin | None:
    """The origin of a step's accepted text; None if nothing was accepted."""
    if not text or not event.source:
        return None
    return Origin(
        text, event.role, event.turn, event.source, event.document, event.line,
        event.match_len, event.n_accepted, event.n_drafted,
    )  # fmt: skip


def in_file(origin: Origin, lines: Sequence[str]) -> Place:
    """The copied lines in a file as it is now, which may not be what it was then."""
    n_lines = origin.text.count("\n") + 1
    core = _core(origin.text)
    told = origin.line - 1
    if 0 <= told < len(lines) and any(core in one for one in lines[told : told + n_lines]):
        return Place(told, n_lines, "")
    held = [number for number, one in enumerate(lines) if core and core in one]
    if held:
        nearest = min(held, key=lambda number: abs(number - told))
        first = max(0, nearest - _core_line(origin.text, core))
        if told < 0:
            note = "the same text, in the file as it is now"
            if len(held) > 1:
                note = f"the first of {len(held)} lines with this text; the exact one is not known"
            return Place(first, n_lines, note)
        return Place(first, n_lines, f"it was line {origin.line} then; the file has changed since")
    if 0 <= told < len(lines):
        return Place(told, n_lines, "this text is not in the file now: it has changed since")
    return Place(-1, n_lines, "this text is not in the file now: it has changed since")


def in_transcript(origin: Origin, lines: Sequence[str], before: int) -> Place:
    """The nearest line above `before` that holds the copied text."""
    core = _core(origin.text)
    n_lines = origin.text.count("\n") + 1
    for number in range(min(before, len(lines)) - 1, max(-1, before - _N_SEARCHED), -1):
        if core and core in lines[number]:
            return Place(max(0, number - _core_line(origin.text, core)), n_lines, "")
    return Place(
        -1, n_lines, "it stands in the prompt of this role, which the screen does not show"
    )


def _core(text: str) -> str:
    """The longest line of a text without marks of diffs and blanks: what is looked for."""
    lines = (_MARKS.sub("", one).rstrip() for one in text.split("\n"))
    longest = max(lines, key=len, default="")
    return longest if len(longest) >= _N_MIN_CHARS else text.strip("\n")


def _core_line(text: str, core: str) -> int:
    """In which line of the text its core is."""
    return next((number for number, one in enumerate(text.split("\n")) if core in one), 0)
