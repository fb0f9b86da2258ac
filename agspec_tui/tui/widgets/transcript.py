"""The transcript: lines of foreign text drawn row by row, so that only visible rows cost."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from agspec_tui.tui.lines import NO_SPAN, Line, Row, Span, line, rows
from agspec_tui.tui.provenance import Origin

MAX_LINES = 5000
"""Lines kept; older ones are dropped, and the first line says how many."""
MAX_DRAWN = 1000
"""Rows kept as they were drawn."""
STYLES = (
    *("muted", "strong", "task", "file", "hunk", "added", "removed", "command", "output"),
    *("error", "warning", "success", "error-strong", "warning-strong", "success-strong"),
    *("role-planner", "role-coder", "role-executor", "role-other"),
    *("badge-role-planner", "badge-role-coder", "badge-role-executor", "badge-role-other"),
    "accepted",
)
"""Names a span may carry."""


class Marked(NamedTuple):
    """A run of accepted text."""

    line: int
    """Index of its first line."""
    origin: Origin
    """Where it was copied from."""


class Transcript(ScrollView, can_focus=True):
    """Appended at the end, followed at the end, until the reader scrolls up."""

    ALLOW_SELECT = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"transcript--{name}" for name in STYLES}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("end", "follow", "Follow", show=False),
    ]

    class FollowingChanged(Message):
        """The end of the transcript is kept in view from now on, or is no longer."""

    class OriginChosen(Message):
        """An accepted run was clicked."""

        def __init__(self, origin: Origin) -> None:
            super().__init__()
            self.origin = origin

    marks: var[bool] = var(True)
    """Show which characters were drafted and accepted."""
    following: var[bool] = var(True)
    """The newest line is kept in view."""

    def __init__(self, *, max_lines: int = MAX_LINES, id: str | None = None) -> None:
        super().__init__(id=id)
        self._max_lines = max_lines
        self._lines: list[Line] = []
        self._starts: list[int] = []  # row at which each line starts, counted from `_first_row`
        self._rows: list[Row] = []
        self._width = 0
        self._n_dropped = 0
        self._open: Line | None = None
        self._styles: dict[str, Style] = {}
        self._settles = False
        self._drawn: dict[int, Strip] = {}  # rows as last drawn, without a selection

    # ── content ──────────────────────────────────────────────────────────────────────────────────

    @property
    def n_lines(self) -> int:
        """Lines held now, the note about dropped ones left out."""
        return len(self._lines)

    @property
    def plain_text(self) -> str:
        """Everything held, as shown but not wrapped."""
        return "\n".join(item.gutter.text + item.text() for item in self._lines)

    def extend(self, lines: Iterable[Line]) -> None:
        """Append whole lines; a streamed line that is open is closed."""
        self._open = None
        for item in lines:
            self._add(item)
        self._settle()

    @property
    def texts(self) -> list[str]:
        """The lines without gutters, as shown but not wrapped."""
        return [item.text() for item in self._lines]

    def marked(self) -> list[Marked]:
        """The runs of accepted text whose origin is known, oldest first."""
        runs: list[Marked] = []
        for number, item in enumerate(self._lines):
            for span in item.spans:
                if span.origin is not None and (not runs or runs[-1].origin is not span.origin):
                    runs.append(Marked(number, span.origin))
        return runs

    def newest_in_view(self, runs: list[Marked]) -> int:
        """Index of the last run that begins above the lower edge; −1 without one."""
        edge = self.scroll_offset.y + self.size.height
        starts = (self._starts[run.line] < edge for run in runs)
        return sum(starts) - 1

    def clear(self) -> None:
        """Forget every line."""
        self._open, self._n_dropped = None, 0
        self._rebuild([])
        self._settle()

    def scroll_to_line(self, number: int) -> None:
        """Bring a line to the upper edge."""
        if self._starts:
            row = self._starts[min(number, len(self._starts) - 1)]
            self.call_after_refresh(self.scroll_to, y=row, animate=False, immediate=True)

    def keep_line_in_view(self, number: int, top: int) -> None:
        """Show the rows from `top` on, or those around a line if it is not among them."""
        if not self._starts:
            return
        row = self._starts[min(number, len(self._starts) - 1)]
        height = max(1, self.scrollable_content_region.height)
        if not top <= row < top + height - 1:
            top = max(0, row - height // 4)
        self.call_after_refresh(self.scroll_to, y=top, animate=False, immediate=True)

    def on_click(self, event: events.Click) -> None:
        """Tell which accepted run was clicked, if one was."""
        at = event.get_content_offset(self)
        if at is None or self.text_selection is not None:
            return
        index, x = self.scroll_offset.y + at.y, at.x
        for span in self._rows[index] if 0 <= index < len(self._rows) else ():
            x -= cell_len(span.text)
            if x < 0:
                if span.origin is not None and self.marks:
                    self.post_message(self.OriginChosen(span.origin))
                return

    def stream(
        self,
        text: str,
        style: str = "",
        gutter: Span = NO_SPAN,
        origin: Origin | None = None,
    ) -> None:
        """Append streamed text; it goes on where the last streamed text stopped."""
        first, *rest = text.split("\n")
        if self._open is None:
            self._open = Line(gutter=gutter, repeat=True)
            self._add(self._open)
        self._open.append(first, style, origin)
        self._rewrap_last()
        for part in rest:
            self._open = Line(gutter=gutter, repeat=True)
            self._open.append(part, style, origin)
            self._add(self._open)
        if not self._settles:  # once for all that arrives together
            self._settles = True
            self.call_next(self._settle)

    def _add(self, item: Line) -> None:
        self._lines.append(item)
        self._starts.append(len(self._rows))
        self._rows.extend(rows(item, self._width or 80))

    def _rewrap_last(self) -> None:
        for row in range(self._starts[-1], len(self._rows)):
            self._drawn.pop(row, None)
        del self._rows[self._starts[-1] :]
        self._rows.extend(rows(self._lines[-1], self._width or 80))

    def _settle(self) -> None:
        """Drop what is over the cap, tell Textual the size, and keep the right row in view."""
        n_gone = self._drop_oldest()
        self._settles = False
        follow, at = self.following, self.scroll_offset.y
        self._resize_virtually()
        if follow:
            self._to_end()
        elif n_gone:
            self.scroll_to(y=max(0, at - n_gone), animate=False, immediate=True)
        self.refresh()

    def _resize_virtually(self) -> None:
        """Tell Textual how many rows there are, where it can be without a layout of the screen.

        A layout costs more than all that is drawn while text arrives. It is needed where the
        scroll bar comes or goes, or the width changes; else its range is all that changes.
        """
        size = Size(self._width, len(self._rows))
        needs_bar = size.height > self.size.height
        if self.show_vertical_scrollbar and needs_bar and self.virtual_size.width == size.width:
            self.set_reactive(ScrollView.virtual_size, size)
            self.vertical_scrollbar.window_virtual_size = size.height
        else:
            self.virtual_size = size

    def _drop_oldest(self) -> int:
        """Drop the oldest tenth once the cap is passed, so that it happens seldom."""
        if len(self._lines) <= self._max_lines:
            return 0
        n_drop = len(self._lines) - self._max_lines + self._max_lines // 10
        had_note = self._n_dropped > 0
        self._n_dropped += n_drop - had_note
        text = f"… {self._n_dropped} older lines are no longer kept"
        n_before = len(self._rows)
        kept = self._lines[n_drop:]
        self._rebuild([line((text, "muted")), *kept])
        return n_before - len(self._rows)

    def _rebuild(self, lines: list[Line]) -> None:
        self._lines, self._starts, self._rows = [], [], []
        self._drawn.clear()
        for item in lines:
            self._add(item)

    # ── scrolling ────────────────────────────────────────────────────────────────────────────────

    def action_follow(self) -> None:
        """Go to the end and stay there."""
        self.following = True
        self._to_end()

    def _to_end(self) -> None:
        self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True, force=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling up stops following; reaching the end resumes it."""
        super().watch_scroll_y(old_value, new_value)
        if new_value < old_value and new_value < self.max_scroll_y:
            self.following = False
        elif new_value >= self.max_scroll_y:
            self.following = True

    def on_resize(self, event: events.Resize) -> None:
        """Wrap anew when the width has changed."""
        width = self.scrollable_content_region.width
        follow = self.following
        if width != self._width and width > 0:
            self._width = width
            self._rebuild(self._lines)
            self.virtual_size = Size(width, len(self._rows))
        if follow:
            self.call_after_refresh(self.action_follow)

    def watch_following(self) -> None:
        """Tell the screen."""
        self.post_message(self.FollowingChanged())

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def notify_style_update(self) -> None:
        """Forget the styles of the old theme."""
        super().notify_style_update()
        self._styles.clear()
        self._drawn.clear()

    def watch_marks(self) -> None:
        """Redraw with or without the marks."""
        self._drawn.clear()
        self.refresh()

    def _style(self, name: str) -> Style:
        if name == "accepted" and not self.marks:
            name = ""
        if name not in self._styles:
            known = name in STYLES
            component = f"transcript--{name}"
            self._styles[name] = (
                self.get_component_rich_style(component) if known else self.rich_style
            )
        return self._styles[name]

    def render_line(self, y: int) -> Strip:
        """Draw one visible row."""
        width = self.size.width
        index = self.scroll_offset.y + y
        selected = self.text_selection
        known = self._drawn.get(index) if selected is None else None
        if known is not None and known.cell_length == width:
            return known
        base = self.rich_style
        if index >= len(self._rows):
            return Strip.blank(width, base)
        segments = [
            Segment(span.text, self._style(span.style))
            for span in _unmarked_indent(self._rows[index])
        ]
        strip = Strip(segments).adjust_cell_length(width, base)
        if selected is not None and (reach := selected.get_span(index)) is not None:
            strip = self._highlight(strip, index, *reach)
        strip = strip.apply_offsets(0, index)
        if selected is None:
            if len(self._drawn) > MAX_DRAWN:
                self._drawn.clear()
            self._drawn[index] = strip
        return strip

    def _highlight(self, strip: Strip, index: int, start: int, end: int) -> Strip:
        """Selection offsets are characters of the row; the strip is cut at cells."""
        text = "".join(span.text for span in self._rows[index])
        stop = len(text) if end == -1 else end
        left, right = cell_len(text[:start]), cell_len(text[:stop])
        width = strip.cell_length
        before, middle, after = (
            strip.divide([left, right, width])
            if right > left
            else (strip, Strip.blank(0), Strip.blank(0))
        )
        style = self.screen.get_component_rich_style("screen--selection")
        return Strip.join([before, middle.apply_style(style), after])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, for copying."""
        text = "\n".join("".join(span.text for span in row) for row in self._rows)
        return selection.extract(text), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Redraw the selection."""
        self.refresh()


def _unmarked_indent(row: Row) -> Iterator[Span]:
    """The runs of a row, with marks taken off its indentation: a block of tint says nothing."""
    indent = True
    for span in row:
        text = span.text
        if indent and span.style == "accepted":
            stripped = text.lstrip(" ")
            if len(stripped) < len(text):
                yield Span(text[: len(text) - len(stripped)], "")
            text = stripped
            indent = not text
        elif indent and span is not row[0]:
            indent = not text.strip()
        if text:
            yield Span(text, span.style)
