import numpy as np
import pytest

from agspec_tui._native import SessionCorpus as NativeCorpus
from agspec_tui.drafting.choose import make_drafter
from agspec_tui.drafting.copy_tracker import DISCOUNT, MOST_INSERTED, SKIPPED_PER_TOKEN
from agspec_tui.drafting.session_tree import SessionTree
from agspec_tui.drafting.types import NO_DRAFT, Draft, Piece
from agspec_tui.drafting.workspace_corpus import WorkspaceCorpus

TEXT = tuple(range(100, 200))
LEFT = 49
NEWER = Piece("newer", (149, 7, 8, 9, 150, 7, 8, 9, 155, 7, 8, 9) * 2)
pytestmark = pytest.mark.parametrize("name", ["agspec-sam", "agspec-suffix"])


def rewriting(name, reply, pieces=(Piece("file", TEXT), NEWER), resume=True):
    """A drafter in the middle of a reply that rewrites a text."""
    made = make_drafter(name, resume=resume)
    made.begin("coder", [*pieces, Piece("coder: reply", (1, 2))])
    made.feed(reply)
    return made


def drafted(made, k=3):
    match = made.match()
    return match.length, made.draft(match, k)


@pytest.mark.parametrize(
    ("edit", "offset"),
    [
        pytest.param((150,), 51, id="token left out"),
        pytest.param((900, 149), 50, id="token put in"),
        pytest.param((900, 150), 51, id="token replaced"),
        pytest.param((900, 901, 902, 155), 56, id="line replaced"),
    ],
)
def test_a_copy_goes_on_behind_an_edit_though_its_tokens_stand_elsewhere_too(name, edit, offset):
    reply = (*TEXT[:LEFT], *edit)
    expected = Draft(TEXT[offset : offset + 3], "session", "file", offset)
    assert drafted(rewriting(name, reply)) == (1 + LEFT // DISCOUNT, expected)
    assert drafted(rewriting(name, reply, resume=False))[1].document != "file"


def test_the_draft_of_a_resumed_copy_is_the_same_however_its_tokens_were_committed(name):
    reply = (*TEXT[:LEFT], 900, *TEXT[50:70], 901, *TEXT[71:74])
    by_ones = rewriting(name, ())
    for token in reply:
        by_ones.feed((token,))
    assert drafted(by_ones) == drafted(rewriting(name, reply))
    assert drafted(by_ones)[1].offset == 74


def test_a_copy_is_forgotten_behind_too_many_new_tokens(name):
    noise = tuple(range(1000, 1000 + MOST_INSERTED))
    near = rewriting(name, (*TEXT[:LEFT], *noise[1:], 149))
    far = rewriting(name, (*TEXT[:LEFT], *noise, 149))
    assert drafted(near)[1].document == "file"
    assert drafted(far)[1].document != "file"


def test_the_further_a_place_lies_the_more_tokens_must_agree_before_it(name):
    at = LEFT + SKIPPED_PER_TOKEN
    newer = Piece("newer", (TEXT[at], 7, 8, 9) * 2)
    made = rewriting(name, (*TEXT[:LEFT], 900, TEXT[at]), (Piece("file", TEXT), newer))
    assert drafted(made)[1].document != "file"
    made.feed((TEXT[at + 1],))
    assert drafted(made)[1] == Draft(TEXT[at + 2 : at + 5], "session", "file", at + 2)


def test_a_longer_match_elsewhere_is_preferred(name):
    newer = Piece("newer", (900, 901, 149, 7, 8, 9))
    made = rewriting(name, (*TEXT[:LEFT], 900, 901, 149), (Piece("file", TEXT), newer))
    assert drafted(made)[1] == Draft((7, 8, 9), "session", "newer", 3)


def test_a_short_match_is_no_copy_that_could_go_on(name):
    made = rewriting(
        name, (*TEXT[40:44], 900, 145), (Piece("file", TEXT), Piece("n", (145, 7, 8) * 2))
    )
    assert drafted(made)[1].document != "file"


def test_the_next_prompt_and_a_reset_forget_the_copy(name):
    reply = (*TEXT[:LEFT], 900)
    made = rewriting(name, reply)
    made.begin("coder", [Piece("file", TEXT), NEWER, Piece("coder: reply", (1, 2))])
    made.feed((150,))
    assert drafted(made)[1].document != "file"
    made = rewriting(name, (*reply, 150))
    made.reset()
    assert drafted(made) == (0, NO_DRAFT)


def test_a_copy_from_a_file_goes_on_in_it_and_ends_with_it(name):
    made = make_drafter(name, resume=True)
    made.index("a.py", [("raw", TEXT)])
    made.index("b.py", [("raw", (150, 7, 8, 9))])
    made.begin("coder", [NEWER, Piece("coder: reply", (1, 2))])
    made.feed((*TEXT[:LEFT], 900, 150))
    length, draft = drafted(made)
    assert (length, draft) == (13, Draft(TEXT[51:54], "workspace", "a.py (raw)", 51))
    made.feed(TEXT[51:98])
    assert drafted(made, 9)[1].ids == TEXT[98:]
    made.forget("a.py")
    assert drafted(made)[1] == NO_DRAFT
    made.feed((150,))
    assert drafted(made)[1].ids[:1] == (7,)


@pytest.mark.parametrize(
    ("place", "k", "expected"),
    [
        pytest.param((0, 1), 2, ([11, 12], 0, 1), id="in a document"),
        pytest.param((0, 2), 9, ([12, 20, 21], 0, 2), id="into the one that is joined"),
        pytest.param((0, 4), 9, ([21], 1, 6), id="behind its end"),
        pytest.param((1, 5), 1, ([20], 1, 5), id="of which tokens were left out"),
        pytest.param((1, 4), 1, ([], -1, 0), id="a token that was left out"),
        pytest.param((2, 0), 9, ([30, 31], 2, 0), id="not before a separator"),
        pytest.param((2, 2), 9, ([], -1, 0), id="the end"),
        pytest.param((2, 2**31 - 1), 9, ([], -1, 0), id="far behind the end"),
        pytest.param((0, 0), 0, ([], -1, 0), id="no tokens"),
        pytest.param((0, -1), 9, ([], -1, 0), id="before the beginning"),
        pytest.param((3, 0), 9, ([], -1, 0), id="an unknown document"),
        pytest.param((-1, 0), 9, ([], -1, 0), id="no document"),
    ],
)
def test_both_engines_read_on_from_a_place(name, place, k, expected):
    text = NativeCorpus() if name == "agspec-sam" else SessionTree()
    text.begin_document(joined=False)
    text.append(np.array([10, 11, 12], np.int32))
    text.begin_document(joined=True, offset=5)
    text.append(np.array([20, 21], np.int32))
    text.begin_document(joined=False)
    text.append(np.array([30, 31], np.int32))
    assert text.read(*place, k) == expected


def test_a_file_is_read_on_within_itself_while_it_is_there(name):
    files = WorkspaceCorpus()
    files.index("a.py", [("space", (10, 11)), ("raw", (20, 21))])
    assert files.read((0, 1), 9) == ((11,), "a.py (space)", 1)
    assert files.read((1, 0), 1) == ((20,), "a.py (raw)", 0)
    for place in [(0, 2), (0, -1), (2, 0), (-1, 0)]:
        assert files.read(place, 9) == ((), "", 0)
    files.forget("a.py")
    assert files.read((0, 1), 9) == ((), "", 0)
