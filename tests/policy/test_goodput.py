import pytest

from agspec_tui.policy.cost import Cost, shipped
from agspec_tui.policy.goodput import Goodput
from agspec_tui.policy.profile import Profile
from agspec_tui.policy.profile_file import default_profile
from agspec_tui.policy.scaled import Scaled
from agspec_tui.policy.survival_policy import SurvivalPolicy
from agspec_tui.policy.types import Budget, Evidence, Outcome

MATCH = Evidence(6, "session", 1, 1)
ROOMY = 64


def reusable(*lengths: int) -> Profile:
    profile = Profile()
    for length in lengths:
        for _ in range(2000):
            profile.add("coder", MATCH, 64, length)
    return profile


@pytest.mark.parametrize("cost", ["cpu", "gpu"])
def test_a_run_that_always_ends_at_one_place_is_drafted_to_it(cost):
    assert Goodput(shipped(cost), reusable(10)).budget("coder", MATCH, ROOMY).k == 10


def test_nothing_is_drafted_where_it_does_not_pay():
    policy = Goodput(shipped("cpu"), reusable(0, 0, 0, 2))
    assert policy.budget("coder", MATCH, ROOMY) == Budget(0, censored=True)
    assert Goodput(shipped("gpu"), reusable(0, 0, 0, 2)).budget("coder", MATCH, ROOMY).k == 2


def test_the_stair_is_respected():
    # Two passes over 4 tokens each, and none over 8.
    stair = Cost("stair", [(1, 1.0), (4, 1.1), (5, 4.0), (64, 4.1)])
    assert Goodput(stair, reusable(7)).budget("coder", MATCH, ROOMY).k == 3


def test_the_best_length_within_a_room_is_not_the_best_length_cut_to_it():
    roomy, narrow = (Goodput(shipped("metal"), reusable(31)) for _ in range(2))
    assert roomy.budget("coder", MATCH, ROOMY).k == 31
    assert narrow.budget("coder", MATCH, 7).k == 1  # 8 tokens cost 7.4 plain passes, 2 cost 1.8


@pytest.mark.parametrize("room", [1, 2, 3, 5, 7, 9, 10])
def test_a_copy_is_drafted_to_the_end_of_the_reply(room):
    # As far as the room goes two passes are no better than one.
    flat = Cost("flat", [(1, 1.0), (2, 1.1), (64, 1.9)])
    policy = Goodput(flat, reusable(31))
    assert policy.budget("coder", MATCH, ROOMY).k == 31
    assert policy.budget("coder", MATCH, room).k == room


def test_a_small_room_is_chosen_for_as_such():
    exact = Cost("exact", [(1, 1.0), (4, 2.11), (7, 3.03), (8, 3.35), (16, 3.74)])
    policy = Goodput(exact, default_profile())
    budgets = [policy.budget("coder", Evidence(m, "session", 1, 1), 6).k for m in (1, 4, 12, 60)]
    assert budgets[0] == 0
    assert budgets[-1] == 6
    assert budgets == sorted(budgets)


@pytest.mark.parametrize(("evidence", "room"), [(Evidence(0), 64), (MATCH, 0), (MATCH, -3)])
def test_nothing_is_drafted_without_match_or_room(evidence, room):
    assert Goodput(shipped("gpu"), reusable(9)).budget("coder", evidence, room).k == 0


def test_matches_that_are_too_short_are_left_alone():
    assert Goodput(shipped("gpu"), reusable(9), min_match=7).budget("coder", MATCH, 64).k == 0


@pytest.mark.parametrize(("cost", "most"), [("cpu", 1), ("gpu", 6), ("metal", 1)])
def test_the_shipped_profile_drafts_more_the_longer_the_match(cost, most):
    policy = Goodput(shipped(cost), default_profile())
    drafted = [policy.budget("any", Evidence(m, "session", 1, 1), 64).k for m in (1, 8, 40, 200)]
    assert drafted == sorted(drafted)
    assert drafted[0] <= most  # behind a match of one token
    assert drafted[-1] >= 15
    assert policy.cap("any") >= drafted[-1]


def test_goodput_learns_nothing_from_a_session():
    policy = Goodput(shipped("gpu"), reusable(9))
    for _ in range(50):
        policy.observe("coder", MATCH, Outcome(9, 0, censored=False))
    assert policy.budget("coder", MATCH, 64).k == 9


@pytest.mark.parametrize("make", [Goodput, SurvivalPolicy])
def test_alpha_is_what_would_have_drafted_as_long(make):
    policy = make(shipped("gpu"), reusable(9))
    assert policy.alpha("coder") == 1.0
    policy.observe("coder", MATCH, Outcome(0, 0, censored=True))
    assert policy.alpha("coder") == 1.0  # nothing was drafted
    for _ in range(200):
        policy.observe("coder", MATCH, Outcome(9, 9, censored=True))
    assert policy.alpha("coder") == pytest.approx(9 / MATCH.match_len)
    assert policy.alpha("planner") == 1.0
    policy.reset()
    assert policy.alpha("coder") == 1.0


def test_survival_learns_that_drafts_fail_and_forgets_it_with_the_session():
    policy = SurvivalPolicy(shipped("cpu"), reusable(9))
    assert policy.budget("coder", MATCH, 64).k == 9
    for _ in range(512):
        policy.observe("coder", MATCH, Outcome(9, 0, censored=False))
    assert policy.budget("coder", MATCH, 64).k == 0
    policy.reset()
    assert policy.budget("coder", MATCH, 64).k == 9


def test_survival_is_not_locked_in_by_drafts_that_are_accepted_whole():
    policy = SurvivalPolicy(shipped("gpu"), reusable(9))
    policy.budget("coder", MATCH, 3)
    for _ in range(512):
        policy.observe("coder", MATCH, Outcome(3, 3, censored=True))
    assert policy.budget("coder", MATCH, 64).k == 9


@pytest.mark.parametrize(
    ("m", "room", "k"), [(0, 64, 0), (1, 64, 5), (5, 64, 21), (40, 64, 60), (5, 4, 4), (5, 0, 0)]
)
def test_scaled_drafts_in_proportion_to_the_match(m, room, k):
    assert Scaled().budget("coder", Evidence(m), room).k == k
