"""Lines wrapped to rows, many of them: appending and dropping cost the same whatever is held.

Lines lie in blocks. A block knows the rows of its lines, and for which width they were made: after
a change of the width the blocks in view are wrapped anew at once, the others when there is time.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from agspec_tui.tui.lines import Line, Row, rows

_N_BLOCK = 512
"""Lines of a block: wrapping one takes a few milliseconds."""
_N_KEPT = 10
"""A cap is at least so many blocks, so that not much more is dropped than has to be."""


@dataclass(slots=True)
class _Block:
    width: int
    """Cells that its rows are made for."""
    lines: list[Line] = field(default_factory=list)
    """Its lines."""
    starts: list[int] = field(default_factory=list)
    """Row of the block with which each line begins."""
    rows: list[Row] = field(default_factory=list)
    """The rows of all of them."""

    def add(self, item: Line) -> None:
        self.lines.append(item)
        self.starts.append(len(self.rows))
        self.rows.extend(rows(item, self.width))

    def wrap(self, width: int) -> None:
        lines, self.width = self.lines, width
        self.lines, self.starts, self.rows = [], [], []
        for item in lines:
            self.add(item)


class WrappedLines:
    """Lines and their rows. Rows and lines are counted from 0, dropped ones left out."""

    def __init__(self, max_lines: int) -> None:
        self.width = 80
        """Cells of a row."""
        self.n_dropped = 0
        """Lines that were dropped."""
        self._n_block = max(1, min(_N_BLOCK, max_lines // _N_KEPT))
        self._n_most = max_lines
        self._blocks: list[_Block] = []
        self._first_lines: list[int] = []
        self._first_rows: list[int] = []

    @property
    def n_lines(self) -> int:
        """Lines held."""
        return self._first_lines[-1] + len(self._blocks[-1].lines) if self._blocks else 0

    @property
    def n_rows(self) -> int:
        """Rows of all lines."""
        return self._first_rows[-1] + len(self._blocks[-1].rows) if self._blocks else 0

    @property
    def is_stale(self) -> bool:
        """Whether some rows are made for another width."""
        return any(block.width != self.width for block in self._blocks)

    def __iter__(self) -> Iterator[Line]:
        for block in self._blocks:
            yield from block.lines

    def add(self, item: Line) -> None:
        """Append a line."""
        if not self._blocks or len(self._blocks[-1].lines) >= self._n_block:
            self._first_lines.append(self.n_lines)
            self._first_rows.append(self.n_rows)
            self._blocks.append(_Block(self.width))
        self._blocks[-1].add(item)

    def rewrap_last(self) -> range:
        """Wrap the last line anew, which has grown; the rows that it had."""
        block, n_rows = self._blocks[-1], self.n_rows
        item = block.lines.pop()
        del block.rows[block.starts.pop() :]
        block.add(item)
        return range(self._first_rows[-1] + block.starts[-1], n_rows)

    def row(self, index: int) -> Row | None:
        """A row; None where there is none."""
        if not 0 <= index < self.n_rows:
            return None
        at = bisect_right(self._first_rows, index) - 1
        return self._blocks[at].rows[index - self._first_rows[at]]

    def line_at(self, row: int) -> int:
        """The line that a row is of; the last one behind the end."""
        if not self._blocks:
            return 0
        at = max(0, bisect_right(self._first_rows, row) - 1)
        inner = bisect_right(self._blocks[at].starts, row - self._first_rows[at]) - 1
        return self._first_lines[at] + max(0, inner)

    def start_of(self, line: int) -> int:
        """The row with which a line begins; of the last one behind the end."""
        if not self._blocks:
            return 0
        line = max(0, min(line, self.n_lines - 1))
        at = bisect_right(self._first_lines, line) - 1
        return self._first_rows[at] + self._blocks[at].starts[line - self._first_lines[at]]

    def drop_oldest(self) -> int:
        """Drop the oldest blocks over the cap; the rows that went."""
        n_rows = n_gone = 0
        while len(self._blocks) > 1 and self.n_lines - n_gone > self._n_most:
            block = self._blocks.pop(0)
            n_rows += len(block.rows)
            n_gone += len(block.lines)
        if n_gone:
            self.n_dropped += n_gone
            self._count()
        return n_rows

    def set_width(self, width: int, first: int, last: int) -> None:
        """Rows have another width from now on; those of the lines `first` to `last` at once."""
        self.width = width
        if self._blocks:
            begin, end = (bisect_right(self._first_lines, line) - 1 for line in (first, last))
            # The last block is appended to.
            for at in {*range(max(0, begin), end + 1), len(self._blocks) - 1}:
                self._wrap(at)
        self._count()

    def wrap_some(self, n_blocks: int) -> None:
        """Wrap some blocks whose rows are made for another width, the latest first."""
        for at in range(len(self._blocks) - 1, -1, -1):
            if n_blocks <= 0:
                break
            n_blocks -= self._wrap(at)
        self._count()

    def clear(self) -> None:
        """Forget every line."""
        self._blocks, self._first_lines, self._first_rows = [], [], []
        self.n_dropped = 0

    def _wrap(self, at: int) -> bool:
        """Wrap a block if it is made for another width; whether it was."""
        block = self._blocks[at]
        if block.width == self.width:
            return False
        block.wrap(self.width)
        return True

    def _count(self) -> None:
        """Number lines and rows of the blocks anew."""
        self._first_lines, self._first_rows = [], []
        n_lines = n_rows = 0
        for block in self._blocks:
            self._first_lines.append(n_lines)
            self._first_rows.append(n_rows)
            n_lines += len(block.lines)
            n_rows += len(block.rows)
