"""Lines of the transcript: runs of safe text, each with the name of a style, wrapped to rows."""

from dataclasses import dataclass, field
from typing import NamedTuple

from rich.cells import cell_len

from agspec_tui.tui.provenance import Origin
from agspec_tui.tui.text import break_points, visible

MAX_LINE_CHARS = 2000
"""Longest line that is kept, in characters; one model can fill the memory with one line."""


class Span(NamedTuple):
    """A run of text in one style."""

    text: str
    """Text that is safe to show, see `text.visible`."""
    style: str
    """Name of a style: `transcript--NAME` of the stylesheet; empty for plain."""
    origin: Origin | None = None
    """Where it was copied from, if it is an accepted draft."""


NO_SPAN = Span("", "")
"""Nothing."""


@dataclass(slots=True)
class Line:
    """One logical line."""

    spans: list[Span] = field(default_factory=list)
    """Its runs, left to right."""
    gutter: Span = NO_SPAN
    """What stands before its first row."""
    repeat: bool = False
    """Draw the gutter before every row; else the other rows are indented by its width."""
    wrap: bool = True
    """Wrap at the width; else cut there."""
    n_chars: int = 0
    """Characters in `spans`; kept so that appending stays cheap."""

    def append(self, text: str, style: str = "", origin: Origin | None = None) -> None:
        """Add foreign text without line feeds; what exceeds `MAX_LINE_CHARS` is left out."""
        if not text or self.n_chars > MAX_LINE_CHARS:
            return
        shown = visible(text)
        if self.n_chars + len(shown) > MAX_LINE_CHARS:
            shown = shown[: MAX_LINE_CHARS - self.n_chars] + " … line cut here"
            self.n_chars = MAX_LINE_CHARS + 1
        self.n_chars += len(shown)
        last = self.spans[-1] if self.spans else NO_SPAN
        if self.spans and last.style == style and last.origin is origin:
            shown = self.spans.pop().text + shown
        self.spans.append(Span(shown, style, origin))

    def text(self) -> str:
        """The line without styles and gutter."""
        return "".join(span.text for span in self.spans)


Row = tuple[Span, ...]
"""What one row of the screen shows, gutter included."""


def line(*parts: str | tuple[str, str], gutter: Span = NO_SPAN, wrap: bool = True) -> Line:
    """Make a line of plain texts and `(text, style)` pairs."""
    made = Line(gutter=gutter, wrap=wrap)
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        made.append(text, style)
    return made


def rows(source: Line, width: int) -> list[Row]:
    """Wrap or cut a line to rows of at most `width` cells."""
    n_gutter = cell_len(source.gutter.text)
    head = (source.gutter,) if n_gutter else ()
    hang = head if source.repeat or not n_gutter else (Span(" " * n_gutter, ""),)
    inner = max(1, width - n_gutter)
    breaks = break_points(source.text(), inner)
    if not breaks:
        return [(*head, *source.spans)]
    pieces = _split(source.spans, breaks)
    if not source.wrap:
        return [(*head, *pieces[0])]
    return [(*(hang if number else head), *piece) for number, piece in enumerate(pieces)]


def _split(spans: list[Span], breaks: list[int]) -> list[list[Span]]:
    pieces: list[list[Span]] = [[]]
    edges = iter([*breaks, -1])
    edge, offset = next(edges), 0
    for text, style, origin in spans:
        rest = text
        while edge >= 0 and offset + len(rest) > edge:
            cut = edge - offset
            if cut:
                pieces[-1].append(Span(rest[:cut], style, origin))
            pieces.append([])
            rest, offset, edge = rest[cut:], edge, next(edges)
        if rest:
            pieces[-1].append(Span(rest, style, origin))
        offset += len(rest)
    return pieces
