import json
from dataclasses import replace

import pytest

from agspec_tui.errors import DraftError
from agspec_tui.policy.profile import N_OF_ITS_OWN, Profile, require_vocabulary
from agspec_tui.policy.profile_file import decode, default_profile, encode
from agspec_tui.policy.types import Evidence

SHORT, LONG = Evidence(2, "session", 3, 3), Evidence(40, "session", 1, 1)


def filled(reusable: int, n: int = 300, role: str = "coder") -> Profile:
    profile = Profile("m", "ab")
    for _ in range(n):
        profile.add(role, SHORT, 64, reusable)
    return profile


def test_a_failure_lowers_survival_where_it_happened_and_not_before():
    survival = filled(5).survival("coder", SHORT)
    assert survival[4] > 0.99
    assert survival[5] < 0.01


def test_drafts_accepted_whole_are_censored_not_failed():
    profile = Profile()
    for _ in range(300):
        profile.add("coder", SHORT, 3, 3)
    for _ in range(30):
        profile.add("coder", SHORT, 64, 20)
    survival = profile.survival("coder", SHORT)
    assert survival[2] == pytest.approx(1.0, abs=0.01)
    assert survival[19] > 0.9  # the thirty longer drafts all got there


def test_cells_that_were_never_met_lean_on_their_match_length():
    profile = filled(5)
    for _ in range(300):
        profile.add("coder", LONG, 64, 60)
    unmet = profile.survival("coder", Evidence(40, "session", 9, 2))
    assert unmet[50] > 0.8
    assert profile.survival("coder", Evidence(2, "session", 9, 2))[10] < 0.1


def test_a_role_has_its_own_estimate_once_it_has_enough_drafts():
    profile = filled(30, n=2000)
    few, many = filled(2, N_OF_ITS_OWN - 1, "planner"), filled(2, 1, "planner")
    profile.merge(few)
    assert profile.survival("planner", SHORT)[9] == profile.survival("stranger", SHORT)[9] > 0.8
    profile.merge(many)
    assert profile.survival("planner", SHORT)[9] < 0.2 < profile.survival("coder", SHORT)[9]


@pytest.mark.parametrize(("break_even", "cap"), [(0.9, 4), (0.5, 4), (0.2, 20), (0.05, 20)])
def test_the_cap_is_the_last_length_whose_survival_reaches_lambda(break_even, cap):
    profile = filled(4, 150)
    profile.merge(filled(20, 50))
    assert profile.cap("coder", break_even) == cap
    assert profile.cap("stranger", break_even) == cap  # pooled


def test_the_cap_of_useless_drafts_is_one():
    assert filled(0).cap("coder", 0.35) == 1
    assert Profile().cap("coder", 0.35) == 1


def test_mean_reusable_length():
    profile = filled(4, 100)
    profile.merge(filled(20, 100))
    profile.add("coder", SHORT, 0, 0)  # a step without a draft says nothing
    assert profile.mean_reusable("coder") == pytest.approx(12.0)
    assert Profile().mean_reusable() == 0.0


def test_counts_of_a_session_lean_on_the_base():
    live = Profile(base=filled(30, 5000))
    assert live.survival("coder", SHORT)[19] > 0.9
    live.merge(filled(3, 2000))
    assert live.survival("coder", SHORT)[19] < 0.1
    assert set(live.keys()) == set(live.base.keys())


def test_what_the_base_knows_of_a_role_is_not_forgotten_by_the_first_drafts():
    base = filled(30, 1500)
    base.merge(filled(2, 20_000, "planner"))
    live = Profile(base=base)
    live.add("coder", SHORT, 64, 30)
    assert live.survival("coder", SHORT)[19] > 0.9


def test_a_form_of_edits_has_its_own_estimate_and_leans_on_its_role():
    profile = filled(30, n=2000)
    diff, whole = (replace(SHORT, form=form) for form in ("udiff", "whole"))
    for _ in range(1000):
        profile.add("coder", diff, 64, 2)
    survivals = [profile.survival("coder", each)[9] for each in (diff, whole, SHORT)]
    assert survivals[0] < 0.2 < 0.5 < survivals[1] == survivals[2]
    assert profile.roles() == ["coder"]
    assert profile.n_drafts("coder") == 3000
    profile.add("strange/role", SHORT, 64, 2)  # a name of somebody else's is a name
    again = decode(encode(profile), "it")
    assert again.roles() == ["coder", "strange/role"]
    assert again.survival("coder", diff) == pytest.approx(profile.survival("coder", diff))


@pytest.mark.parametrize(
    ("mine", "other", "fits"), [("ab", "ab", True), ("ab", "", True), ("ab", "cd", False)]
)
def test_a_profile_is_tied_to_its_vocabulary(mine, other, fits):
    profile = Profile("some-model", mine)
    if fits:
        require_vocabulary(profile, other)
        return
    with pytest.raises(DraftError, match=r"another vocabulary \(some-model\)"):
        require_vocabulary(profile, other)
    with pytest.raises(DraftError, match="another vocabulary"):
        Profile("m", other).merge(profile)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no profile"),
        ("{}", "no profile"),
        ('{"schema": 1', "no profile"),
        ("[" * 100_000, "no profile"),
    ],
)
def test_text_that_is_no_profile_is_refused(text, said):
    with pytest.raises(DraftError, match=said):
        decode(text, "mine")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 9}, "schema 9"),
        ({"roles": {"coder": [[10**9, [], []]]}}, "unknown cell"),
        ({"roles": {"coder": [[-1, [], []]]}}, "unknown cell"),
        ({"roles": {"coder": [[1, [[65, 1]], []]]}}, "position 65"),
        ({"roles": {"coder": [[1, [[0, 1]], []]]}}, "position 0"),
        ({"roles": {"coder": [[1, [[3, -1]], []]]}}, "counts -1"),
    ],
)
def test_impossible_counts_are_refused(change, said):
    document = json.loads(encode(filled(3))) | change
    with pytest.raises(DraftError, match=said):
        decode(json.dumps(document), "mine")


def test_the_shipped_profile_serves_every_model_and_knows_that_longer_matches_hold_longer():
    profile = default_profile()
    assert (profile.model, profile.tokenizer) == ("", "")
    assert profile.n_drafts() > 10_000
    short, long = (profile.survival("coder", evidence)[9] for evidence in (SHORT, LONG))
    assert short < 0.5 < long
