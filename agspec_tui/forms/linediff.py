"""Which runs of items differ between two sequences; the one line diff of this room."""

import re
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeVar

from agspec_tui.forms.types import Hunk

Item = TypeVar("Item", bound=Hashable)
_EXACT_UP_TO = 3000


class Change(NamedTuple):
    """`old[i1:i2]` is replaced by `new[j1:j2]`; either may be empty, not both."""

    i1: int
    """First replaced item of the old sequence."""
    i2: int
    """Item after the last replaced one."""
    j1: int
    """First item of the new sequence that takes its place."""
    j2: int
    """Item after the last new one."""


def changes(old: Sequence[Item], new: Sequence[Item]) -> list[Change]:
    """The changes that turn `old` into `new`, ascending; between them both are equal.

    Equal heads and tails are cut off first, which keeps one edit in a long file cheap. Above 3000
    items frequent ones are no anchors (difflib's `autojunk`): larger changes, the same result.
    """
    head = 0
    limit = min(len(old), len(new))
    while head < limit and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < limit - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle_old = old[head : len(old) - tail]
    middle_new = new[head : len(new) - tail]
    junk = max(len(middle_old), len(middle_new)) > _EXACT_UP_TO
    matcher = SequenceMatcher(None, middle_old, middle_new, autojunk=junk)
    return [
        Change(head + i1, head + i2, head + j1, head + j2)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def line_before(old: Sequence[Item], new: Sequence[Item], line: int) -> int:
    """Line of `old` where a line of `new` comes from, both from 1; for new text, where it stands.

    Args:
        old: The lines before.
        new: The lines after.
        line: A line of `new`, or the one after its last.
    """
    shift = 0
    for run in changes(old, new):
        if line <= run.j1:
            break
        if line <= run.j2:
            return run.i1 + 1
        shift = run.i2 - run.j2
    return line + shift


def changes_of(hunk: Hunk) -> list[Change]:
    """The changes of a hunk, as its marks have them; lines both removed and added are none."""
    if not hunk.marks:
        return changes(hunk.old, hunk.new)
    runs: list[Change] = []
    i = j = 0
    for block in re.finditer(r" +|[-+]+", hunk.marks):
        n_old = len(block[0]) - block[0].count("+")
        n_new = len(block[0]) - block[0].count("-")
        if block[0][0] != " ":
            inner = changes(hunk.old[i : i + n_old], hunk.new[j : j + n_new])
            runs += [Change(i + a, i + b, j + c, j + d) for a, b, c, d in inner]
        i, j = i + n_old, j + n_new
    return runs
