import pytest

from agspec_tui.drafting.choose import NAMES, make_drafter
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


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(DraftError, match="unknown drafter 'magic'") as caught:
        make_drafter("magic")
    assert all(name in caught.value.hint for name in NAMES)


def test_plain_decoding_never_drafts():
    plain = make_drafter("none")
    plain.begin("coder", [Piece("p", (1, 2, 1, 2))])
    plain.feed((1, 2))
    assert plain.match() == NO_MATCH
    assert plain.draft(Match(2, "session"), 8) == NO_DRAFT
    assert plain.index("a.py", [("raw", (1, 2))]) == 0
