"""Marks of search/replace blocks, and where a block has its parts."""

import re
from collections.abc import Sequence

from agspec_tui.errors import EditError

OPEN = re.compile(r"^<{5,9}[ \t]*(?:SEARCH|ORIGINAL|OLD|FIND|HEAD)?:?[ \t]*(\S.*)?$", re.IGNORECASE)
"""First mark of a block; its group is what stands behind it, such as a path."""
_DIVIDE = re.compile(r"^={5,9}[ \t]*$")
_CLOSE = re.compile(r"^>{5,9}[ \t]*(?:REPLACE|UPDATED?|NEW|END)?:?[ \t]*$", re.IGNORECASE)


def parts(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Lines of the second and the third mark of the block that begins at a line.

    Raises:
        EditError: a mark stands where none can be: a part then holds such a line itself, or the
            reply was cut off, and where the block ends is not sure.
    """
    divide = _only(lines, at + 1, _DIVIDE)
    return divide, _only(lines, divide + 1, _CLOSE)


def refuse_stray(line: str) -> None:
    """Refuse a mark that belongs to no block.

    Raises:
        EditError: the line is one.
    """
    if _CLOSE.match(line) or _DIVIDE.match(line):
        raise _unsure(line)


def _only(lines: Sequence[str], start: int, wanted: re.Pattern[str]) -> int:
    """The line of the next mark, which must be of the wanted kind."""
    for index in range(start, len(lines)):
        line = lines[index]
        if wanted.match(line):
            return index
        if OPEN.match(line) or _DIVIDE.match(line) or _CLOSE.match(line):
            raise _unsure(line)
    raise EditError(
        "the reply ends inside a search/replace block", "answer again, to the line >>>>>>> REPLACE"
    )


def _unsure(line: str) -> EditError:
    return EditError(
        f"a mark stands where none can be: {line.strip()!r}",
        "answer in another form if the file itself has such lines",
    )
