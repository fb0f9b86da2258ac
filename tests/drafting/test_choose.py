import pytest

from agspec_tui.drafting.choose import MODEL_NAMES, NAMES, default_policy, make_drafter
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Match, Piece
from agspec_tui.errors import DraftError


@pytest.mark.parametrize("name", NAMES)
def test_every_name_makes_the_drafter_of_that_name(name):
    assert make_drafter(name).name == name


@pytest.mark.parametrize("name", NAMES)
def test_every_drafter_serves_a_whole_session(name):
    drafter = make_drafter(name)
    for turn in range(3):
        drafter.begin("coder", [Piece("user", (5, 6, 7, turn)), Piece("reply", (9,))])
        for token in (5, 6, 7, 8, 5, 6):
            draft = drafter.draft(drafter.match(), 4)
            assert len(draft.ids) <= 4
            assert bool(draft.ids) == bool(draft.document)
            drafter.feed([token])
        assert drafter.index("a.py", [("raw", (5, 6, 1))]) in (0, 3)
        drafter.forget("a.py")
    drafter.reset()
    assert drafter.match() == NO_MATCH


RETRIEVING = [name for name in NAMES if name not in ("none", "rest")]
"""Drafters with a corpus of their own: `rest` has nothing to draft from but a global one."""
RUN = tuple(range(100, 200))


def repeating(name):
    """A drafter in the middle of copying a run of 100 tokens."""
    drafter = make_drafter(name)
    drafter.begin("coder", [Piece("user", RUN + RUN + (9,)), Piece("reply", (8,))])
    drafter.feed(RUN[:30])
    return drafter


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_matched_or_drafted_before_anything_was_said(name):
    drafter = make_drafter(name)
    assert drafter.match() == NO_MATCH
    assert drafter.draft(NO_MATCH, 8) == NO_DRAFT
    drafter.begin("coder", [Piece("reply", ())])
    assert drafter.match() == NO_MATCH
    assert drafter.draft(NO_MATCH, 8) == NO_DRAFT


@pytest.mark.parametrize("name", RETRIEVING)
def test_a_repeated_run_is_drafted_again_and_again_alike(name):
    drafter = repeating(name)
    match = drafter.match()
    assert match.length > 0
    assert drafter.draft(match, 9).ids == RUN[30:39]
    assert drafter.match() == match
    assert drafter.draft(match, 9).ids == RUN[30:39]


@pytest.mark.parametrize("k", [0, -1])
@pytest.mark.parametrize("name", NAMES)
def test_no_room_means_no_draft(name, k):
    drafter = repeating(name)
    assert drafter.draft(drafter.match(), k) == NO_DRAFT


@pytest.mark.parametrize("name", NAMES)
def test_a_reset_drafter_is_a_new_one(name):
    drafter, fresh = repeating(name), make_drafter(name)
    drafter.reset()
    for either in (drafter, fresh):
        either.begin("coder", [Piece("user", (1, 9, 8)), Piece("reply", RUN[:24])])
        either.feed(RUN[24:30])
    assert drafter.match() == fresh.match()
    assert drafter.draft(drafter.match(), 9) == fresh.draft(fresh.match(), 9)


@pytest.mark.parametrize("name", RETRIEVING)
def test_sequences_take_turns(name):
    drafter = repeating(name)
    drafter.begin("planner", [Piece("planner: user", (3, 4) + RUN[::-1] * 2)])
    drafter.feed(RUN[:60:-1])
    assert drafter.draft(drafter.match(), 5).ids == RUN[60:55:-1]
    drafter.begin("coder", [Piece("user", RUN + RUN + (9,)), Piece("reply", (8,))])
    drafter.feed((7, *RUN[:29]))
    assert drafter.draft(drafter.match(), 5).ids == RUN[29:34]


@pytest.mark.parametrize("bad", [-1, 2**31, -(2**40), 1.5, "7"])
@pytest.mark.parametrize("name", RETRIEVING)
def test_what_is_no_token_id_is_refused_and_changes_nothing(name, bad):
    drafter, untouched = repeating(name), repeating(name)
    with pytest.raises(DraftError, match="token ids must be"):
        drafter.feed([5, bad])
    assert drafter.match() == untouched.match()
    assert drafter.draft(drafter.match(), 9) == untouched.draft(untouched.match(), 9)
    with pytest.raises(DraftError, match="token ids must be"):
        drafter.begin("coder", [Piece("user", (5, bad))])
    if drafter.index("a.py", [("raw", (5, 6))]):
        with pytest.raises(DraftError, match="token ids must be"):
            drafter.index("b.py", [("raw", (5, bad))])


def test_drafters_with_a_length_rule_of_their_own_keep_it():
    own = {name for name in NAMES if default_policy(name) == "own"}
    assert own >= {"pld", "sam", "llama-ngram-simple", "llama-ngram-map-k", "llama-ngram-mod"}
    assert not own & {"none", "agspec-sam"}


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(DraftError, match="unknown drafter 'magic'") as caught:
        make_drafter("magic")
    assert all(name in caught.value.hint for name in (*NAMES, *MODEL_NAMES))


def test_plain_decoding_never_drafts():
    plain = make_drafter("none")
    plain.begin("coder", [Piece("p", (1, 2, 1, 2))])
    plain.feed((1, 2))
    assert plain.match() == NO_MATCH
    assert plain.draft(Match(2, "session"), 8) == NO_DRAFT
    assert plain.index("a.py", [("raw", (1, 2))]) == 0


@pytest.mark.parametrize(
    ("name", "policy"), [("draft-model", "own"), ("agspec-sam+draft-model", "agspec")]
)
def test_a_drafter_with_a_smaller_model_is_known_and_made_by_the_engine(name, policy):
    assert default_policy(name) == policy
    with pytest.raises(DraftError, match="needs a draft model"):
        make_drafter(name)
