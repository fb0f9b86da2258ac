"""A bar chart of modelled speed-ups as SVG: one panel for each cost, one group for each source."""

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from agspec_tui.replay.report import MEAN, ORACLE, Report, Row
from agspec_tui.replay.tally import ALL

_COLOURS = (
    "#8c8c8c", "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2",
    "#b07aa1", "#c9a227", "#d4728f", "#9c755f", "#5b8ff9", "#6c8f3c",
)  # fmt: skip
"""Bars in the order of the legend; each can be told from white and from a dark page."""
_BAR, _GAP, _LEAST_GROUP = 9, 16, 104
_LEFT, _TOP, _PANEL, _FOOT = 52, 30, 190, 44
_LEGEND_ROW, _LEGEND_COLUMN = 18, 200
_STYLE = (
    "text{font:12px sans-serif;fill:#57606a}.axis{stroke:#8c959f;fill:none}"
    ".grid{stroke:#8c959f;stroke-opacity:.3}.plain{stroke:#8c959f;stroke-dasharray:4 3}"
    "@media(prefers-color-scheme:dark){text{fill:#b1bac4}}"
)


def as_svg(report: Report) -> str:
    """The chart of a report, a whole XML document that depends on nothing.

    A drafter is shown under the policy it is used with: the default one where that was replayed,
    else its first. The oracle of the default drafter stands beside them.
    """
    series = _series(report)
    sources = (*report.traces, MEAN)
    group = _group_width(series)
    n_columns = max(1, (len(sources) * group) // _LEGEND_COLUMN)
    legend = -(-len(series) // n_columns) * _LEGEND_ROW + 10
    width = _LEFT + max(len(sources) * group, _LEGEND_COLUMN) + 10
    height = legend + len(report.costs) * (_TOP + _PANEL + _FOOT)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img">',
        f"<title>{escape(f'Modelled speed-up over plain decoding, {report.model}')}</title>",
        f"<style>{_STYLE}</style>",
        *_legend(series, n_columns),
    ]
    for number, cost in enumerate(report.costs):
        top = legend + number * (_TOP + _PANEL + _FOOT) + _TOP
        parts += _panel(_values(report.rows, cost), series, sources, cost, top)
    return "\n".join([*parts, "</svg>", ""])


def _series(report: Report) -> list[tuple[str, str]]:
    """Drafter and policy of each bar of a group."""
    policies: dict[str, list[str]] = {}
    for row in report.rows:
        known = policies.setdefault(row.drafter, [])
        if row.policy not in known:
            known.append(row.policy)
    chosen = [
        (drafter, report.default.policy if report.default.policy in known else known[0])
        for drafter, known in policies.items()
    ]
    if ORACLE in policies.get(report.default.drafter, ()):
        chosen.append((report.default.drafter, ORACLE))
    return chosen


def _group_width(series: Sequence[tuple[str, str]]) -> int:
    """Width of a source: its bars, and room for its name."""
    return max(len(series) * _BAR, _LEAST_GROUP) + _GAP


def _values(rows: Iterable[Row], cost: str) -> dict[tuple[str, str, str], float]:
    return {
        (row.drafter, row.policy, row.source): row.speedup
        for row in rows
        if (row.cost, row.role, row.turn) == (cost, ALL, ALL)
    }


def _legend(series: Sequence[tuple[str, str]], n_columns: int) -> list[str]:
    parts = []
    for number, (drafter, policy) in enumerate(series):
        x = _LEFT + number % n_columns * _LEGEND_COLUMN
        y = number // n_columns * _LEGEND_ROW + 8
        colour = _COLOURS[number % len(_COLOURS)]
        label = drafter if policy == "own" else f"{drafter}, {policy}"
        parts.append(f'<rect x="{x}" y="{y}" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 15}" y="{y + 9}">{escape(label)}</text>')
    return parts


def _panel(
    values: dict[tuple[str, str, str], float],
    series: Sequence[tuple[str, str]],
    sources: Sequence[str],
    cost: str,
    top: int,
) -> list[str]:
    """Bars, axes and labels of one cost."""
    highest = max([1.0, *values.values()])
    tick = next(step for step in (0.25, 0.5, 1, 2, 5, 10, 50, 1e9) if highest / step <= 6)
    n_ticks = int(highest / tick) + 1
    scale = _PANEL / (n_ticks * tick)
    bottom = top + _PANEL
    group = _group_width(series)
    right = _LEFT + len(sources) * group
    parts = [f'<text x="{_LEFT}" y="{top - 10}">{escape(cost)} cost: speed-up (×)</text>']
    for number in range(n_ticks + 1):
        y = bottom - number * tick * scale
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        label = f"{number * tick:g}"
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for place, source in enumerate(sources):
        left = _LEFT + place * group + (group - len(series) * _BAR) // 2
        for number, names in enumerate(series):
            value = values.get((*names, source), 0.0)
            parts.append(
                f'<rect x="{left + number * _BAR}" y="{bottom - value * scale:.1f}"'
                f' width="{_BAR - 1}" height="{value * scale:.1f}"'
                f' fill="{_COLOURS[number % len(_COLOURS)]}">'
                f"<title>{escape(f'{names[0]}, {names[1]}, {source}: {value:.2f}×')}</title></rect>"
            )
        middle = left + len(series) * _BAR / 2
        parts.append(
            f'<text x="{middle:.1f}" y="{bottom + 18}" text-anchor="middle">{escape(source)}</text>'
        )
    one = bottom - scale
    parts.append(f'<line class="plain" x1="{_LEFT}" y1="{one:.1f}" x2="{right}" y2="{one:.1f}"/>')
    parts.append(f'<path class="axis" d="M{_LEFT} {top}V{bottom}H{right}"/>')
    return parts
