from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from agspec_tui.drafting.choose import NAMES
from agspec_tui.engine.llama_tokenizer import Vocabulary
from agspec_tui.errors import UsageError
from agspec_tui.policy.cost import shipped
from agspec_tui.replay.plan import ReplayPlan, parse_policies
from agspec_tui.replay.read import Entry, read_sessions
from agspec_tui.replay.report import MEAN
from agspec_tui.replay.run import POLICY_NAMES, parse_costs, replay_traces, subset
from agspec_tui.replay.tally import ALL
from tests.replay.recordings import session, write

POLICIES = "agspec,goodput,fixed-8,fixed-32,oracle"
COSTS = parse_costs("cpu,gpu")


def plan_of(policies=POLICIES, **more):
    return ReplayPlan(policies=parse_policies(policies, POLICY_NAMES), **more)


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    write(folder / "shop.jsonl", [session(number) for number in range(4)])
    write(folder / "farm.jsonl", [session(number, "farm") for number in range(2)])
    return folder


@pytest.fixture(scope="module")
def vocabulary(smollm2):
    with closing(Vocabulary(smollm2)) as vocabulary:
        yield vocabulary


@pytest.fixture(scope="module")
def replayed(traces, vocabulary):
    def replayed(plan, **more):
        return replay_traces([traces], "smollm2-135m", vocabulary, plan, COSTS, **more)

    return replayed


@pytest.fixture(scope="module")
def whole(replayed):
    return replayed(plan_of(by=frozenset({"role", "turn"})))


def without_times(report):
    rows = [msgspec.structs.replace(r, draft_us_p50=0.0, draft_us_p99=0.0) for r in report.rows]
    return msgspec.structs.replace(report, rows=tuple(rows), seconds=0.0)


def chosen(report, **fields):
    fields = {"role": ALL, "turn": ALL, "cost": "gpu", **fields}
    return [r for r in report.rows if all(getattr(r, n) == v for n, v in fields.items())]


def test_every_drafter_has_its_rows_for_every_source_and_cost(whole):
    for drafter in NAMES:
        policies = POLICIES.split(",") if drafter.startswith("agspec") else ["own"]
        for cost in COSTS:
            rows = chosen(whole, drafter=drafter, cost=cost)
            expected = {(p, s) for p in policies for s in ("farm", "shop", MEAN)}
            assert {(row.policy, row.source) for row in rows} == expected
            assert len(rows) == len(expected)


def test_plain_decoding_takes_a_step_for_each_token(whole):
    for row in chosen(whole, drafter="none"):
        assert row.n_steps == row.n_tokens
        assert (row.speedup, row.accept_length, row.n_drafted) == (1.0, 1.0, 0)


def test_every_policy_commits_the_recorded_tokens(whole, traces, vocabulary):
    recorded = list(read_sessions([traces], vocabulary))
    for source in ("farm", "shop"):
        n_tokens = sum(each.n_output for each in recorded if each.source == source)
        for row in chosen(whole, source=source):
            assert row.n_tokens == n_tokens
            assert row.n_accepted + row.n_steps == n_tokens


def test_the_oracle_rejects_nothing_and_no_policy_is_much_faster(whole):
    for cost in COSTS:
        oracles = {
            r.source: r for r in chosen(whole, drafter="agspec-sam", policy="oracle", cost=cost)
        }
        for row in chosen(whole, drafter="agspec-sam", cost=cost):
            assert row.speedup < 1.05 * oracles[row.source].speedup
        assert all(row.rejected_per_step == 0 for row in oracles.values())


def test_text_that_is_written_again_is_drafted(whole):
    (row,) = chosen(whole, drafter="agspec-sam", policy="fixed-32", source="shop")
    assert row.speedup > 2
    assert row.accept_length > 3


def test_a_longer_fixed_length_drafts_and_accepts_more(whole):
    short, long = (
        chosen(whole, drafter="agspec-sam", policy=policy, source="shop")[0]
        for policy in ("fixed-8", "fixed-32")
    )
    assert short.n_steps > long.n_steps
    assert short.n_drafted < long.n_drafted
    assert short.n_drafted / short.n_steps <= 8


@pytest.mark.parametrize(
    "policy",
    [
        *sorted(set(POLICY_NAMES) - {"own", "off"}),
        *("agspec-32", "agspec+log+per-source", "goodput+alone"),
    ],
)
def test_every_policy_and_variant_can_be_replayed(replayed, policy):
    report = replayed(plan_of(policy, drafters=("agspec-sam",)), share=1)
    rows = chosen(report, source="shop")
    assert [row.policy for row in rows] == [policy]
    assert rows[0].n_accepted > 0


def test_roles_and_turns_sum_to_the_whole(whole):
    for drafter in NAMES:
        for row in chosen(whole, drafter=drafter, source="shop"):
            for apart in ("role", "turn"):
                parts = [
                    r
                    for r in whole.rows
                    if (r.drafter, r.policy, r.source, r.cost)
                    == (row.drafter, row.policy, row.source, row.cost)
                    and getattr(r, apart) != ALL
                    and getattr(r, "turn" if apart == "role" else "role") == ALL
                ]
                assert len(parts) > 1
                for measure in ("n_tokens", "n_steps", "n_drafted", "n_accepted"):
                    assert sum(getattr(r, measure) for r in parts) == getattr(row, measure)


def test_two_processes_find_what_one_finds(whole, replayed):
    again = replayed(plan_of(by=frozenset({"role", "turn"})), n_processes=2)
    assert without_times(again) == without_times(whole)


def test_a_session_corpus_remembers_what_a_per_call_one_forgets(replayed):
    plans = {
        scope: plan_of("fixed-32", drafters=("agspec-sam",), session=scope, workspace=False)
        for scope in ("session", "call", "off")
    }
    length = {
        scope: chosen(replayed(plan), source="shop")[0].accept_length
        for scope, plan in plans.items()
    }
    assert length["session"] > length["call"] > length["off"] == 1.0


def test_the_global_corpus_holds_the_other_half_of_the_tasks(replayed):
    plan = plan_of("fixed-32", drafters=("agspec-sam",), session="off", workspace=False)
    (without,) = chosen(replayed(plan), source="shop")
    (with_global,) = chosen(replayed(replace(plan, global_corpus=True)), source="shop")
    assert without.n_drafted == 0
    assert with_global.n_accepted > 0


def test_the_profile_of_a_session_never_holds_its_own_task(traces, vocabulary):
    one = [traces / "farm.jsonl"]
    plan = plan_of("goodput,fixed-8", drafters=("agspec-sam",))
    report = replay_traces(one, "smollm2-135m", vocabulary, plan, COSTS, share=1)
    reasons = [skip.reason for skip in report.skips]
    assert reasons == ["no session of the other half of the tasks; the shipped one decides"]
    assert report.n_sessions == {"farm": 1}


@pytest.fixture(scope="module")
def batched(replayed):
    return replayed(plan_of("agspec,goodput,survival,fixed-8,fixed-32,oracle", batch=16))


def test_a_batch_is_faster_than_itself_decoded_plainly_by_what_its_passes_cost(batched):
    for row in batched.rows:
        if row.source != MEAN:
            assert row.speedup == pytest.approx(row.plain_cost / row.pass_cost)
    for row in chosen(batched, drafter="none"):
        assert row.speedup == pytest.approx(1.0)
        assert row.n_steps == row.n_tokens


def test_plain_decoding_of_a_batch_costs_the_same_beside_every_drafter(batched):
    for cost in COSTS:
        for source in ("farm", "shop", MEAN):
            rows = chosen(batched, source=source, cost=cost)
            assert {round(row.plain_cost, 6) for row in rows} == {round(rows[0].plain_cost, 6)}
            assert len({row.n_tokens for row in rows}) == 1


def test_every_token_of_a_batch_is_committed(batched, whole):
    alone = {row.source: row.n_tokens for row in chosen(whole, drafter="none")}
    for row in chosen(batched):
        assert row.n_tokens == alone[row.source]
        if row.source != MEAN:
            assert row.n_accepted + row.n_steps == row.n_tokens


def test_a_drafted_token_costs_more_in_a_batch(batched, whole):
    for policy in ("fixed-8", "fixed-32"):
        alone, shared = (
            chosen(report, drafter="agspec-sam", policy=policy, source="shop")[0]
            for report in (whole, batched)
        )
        assert (shared.n_drafted, shared.n_accepted) == (alone.n_drafted, alone.n_accepted)
        assert shared.speedup < alone.speedup


@pytest.mark.parametrize("cost", ["cpu", "gpu"])
def test_a_shared_budget_beats_fixed_lengths(batched, cost):
    speed = {
        row.policy: row.speedup
        for row in chosen(batched, drafter="agspec-sam", source="shop", cost=cost)
    }
    assert speed["goodput"] > speed["fixed-8"] > speed["fixed-32"]
    assert speed["oracle"] > speed["goodput"] > 1.0


def test_policies_that_decide_alone_share_passes_but_no_budget(replayed):
    plan = plan_of("goodput+alone,goodput", drafters=("agspec-sam",), batch=16)
    report = replayed(plan)
    for cost in COSTS:
        alone, shared = chosen(report, source="shop", cost=cost)
        assert (alone.policy, shared.policy) == ("goodput+alone", "goodput")
        assert alone.n_drafted != shared.n_drafted
        assert alone.plain_cost == shared.plain_cost


@pytest.mark.parametrize("name", ["fixed-8+alone", "oracle+alone", "goodput+alone+alone"])
def test_what_shares_no_budget_cannot_do_without(name):
    with pytest.raises(UsageError, match="is no policy"):
        parse_policies(name, POLICY_NAMES)


def test_roles_of_a_batch_pay_together_what_the_whole_does(replayed):
    plan = plan_of("goodput,fixed-8", drafters=("agspec-sam",), batch=16, by=frozenset({"role"}))
    report = replayed(plan)
    for policy in ("goodput", "fixed-8"):
        rows = [r for r in report.rows if (r.policy, r.source, r.cost) == (policy, "shop", "gpu")]
        (everyone,) = [row for row in rows if row.role == ALL]
        apart = [row for row in rows if row.role != ALL]
        assert len(apart) > 1
        for measure in ("pass_cost", "plain_cost"):
            total = sum(getattr(row, measure) for row in apart)
            assert total == pytest.approx(getattr(everyone, measure))


def test_two_processes_find_what_one_finds_of_a_batch(batched, replayed):
    plan = plan_of("agspec,goodput,survival,fixed-8,fixed-32,oracle", batch=16)
    assert without_times(replayed(plan, n_processes=2)) == without_times(batched)


def test_a_cost_can_come_from_a_file(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(
        '{"schema": 1, "model": "m", "device": "cpu", "threads": 2, "n_batch": 512,'
        ' "times": [[1, 0.5], [2, 0.75]]}'
    )
    costs = parse_costs(f"gpu,{path}")
    assert list(costs) == ["gpu", "mine"]
    assert costs["mine"].at(2) == 1.5
    assert costs["gpu"].at(8) == shipped("gpu").at(8)


def test_what_was_measured_must_reach_the_passes_of_a_batch(tmp_path):
    path = tmp_path / "mine.json"
    times = ((1, 0.5), (7, 0.75), (32, 2.0))
    for n_sizes, batch, reaches in ((2, 1, True), (2, 16, False), (3, 16, True), (3, 64, False)):
        document = {"schema": 1, "model": "m", "device": "cpu", "threads": 2, "n_batch": 512}
        path.write_bytes(msgspec.json.encode({**document, "times": times[:n_sizes]}))
        if reaches:
            assert parse_costs(str(path), batch)["mine"].at(7) == 1.5
            continue
        with pytest.raises(UsageError, match=f"too few for {batch} sequences") as refused:
            parse_costs(str(path), batch)
        assert "calibrate" in refused.value.hint


def entry(source, key, size):
    return Entry(key, f"{source}/{key}", source, key, size, 0)


def test_a_subset_takes_of_every_source_and_the_largest_come_first():
    entries = [entry("a", str(n), n) for n in range(8)] + [entry("b", "0", 99)]
    assert subset(entries, 0)[0].source == "b"
    assert len(subset(entries, 0)) == 9
    assert sorted(each.key for each in subset(entries, 3) if each.source == "a") == ["0", "1", "2"]
    assert [each.source for each in subset(entries, 0.25)] == ["b", "a", "a"]
    assert len(subset(entries, 0.01)) == 2


def test_what_is_left_out_is_named_and_counted(tmp_path, vocabulary):
    path = write(tmp_path / "t.jsonl", [session(0), session(1)])
    text = path.read_text()
    odd = text.replace('"role": "planner"', '"role": "gardener"').splitlines()[0]
    path.write_text(text + odd.replace('"shop/0"', '"shop/9"') + "\n" + text[:60])
    plan = plan_of("fixed-8", drafters=("none",))
    report = replay_traces([path], "smollm2-135m", vocabulary, plan, COSTS)
    assert {skip.what for skip in report.skips} == {f"{path}, line 4", "role gardener"}
    assert report.n_sessions == {"t": 3}


def test_no_session_is_an_error(tmp_path, vocabulary):
    path = tmp_path / "t.jsonl"
    path.write_text("{}\n")
    with pytest.raises(UsageError, match="no session"):
        replay_traces([path], "m", vocabulary, plan_of("fixed-8"), COSTS)


def test_nothing_of_a_run_is_left_on_the_disk(replayed, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    replayed(plan_of("goodput", drafters=("agspec-sam",)))
    assert list(Path(tmp_path).iterdir()) == []
