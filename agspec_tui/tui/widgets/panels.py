"""The three panels, and the one-line meters they fold into on narrow screens."""

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from agspec_tui.tui.entries import role_mark, role_style
from agspec_tui.tui.measures import ALL_MEASURES, MEASURES, Measure
from agspec_tui.tui.state import RoleSeries, UiState
from agspec_tui.tui.text import fit, one_line, pad

_LABEL = 9
"""Cells of a meter's name."""


class Panel(Widget):
    """One measure, one block a role: marker, name, newest value, mean, and a chart."""

    def __init__(self, state: UiState, measure: Measure) -> None:
        super().__init__(id=f"panel-{ALL_MEASURES.index(measure)}")
        self._state = state
        self._measure = measure
        self.border_title = Content(measure.title)

    def show(self) -> None:
        """Draw the newest numbers."""
        roles = self._state.roles.values()
        empty = not any(self._measure.seen(series) for series in roles)
        caption = "" if empty else self._measure.caption(self._measure.scale(roles))
        self.border_subtitle = Content(caption)
        self.refresh()

    def render(self) -> Content:
        """The blocks; each gets the same share of the height."""
        roles = list(self._state.roles.values())
        width, height = self.size.width, self.size.height
        scale = self._measure.scale(roles)
        chart_height = max(0, height // max(1, len(roles)) - 1)
        rows: list[Content] = []
        for series in roles:
            rows.append(self._head(series, width))
            style = f"${role_style(series.role)}"
            if self._measure.seen(series):
                chart = self._measure.chart(series, width, chart_height, scale)
                rows.extend(Content.styled(row, style) for row in chart)
            else:
                rows.extend([Content("")] * chart_height)
        return Content("\n").join(rows[:height])

    def _head(self, series: RoleSeries, width: int) -> Content:
        style = role_style(series.role)
        badge = f" {role_mark(series.role)} "
        if self._measure.seen(series):
            now, mean = self._measure.now(series), self._measure.mean(series)
            numbers = f"now {now:>5}  mean {mean:>5}"
        else:
            numbers = "no steps yet"
        room = max(0, width - len(badge) - 2 - cell_len(numbers))
        return Content.assemble(
            (badge, f"bold $badge-foreground on ${style}"),
            " ",
            (pad(one_line(series.role), room), f"${style}"),
            " ",
            (numbers, "$foreground" if self._measure.seen(series) else "$muted"),
        )


class Meters(Widget):
    """The same numbers in one line a measure."""

    def __init__(self, state: UiState) -> None:
        super().__init__(id="meters")
        self._state = state

    def show(self) -> None:
        """Draw the newest numbers."""
        if self.display:
            self.refresh()

    def render(self) -> Content:
        """A line a measure: its name, then for each role marker, value and a small chart."""
        roles = list(self._state.roles.values())
        cell = max(6, (self.size.width - _LABEL) // max(1, len(roles)))
        rows = []
        for measure in MEASURES:
            scale = measure.scale(roles)
            parts = [Content.styled(pad(measure.short, _LABEL), "$muted")]
            parts.extend(_meter(measure, series, cell, scale) for series in roles)
            rows.append(Content("").join(parts))
        return Content("\n").join(rows)


def _meter(measure: Measure, series: RoleSeries, width: int, scale: tuple[float, float]) -> Content:
    style = f"${role_style(series.role)}"
    mark = f"{role_mark(series.role)} "
    if not measure.seen(series):
        return Content.assemble((mark, f"bold {style}"), (pad("–", width - 2), "$muted"))
    value = f"{fit(measure.mean(series), 6):>5} "
    room = max(0, width - len(mark) - len(value) - 2)
    chart = measure.chart(series, room, 1, scale)[0] if room else ""
    return Content.assemble(
        (mark, f"bold {style}"),
        value,
        (chart, style),
        " " * (width - len(mark) - len(value) - room),
    )
