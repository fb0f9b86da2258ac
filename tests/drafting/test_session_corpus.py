import time

import numpy as np
import pytest

from agspec_tui.drafting.session_corpus import SessionCorpus, common_prefix
from agspec_tui.drafting.types import Piece
from agspec_tui.errors import DraftError

SYSTEM = Piece("system", (1, 2, 3, 4))
USER = Piece("user 1", (10, 11, 12))
REPLY = Piece("reply", (90, 91))


def test_a_prompt_that_only_grew_appends_only_what_is_new():
    corpus = SessionCorpus()
    corpus.begin("coder", [SYSTEM, USER, REPLY])
    corpus.feed((20, 21))
    n_before = corpus.n_tokens
    assert n_before == 4 + 3 + 2 + 2
    said = Piece("assistant 1", (90, 91, 20, 21))
    corpus.begin("coder", [SYSTEM, USER, said, Piece("user 2", (13, 14)), REPLY])
    assert corpus.n_tokens == n_before + 2 + 2


def test_the_end_of_a_reply_that_opens_the_next_message_is_not_repeated():
    corpus = SessionCorpus()
    corpus.begin("coder", [SYSTEM, REPLY])
    corpus.feed((20, 99))
    said = Piece("assistant 1", (90, 91, 20))
    corpus.begin("coder", [SYSTEM, said, Piece("user 2", (99, 13, 14, 15)), REPLY])
    assert corpus.n_tokens == 4 + 2 + 2 + 3 + 2
    corpus.feed((20, 99))
    assert corpus.match()[0] == 4  # 90 91 20 99, across both pieces
    assert corpus.draft(2) == ((13, 14), "user 2", 1)


def test_a_known_piece_is_indexed_once_whoever_says_it():
    corpus = SessionCorpus()
    corpus.begin("planner", [SYSTEM, USER, REPLY])
    n_before = corpus.n_tokens
    corpus.begin("coder", [SYSTEM, USER, Piece("coder reply", (95,))])
    assert corpus.n_tokens == n_before + 2  # a separator and the last piece


@pytest.mark.parametrize("ending", [(), (99,)])
def test_a_reply_is_known_in_the_prompts_of_other_sequences(ending):
    corpus = SessionCorpus()
    corpus.begin("coder", [SYSTEM, REPLY])
    corpus.feed((20, 21, *ending))
    n_before = corpus.n_tokens
    corpus.begin("reviewer", [SYSTEM, Piece("assistant", (90, 91, 20, 21)), Piece("x", (95,))])
    assert corpus.n_tokens == n_before + 2


def test_pieces_that_follow_each_other_are_matched_across_their_border():
    corpus = SessionCorpus()
    corpus.begin("coder", [SYSTEM, USER, REPLY])
    corpus.feed((4, 10))
    assert corpus.match()[0] == 2
    assert corpus.draft(2) == ((11, 12), "user 1", 1)


def test_pieces_that_do_not_follow_each_other_are_not():
    corpus = SessionCorpus()
    corpus.begin("planner", [SYSTEM, REPLY])
    corpus.begin("coder", [SYSTEM, USER, Piece("coder reply", (95,))])
    for pair in [(4, 10), (91, 10), (12, 91)]:
        corpus.feed(pair)
        assert corpus.match()[0] == 1


def test_another_sequence_in_between_separates():
    corpus = SessionCorpus()
    corpus.begin("coder", [SYSTEM, REPLY])
    corpus.feed((20, 21))
    corpus.begin("planner", [Piece("planner reply", (95,))])
    said = Piece("assistant 1", (90, 91, 20, 21))
    corpus.begin("coder", [SYSTEM, said, Piece("user 2", (13,)), REPLY])
    corpus.feed((21, 13))
    assert corpus.match()[0] == 1


def test_the_end_of_the_text_is_the_decoding_context_even_if_all_of_it_is_known():
    corpus = SessionCorpus()
    corpus.begin("coder", [SYSTEM, REPLY])
    corpus.feed((20, 21))
    corpus.begin("coder", [SYSTEM, REPLY])
    assert corpus.match()[0] == 2
    assert corpus.draft(2) == ((20, 21), "reply", 2)


def test_a_prompt_that_is_the_end_of_the_text_already_is_not_appended_again():
    corpus = SessionCorpus()
    corpus.begin("coder", [SYSTEM, REPLY])
    n_before = corpus.n_tokens
    corpus.begin("coder", [SYSTEM, REPLY])
    assert corpus.n_tokens == n_before


def test_counts_are_not_biased_by_repeated_prompts():
    corpus = SessionCorpus()
    stale, fresh = Piece("stale", (7, 1, 1, 1)), Piece("fresh", (7, 2, 2, 2))
    for number in range(5):
        corpus.begin(f"coder {number}", [stale, REPLY])
    corpus.begin("coder 9", [fresh, REPLY])
    corpus.feed((7,))
    assert corpus.draft(3)[0] == (2, 2, 2)


def test_a_piece_said_twice_in_one_prompt_is_indexed_once():
    corpus = SessionCorpus()
    corpus.begin("coder", [USER, SYSTEM, USER, REPLY])
    assert corpus.n_tokens == 3 + 4 + 1 + 2


def test_empty_pieces_cost_nothing():
    corpus = SessionCorpus()
    corpus.begin("coder", [SYSTEM, Piece("empty", ()), REPLY])
    corpus.feed(())
    assert corpus.n_tokens == 6


def test_memory_grows_with_the_text():
    corpus = SessionCorpus()
    before = corpus.memory_bytes
    corpus.begin("coder", [Piece("long", tuple(range(50_000)))])
    assert corpus.memory_bytes - before > 36 * 50_000


@pytest.mark.parametrize(
    ("a", "b", "n"),
    [
        ([], [], 0),
        ([], [1], 0),
        ([1, 2], [1, 2], 2),
        ([1, 2], [1, 2, 3], 2),
        ([1, 2, 3], [1, 4, 3], 1),
        ([2], [1], 0),
    ],
)
def test_common_prefix(a, b, n):
    assert common_prefix(a, b) == n
    assert common_prefix(b, a) == n


BAD = [(1, -1), (2**31,), (1.5,), ("1",)]


@pytest.mark.parametrize("ids", BAD, ids=repr)
def test_ids_out_of_range_are_refused_in_one_line_and_change_nothing(ids):
    corpus = SessionCorpus()
    corpus.begin("coder", [SYSTEM, REPLY])
    corpus.feed((20, 21))
    n_before = corpus.n_tokens
    for take in (
        lambda: corpus.begin("coder", [SYSTEM, Piece("bad", ids), REPLY]),
        lambda: corpus.begin("planner", [USER, Piece("bad", ids)]),
        lambda: corpus.feed(ids),
    ):
        with pytest.raises(DraftError, match="token id") as refused:
            take()
        assert refused.value.one_line().count("\n") == 0
    assert corpus.n_tokens == n_before
    corpus.begin("coder", [SYSTEM, Piece("assistant", (90, 91, 20, 21)), Piece("end", (5,))])
    assert corpus.n_tokens == n_before + 1


@pytest.mark.parametrize("k", [0, -1])
def test_no_tokens_are_drafted_where_none_are_asked_for(k):
    corpus = SessionCorpus()
    corpus.begin("coder", [Piece("a", (1, 2, 3, 4, 1))])
    assert corpus.match()[0] == 1
    assert corpus.draft(k) == ((), "", 0)


def test_an_empty_corpus_matches_nothing():
    corpus = SessionCorpus()
    assert corpus.match()[0] == 0
    assert corpus.draft(5) == ((), "", 0)


def test_a_prompt_that_changed_in_the_middle_is_indexed_from_there_on():
    corpus = SessionCorpus()
    corpus.begin("coder", [SYSTEM, USER, REPLY])
    n_before = corpus.n_tokens
    other = Piece("user 1", (10, 77, 78))
    corpus.begin("coder", [SYSTEM, other, REPLY])
    assert corpus.n_tokens == n_before + 1 + 3 + 2
    corpus.begin("coder", [SYSTEM, other])
    assert corpus.n_tokens == n_before + 1 + 3 + 2 + 1 + 3


def test_what_a_shorter_prompt_dropped_is_not_remembered_as_said():
    corpus = SessionCorpus()
    corpus.begin("coder", [SYSTEM, USER, REPLY])
    corpus.feed((20, 21))
    corpus.begin("coder", [SYSTEM, REPLY])
    corpus.feed((30,))
    n_before = corpus.n_tokens
    said = Piece("assistant 1", (90, 91, 30))
    corpus.begin("coder", [SYSTEM, said, Piece("user 2", (13, 14))])
    assert corpus.n_tokens == n_before + 2


def test_prompts_that_are_sent_again_and_again_are_cheap():
    corpus = SessionCorpus()
    random = np.random.default_rng(1)
    pieces = [SYSTEM]
    started = time.perf_counter()
    n_prompt_tokens = 0
    for number in range(100):
        pieces = [*pieces, Piece(f"user {number}", tuple(random.integers(0, 9000, 2000).tolist()))]
        corpus.begin("coder", pieces)
        corpus.feed((number, 1, 2))
        pieces = [*pieces[:-1], Piece("assistant", (*pieces[-1].ids, number, 1, 2))]
        n_prompt_tokens += sum(len(piece.ids) for piece in pieces)
    assert n_prompt_tokens > 10_000_000
    assert corpus.n_tokens == 4 + 100 * 2003
    assert time.perf_counter() - started < 10
