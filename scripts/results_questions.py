"""The ten questions of the paper: what it found, our table, and a sentence with our figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from results_runs import Figures

from agspec_tui.replay.report import MEAN, Row
from agspec_tui.replay.tables import Table

PRIOR = (
    "none",
    "pld",
    "rest",
    "fastcoder",
    "sam",
    "suffix",
    "llama-ngram-mod",
    "llama-ngram-map-k",
)
OURS = ("agspec-sam", "agspec-suffix")
FIRST_TURN, FIFTH_TURN = "1", "5"


@dataclass(frozen=True)
class Answer:
    """Our figures for a question."""

    tables: tuple[Table, ...]
    """Tables."""
    found: str
    """What they show, in a sentence that is made of them."""


@dataclass(frozen=True)
class Question:
    """A question that the paper answers."""

    key: str
    """Name by which a reason is written."""
    title: str
    """Heading."""
    paper: str
    """What the paper found."""
    runs: tuple[str, ...]
    """Runs that answer it."""
    answer: Callable[[Figures], Answer]
    """Makes our figures from them."""


def range_of(values: Sequence[float | None], form: str = "×{:.2f}") -> str:
    """Range and mean of what there is."""
    known = [value for value in values if value is not None]
    if not known:
        return "no source can show it"
    low, high, mean = (form.format(v) for v in (min(known), max(known), fmean(known)))
    return f"{low} to {high}, {mean} on average"


def cell(value: float | None, form: str = "{:.2f}") -> str:
    return "–" if value is None else form.format(value)


def value_of(row: Row | None, measure: str) -> float | None:
    return None if row is None else float(getattr(row, measure))


def ratio_of(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def table_of(
    title: str, head: Sequence[str], names: Sequence[str], rows: Sequence[Sequence[float | None]],
    forms: Sequence[str],
) -> Table:  # fmt: skip
    """A table with a name in each row, and the means below."""
    means = [mean_of(column) for column in zip(*rows, strict=True)]
    made = [
        (name, *(cell(value, form) for value, form in zip(values, forms, strict=True)))
        for name, values in zip([*names, "mean"], [*rows, means], strict=True)
    ]
    return Table(title, tuple(head), tuple(made), n_names=1)


def _accept(figures: Figures, run: str, source: str) -> float | None:
    return value_of(figures.row(run, "agspec-sam", "agspec", source), "accept_length")


def session_corpus(figures: Figures) -> Answer:
    """Accept length with a session corpus over that with a per-call one."""
    sources = figures.sources("global-session")
    rows = []
    for source in sources:
        call, session = (_accept(figures, f"global-{name}", source) for name in ("call", "session"))
        rows.append((call, session, ratio_of(session, call)))
    table = table_of(
        "Accept length of agspec-sam, paper mode, with the global corpus",
        ("source", "per-call corpus", "session corpus", "ratio"),
        sources,
        rows,
        ("{:.2f}", "{:.2f}", "×{:.2f}"),
    )
    return Answer((table,), f"The session corpus: {range_of([row[2] for row in rows])}.")


def workspace_corpus(figures: Figures) -> Answer:
    """Accept length with a workspace corpus over that without, alone and on top."""
    names = ("global", "global-workspace", "global-session", "global-session-workspace")
    sources = figures.sources("global")
    rows = []
    for source in sources:
        alone, workspace, session, both = (_accept(figures, name, source) for name in names)
        ratios = (ratio_of(workspace, alone), ratio_of(both, session), ratio_of(both, alone))
        rows.append((alone, workspace, session, both, *ratios))
    table = table_of(
        "Accept length of agspec-sam, paper mode",
        (
            "source", "global", "+ workspace", "+ session", "+ both", "workspace alone", "on top",
            "all together",
        ),
        sources,
        rows,
        ("{:.2f}",) * 4 + ("×{:.2f}", "×{:.3f}", "×{:.2f}"),
    )  # fmt: skip
    alone, on_top, together = ([row[place] for row in rows] for place in (4, 5, 6))
    return Answer(
        (table,),
        f"The workspace corpus beside the global one: {range_of(alone)}; on top of the session"
        f" corpus: {range_of(on_top, '×{:.3f}')}; all together over the global corpus alone:"
        f" {range_of(together)}.",
    )


def emission_views(figures: Figures) -> Answer:
    """Accept length with emission views over that without, by turn."""
    report = figures.reports["views"]
    names, rows = [], []
    for source in report.traces:
        roles = {row.role for row in report.rows if row.source == source}
        role = "coder" if "coder" in roles else "agent"
        names.append(f"{source}, {role}")
        values: list[float | None] = []
        for turn in (FIRST_TURN, FIFTH_TURN):
            on, off = (
                value_of(
                    figures.row(run, "agspec-sam", "agspec", source, role=role, turn=turn),
                    "accept_length",
                )
                for run in ("views", "no-views")
            )
            values += [off, on, ratio_of(on, off)]
        rows.append(values)
    table = table_of(
        "Accept length of agspec-sam, paper mode, in turns that make an edit",
        (
            "source, role", "turn 1, raw files", "with views", "ratio", "turn 5, raw files",
            "with views", "ratio",
        ),
        names,
        rows,
        ("{:.2f}", "{:.2f}", "×{:.3f}") * 2,
    )  # fmt: skip
    return Answer(
        (table,),
        f"Emission views in the first turn: {range_of([row[2] for row in rows], '×{:.3f}')}; in the"
        f" fifth: {range_of([row[5] for row in rows], '×{:.3f}')}.",
    )


def over_engine(figures: Figures) -> Answer:
    """AgSpec on an engine against the prior drafter on the same one."""
    tables, found = [], []
    default = figures.reports["main"].default.policy
    for engine, ours in (("suffix", "agspec-suffix"), ("sam", "agspec-sam")):
        for policy in dict.fromkeys(("agspec", default)):
            sources = figures.sources("main")
            rows = []
            for source in sources:
                prior = figures.row("main", engine, "own", source)
                row = figures.row("main", ours, policy, source)
                values: list[float | None] = []
                for measure in ("speedup", "accept_length"):
                    below, above = value_of(prior, measure), value_of(row, measure)
                    values += [below, above, ratio_of(above, below)]
                rows.append(values)
            head = (
                "source", f"{engine}, speed-up", f"{ours}, speed-up", "ratio",
                f"{engine}, accept length", f"{ours}, accept length", "ratio",
            )  # fmt: skip
            title = f"{ours}, policy {policy}, beside {engine}, gpu cost"
            tables.append(table_of(title, head, sources, rows, ("{:.2f}", "{:.2f}", "×{:.2f}") * 2))
            found.append(
                f"{ours} with {policy} over {engine}: speed {range_of([row[2] for row in rows])};"
                f" accept length {range_of([row[5] for row in rows])}."
            )
    return Answer(tuple(tables), " ".join(found))


def over_prior(figures: Figures) -> Answer:
    """The best AgSpec variant against the best prior drafter, under each cost."""
    default = figures.reports["main"].default.policy
    tables, found = [], []
    for cost in figures.reports["main"].costs:
        best = {
            policy: _best(figures, OURS, policy, cost)
            for policy in dict.fromkeys((default, "agspec"))
        }
        prior = _best(figures, PRIOR, "own", cost)
        sources = figures.sources("main")
        rows = []
        for source in sources:
            below = value_of(figures.row("main", prior, "own", source, cost=cost), "speedup")
            values: list[float | None] = [below]
            for policy, drafter in best.items():
                row = figures.row("main", drafter, policy, source, cost=cost)
                values += [value_of(row, "speedup"), ratio_of(value_of(row, "speedup"), below)]
            row = figures.row("main", best[default], "oracle", source, cost=cost)
            rows.append([*values, value_of(row, "speedup")])
        names = [f"{drafter}, {policy}" for policy, drafter in best.items()]
        head = ["source", prior, *(cell for name in names for cell in (name, "ratio")), "oracle"]
        forms = ["{:.2f}", *["{:.2f}", "×{:.2f}"] * len(best), "{:.2f}"]
        tables.append(table_of(f"Modelled speed-up, {cost} cost", head, sources, rows, forms))
        means = [mean_of(column) for column in zip(*rows, strict=True)]
        gain = ratio_of(means[1], means[0])
        found.append(
            f"{cost}: {names[0]} {cell(means[1])}×, best prior {prior} {cell(means[0])}×,"
            f" ratio of the means {cell(gain)}; lowest source"
            f" {cell(min(row[1] or 0.0 for row in rows))}×."
        )
    return Answer(tuple(tables), " ".join(found))


def _best(figures: Figures, drafters: Sequence[str], policy: str, cost: str) -> str:
    """The drafter with the highest mean speed-up."""
    return max(
        drafters,
        key=lambda name: (
            value_of(figures.row("main", name, policy, MEAN, cost=cost), "speedup") or 0.0
        ),
    )


def over_plain(figures: Figures) -> Answer:
    """Speed-ups over plain decoding at batch 1 and 16."""
    policies = dict.fromkeys(("agspec", figures.reports["main"].default.policy))
    sources = figures.sources("main")
    columns = [
        (run, drafter, policy)
        for run in ("main", "batch-16")
        for drafter in OURS
        for policy in policies
    ]
    rows = [
        [value_of(figures.row(run, *which, source), "speedup") for run, *which in columns]
        for source in sources
    ]
    head = ["source"]
    for run, drafter, policy in columns:
        head.append(f"{drafter}, {policy}, batch {'1' if run == 'main' else '16'}")
    table = table_of("Modelled speed-up, gpu cost", head, sources, rows, ["{:.2f}"] * len(columns))
    half = len(columns) // 2
    one = [value for row in rows for value in row[:half]]
    sixteen = [value for row in rows for value in row[half:]]
    return Answer(
        (table,),
        f"At batch 1: {range_of(one, '{:.2f}×')}; at batch 16: {range_of(sixteen, '{:.2f}×')}.",
    )


def rejected(figures: Figures) -> Answer:
    """Rejected tokens a step and accepted ones, beside those of K = 32."""
    default = figures.reports["main"].default.policy
    policies = tuple(dict.fromkeys(("agspec", default)))
    sources = figures.sources("main")
    rows = []
    for source in sources:
        fixed = figures.row("main", "agspec-sam", "fixed-32", source)
        values = [value_of(fixed, "rejected_per_step")]
        for policy in policies:
            row = figures.row("main", "agspec-sam", policy, source)
            values += [
                value_of(row, "rejected_per_step"),
                ratio_of(_per_step(row), _per_step(fixed)),
            ]
        rows.append(values)
    head = ["source", "K = 32, rejected"]
    for policy in policies:
        head += [f"{policy}, rejected", "accepted, of K = 32"]
    table = table_of(
        "Tokens a step, agspec-sam, batch 1, gpu cost",
        head,
        sources,
        rows,
        ["{:.2f}", *["{:.2f}", "{:.0%}"] * len(policies)],
    )
    fewer = [1 - row[-2] / row[0] if row[0] and row[-2] is not None else None for row in rows]
    return Answer(
        (table,),
        f"K = 32 rejects {range_of([row[0] for row in rows], '{:.1f}')} tokens a step;"
        f" {policies[-1]} {range_of([row[-2] for row in rows], '{:.1f}')}, fewer by"
        f" {range_of(fewer, '{:.0%}')}.",
    )


def _per_step(row: Row | None) -> float | None:
    return None if row is None else row.n_accepted / max(1, row.n_steps)


def by_turn(figures: Figures) -> Answer:
    """Mean length of drafts by turn."""
    report = figures.reports["turns"]
    turns = ("1", "2", "3", "4", "5", "6-10", "11-20", "21+")
    policies = tuple(dict.fromkeys(row.policy for row in report.rows))
    tables, found = [], []
    for policy in policies:
        rows = []
        for source in report.traces:
            row_of = [figures.row("turns", "agspec-sam", policy, source, turn=t) for t in turns]
            rows.append([r.n_drafted / max(1, r.n_steps) if r else None for r in row_of])
        head = ("source", *(f"turn {turn}" for turn in turns))
        title = f"Tokens drafted a step, agspec-sam, {policy}, gpu cost"
        tables.append(table_of(title, head, report.traces, rows, ("{:.1f}",) * len(turns)))
        first, fifth = (mean_of([row[place] for row in rows]) for place in (0, 4))
        found.append(f"{policy}: {cell(first, '{:.1f}')} tokens in turn 1,"
                     f" {cell(fifth, '{:.1f}')} in turn 5.")  # fmt: skip
    return Answer(tuple(tables), " ".join(found))
