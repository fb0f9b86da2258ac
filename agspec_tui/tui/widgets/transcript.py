"""The transcript: lines of foreign text drawn row by row, so that only visible rows cost."""

from collections.abc import Callable, Iterable, Iterator
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
from textual.timer import Timer

from agspec_tui.tui.lines import NO_SPAN, Line, Row, Span, line, rows
from agspec_tui.tui.provenance import Origin
from agspec_tui.tui.widgets.moving_rows import MovingRows
from agspec_tui.tui.wrapped import WrappedLines

MAX_LINES = 200_000
"""Lines kept; older ones are dropped, and a row above the others says how many."""
_N_BLOCKS = 2
"""Blocks of lines wrapped anew at a time after a change of the width."""
_WRAP_EVERY_S = 0.05
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


class Transcript(MovingRows, can_focus=True):
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

    class LineClicked(Message):
        """A line was clicked where no accepted run is."""

        def __init__(self, line: int, x: int) -> None:
            super().__init__()
            self.line = line
            """Its number, from 0, of those that are held."""
            self.x = x
            """Cells from the left edge, gutter included."""

    marks: var[bool] = var(True)
    """Show which characters were drafted and accepted."""
    following: var[bool] = var(True)
    """The newest line is kept in view."""

    def __init__(self, *, max_lines: int = MAX_LINES, id: str | None = None) -> None:
        super().__init__(id=id)
        self._held = WrappedLines(max_lines)
        self._width = 0
        self._wrapping: Timer | None = None
        self._open: Line | None = None
        self._styles: dict[str, Style] = {}
        self._settles = False
        self._grows = False

    # ── content ──────────────────────────────────────────────────────────────────────────────────

    @property
    def n_lines(self) -> int:
        """Lines held now, the note about dropped ones left out."""
        return self._held.n_lines

    @property
    def plain_text(self) -> str:
        """Everything held, as shown but not wrapped."""
        note = [self._note()] if self._held.n_dropped else []
        return "\n".join(item.gutter.text + item.text() for item in (*note, *self._held))

    def extend(self, lines: Iterable[Line]) -> None:
        """Append whole lines; a streamed line that is open is closed."""
        self._open = None
        for item in lines:
            self._add(item)
        self._settle()

    @property
    def texts(self) -> list[str]:
        """The lines without gutters, as shown but not wrapped."""
        return [item.text() for item in self._held]

    def marked(self) -> list[Marked]:
        """The runs of accepted text whose origin is known, oldest first."""
        runs: list[Marked] = []
        for number, item in enumerate(self._held):
            for span in item.spans:
                if span.origin is not None and (not runs or runs[-1].origin is not span.origin):
                    runs.append(Marked(number, span.origin))
        return runs

    def newest_in_view(self, runs: list[Marked]) -> int:
        """Index of the last run that begins above the lower edge; −1 without one."""
        edge = self.scroll_offset.y + self.size.height
        return sum(self._start_of(run.line) < edge for run in runs) - 1

    def clear(self) -> None:
        """Forget every line."""
        self._open, self._grows = None, False
        self._held.clear()
        self.forget_all()
        self._settle()

    def scroll_to_line(self, number: int) -> None:
        """Bring a line to the upper edge."""
        self._scroll_soon(self._start_of(number))

    def keep_line_in_view(self, number: int, top: int) -> None:
        """Show the rows from `top` on, or those around a line if it is not among them."""
        row = self._start_of(number)
        height = max(1, self.scrollable_content_region.height)
        if not top <= row < top + height - 1:
            top = max(0, row - height // 4)
        self._scroll_soon(top)

    def _scroll_soon(self, row: int) -> None:
        self.call_after_refresh(self.scroll_to, y=row, animate=False, immediate=True)

    def on_click(self, event: events.Click) -> None:
        """Tell which accepted run was clicked, if one was."""
        at = event.get_content_offset(self)
        if at is None or self.text_selection is not None:
            return
        index, x = self.scroll_offset.y + at.y, at.x
        for span in self._row(index) or ():
            x -= cell_len(span.text)
            if x < 0:
                if span.origin is not None and self.marks:
                    self.post_message(self.OriginChosen(span.origin))
                    return
                break
        row = index - self._n_notes
        if 0 <= row < self._held.n_rows:
            self.post_message(self.LineClicked(self._held.line_at(row), at.x))

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
        self._grows = True
        for part in rest:
            self._open = Line(gutter=gutter, repeat=True)
            self._open.append(part, style, origin)
            self._add(self._open)
        if not self._settles:  # once for all that arrives together
            self._settles = True
            self.call_next(self.settle)

    def settle(self) -> None:
        """Show what was streamed with whatever else is drawn now, not in a frame of its own."""
        if self._settles:
            self._settle()

    def _add(self, item: Line) -> None:
        self._rewrap_last()
        self._held.add(item)

    def _rewrap_last(self) -> None:
        """Wrap the last line anew if text was streamed to it: once, however much there was."""
        if self._grows:
            self._grows = False
            for row in self._held.rewrap_last():
                self.forget(row + self._n_notes)

    def _settle(self) -> None:
        """Drop what is over the cap, tell Textual the size, and keep the right row in view."""
        self._rewrap_last()
        n_notes = self._n_notes
        n_gone = self._held.drop_oldest()
        if n_gone:
            self.forget_all()
            n_gone -= self._n_notes - n_notes
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
        size = Size(self._width, self._n_rows)
        needs_bar = size.height > self.size.height
        if self.show_vertical_scrollbar and needs_bar and self.virtual_size.width == size.width:
            self.set_reactive(ScrollView.virtual_size, size)
            self.vertical_scrollbar.window_virtual_size = size.height
        else:
            self.virtual_size = size

    def _note(self) -> Line:
        """What stands above all others once lines were dropped."""
        return line((f"… {self._held.n_dropped} older lines are no longer kept", "muted"))

    @property
    def _n_notes(self) -> int:
        return int(self._held.n_dropped > 0)

    @property
    def _n_rows(self) -> int:
        return self._n_notes + self._held.n_rows

    def _row(self, index: int) -> Row | None:
        """A row as it is scrolled to; None behind the end."""
        if index < self._n_notes:
            return rows(self._note(), self._width or 80)[0]
        return self._held.row(index - self._n_notes)

    def _start_of(self, number: int) -> int:
        return self._n_notes + self._held.start_of(number)

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
        """Wrap anew when the width has changed: at once what is in view, the rest bit by bit."""
        width = self.scrollable_content_region.width
        if width != self._width and width > 0:
            top = self.scroll_offset.y - self._n_notes
            first, last = (self._held.line_at(row) for row in (top, top + self.size.height))
            self._width = width
            self._rewrap(first, lambda: self._held.set_width(width, first, last))
            if self._held.is_stale and self._wrapping is None:
                self._wrapping = self.set_interval(_WRAP_EVERY_S, self._wrap_on)
        if self.following:
            self.call_after_refresh(self.action_follow)

    def _wrap_on(self) -> None:
        """Wrap some of what is made for another width, with the same line at the upper edge."""
        top = self._held.line_at(self.scroll_offset.y - self._n_notes)
        self._rewrap(top, lambda: self._held.wrap_some(_N_BLOCKS))
        if not self._held.is_stale and self._wrapping is not None:
            self._wrapping.stop()
            self._wrapping = None

    def _rewrap(self, top: int, wrap: Callable[[], None]) -> None:
        """Make rows anew; the line at the upper edge stays there, or the end is followed."""
        follow, before = self.following, self._start_of(top)
        wrap()
        self.forget_all()
        self.virtual_size = Size(self._width, self._n_rows)
        if follow:
            self._to_end()
        elif self._start_of(top) != before:
            self.scroll_to(y=self._start_of(top), animate=False, immediate=True, force=True)
        self.refresh()

    def watch_following(self) -> None:
        """Tell the screen."""
        self.post_message(self.FollowingChanged())

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────

    def notify_style_update(self) -> None:
        """Forget the styles of the old theme."""
        super().notify_style_update()
        self._styles.clear()
        self.forget_all()

    def watch_marks(self) -> None:
        """Redraw with or without the marks."""
        self.forget_all()
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
        known = self.drawn(index) if selected is None else None
        if known is not None:
            return known
        base = self.rich_style
        row = self._row(index)
        if row is None:
            return Strip.blank(width, base)
        segments = [Segment(span.text, self._style(span.style)) for span in _unmarked_indent(row)]
        strip = Strip(segments).adjust_cell_length(width, base)
        if selected is not None and (reach := selected.get_span(index)) is not None:
            strip = self._highlight(strip, index, *reach)
        strip = strip.apply_offsets(0, index)
        if selected is None:
            self.keep(index, strip)
        return strip

    def _highlight(self, strip: Strip, index: int, start: int, end: int) -> Strip:
        """Selection offsets are characters of the row; the strip is cut at cells."""
        text = "".join(span.text for span in self._row(index) or ())
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
        shown = (self._row(index) or () for index in range(self._n_rows))
        text = "\n".join("".join(span.text for span in row) for row in shown)
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
