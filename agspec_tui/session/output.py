"""Output of commands: cleaned of terminal control, bounded in memory, cut to head and tail."""

import re
from collections import deque
from collections.abc import Callable

MAX_LINE_CHARS = 2000
"""Longest line of an output that is kept, in characters."""
N_HEAD_CHARS = 16_000
"""Characters kept from the beginning of an output."""
N_TAIL_CHARS = 48_000
"""Characters kept from the end of an output, where test runners put their summary."""

LEFT_OUT = "characters left out …]"
"""The fixed part of every cut mark. Text with it must never be written to a file."""

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: cursor, erase, colour
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # OSC: title, link, clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])(?:[^\x1b\x9c]*(?:\x1b\\|\x9c))?"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"  # all other escapes, and a lone ESC
)
_CONTROLS = re.compile(r"[\x00-\x07\x0b-\x1f\x7f-\x9f]")
_LONG_LINE = re.compile(rf"[^\n]{{{MAX_LINE_CHARS + 1},}}")


def left_out(n_chars: int) -> str:
    """The mark that stands where `n_chars` characters were cut."""
    return f"[… {n_chars} {LEFT_OUT}"


def clean(text: str) -> str:
    """Text as a reader would see it: no escapes, no controls but newline and tab.

    A carriage return starts the line anew, so of a progress bar the last state remains.
    Backspaces move back and are overwritten. Colour goes too, because models read this text.
    Linear in the length of the text.
    """
    if "\x1b" in text or _CONTROLS.search(text):
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(_last_state(line) for line in text.split("\n"))
    if "\b" in text:
        text = "\n".join(_overstruck(line) if "\b" in line else line for line in text.split("\n"))
    return _CONTROLS.sub("", text)


def _last_state(line: str) -> str:
    if "\r" not in line:
        return line
    return next((state for state in reversed(line.split("\r")) if state), "")


def _overstruck(line: str) -> str:
    cells: list[str] = []
    column = 0
    for char in line:
        if char == "\b":
            column = max(0, column - 1)
        elif column < len(cells):
            cells[column] = char
            column += 1
        else:
            cells.append(char)
            column += 1
    return "".join(cells)


def cut_lines(text: str) -> tuple[str, int]:
    """Cut each line at `MAX_LINE_CHARS`; returns the text and the number of characters cut."""
    n_cut = 0

    def shorten(match: re.Match[str]) -> str:
        nonlocal n_cut
        line = match.group()
        n_cut += len(line) - MAX_LINE_CHARS
        return f"{line[:MAX_LINE_CHARS]} {left_out(len(line) - MAX_LINE_CHARS)}"

    return _LONG_LINE.sub(shorten, text), n_cut


def cap(text: str, n_head: int = N_HEAD_CHARS, n_tail: int = N_TAIL_CHARS) -> tuple[str, int]:
    """Keep head and tail of a text, each line cut; returns it and the number of characters cut."""
    text, n_lines_cut = cut_lines(text)
    if len(text) <= n_head + n_tail:
        return text, n_lines_cut
    n_dropped = len(text) - n_head - n_tail
    head, tail = text[:n_head], text[len(text) - n_tail :]
    return _joined(head, n_dropped, tail), n_lines_cut + n_dropped


def _joined(head: str, n_dropped: int, tail: str) -> str:
    before = "" if head.endswith("\n") or not head else "\n"
    after = "" if tail.startswith("\n") else "\n"
    return f"{head}{before}{left_out(n_dropped)}{after}{tail}"


class OutputBuffer:
    """Takes output as it comes and holds its head and tail only, however long it gets."""

    _RAW_FACTOR = 4  # escapes and progress bars are kept raw until the end, then cleaned away

    def __init__(self, n_head: int = N_HEAD_CHARS, n_tail: int = N_TAIL_CHARS) -> None:
        self._n_head = n_head
        self._n_tail = n_tail
        self._head: list[str] = []
        self._n_head_left = n_head * self._RAW_FACTOR
        self._tail: deque[str] = deque()
        self._n_tail_held = 0
        self._n_dropped = 0

    def feed(self, text: str) -> None:
        """Take the next piece of output."""
        if self._n_head_left:
            piece, text = text[: self._n_head_left], text[self._n_head_left :]
            self._head.append(piece)
            self._n_head_left -= len(piece)
        if not text:
            return
        self._tail.append(text)
        self._n_tail_held += len(text)
        limit = self._n_tail * self._RAW_FACTOR
        while self._n_tail_held - len(self._tail[0]) >= limit:
            dropped = len(self._tail.popleft())
            self._n_tail_held -= dropped
            self._n_dropped += dropped

    def result(self, masked: Callable[[str], str] = str) -> tuple[str, int]:
        """The cleaned head and tail with a mark between them, and the number of characters cut.

        Args:
            masked: takes secrets out of a text; done before the cut, which might halve one.
        """
        head, tail = "".join(self._head), "".join(self._tail)
        if not self._n_dropped:
            return cap(masked(clean(head + tail)), self._n_head, self._n_tail)
        # The tail may begin within a line or an escape; its first whole line is a safe place.
        line_end = tail.find("\n", 0, max(0, len(tail) - self._n_tail))
        start = line_end + 1
        head, n_head_cut = cut_lines(masked(clean(head)))
        tail, n_tail_cut = cut_lines(masked(clean(tail[start:])))
        n_dropped = self._n_dropped + start
        n_dropped += max(0, len(head) - self._n_head) + max(0, len(tail) - self._n_tail)
        head, tail = head[: self._n_head], tail[max(0, len(tail) - self._n_tail) :]
        return _joined(head, n_dropped, tail), n_dropped + n_head_cut + n_tail_cut
