import random

import numpy as np
import pytest

from agspec_tui.drafting.agspec import Agspec
from agspec_tui.drafting.choose import make_drafter
from agspec_tui.drafting.session_corpus import SessionCorpus
from agspec_tui.drafting.session_tree import DEPTH, SessionTree
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Match, Piece
from tests.reference.suffix_tree import Trie

REPLY = Piece("coder: reply", (90, 91))


def ids(tokens):
    return np.array(tokens, dtype=np.int32)


def drafter(*pieces, context=()):
    made = make_drafter("agspec-suffix")
    made.begin("coder", [*pieces, REPLY])
    made.feed(context)
    return made


def test_a_session_draft_names_piece_and_offset():
    made = drafter(Piece("coder: user 1", (1, 2, 3, 4, 5, 6)), context=(2, 3))
    assert made.match() == Match(2, "session")
    assert made.draft(made.match(), 8) == Draft((4, 5), "session", "coder: user 1", 3)
    assert made.draft(made.match(), 1).ids == (4,)


def test_what_the_engine_drafts_nothing_for_is_no_match():
    made = drafter(Piece("p", (1, 2, 3)), context=(70, 71, 72))
    assert made.match() == NO_MATCH
    assert made.draft(Match(3, "session"), 8) == NO_DRAFT


def test_the_longer_live_match_wins_and_a_tie_goes_to_the_session():
    made = drafter(Piece("p", (1, 2, 3, 4, 5)))
    made.index("a.py", [("raw", (8, 2, 3, 7, 5))])
    made.feed((50, 2, 3))
    assert made.match() == Match(2, "session")
    made.feed((50, 8, 2, 3))
    assert made.match() == Match(3, "workspace")
    assert made.draft(made.match(), 4) == Draft((7, 5), "workspace", "a.py (raw)", 3)


def test_each_token_of_a_session_is_indexed_once():
    corpus = SessionCorpus(SessionTree())
    system, user = Piece("system", (1, 2, 3, 4)), Piece("user 1", (10, 11, 12))
    corpus.begin("coder", [system, user, REPLY])
    corpus.feed((20, 21))
    said = Piece("assistant 1", (90, 91, 20, 21))
    corpus.begin("coder", [system, user, said, Piece("user 2", (13, 14)), REPLY])
    assert corpus.n_tokens == 4 + 3 + 2 + 2 + 2 + 2
    corpus.begin("planner", [system, user, Piece("planner reply", (95,))])
    assert corpus.n_tokens == 4 + 3 + 2 + 2 + 2 + 2 + 1


def test_what_was_generated_is_drafted_in_other_sequences():
    made = drafter(Piece("p", (1,)), context=(20, 21, 22, 23, 24))
    made.begin("planner", [Piece("planner: reply", (80,))])
    made.feed((20, 21))
    assert made.draft(made.match(), 3) == Draft((22, 23), "session", "coder: reply", 4)


def test_a_place_counts_the_tokens_of_a_piece_that_were_left_out():
    text = SessionTree()
    assert text.begin_document(joined=False, offset=7) == 0
    text.append(ids([1, 2, 3]))
    assert text.begin_document(joined=True, offset=5) == 1
    text.append(ids([4, 5, 6]))
    assert text.begin_document(joined=False) == 2
    text.append(ids([70, 3]))
    assert text.draft(4) == ([4], 1, 5)
    text.append(ids([1, 2]))
    assert text.draft(4) == ([3, 4], 0, 9)


@pytest.mark.parametrize("joined", [True, False])
def test_an_empty_document_changes_nothing_but_the_numbers(joined):
    text = SessionTree()
    assert text.begin_document(joined=joined) == 0
    text.append(ids([]))
    assert (text.match()[0], text.draft(4), text.n_tokens) == (0, ([], -1, 0), 0)
    assert text.begin_document(joined=joined) == 1


def test_a_long_copy_is_drafted_half_the_depth_ahead():
    run = tuple(range(1000, 1400))
    made = drafter(Piece("p", run), context=run[:200])
    assert made.match() == Match(DEPTH // 2, "session")
    assert made.draft(made.match(), 500).ids == run[200 : 200 + DEPTH // 2]


@pytest.mark.parametrize("seed", range(3))
def test_pieces_are_drafted_from_as_the_slow_tree_does(seed):
    source = random.Random(seed)
    fast, slow = SessionTree(12), Trie(12)
    sequence = -1
    for _ in range(60):
        joined = sequence >= 0 and source.random() < 0.6
        sequence += not joined
        fast.begin_document(joined=joined)
        for _ in range(3):
            tokens = [source.randrange(4) for _ in range(source.randrange(5))]
            fast.append(ids(tokens))
            slow.append(sequence, tokens)
            context = slow.sequences.get(sequence, [])[-12:]
            wanted, _, length = slow.draft(context, 12)
            assert fast.match()[0] == (length if wanted else 0)
            assert fast.draft(5)[0] == wanted[:5]


def test_the_source_rule_and_the_workspace_are_those_of_agspec_sam():
    assert type(make_drafter("agspec-suffix")) is type(make_drafter("agspec-sam")) is Agspec
