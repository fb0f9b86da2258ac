"""A view whose rows move more often than they change."""

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.strip import Strip

MAX_DRAWN = 1000
"""Rows kept as they were drawn."""


class MovingRows(ScrollView):
    """Takes rows that have only moved as they were drawn, padding included.

    While text arrives every row moves at every frame. Textual would put the padding around each of
    them anew, which is most of what a frame costs.
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._drawn: dict[int, Strip] = {}
        self._padded: dict[int, Strip] = {}

    def drawn(self, index: int) -> Strip | None:
        """A row as it was drawn at this width, without its padding; None if it has to be drawn."""
        known = self._drawn.get(index)
        return known if known is not None and known.cell_length == self.size.width else None

    def keep(self, index: int, strip: Strip) -> None:
        """Keep a row until it is forgotten."""
        if len(self._drawn) > MAX_DRAWN:
            self.forget_all()
        self._drawn[index] = strip
        self._padded.pop(index, None)

    def forget(self, index: int) -> None:
        """A row has changed."""
        self._drawn.pop(index, None)
        self._padded.pop(index, None)

    def forget_all(self) -> None:
        """All rows have changed, or their numbers have."""
        self._drawn.clear()
        self._padded.clear()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The visible rows, cropped; as Textual draws them where more than padding is around."""
        gutter = self.styles.gutter
        if self.text_selection is not None or not self._has_only_padding:
            return super().render_lines(crop)
        _, background = self.background_colors
        blanks = Style(bgcolor=background.rich_color)
        left, right = ([Segment(" " * n, blanks)] if n else [] for n in (gutter.left, gutter.right))
        top, n_cells = self.scroll_offset.y, self.size.width + gutter.width
        filters = self.get_line_filters()
        made = []
        for y in crop.line_range:
            strip = self._padded.get(top + y)
            if strip is None or strip.cell_length != n_cells:
                strip = Strip([*left, *self.render_line(y), *right], n_cells)
                if top + y in self._drawn:
                    self._padded[top + y] = strip
            for one in filters:
                strip = strip.apply_filter(one, background)
            made.append(strip)
        if crop.column_span != (0, n_cells):
            made = [strip.crop(*crop.column_span) for strip in made]
        return made

    @property
    def _has_only_padding(self) -> bool:
        styles = self.styles
        return (
            styles.gutter == styles.padding
            and not styles.gutter.height
            and not styles.tint.a
            and self.opacity == 1.0
            and styles.text_opacity == 1.0
        )
