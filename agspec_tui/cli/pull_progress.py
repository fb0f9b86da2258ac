"""Shows how far a pull is: one moving line on a terminal, a line every 5 % elsewhere."""

import os
import time
from typing import Self, TextIO

from agspec_tui.models.plan import in_units

_STEP_PERCENT = 5
_REDRAW_S = 0.1
_BAR_CELLS = 24
_N_COLUMNS = 80


class PullProgress:
    """Writes progress to a stream; a context manager that leaves the cursor on a fresh line."""

    def __init__(self, name: str, stream: TextIO) -> None:
        """Report on the model `name` to `stream`."""
        self._name = name
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._is_drawn = False
        self._phase = ""
        self._percent = -_STEP_PERCENT
        self._drawn_s = 0.0

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the moving line, if there is one."""
        if self._is_drawn:
            self._write("\n")
            self._is_drawn = False

    def update(self, n_done: int, n_total: int, label: str) -> None:
        """Show that `n_done` of `n_total` bytes are there; `label` says what is being done."""
        percent = 100 * n_done // n_total
        phase = "checking" if label == "checking" else "fetching"
        is_new = phase != self._phase
        if is_new:
            self._phase, self._percent, self._drawn_s = phase, -_STEP_PERCENT, 0.0
        if self._is_terminal:
            self._draw(n_done, n_total, percent, label)
        elif phase == "checking":
            # A hash takes seconds: that it runs is worth one line, how far it is none.
            if is_new:
                self._write(f"{self._name}: checking\n")
        elif percent >= self._percent + _STEP_PERCENT or (percent == 100 != self._percent):
            self._percent = percent
            amount = f"{in_units(n_done)} of {in_units(n_total)}"
            self._write(f"{self._name}: {percent:3} %, {amount}, {label}\n")

    def note(self, line: str) -> None:
        """Show one line that stays."""
        if self._is_drawn:
            self._write("\r\x1b[K")
            self._is_drawn = False
        self._write(f"{self._name}: {line}\n")

    def _draw(self, n_done: int, n_total: int, percent: int, label: str) -> None:
        now_s = time.monotonic()
        if n_done < n_total and now_s - self._drawn_s < _REDRAW_S:
            return
        self._drawn_s = now_s
        bar = ("#" * (_BAR_CELLS * n_done // n_total)).ljust(_BAR_CELLS, ".")
        amount = f"{in_units(n_done)} of {in_units(n_total)}"
        line = f"{self._name} [{bar}] {percent:3} %  {amount}  {label}"
        # One cell is left free: a full line would wrap on some terminals and could not be redrawn.
        self._write("\r\x1b[K" + line[: self._n_columns() - 1])
        self._is_drawn = True

    def _n_columns(self) -> int:
        try:
            # 0 is what a terminal that was never told its size says.
            return os.get_terminal_size(self._stream.fileno()).columns or _N_COLUMNS
        except OSError:
            return _N_COLUMNS

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
