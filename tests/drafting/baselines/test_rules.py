import pytest

from agspec_tui.drafting.baselines.llama_ngram_map_k import LlamaNgramMapK
from agspec_tui.drafting.baselines.llama_ngram_mod import LlamaNgramMod
from agspec_tui.drafting.baselines.llama_ngram_simple import LlamaNgramSimple
from agspec_tui.drafting.baselines.pld import Pld
from agspec_tui.drafting.baselines.sam import Sam
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Match, Piece

RUN = tuple(range(100, 220))


def begun(drafter, *pieces, context=()):
    drafter.begin("coder", [Piece(f"piece {i}", ids) for i, ids in enumerate(pieces)])
    drafter.feed(context)
    return drafter


def drafted(drafter, k=100):
    return drafter.draft(drafter.match(), k)


def test_pld_takes_the_earliest_occurrence_of_the_longest_suffix():
    made = begun(Pld(), (7, 1, 2, 3), RUN[:20], (4, 1, 2, 3), RUN[30:50], context=(1, 2, 3))
    assert made.match() == Match(3, "context")
    assert drafted(made) == Draft(RUN[:10], "context", "piece 1", 0)


def test_pld_needs_ten_tokens_and_tries_a_shorter_suffix_without_them():
    made = begun(Pld(), (3,), RUN[:9], (1, 2, 3, 50, 51), context=(1, 2, 3))
    assert made.match() == Match(1, "context")
    assert drafted(made, 2) == Draft(RUN[:2], "context", "piece 1", 0)
    assert drafted(begun(Pld(), (1, 2, 3, 4, 1, 2, 3))) == NO_DRAFT


@pytest.mark.parametrize(("n_match", "n_tokens"), [(1, 4), (2, 8), (14, 56), (15, 59), (30, 59)])
def test_sam_drafts_four_tokens_for_each_of_the_match_up_to_59(n_match, n_tokens):
    made = begun(Sam(), RUN, context=(9, *RUN[:n_match]))
    assert made.match() == Match(n_match, "context")
    assert drafted(made).ids == RUN[n_match : n_match + n_tokens]


def test_sam_copies_the_first_occurrence():
    made = begun(Sam(), (1, 2, 50, 51, 52, 53, 54, 55, 56, 57), (1, 2, 60), context=(1, 2))
    assert drafted(made, 3) == Draft((50, 51, 52), "context", "piece 0", 2)


def test_sam_climbs_to_an_earlier_occurrence_where_too_few_tokens_follow():
    made = begun(Sam(), (2, 3), RUN[:30], (1, 2, 3, 40), context=(1, 2, 3))
    assert made.match() == Match(3, "context")
    assert drafted(made) == Draft(RUN[:12], "context", "piece 1", 0)
    assert drafted(begun(Sam(), (4,) * 20)).ids == (4,) * 19


class Static:
    """A static corpus with a match of a given length."""

    def __init__(self, length):
        self.length = length

    def begin(self, ids):
        pass

    def feed(self, ids):
        pass

    def match_length(self):
        return self.length

    def draft(self, k):
        return RUN[:k], "static", 4


@pytest.mark.parametrize(
    ("length", "expected"),
    [(7, Match(2, "context")), (8, Match(3, "global")), (70, Match(65, "global"))],
)
def test_sam_counts_a_static_match_five_shorter(length, expected):
    made = begun(Sam(Static(length)), (1, 2, 3, 4), context=(2, 3))
    assert made.match() == expected
    if expected.source == "global":
        n_tokens = min(59, 4 * expected.length)
        assert drafted(made) == Draft(RUN[:n_tokens], "global", "static", 4)


@pytest.mark.parametrize("make", [LlamaNgramSimple, LlamaNgramMapK, LlamaNgramMod])
def test_llama_cpp_proposes_nothing_before_the_first_generated_token(make):
    made = begun(make(), RUN, RUN[:40])
    assert drafted(made) == NO_DRAFT
    made.feed(RUN[40:41])
    assert drafted(made, 9).ids == RUN[41:50]


def test_llama_ngram_simple_looks_at_the_most_recent_occurrence_only():
    made = begun(LlamaNgramSimple(), (1,), RUN, RUN[:12], context=RUN[:12])
    assert made.match() == NO_MATCH
    made = begun(LlamaNgramSimple(), (1,), RUN, RUN[:12], (50,), context=RUN[:12])
    assert drafted(made) == Draft((50, *RUN[:11]), "context", "piece 3", 0)


def test_llama_ngram_simple_takes_an_occurrence_at_the_beginning_for_none():
    assert drafted(begun(LlamaNgramSimple(), RUN, context=RUN[:12])) == NO_DRAFT


def test_llama_ngram_map_k_shrinks_its_drafts_for_good():
    made = begun(LlamaNgramMapK(), (1,), RUN, context=RUN[:12])
    lengths = []
    for n_accepted in (30, 20, 25, 0, 9):
        draft = drafted(made)
        lengths.append(len(draft.ids))
        if draft.ids:
            made.observe(len(draft.ids), min(n_accepted, len(draft.ids)))
        made.feed((9, *RUN[:12]))
    assert lengths == [48, 30, 20, 20, 0]


def test_llama_ngram_map_k_keeps_sequences_apart():
    made = begun(LlamaNgramMapK(), (1,), RUN, context=RUN[:12])
    made.observe(len(drafted(made).ids), 5)
    made.begin("planner", [Piece("p", (1, *RUN))])
    made.feed(RUN[:12])
    assert len(drafted(made).ids) == 48
    begun(made, (1,), RUN, context=RUN[:12])
    assert len(drafted(made).ids) == 5


def test_llama_ngram_mod_proposes_48_to_64_tokens_or_none():
    for n_tokens, n_drafted in ((24 + 47, 0), (24 + 48, 48), (24 + 64, 64), (24 + 70, 64)):
        made = begun(LlamaNgramMod(), RUN[:n_tokens])
        made.begin("planner", [Piece("p", (1,))])
        made.feed(RUN[:24])
        assert len(drafted(made).ids) == n_drafted


def test_llama_ngram_mod_shares_its_table_between_sequences():
    made = begun(LlamaNgramMod(), RUN)
    made.begin("planner", [Piece("p", (1,))])
    made.feed(RUN[:24])
    assert drafted(made).ids == RUN[24:88]


def test_llama_ngram_mod_empties_its_table_after_five_low_drafts():
    made = begun(LlamaNgramMod(), RUN, context=RUN[:24])
    for _ in range(5):
        assert len(drafted(made).ids) == 64
        made.observe(64, 15)
    made.feed((9, *RUN[:24]))
    made.begin("planner", [Piece("p", (1,))])
    made.feed(RUN[:24])
    assert drafted(made) == NO_DRAFT
