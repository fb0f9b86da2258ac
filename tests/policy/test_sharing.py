import numpy as np
import pytest

from agspec_tui.policy.agspec import AgSpec
from agspec_tui.policy.cost import Cost, shipped
from agspec_tui.policy.fixed import Fixed
from agspec_tui.policy.goodput import Goodput
from agspec_tui.policy.own import Own
from agspec_tui.policy.pass_share import pass_share
from agspec_tui.policy.profile import Profile
from agspec_tui.policy.profile_file import default_profile
from agspec_tui.policy.sharing import best_lengths, cut, share, share_each
from agspec_tui.policy.survival_policy import SurvivalPolicy
from agspec_tui.policy.types import Ask, Budget, Evidence, Outcome

MATCH = Evidence(6, "session", 1, 1)


def ask(m: int, room: int = 64, role: str = "coder") -> Ask:
    return Ask(role, Evidence(m, "session", 1, 1), room)


def lengths(budgets) -> list[int]:
    return [budget.k for budget in budgets]


def test_the_ends_of_the_shortest_matches_go_first():
    budgets = [Budget(8, censored=False)] * 3
    assert lengths(cut(budgets, [ask(1), ask(4), ask(16)], 14)) == [1, 5, 8]


def test_what_has_no_match_is_cut_evenly():
    asks = [Ask("coder", Evidence(0), 64)] * 3
    assert lengths(cut([Budget(9, censored=True)] * 3, asks, 8)) == [3, 3, 2]


@pytest.mark.parametrize("policy", [Fixed(8), Own(), AgSpec(cap=8)])
def test_lengths_that_have_room_are_the_policy_s_own(policy):
    asks = [ask(3, room=5), ask(20, room=7)]
    alone = [policy.budget(each.role, each.evidence, each.room) for each in asks]
    assert share(policy, asks, 12) == alone


def test_a_cut_length_is_censored():
    first, second = share(AgSpec(cap=16), [ask(4), ask(8)], 10)
    assert (first, second) == (Budget(3, censored=True), Budget(7, censored=True))


def test_positions_of_several_drafts_compete_for_one_pass():
    policy = Goodput(shipped("gpu"), default_profile())
    alone = lengths(share(policy, [ask(30)], 999))
    among = lengths(share(policy, [ask(30), *[ask(2)] * 15], 999))
    assert among[0] < alone[0]  # each token costs fifteen others time
    assert among[0] > among[1] == among[15]
    cheap = Goodput(Cost("flat", [(1, 1.0), (2000, 1.001)]), default_profile())
    assert min(lengths(share(cheap, [ask(30), *[ask(2)] * 15], 999))) > 15


def test_room_that_is_shared_goes_to_the_likeliest():
    line = Goodput(Cost("line", [(1, 1.0), (64, 1.6)]), default_profile())
    asks = [ask(1), ask(40), ask(3)]
    assert min(lengths(share(line, asks, 99))) > 0
    assert lengths(share(line, asks, 6)) == [0, 6, 0]


def test_room_that_ends_behind_a_step_is_not_used_up():
    step = Goodput(Cost("step", [(1, 1.0), (8, 1.1), (9, 3.0), (64, 3.5)]), default_profile())
    asks = [ask(40)] * 3
    assert sum(lengths(share(step, asks, 99))) > 30
    assert sum(lengths(share(step, asks, 6))) == 5  # 8 tokens in the pass


def test_equals_share_evenly():
    policy = Goodput(shipped("gpu"), default_profile())
    found = lengths(share(policy, [ask(12)] * 4, 10))
    assert sorted(found) == [2, 2, 3, 3]


def test_the_stair_is_climbed_by_all_together():
    # 4 tokens and 8 cost the same, a ninth costs a step.
    stair = Cost("stair", [(1, 1.0), (2, 1.5), (3, 2.0), (4, 2.5), (8, 2.5), (9, 9.0), (16, 9.0)])
    assert best_lengths([np.full(8, 0.1)] * 2, stair.up_to(20)[2:]).sum() == 0
    assert best_lengths([np.full(8, 0.3)] * 2, stair.up_to(20)[2:]).tolist() == [3, 3]


def test_a_stair_behind_exact_passes_is_climbed_where_they_do_not_bound_drafts():
    # As measured for a 1.5B on two cores: 16 tokens take little longer than 8.
    stair = Cost("cpu", [(1, 1.0), (2, 1.44), (7, 3.03), (8, 3.35), (16, 3.74), (64, 13.0)])
    policy = Goodput(stair, default_profile())
    assert sum(lengths(share(policy, [ask(40)] * 4, 508))) >= 16 - 4
    assert sum(lengths(share(policy, [ask(40)] * 4, 7 - 4))) <= 7 - 4
    # The last one left of several has the pass for itself.
    assert lengths(share(policy, [ask(40)], 511))[0] >= 16 - 1
    assert lengths(share(policy, [ask(40)], 7 - 1))[0] <= 7 - 1


def test_tokens_of_a_prompt_in_the_pass_count_for_its_cost():
    cliff = Cost("cliff", [(1, 1.0), (64, 1.01), (65, 40.0), (128, 40.01)])
    policy = Goodput(cliff, default_profile())
    asks = [ask(40), ask(40)]
    assert sum(lengths(share(policy, asks, 999, n_others=50))) == 12
    assert sum(lengths(share(policy, asks, 999, n_others=64))) > 12  # the step is paid for


def test_a_sequence_beside_a_prompt_weighs_what_the_pass_costs():
    policy = Goodput(Cost("cliff", [(1, 1.0), (64, 1.01), (65, 40.0)]), default_profile())
    assert lengths(share(policy, [ask(40)], 999, n_others=60)) == [3]


def test_a_sequence_that_decodes_plainly_counts_as_active():
    policy = Goodput(shipped("gpu"), default_profile())
    with_plain = lengths(share(policy, [ask(30), *[ask(30, room=0)] * 15], 999))
    assert with_plain[1:] == [0] * 15
    assert 0 < with_plain[0] < lengths(share(policy, [ask(30)], 999))[0]


def test_nothing_is_shared_among_none():
    assert share(Fixed(4), [], 10) == []
    assert lengths(share(Fixed(4), [ask(3), ask(3)], -1)) == [0, 0]


def test_each_sequence_may_have_a_policy_of_its_own():
    profile = default_profile()
    policies = [Goodput(shipped("gpu"), profile) for _ in range(3)]
    asks = [ask(2), ask(9), ask(40)]
    assert share_each(policies, asks, 50) == share(policies[0], asks, 50)
    assert lengths(share_each([Fixed(2), Fixed(4)], asks[:2], 99)) == [2, 4]


def test_survival_shares_by_what_the_session_showed():
    profile = Profile()
    for _ in range(2000):
        profile.add("coder", MATCH, 64, 9)
    policy = SurvivalPolicy(shipped("gpu"), profile)
    asks = [Ask("coder", MATCH, 64)] * 2
    assert lengths(share(policy, asks, 99)) == [9, 9]
    for _ in range(512):
        policy.observe("coder", MATCH, Outcome(9, 0, censored=True))
    assert lengths(share(policy, asks, 99)) == [0, 0]
    policy.reset()
    assert lengths(share(policy, asks, 99)) == [9, 9]


@pytest.mark.parametrize("n_active", [2, 5, 16])
def test_the_share_of_a_pass_of_even_slope_is_a_part_of_its_base_and_the_slope(n_active):
    line = Cost("line", [(1, 1.0), (64, 1.0 + 63 * 0.03)])
    found = pass_share(line, default_profile(), n_active)
    assert found == pytest.approx([0.97 / n_active + 0.03 * (k + 1) for k in range(65)])


def test_a_sequence_alone_pays_the_pass():
    assert pass_share(shipped("cpu"), default_profile(), 1) == pytest.approx(shipped("cpu").table)


def test_without_counts_all_sequences_are_taken_to_draft_alike():
    found = pass_share(shipped("cpu"), Profile(), 4)
    assert found[3] == pytest.approx(shipped("cpu").at(16) / 4)
