import pytest

from agspec_tui.commands import ConfigureDrafting
from agspec_tui.errors import DraftError
from agspec_tui.policy.agspec import ALPHA_MAX, ALPHA_MIN, AgSpec
from agspec_tui.policy.choose import make_policy
from agspec_tui.policy.fixed import Fixed
from agspec_tui.policy.off import Off
from agspec_tui.policy.own import Own
from agspec_tui.policy.types import Budget, Evidence, Outcome


@pytest.mark.parametrize(
    ("match_len", "room", "k", "censored"),
    [
        (0, 99, 0, True),  # nothing matched
        (1, 99, 1, False),
        (5, 99, 5, False),
        (16, 99, 16, True),  # at the cap: a longer wish would have been cut
        (40, 99, 16, True),
        (9, 4, 4, True),  # the room cut it
        (9, 0, 0, True),
    ],
)
def test_agspec_budget_at_alpha_one(match_len, room, k, censored):
    assert AgSpec(cap=16).budget("coder", Evidence(match_len), room) == Budget(k, censored)


@pytest.mark.parametrize(
    ("outcome", "alpha"),
    [
        (Outcome(8, 3, censored=False), 1.0 + 0.1 * (0.65 - 1)),
        (Outcome(8, 8, censored=False), 1.0 + 0.1 * 0.65),
        (Outcome(8, 8, censored=True), 1.0),  # the cap hides what a longer draft would have got
        (Outcome(8, 7, censored=True), 1.0 + 0.1 * (0.65 - 1)),  # every rejection tells
        (Outcome(0, 0, censored=False), 1.0),
    ],
)
def test_agspec_update_and_censoring(outcome, alpha):
    policy = AgSpec(eta=0.1, break_even=0.35)
    policy.observe("coder", Evidence(4), outcome)
    assert policy.alpha("coder") == pytest.approx(alpha)


def test_alpha_is_clamped_and_returns_quickly():
    policy = AgSpec(eta=0.5)
    for _ in range(100):
        policy.observe("coder", Evidence(4), Outcome(4, 0, censored=False))
    assert policy.alpha("coder") == ALPHA_MIN
    for _ in range(100):
        policy.observe("coder", Evidence(4), Outcome(4, 4, censored=False))
    assert policy.alpha("coder") == ALPHA_MAX


def test_alpha_is_per_role_and_reset_by_a_session():
    policy = AgSpec()
    policy.observe("coder", Evidence(4), Outcome(4, 0, censored=False))
    assert policy.alpha("coder") < 1.0 == policy.alpha("planner")
    policy.reset()
    assert policy.alpha("coder") == 1.0


def test_agspec_drafts_at_least_one_token_from_a_match_however_small_alpha_is():
    policy = AgSpec(eta=1.0)
    for _ in range(9):
        policy.observe("coder", Evidence(4), Outcome(4, 0, censored=False))
    assert policy.budget("coder", Evidence(2), 99).k == 1


def test_full_acceptance_settles_near_lambda():
    # With a reusable length of 1 … 9 tokens in turn, the share of full acceptances tends to λ.
    policy, n_full, n_seen = AgSpec(cap=64, eta=0.02, break_even=0.35), 0, 0
    for step in range(6000):
        reusable = step * 7 % 9 + 1
        budget = policy.budget("coder", Evidence(8), 999)
        n_accepted = min(budget.k, reusable)
        policy.observe("coder", Evidence(4), Outcome(budget.k, n_accepted, budget.censored))
        if step > 2000:
            n_seen += 1
            n_full += n_accepted == budget.k
    assert n_full / n_seen == pytest.approx(0.35, abs=0.05)


def test_fixed_keeps_its_length_within_the_room():
    policy = Fixed(15, min_match=2)
    assert policy.budget("coder", Evidence(2), 99).k == 15
    assert policy.budget("coder", Evidence(2), 6).k == 6
    assert policy.budget("coder", Evidence(1), 99).k == 0


def test_off_never_drafts():
    assert Off().budget("coder", Evidence(99), 99).k == 0


@pytest.mark.parametrize(
    "settings",
    [
        ConfigureDrafting(policy="guess"),
        ConfigureDrafting(policy="fixed", fixed_k=0),
        ConfigureDrafting(cap=0),
        ConfigureDrafting(eta=0.0),
        ConfigureDrafting(break_even=1.0),
    ],
)
def test_settings_out_of_range_are_refused_with_a_hint(settings):
    with pytest.raises(DraftError) as refused:
        make_policy(settings)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("name", "kind"), [("off", Off), ("own", Own), ("fixed", Fixed), ("agspec", AgSpec)]
)
def test_policies_are_made_by_name(name, kind):
    assert isinstance(make_policy(ConfigureDrafting(policy=name)), kind)


@pytest.mark.parametrize("match_len", [0, 1, 40])
def test_own_asks_for_the_whole_room_whatever_matched(match_len):
    assert Own().budget("coder", Evidence(match_len), 7) == Budget(7, censored=True)
    assert Own().budget("coder", Evidence(match_len), -1).k == 0
