from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.commands import ConfigureDrafting
from agspec_tui.policy.choose import NAMES, make_policy
from agspec_tui.policy.cost import shipped
from agspec_tui.policy.lengths import worth_of
from agspec_tui.policy.sharing import best_lengths, cut, likeliest, share
from agspec_tui.policy.types import Ask, Budget, Evidence, Outcome
from tests.properties.test_policy import COSTS, EVIDENCE
from tests.reference.shared_budget import lower_hull, most_saved, most_saved_in_order, saved_by

SIXTEENTHS = st.integers(0, 24).map(lambda n: n / 16)  # exact, so that equals are equal
WORTHS = st.lists(SIXTEENTHS, max_size=4).map(lambda w: sorted(w, reverse=True))
ASKS = st.lists(
    st.builds(Ask, st.sampled_from(["coder", "planner"]), EVIDENCE, st.integers(-1, 80)),
    min_size=1,
    max_size=6,
)


@given(st.lists(WORTHS, min_size=1, max_size=3), st.data())
def test_lengths_are_the_best_of_all_ways_to_share(worths, data):
    steps = data.draw(st.lists(SIXTEENTHS, min_size=12, max_size=12))
    times = np.cumsum([1.0, *steps])
    n_tokens = sum(len(each) for each in worths)
    lengths = best_lengths([np.array(each) for each in worths], times)
    assert saved_by(worths, times, lengths) == most_saved(worths, times, n_tokens)
    for k in range(int(lengths.sum())):  # of equals the fewest tokens
        assert most_saved(worths, times, k) < most_saved(worths, times, n_tokens)


@given(st.lists(st.integers(0, 64).map(lambda n: n / 8), min_size=1, max_size=12))
def test_worths_are_the_slopes_of_the_lower_hull(later):
    hull = lower_hull(later)
    falls = [a - b for a, b in pairwise(hull) if a - b > 1e-12]
    worths = worth_of(np.array(later))
    assert worths.tolist() == pytest.approx(falls)
    assert all(a >= b for a, b in pairwise(worths))


@given(ASKS, st.lists(st.integers(0, 30), min_size=6, max_size=6), st.integers(0, 60))
def test_no_position_is_cut_before_a_less_likely_one(asks, lengths, n_tokens):
    budgets = [Budget(k, censored=False) for k in lengths[: len(asks)]]
    shared = cut(budgets, asks, n_tokens)
    asked = sum(budget.k for budget in budgets)
    assert sum(budget.k for budget in shared) == min(asked, n_tokens)
    kept = [1e-9]
    lost = [1e9]
    for ask, before, after in zip(asks, budgets, shared, strict=True):
        m = max(1, ask.evidence.match_len)
        kept += [j / m for j in range(1, after.k + 1)]
        lost += [j / m for j in range(after.k + 1, before.k + 1)]
        assert after.censored == (after.k < before.k)
    assert max(kept) <= min(lost)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(NAMES), COSTS, EVIDENCE, st.integers(-1, 99), st.integers(0, 99))
def test_a_sequence_alone_gets_what_the_policy_gives_it(name, cost, evidence, room, n_tokens):
    first, second = (make_policy(ConfigureDrafting(policy=name), cost) for _ in range(2))
    alone = second.budget("coder", evidence, min(room, n_tokens))
    assert share(first, [Ask("coder", evidence, room)], n_tokens) == [alone]


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(NAMES), COSTS, st.lists(ASKS, min_size=1, max_size=3), st.integers(0, 150))
def test_shared_lengths_stay_within_every_room_and_are_decided_alike_again(
    name, cost, passes, n_tokens
):
    first, second = (make_policy(ConfigureDrafting(policy=name), cost) for _ in range(2))
    for asks in passes:
        budgets = share(first, asks, n_tokens)
        assert budgets == share(second, asks, n_tokens)
        assert sum(budget.k for budget in budgets) <= n_tokens
        for ask, budget in zip(asks, budgets, strict=True):
            assert 0 <= budget.k <= max(0, ask.room)
            outcome = Outcome(budget.k, budget.k // 2, budget.censored)
            for policy in (first, second):
                policy.observe(ask.role, ask.evidence, outcome)


@given(st.lists(WORTHS, min_size=1, max_size=3), st.integers(0, 12), st.data())
def test_without_room_for_all_the_likeliest_are_kept(worths, n_tokens, data):
    times = np.cumsum([1.0, *data.draw(st.lists(SIXTEENTHS, min_size=12, max_size=12))])
    chances = [
        sorted(data.draw(st.lists(SIXTEENTHS, min_size=len(w), max_size=len(w))), reverse=True)
        for w in worths
    ]
    arrays = [[np.array(each, dtype=float) for each in of] for of in (worths, chances)]
    lengths = likeliest(*arrays, times, n_tokens).tolist()
    saved = saved_by(worths, times, lengths)
    assert saved == most_saved_in_order(worths, chances, times, n_tokens)
    kept = [c for each, k in zip(chances, lengths, strict=True) for c in each[:k]]
    lost = [c for each, k in zip(chances, lengths, strict=True) for c in each[k:]]
    assert not kept or not lost or min(kept) >= max(lost)


def test_of_equally_likely_positions_the_first_draft_s_comes_first():
    worths = [np.array([2.0]), np.array([1.0])]
    chances = [np.array([0.5]), np.array([0.5])]
    assert likeliest(worths, chances, np.array([1.0, 1.5]), 1).tolist() == [1, 0]
    assert most_saved_in_order(worths, chances, [1.0, 1.5], 1) == 2.0 - 1.5


def test_pass_times_go_on_as_the_cost_does():
    for cost in map(shipped, ("cpu", "gpu", "metal")):
        assert cost.up_to(200).tolist() == pytest.approx(
            [0.0, *(cost.at(n) for n in range(1, 201))]
        )
        assert cost.up_to(1).tolist() == [0.0, 1.0]


def test_evidence_without_a_match_gets_nothing_beside_others():
    policy = make_policy(ConfigureDrafting(policy="goodput"), shipped("gpu"))
    asks = [Ask("coder", Evidence(0), 64), Ask("coder", Evidence(40, "session", 1, 1), 64)]
    assert [budget.k > 0 for budget in share(policy, asks, 999)] == [False, True]
