"""The questions of the paper about batches of sequences: our tables and sentences."""

from results_questions import Answer, cell, mean_of, range_of, ratio_of, table_of, value_of
from results_runs import Figures

from agspec_tui.replay.report import MEAN
from agspec_tui.replay.tables import Table


def draft_length(figures: Figures) -> Answer:
    """Policies at batch 1 and 16, over a fixed length of 8."""
    default = figures.reports["main"].default.policy
    policies = tuple(dict.fromkeys(("fixed-8", "fixed-32", "agspec", default, "oracle")))
    rows = []
    for policy in policies:
        values: list[float | None] = []
        for run in ("main", "batch-16"):
            row, eight = (
                figures.row(run, "agspec-sam", name, MEAN) for name in (policy, "fixed-8")
            )
            values += [
                value_of(row, "speedup"),
                ratio_of(value_of(row, "speedup"), value_of(eight, "speedup")),
            ]
        rows.append(values)
    made = tuple(
        (policy, *(cell(v, f) for v, f in zip(row, ("{:.2f}", "×{:.2f}") * 2, strict=True)))
        for policy, row in zip(policies, rows, strict=True)
    )
    table = Table(
        "Modelled speed-up of agspec-sam, mean over sources, gpu cost",
        ("policy", "batch 1", "over K = 8", "batch 16", "over K = 8"),
        made,
        n_names=1,
    )
    said = "; ".join(
        f"{policy} {cell(row[1], '×{:.2f}')} and {cell(row[3], '×{:.2f}')}"
        for policy, row in zip(policies[1:], rows[1:], strict=True)
    )
    shared, told = _shared_budget(figures, default)
    return Answer((table, *shared), f"Over K = 8, at batch 1 and 16: {said}. {told}")


def _shared_budget(figures: Figures, default: str) -> tuple[list[Table], str]:
    """At batch 16: one budget for all sequences, beside each deciding for itself and beside K."""
    tables, told = [], []
    policies = ("fixed-32", "fixed-8", f"{default}+alone", default, "oracle")
    sources = figures.sources("batch-16")
    for cost in figures.reports["batch-16"].costs:
        rows = []
        for source in sources:
            speeds = [
                value_of(figures.row("batch-16", "agspec-sam", name, source, cost=cost), "speedup")
                for name in policies
            ]
            rows.append([*speeds, ratio_of(speeds[3], speeds[2]), ratio_of(speeds[3], speeds[0])])
        head = ("source", "K = 32", "K = 8", f"{default}, each alone", f"{default}, one budget",
                "oracle", "over alone", "over K = 32")  # fmt: skip
        forms = ("{:.2f}",) * 5 + ("×{:.3f}", "×{:.2f}")
        tables.append(table_of(f"agspec-sam at batch 16, {cost} cost", head, sources, rows, forms))
        means = [mean_of(column) for column in zip(*rows, strict=True)]
        alone = cell(ratio_of(means[3], means[2]), "{:.3f}")
        fixed = cell(ratio_of(means[3], means[0]))
        told.append(
            f"{cost} {cell(means[3])}× plain decoding (×{alone} of each alone, ×{fixed} of K = 32,"
            " lowest source"
            f" {cell(min(row[3] or 0.0 for row in rows))}×)"
        )
    return tables, f"One budget for all sequences of a batch of 16: {'; '.join(told)}."


def scale_alone(figures: Figures) -> Answer:
    """α on K = 32 at batch 16."""
    sources = figures.sources("batch-16")
    rows = []
    for source in sources:
        fixed, scaled = (
            figures.row("batch-16", "agspec-sam", policy, source)
            for policy in ("fixed-32", "agspec-32")
        )
        speeds = [value_of(row, "speedup") for row in (fixed, scaled)]
        shares = [1 - row.accept_rate if row else None for row in (fixed, scaled)]
        rows.append([*speeds, ratio_of(speeds[1], speeds[0]), *shares])
    table = table_of(
        "agspec-sam at batch 16, gpu cost",
        ("source", "K = 32", "with α", "ratio", "K = 32, rejected share", "with α"),
        sources,
        rows,
        ("{:.2f}", "{:.2f}", "×{:.2f}", "{:.0%}", "{:.0%}"),
    )
    fixed_share, scaled_share = (mean_of([row[place] for row in rows]) for place in (3, 4))
    return Answer(
        (table,),
        f"α alone: {range_of([row[2] for row in rows])}; rejected share"
        f" {cell(fixed_share, '{:.0%}')} → {cell(scaled_share, '{:.0%}')}.",
    )
