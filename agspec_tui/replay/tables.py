"""Tables of a replay, for a terminal of 100 columns and as Markdown."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from agspec_tui.replay.report import MEAN, Report, Row
from agspec_tui.replay.tally import ALL

ACCEPT_LENGTH = (
    "accept length = mean of A + 1 over steps, tokens per target pass; 1.0 = plain decoding"
)
_PER_TABLE = 5
"""Sources beside each other; more make another table."""
_MOST_NAME = 11


class Table(NamedTuple):
    """A table with a title; the first columns hold names, the others figures."""

    title: str
    """One line above it."""
    head: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[tuple[str, ...], ...]
    """Cells."""
    n_names: int = 2
    """How many columns hold names."""


def tables_of(report: Report) -> list[Table]:
    """For each cost the means over sources, the speed-ups per source, and what was kept apart."""
    tables = []
    for cost in report.costs:
        rows = [row for row in report.rows if row.cost == cost]
        whole = [row for row in rows if (row.role, row.turn) == (ALL, ALL)]
        tables.append(_means(cost, whole, len(report.traces)))
        for at in range(0, len(report.traces), _PER_TABLE):
            tables.append(_per_source(cost, whole, report.traces[at : at + _PER_TABLE]))
        apart = [row for row in rows if row.source != MEAN and (row.role, row.turn) != (ALL, ALL)]
        if apart:
            tables.append(_apart(cost, apart))
    return tables


def notes_of(report: Report) -> list[str]:
    """What must be read beside the tables."""
    lines = [ACCEPT_LENGTH]
    lines += [f"{name}: {label}" for name, label in report.labels.items()]
    split = report.options.get("split_by")
    if split:
        lines.append(
            f"profiles: each session was decided by counts of the other half of the {split}s,"
            " never by its own"
        )
    if report.options.get("sessions"):
        lines.append(f"a subset: {sum(report.n_sessions.values())} sessions")
    return lines


def as_text(report: Report) -> str:
    """The tables for a terminal."""
    lines: list[str] = []
    for table in tables_of(report):
        widths = [max(map(len, column)) for column in zip(table.head, *table.rows, strict=True)]
        lines.append(table.title)
        for cells in (table.head, *table.rows):
            placed = (
                cell.ljust(width) if place < table.n_names else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
            )
            lines.append(("  " + "  ".join(placed)).rstrip())
        lines.append("")
    return "\n".join(lines + notes_of(report))


def as_markdown(report: Report) -> str:
    """The same tables as Markdown."""
    lines = [f"# Replay: {report.model}", ""]
    for table in tables_of(report):
        lines += [f"## {table.title}", "", *markdown_rows(table), ""]
    return "\n".join(lines + [f"- {note}" for note in notes_of(report)]) + "\n"


def markdown_rows(table: Table) -> list[str]:
    """Lines of a Markdown table."""
    rule = ["---" if place < table.n_names else "--:" for place in range(len(table.head))]
    return [_piped(table.head), _piped(rule), *(_piped(row) for row in table.rows)]


def _piped(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _means(cost: str, rows: Sequence[Row], n_sources: int) -> Table:
    head = (
        "drafter",
        "policy",
        "speed-up",
        "of oracle",
        "accept",
        "rej/step",
        "rate",
        "µs p50",
        "µs p99",
    )
    made = tuple(
        (
            row.drafter,
            row.policy,
            f"{row.speedup:.2f}×",
            _share(row),
            f"{row.accept_length:.2f}",
            f"{row.rejected_per_step:.2f}",
            f"{row.accept_rate:.0%}",
            f"{row.draft_us_p50:.1f}",
            f"{row.draft_us_p99:.1f}",
        )
        for row in rows
        if row.source == MEAN
    )
    return Table(f"{cost} cost, mean over {n_sources} sources", head, made)


def _per_source(cost: str, rows: Sequence[Row], sources: Sequence[str]) -> Table:
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        cells.setdefault((row.drafter, row.policy), {})[row.source] = f"{row.speedup:.2f}×"
    made = tuple(
        (*names, *(by_source.get(source, "–") for source in sources))
        for names, by_source in cells.items()
    )
    head = ("drafter", "policy", *(_short(source) for source in sources))
    return Table(f"{cost} cost, speed-up per source", head, made)


def _apart(cost: str, rows: Sequence[Row]) -> Table:
    head = ("drafter", "policy", "source", "role", "turn", "tokens", "speed-up", "accept", "rej")
    made = tuple(
        (
            row.drafter,
            row.policy,
            _short(row.source),
            row.role,
            row.turn,
            str(row.n_tokens),
            f"{row.speedup:.2f}×",
            f"{row.accept_length:.2f}",
            f"{row.rejected_per_step:.2f}",
        )
        for row in rows
    )
    return Table(f"{cost} cost, by role and turn", head, made, n_names=5)


def _share(row: Row) -> str:
    return "–" if row.share_of_oracle is None else f"{row.share_of_oracle:.0%}"


def _short(name: str) -> str:
    return name if len(name) <= _MOST_NAME else name[: _MOST_NAME - 1] + "…"
