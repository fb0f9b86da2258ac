"""Blocks of lines between an opening and a closing line, in time linear in the text."""

from bisect import bisect_left
from collections import defaultdict


class Lines:
    """The lines of a text, and where each kind of closing line is."""

    def __init__(self, text: str) -> None:
        """Split a text at its newlines, and at nothing else."""
        self.lines = text.split("\n")
        """The lines, without their newlines."""
        self._places: dict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(self.lines):
            self._places[line.strip()].append(number)

    def closing(self, mark: str, start: int) -> int | None:
        """Number of the first line from `start` on that is `mark` but for blanks around it."""
        places = self._places.get(mark, ())
        i = bisect_left(places, start)
        return places[i] if i < len(places) else None

    def between(self, start: int, end: int) -> str:
        """Lines from `start` up to `end`, each with its newline."""
        return "".join(f"{line}\n" for line in self.lines[start:end])
