from statistics import fmean

import msgspec
import pytest

from agspec_tui.replay.report import MEAN, make_rows
from agspec_tui.replay.tables import as_markdown, as_text
from agspec_tui.replay.tally import ALL, Shared
from tests.replay.reports import COSTS, SOURCES, STEPS, report_of, tallies_of

FIELDS = [
    "drafter",
    "policy",
    "source",
    "role",
    "turn",
    "cost",
    "n_tokens",
    "n_steps",
    "n_drafted",
    "n_accepted",
    "accept_length",
    "rejected_per_step",
    "accept_rate",
    "draft_us_p50",
    "draft_us_p99",
]


@pytest.fixture(scope="module")
def report():
    return report_of()


def chosen(report, **fields):
    return [
        row
        for row in report.rows
        if all(getattr(row, name) == value for name, value in fields.items())
    ]


def test_the_document_has_the_known_fields(report):
    document = msgspec.json.decode(msgspec.json.encode(report))
    assert document["schema"] == 1
    assert list(document)[:6] == ["schema", "model", "traces", "costs", "default", "rows"]
    assert document["default"] == {"drafter": "agspec-sam", "policy": "goodput"}
    for row in document["rows"]:
        assert list(row)[: len(FIELDS)] == FIELDS
        assert list(row)[len(FIELDS) :] == ["speedup", "share_of_oracle", "pass_cost", "plain_cost"]


def test_what_a_batch_paid_stands_in_for_the_counts_of_its_steps():
    tallies = tallies_of(apart=False)
    for key, tally in tallies.items():
        for name in (key.walked,) if key.walked else COSTS:
            spent = 4.0 if key.policy == "oracle" else 5.0
            tally.shared[name] = Shared(spent, 2.0 * spent if key.drafter == "none" else 12.0)
    for row in make_rows(tallies, COSTS, "agspec-sam"):
        n_sources = len(SOURCES) if row.source == MEAN else 1
        assert row.pass_cost == n_sources * (4.0 if row.policy == "oracle" else 5.0)
        expected = {"none": 2.0, "pld": 2.4, "agspec-sam": 12 / (row.pass_cost / n_sources)}
        assert row.speedup == pytest.approx(expected[row.drafter])
        assert row.plain_cost == pytest.approx(row.speedup * row.pass_cost)
        assert row.share_of_oracle == pytest.approx(row.speedup / 3.0)


def test_every_measure_follows_from_the_counts_of_its_row(report):
    for row in report.rows:
        assert row.accept_length == 1 + row.n_accepted / row.n_steps
        assert row.rejected_per_step == (row.n_drafted - row.n_accepted) / row.n_steps
        assert row.accept_rate == (row.n_accepted / row.n_drafted if row.n_drafted else 0.0)
        if row.source != MEAN:
            assert row.speedup == row.n_tokens / row.pass_cost


def test_a_pass_costs_what_its_tokens_cost(report):
    (row,) = chosen(report, drafter="pld", source="aider", role="coder", turn="1", cost="dear")
    assert row.pass_cost == pytest.approx(2 * (1 + 0.6 * 5))


def test_aggregated_rows_are_always_there():
    assert {(row.role, row.turn) for row in report_of(apart=False).rows} == {(ALL, ALL)}


def test_rows_by_role_and_turn_sum_to_the_whole(report):
    for whole in chosen(report, role=ALL, turn=ALL):
        same = {"drafter": whole.drafter, "policy": whole.policy, "source": whole.source}
        parts = chosen(report, **same, cost=whole.cost)
        for apart in ("role", "turn"):
            other = "turn" if apart == "role" else "role"
            some = [r for r in parts if getattr(r, apart) != ALL and getattr(r, other) == ALL]
            assert len(some) == 2
            for measure in ("n_tokens", "n_steps", "n_drafted", "n_accepted"):
                assert sum(getattr(r, measure) for r in some) == getattr(whole, measure)
            assert sum(r.pass_cost for r in some) == pytest.approx(whole.pass_cost)


def test_a_policy_that_decides_by_cost_has_rows_of_its_own_for_each(report):
    whole = {"policy": "goodput", "source": "aider", "role": ALL, "turn": ALL}
    cheap, dear = (chosen(report, **whole, cost=cost)[0] for cost in COSTS)
    assert cheap.n_drafted == 16
    assert dear.n_drafted == 7
    fixed = chosen(report, drafter="pld", source="aider", role=ALL, turn=ALL)
    assert len(fixed) == len(COSTS)
    assert len({row.n_drafted for row in fixed}) == 1


def test_every_combination_is_there_once(report):
    keys = [(r.drafter, r.policy, r.source, r.role, r.turn, r.cost) for r in report.rows]
    assert len(set(keys)) == len(keys)
    pairs = {names[:2] for names in STEPS}
    assert {key[:3] for key in keys} == {(*p, s) for p in pairs for s in (*SOURCES, MEAN)}


def test_the_mean_gives_every_source_the_same_weight(report):
    for row in chosen(report, source=MEAN):
        same = {"drafter": row.drafter, "policy": row.policy, "cost": row.cost}
        members = [
            r for r in chosen(report, **same, role=row.role, turn=row.turn) if r.source != MEAN
        ]
        assert row.speedup == pytest.approx(fmean(r.speedup for r in members))
        assert row.share_of_oracle == pytest.approx(fmean(r.share_of_oracle for r in members))
        assert row.n_steps == sum(r.n_steps for r in members)


def test_shares_are_of_the_drafters_oracle_else_of_the_default_one(report):
    for row in report.rows:
        if row.source == MEAN:
            continue
        (oracle,) = chosen(
            report,
            drafter="agspec-sam",
            policy="oracle",
            source=row.source,
            role=row.role,
            turn=row.turn,
            cost=row.cost,
        )
        assert row.share_of_oracle == pytest.approx(row.speedup / oracle.speedup)


def test_without_an_oracle_there_is_no_share():
    tallies = {key: tally for key, tally in tallies_of().items() if key.policy != "oracle"}
    rows = make_rows(tallies, COSTS, "agspec-sam")
    assert {row.share_of_oracle for row in rows} == {None}
    assert "–" in as_text(report_of(rows=rows))


def test_tables_fit_a_terminal_of_a_hundred_columns():
    names = tuple(f"a_long_name_of_source_{number}" for number in range(7))
    report = report_of()
    rows = tuple(
        msgspec.structs.replace(row, source=name, drafter="llama-ngram-map-k")
        for row in report.rows
        for name in names
        if row.source == "aider"
    )
    for shown in (as_text(report), as_text(report_of(traces=names, rows=report.rows + rows))):
        assert max(map(len, shown.splitlines())) <= 100


def test_the_text_says_what_accept_length_means_and_what_was_split(report):
    shown = as_text(report_of(labels={"fastcoder": "from its abstract"}))
    assert "mean of A + 1 over steps" in shown
    assert "fastcoder: from its abstract" in shown
    assert "never by its own" in shown
    assert "never by its own" not in as_text(report_of(options={}))
    assert "a subset: 6 sessions" in as_text(report_of(options={"sessions": 3}))


def test_markdown_holds_the_figures_of_the_text(report):
    text, markdown = as_text(report), as_markdown(report)
    figures = [word for word in text.split() if word.endswith(("×", "%"))]
    assert figures
    assert [w for w in markdown.split() if w.endswith(("×", "%"))] == figures
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in lines)
