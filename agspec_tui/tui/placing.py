"""How the hunks of an edit found their places, in words, beside the hunks of its diff."""

from bisect import bisect_right
from collections.abc import Sequence

from agspec_tui.events import HunkPlaced
from agspec_tui.forms.types import FUZZY, percent
from agspec_tui.tui.diff import DiffLine

_WORDS = {
    "exact": "placed exactly",
    "trailing blanks": "placed apart from blanks at line ends",
    "indentation": "placed apart from the indentation",
    "blank lines": "placed apart from blank lines",
    "unicode": "placed apart from characters that look alike",
    "context": "placed by a part of its context",
    "append": "placed at the end of the file",
    "end of file": "the end of the file",
    "whole": "from the whole file",
    "create": "a new file",
    "delete": "the file is deleted",
}


def how(placed: HunkPlaced) -> str:
    """By which rule a hunk found its place."""
    if placed.rule == FUZZY:
        return f"placed by likeness, {percent(placed.likeness)} alike"
    return _WORDS.get(placed.rule, f"placed by the rule {placed.rule!r}")


def beside(lines: Sequence[DiffLine], placed: Sequence[HunkPlaced]) -> dict[int, str]:
    """What to say below each hunk line of a diff about the hunks of the reply that lie there.

    Args:
        lines: The diff.
        placed: Where the hunks of the reply went.

    Returns:
        Words by position in `lines`; each way once, in the order of the lines they change.
    """
    heads: dict[str, list[tuple[int, int]]] = {}
    for at, item in enumerate(lines):
        if item.kind == "hunk":
            heads.setdefault(item.path, []).append((item.line, at))
    found: dict[int, dict[str, None]] = {}
    for one in sorted(placed, key=lambda each: (each.path, each.line)):
        if known := heads.get(one.path):
            after = bisect_right(known, (one.line, len(lines)))
            found.setdefault(known[max(0, after - 1)][1], {})[how(one)] = None
    return {at: "; ".join(words) for at, words in found.items()}
