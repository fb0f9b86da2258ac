import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.commands import ConfigureDrafting
from agspec_tui.policy.choose import NAMES, make_policy
from agspec_tui.policy.cost import K_MAX, Cost, shipped
from agspec_tui.policy.evidence_key import N_KEYS, key_of, parent_of
from agspec_tui.policy.lengths import times_by_length, times_to_the_end
from agspec_tui.policy.profile import Profile
from agspec_tui.policy.profile_file import decode, encode
from agspec_tui.policy.survival import count, hazard, no_counts, survival_of
from agspec_tui.policy.types import Evidence, Outcome
from tests.reference.draft_lengths import least_time, least_time_to_the_end
from tests.reference.draft_lengths import survival as slow_survival

COSTS = st.sampled_from(["cpu", "gpu", "metal"]).map(shipped)
DRAFT = st.integers(0, 80).flatmap(lambda d: st.tuples(st.just(d), st.integers(0, d)))
EVIDENCE = st.builds(
    Evidence,
    st.integers(0, 600),
    st.sampled_from(["session", "workspace", "global", "own", ""]),
    st.integers(0, 30),
    st.integers(0, 30),
)
STEPS = st.lists(st.tuples(st.sampled_from(["coder", "planner"]), EVIDENCE, DRAFT), max_size=40)


def profile_of(steps) -> Profile:
    profile = Profile("model", "ab12")
    for role, evidence, (n_drafted, n_accepted) in steps:
        profile.add(role, evidence, n_drafted, n_accepted)
    return profile


@given(st.lists(DRAFT, min_size=1, max_size=60))
def test_survival_is_that_of_kaplan_and_meier(drafts):
    counts = no_counts()
    for n_drafted, n_accepted in drafts:
        count(counts, n_drafted, n_accepted)
    cut = [(min(d, K_MAX), min(a, K_MAX)) for d, a in drafts]
    slow = slow_survival(cut, K_MAX)
    assert survival_of(hazard(counts))[1 : len(slow) + 1] == pytest.approx(slow)


@given(st.lists(st.integers(0, 64), min_size=1, max_size=60))
def test_survival_of_uncensored_drafts_is_the_share_that_got_that_far(reusable):
    counts = no_counts()
    for r in reusable:
        count(counts, 65, r)
    shares = [sum(r >= k for r in reusable) / len(reusable) for k in range(K_MAX + 1)]
    assert survival_of(hazard(counts)) == pytest.approx(shares)


@settings(max_examples=12, deadline=None)
@given(
    COSTS,
    st.lists(st.floats(0.0, 1.0), min_size=K_MAX, max_size=K_MAX),
    st.integers(1, 12),
)
def test_times_by_length_are_the_least_expected_times(cost, hazards, room):
    table = np.array([[0.0, *hazards]])
    slow = least_time(tuple(hazards), cost.table.tolist(), room)
    assert times_by_length(table, cost.table, room)[0] == pytest.approx(slow)


@settings(deadline=None)
@given(
    COSTS,
    st.lists(st.floats(0.0, 1.0), min_size=K_MAX, max_size=K_MAX),
    st.integers(0, K_MAX),
)
def test_times_to_the_end_are_the_least_expected_times(cost, hazards, room):
    slow = least_time_to_the_end(tuple(hazards), cost.table.tolist(), room)
    fast = times_to_the_end(np.array([0.0, *hazards]), cost.table, room)
    assert fast == pytest.approx(slow)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(NAMES), COSTS, STEPS, st.lists(st.tuples(EVIDENCE, st.integers(0, 99))))
def test_every_policy_stays_within_the_room_and_decides_alike_again(name, cost, steps, asked):
    made = ConfigureDrafting(policy=name)
    profile = profile_of(steps)
    first = make_policy(made, cost, profile)
    second = make_policy(made, cost, decode(encode(profile), "the profile"))
    for evidence, room in asked:
        budget = first.budget("coder", evidence, room)
        assert 0 <= budget.k <= room
        assert budget == second.budget("coder", evidence, room)
        for policy in (first, second):
            policy.observe("coder", evidence, Outcome(budget.k, budget.k // 2, budget.censored))


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_a_profile_is_the_same_after_writing_and_reading(steps):
    profile = profile_of(steps)
    profile.created = "2026-11-30T00:00:00+00:00"
    again = decode(encode(profile), "the profile")
    assert encode(again) == encode(profile)
    assert again.n_steps() == profile.n_steps() == len(steps)


@settings(max_examples=25, deadline=None)
@given(STEPS, STEPS)
def test_merging_adds_the_counts_and_fading_bounds_them(some, more):
    profile = profile_of(some)
    profile.merge(profile_of(more))
    assert profile.n_steps() == len(some) + len(more)
    profile.fade(most_steps=5)
    assert all(profile.n_steps(role) <= 5.001 for role in profile.roles())


@given(EVIDENCE)
def test_every_evidence_has_a_cell(evidence):
    key = key_of(evidence)
    assert 0 <= key < N_KEYS
    assert (key == 0) == (evidence.match_len == 0)
    assert parent_of(key) == parent_of(key_of(Evidence(evidence.match_len, evidence.source)))


@given(st.dictionaries(st.integers(2, 90), st.floats(0.1, 50.0), min_size=1, max_size=8))
def test_a_cost_goes_through_its_points_and_never_falls_behind_them(points):
    cost = Cost("measured", [(1, 2.0), *points.items()])
    for n, seconds in points.items():
        assert cost.at(n) == pytest.approx(seconds / 2.0)
    last = max(points)
    assert cost.at(last + 50) >= cost.at(last) - 1e-9
