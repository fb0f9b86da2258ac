"""A part of one long line: prose has lines that no model copies whole."""

from collections.abc import Sequence
from dataclasses import replace

from agspec_tui.forms.types import Hunk

_PROSE = (".md", ".markdown", ".mdx", ".mkd", ".rst", ".txt")
_MIN_WORDS = 3


def whole_line(path: str, hunk: Hunk, lines: Sequence[str]) -> Hunk | None:
    """The hunk widened to the one line that its old side is a part of; None if it is of none.

    Only in prose, and only one line for one: three words at least, cut at the bounds of words, and
    found once in the whole file, character by character.
    """
    if not path.lower().endswith(_PROSE) or len(hunk.old) != 1 or len(hunk.new) != 1:
        return None
    old, new = hunk.old[0].strip(), hunk.new[0].strip()
    if len(old.split()) < _MIN_WORDS:
        return None
    hits = [i for i, line in enumerate(lines) if old in line]
    if len(hits) != 1:
        return None
    line = lines[hits[0]]
    at = line.find(old)
    end = at + len(old)
    if line.find(old, at + 1) >= 0:
        return None
    cut = (at and line[at - 1].isalnum() and old[0].isalnum()) or (
        end < len(line) and line[end].isalnum() and old[-1].isalnum()
    )
    return None if cut else replace(hunk, old=(line,), new=(line[:at] + new + line[end:],))
