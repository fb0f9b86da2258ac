import numpy as np
import pytest

from agspec_tui.commands import ConfigureDrafting
from agspec_tui.engine.follow import Follower, require_ids, settings_of, token_ids
from agspec_tui.errors import DraftError

TEXT = list(range(1, 41))


def ids(values):
    return np.array(values, dtype=np.int32)


def follower(policy="fixed", cap=4):
    return Follower(settings_of("agspec-sam", policy, cap, 0.35))


def test_a_repeated_text_is_drafted_from_its_first_copy():
    one = follower()
    assert one.propose(ids([*TEXT, 5, 6, 7]), 4) == (8, 9, 10, 11)


@pytest.mark.parametrize(("room", "n"), [(0, 0), (1, 1), (3, 3), (9, 4)])
def test_a_draft_stays_within_room_and_cap(room, n):
    assert len(follower().propose(ids([*TEXT, 5, 6, 7]), room)) == n


def decode(one, context, script, steps):
    """Plays a target that says the script, and counts passes."""
    for _ in range(steps):
        draft = one.propose(ids(context), 8)
        n_accepted = 0
        rest = script[len(context) :]
        while n_accepted < len(draft) and draft[n_accepted] == rest[n_accepted]:
            n_accepted += 1
        context = [*context, *rest[: n_accepted + 1]]
    return context


def test_what_is_accepted_is_inferred_so_that_a_copy_goes_on_and_alpha_learns():
    one = follower("agspec", 8)
    script = [*TEXT, 99, *TEXT, 98, 97]
    context = decode(one, [*TEXT, 99, 1, 2], script, 8)
    assert context == script[: len(context)]
    assert len(context) > len(TEXT) + 3 + 16
    assert one.n_prompt == len(TEXT) + 3


@pytest.mark.parametrize(
    ("new", "alpha"),
    [
        ([8, 9, 10, 11, 12], None),  # all accepted: censored by the cap
        ([8, 9, 50], -1),  # rejected
        ([50], -1),
        ([8, 9, 10], None),  # the draft was cut: its next token is the target's own
    ],
)
def test_a_rejection_lowers_alpha_and_a_draft_that_was_cut_says_nothing(new, alpha):
    one = follower("agspec", 4)
    context = [*TEXT, 3, 4, 5, 6, 7]
    assert one.propose(ids(context), 8) == (8, 9, 10, 11)
    before = one._policy.alpha("stream")
    assert one.continues(ids([*context, *new]))
    one.propose(ids([*context, *new]), 8)
    after = one._policy.alpha("stream")
    assert after == before if alpha is None else after < before


@pytest.mark.parametrize(
    ("context", "draft"),
    [
        ([*TEXT, 5, 6, 7, 70, 71, 72, 5, 6], (7,)),  # goes on with a message
        ([*TEXT, 5, 6], (7,)),  # shrank: what it said then is the longest match
        ([*TEXT[:20], 80, 81, 82, 80, 81], (82,)),  # left the old text
        ([90, 91, 92, 90, 91], (92,)),  # another text
        ([7], ()),
    ],
)
def test_a_new_prompt_is_taken_in_wherever_it_leaves_the_old_one(context, draft):
    one = follower()
    one.propose(ids([*TEXT, 5, 6, 7]), 4)
    assert not one.continues(ids(context))
    assert one.propose(ids(context), 4)[: len(draft)] == draft
    assert one.n_prompt == len(context)


def test_the_same_context_twice_gives_the_same_draft():
    one = follower()
    first = one.propose(ids([*TEXT, 5, 6, 7]), 4)
    assert one.propose(ids([*TEXT, 5, 6, 7]), 4) == first


def test_the_context_is_copied_since_programs_reuse_their_buffers():
    one = follower()
    buffer = ids([*TEXT, 5, 6, 7, 0, 0])
    draft = one.propose(buffer[:43], 4)
    buffer[43] = draft[0]
    buffer[0] = 77
    assert not one.continues(buffer[:44])
    buffer[0] = TEXT[0]
    assert one.continues(buffer[:44])


@pytest.mark.parametrize(
    ("drafter", "policy", "cap", "message"),
    [
        ("magic", "auto", 4, "unknown drafter"),
        ("agspec-sam", "magic", 4, "unknown policy"),
        ("agspec-sam", "agspec", 0, "leaves no draft"),
        ("draft-model", "auto", 4, "needs a draft model"),
    ],
)
def test_settings_that_make_no_sense_are_refused(drafter, policy, cap, message):
    with pytest.raises(DraftError, match=message):
        settings_of(drafter, policy, cap, 0.35)


def test_plain_decoding_never_drafts():
    one = Follower(ConfigureDrafting(drafter="none"))
    assert one.propose(ids([1, 1, 1, 1]), 8) == ()


@pytest.mark.parametrize("values", [[[1, 2]], [1.0, 2.0], ["a"], 3, [True]])
def test_what_is_no_flat_array_of_whole_numbers_is_refused(values):
    with pytest.raises(DraftError, match="must"):
        token_ids(values, "ids")


def test_wide_and_unsigned_ids_are_taken_and_negative_ones_refused():
    assert token_ids(np.array([1, 2], dtype=np.uint64), "ids").dtype == np.int32
    require_ids([], "ids")
    require_ids(ids([0, 1]), "ids")
    with pytest.raises(DraftError, match="negative"):
        require_ids(ids([1, -1]), "ids")
    with pytest.raises(DraftError, match="too large"):
        token_ids(np.array([2**31], dtype=np.int64), "ids")
