"""The three measures of the panels: what each says of a role, and how it is drawn."""

from collections.abc import Iterable
from typing import Protocol

from agspec_tui.tui.charts import braille, columns
from agspec_tui.tui.numbers import count
from agspec_tui.tui.state import RoleSeries

DEFINITION = (
    "accept length = mean of (accepted + 1) over steps = tokens per target pass; "
    "1.0 = plain decoding.  With policy agspec, α scales the match length to the "
    "draft length, per role; with goodput α is what would have drafted as much.  "
    "rejected = drafted − accepted tokens."
)
"""What the numbers mean, in the words of the method."""


_TURN_CELLS = 8
"""Cells of a turn's bar with its label."""


class Measure(Protocol):
    """One panel's content."""

    title: str
    """Name of the panel."""
    short: str
    """Name of the one-line meter."""

    def seen(self, series: RoleSeries) -> bool:
        """True once there is something to show of the role."""
        ...

    def now(self, series: RoleSeries) -> str:
        """The newest value."""
        ...

    def mean(self, series: RoleSeries) -> str:
        """The mean of the session."""
        ...

    def scale(self, roles: Iterable[RoleSeries]) -> tuple[float, float]:
        """Lowest and highest value of the charts; one scale for all roles makes them comparable."""
        ...

    def caption(self, scale: tuple[float, float]) -> str:
        """The scale in words."""
        ...

    def chart(
        self, series: RoleSeries, width: int, height: int, scale: tuple[float, float]
    ) -> list[str]:
        """The chart: `height` rows of `width` cells."""
        ...


class AcceptLength:
    """A + 1 of each step."""

    title = "accept length"
    short = "accept"

    def seen(self, series: RoleSeries) -> bool:
        """True after the first step."""
        return series.n_steps > 0

    def now(self, series: RoleSeries) -> str:
        """A + 1 of the newest step."""
        return f"{series.accept[-1]:.0f}"

    def mean(self, series: RoleSeries) -> str:
        """The accept length proper."""
        return f"{series.accept_mean:.2f}"

    def scale(self, roles: Iterable[RoleSeries]) -> tuple[float, float]:
        """From nothing to the highest step."""
        return 0.0, max([2.0, *(value for series in roles for value in series.accept)])

    def caption(self, scale: tuple[float, float]) -> str:
        """The top of the chart."""
        return f"tokens per pass · top {scale[1]:.0f}"

    def chart(
        self, series: RoleSeries, width: int, height: int, scale: tuple[float, float]
    ) -> list[str]:
        """One column a step."""
        return columns(series.accept, width, height, scale[1])


class AlphaDrift:
    """α after each step."""

    title = "α drift"
    short = "α"

    def seen(self, series: RoleSeries) -> bool:
        """True after the first step."""
        return series.n_steps > 0

    def now(self, series: RoleSeries) -> str:
        """α now."""
        return f"{series.alpha[-1]:.2f}"

    def mean(self, series: RoleSeries) -> str:
        """Mean of α over the steps."""
        return f"{series.alpha_mean:.2f}"

    def scale(self, roles: Iterable[RoleSeries]) -> tuple[float, float]:
        """The range that was visited; it holds 1.0, where α starts."""
        values = [1.0, *(value for series in roles for value in series.alpha)]
        low, high = min(values), max(values)
        return (low, high) if high - low >= 0.1 else (low - 0.05, high + 0.05)

    def caption(self, scale: tuple[float, float]) -> str:
        """The range of the chart."""
        return f"{scale[0]:.2f} to {scale[1]:.2f}"

    def chart(
        self, series: RoleSeries, width: int, height: int, scale: tuple[float, float]
    ) -> list[str]:
        """A line, two steps a cell."""
        return braille(series.alpha, width, height, *scale)


class RejectedPerTurn:
    """ΣD − ΣA of each turn."""

    title = "rejected tokens per turn"
    short = "rejected"

    def seen(self, series: RoleSeries) -> bool:
        """True after the first step."""
        return bool(series.rejections)

    def now(self, series: RoleSeries) -> str:
        """Rejected tokens of the newest turn."""
        return count(series.rejections[-1].n_rejected)

    def mean(self, series: RoleSeries) -> str:
        """Mean of rejected tokens over turns."""
        return f"{series.rejected_mean:.1f}"

    def scale(self, roles: Iterable[RoleSeries]) -> tuple[float, float]:
        """From nothing to the worst turn."""
        return 0.0, max(
            [1.0, *(float(turn.n_rejected) for series in roles for turn in series.rejections)]
        )

    def caption(self, scale: tuple[float, float]) -> str:
        """The top of the chart."""
        return f"one bar a turn · top {count(round(scale[1]))}"

    def chart(
        self, series: RoleSeries, width: int, height: int, scale: tuple[float, float]
    ) -> list[str]:
        """One bar a turn with its number; without room for numbers, bars alone."""
        if height < 2 or width < _TURN_CELLS:
            values = [value for turn in series.rejections for value in (turn.n_rejected,) * 2]
            return columns(values, width, height, scale[1])
        turns = list(series.rejections)[-(width // _TURN_CELLS) :]
        bars = columns([turn.n_rejected for turn in turns], len(turns), height - 1, scale[1])
        made = ["".join(f"{mark * 3:<{_TURN_CELLS}}" for mark in row).ljust(width) for row in bars]
        labels = (f"t{turn.turn} {turn.n_rejected}" for turn in turns)
        return [*made, "".join(f"{text:<{_TURN_CELLS}}" for text in labels).ljust(width)]


class DraftLength:
    """D of each step, against the cap."""

    title = "draft length"
    short = "drafted"

    def seen(self, series: RoleSeries) -> bool:
        """True after the first step."""
        return series.n_steps > 0

    def now(self, series: RoleSeries) -> str:
        """D of the newest step."""
        return f"{series.drafted[-1]:.0f}"

    def mean(self, series: RoleSeries) -> str:
        """Mean of D, and the cap."""
        return f"{series.drafted_mean:.1f}  cap {series.cap}"

    def scale(self, roles: Iterable[RoleSeries]) -> tuple[float, float]:
        """From nothing to the longest draft."""
        return 0.0, max([2.0, *(value for series in roles for value in series.drafted)])

    def caption(self, scale: tuple[float, float]) -> str:
        """The top of the chart."""
        return f"tokens a step · top {scale[1]:.0f}"

    def chart(
        self, series: RoleSeries, width: int, height: int, scale: tuple[float, float]
    ) -> list[str]:
        """One column a step."""
        return columns(series.drafted, width, height, scale[1])


MEASURES: tuple[Measure, ...] = (AcceptLength(), AlphaDrift(), RejectedPerTurn())
"""The panels of the main screen, top to bottom."""
ALL_MEASURES: tuple[Measure, ...] = (*MEASURES, DraftLength())
"""Those of the speculation screen."""
