import pytest

from agspec_tui.drafting.agspec import GLOBAL_BIAS, Agspec
from agspec_tui.drafting.session_corpus import SessionCorpus
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Match, Piece

REPLY = Piece("coder: reply", (90, 91))


def drafter(*pieces, context=()):
    made = Agspec("agspec-sam", SessionCorpus)
    made.begin("coder", [*pieces, REPLY])
    made.feed(context)
    return made


def test_nothing_is_matched_or_drafted_before_anything_was_said():
    fresh = Agspec("agspec-sam", SessionCorpus)
    assert fresh.match() == NO_MATCH
    assert fresh.draft(fresh.match(), 8) == NO_DRAFT


def test_a_session_draft_names_piece_and_offset():
    made = drafter(Piece("coder: user message 1", (1, 2, 3, 4, 5)), context=(2, 3))
    assert made.match() == Match(2, "session")
    expected = Draft((4, 5, 90, 91), "session", "coder: user message 1", 3)
    assert made.draft(made.match(), 4) == expected


def test_the_most_frequent_group_of_three_wins():
    text = (1, 5, 5, 5, 9, 1, 6, 6, 6, 8, 1, 5, 5, 5, 7, 1, 6, 6, 2, 2)
    made = drafter(Piece("p", text), context=(1,))
    assert made.draft(made.match(), 4) == Draft((5, 5, 5, 7), "session", "p", 11)


def test_a_tie_between_groups_goes_to_the_most_recent():
    made = drafter(Piece("p", (1, 5, 5, 5, 9, 1, 6, 6, 6, 8)), context=(1,))
    assert made.draft(made.match(), 4) == Draft((6, 6, 6, 8), "session", "p", 6)


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        pytest.param((2, 3), Match(2, "session"), id="tie to session"),
        pytest.param((1, 2, 3), Match(3, "session"), id="session longer"),
        pytest.param((8, 2, 3), Match(3, "workspace"), id="workspace longer"),
        pytest.param((4,), Match(1, "session"), id="session only"),
        pytest.param((7,), Match(1, "workspace"), id="workspace only"),
        pytest.param((70,), NO_MATCH, id="neither"),
    ],
)
def test_the_longer_live_match_wins(context, expected):
    made = drafter(Piece("p", (1, 2, 3, 4)))
    made.index("a.py", [("raw", (8, 2, 3, 7, 5))])
    made.feed((50, *context))
    assert made.match() == expected


def test_a_workspace_draft_follows_the_first_occurrence_and_names_path_and_view():
    made = drafter()
    made.index("src/app.py", [("space", (31, 32, 40, 41)), ("raw", (31, 32, 50, 51, 52))])
    made.index("src/b.py", [("raw", (31, 32, 50, 60))])
    made.feed((31, 32))
    assert made.draft(made.match(), 8) == Draft((40, 41), "workspace", "src/app.py (space)", 2)
    made.feed((50,))
    assert made.draft(made.match(), 1) == Draft((51,), "workspace", "src/app.py (raw)", 3)


def test_a_draft_never_runs_into_another_view_or_file():
    made = drafter()
    made.index("a.py", [("space", (31, 32)), ("raw", (33, 34))])
    made.index("b.py", [("raw", (35,))])
    for ids in [(31, 32), (33, 34), (35,)]:
        made.feed((99, *ids))
        assert made.draft(Match(len(ids), "workspace"), 8) == NO_DRAFT


@pytest.mark.parametrize("k", [0, -1])
def test_no_room_means_no_draft(k):
    made = drafter(context=(1, 2, 1, 2))
    assert made.draft(made.match(), k) == NO_DRAFT


def test_no_match_means_no_draft():
    made = drafter(context=(1, 2, 1, 2))
    assert made.draft(NO_MATCH, 8) == NO_DRAFT


@pytest.mark.parametrize("period", [(4,), (4, 5), (4, 5, 6, 7)])
def test_periodic_text_is_drafted_past_its_own_end(period):
    made = drafter(context=period * 2)
    assert made.draft(made.match(), 11).ids == (period * 11)[:11]


def test_drafting_changes_nothing():
    made = drafter(Piece("p", (1, 2, 3, 4, 5)), context=(2, 3))
    first = (made.match(), made.draft(made.match(), 3))
    assert all((made.match(), made.draft(made.match(), 3)) == first for _ in range(3))


def test_what_was_generated_is_drafted_in_other_sequences():
    made = drafter(Piece("p", (1,)), context=(20, 21, 22, 23, 24))
    made.begin("planner", [Piece("planner: reply", (80,))])
    made.feed((20, 21))
    assert made.draft(made.match(), 3) == Draft((22, 23, 24), "session", "coder: reply", 4)


def test_a_changed_file_is_drafted_in_its_new_form_only():
    made = drafter()
    assert made.index("a.py", [("raw", (31, 32, 33))]) == 3
    assert made.index("b.py", [("raw", (41, 42))]) == 5
    assert made.index("a.py", [("raw", (31, 32, 35, 36))]) == 6
    made.feed((31, 32))
    assert made.draft(made.match(), 8).ids == (35, 36)
    made.feed((33,))
    assert made.match() == NO_MATCH


def test_a_forgotten_file_is_not_matched():
    made = drafter()
    made.index("a.py", [("raw", (31, 32, 33))])
    made.feed((31,))
    made.forget("a.py")
    made.forget("never-seen.py")
    assert made.match() == NO_MATCH
    assert made.index("b.py", [("raw", (31, 34))]) == 2
    assert made.draft(made.match(), 8) == Draft((34,), "workspace", "b.py (raw)", 1)


def test_a_file_indexed_in_the_middle_of_a_reply_matches_what_was_said_before():
    made = drafter(context=(31, 32, 33))
    made.index("a.py", [("raw", (31, 32, 33, 34))])
    assert made.match() == Match(3, "workspace")


def test_the_workspace_context_begins_with_the_last_piece():
    made = Agspec("agspec-sam", SessionCorpus)
    made.index("a.py", [("raw", (5, 90, 91, 7))])
    made.begin("coder", [Piece("p", (5,)), REPLY])
    assert made.match() == Match(2, "workspace")


def test_reset_drops_every_corpus():
    made = drafter(Piece("p", (1, 2, 3)))
    made.index("a.py", [("raw", (31, 32))])
    made.reset()
    made.begin("coder", [REPLY])
    made.feed((1,))
    assert made.match() == NO_MATCH
    made.feed((31,))
    assert made.match() == NO_MATCH
    assert made.index("b.py", [("raw", (8,))]) == 1


class StaticText:
    """A global corpus over one list; the context's longest suffix is looked up in it."""

    def __init__(self, text):
        self._text = tuple(text)
        self._context = ()

    def begin(self, ids):
        self._context = tuple(ids)

    def feed(self, ids):
        self._context += tuple(ids)

    def _end(self, m):
        suffix = self._context[len(self._context) - m :]
        ends = [i + m for i in range(len(self._text)) if self._text[i : i + m] == suffix]
        return ends[0] if ends else -1

    def match_length(self):
        found = [m for m in range(1, len(self._context) + 1) if self._end(m) > 0]
        return max(found, default=0)

    def draft(self, k):
        start = self._end(self.match_length())
        return self._text[start : start + k], "old session", start


@pytest.mark.parametrize(
    ("m_session", "m_global", "source"),
    [
        (2, 2 + GLOBAL_BIAS, "session"),
        (2, 3 + GLOBAL_BIAS, "global"),
        (0, GLOBAL_BIAS, ""),
        (0, 1 + GLOBAL_BIAS, "global"),
    ],
)
def test_the_global_corpus_must_match_longer_by_more_than_delta(m_session, m_global, source):
    context = tuple(range(100, 100 + m_global))
    made = Agspec("agspec-sam", SessionCorpus, StaticText((*context, 7, 8)))
    made.begin("coder", [Piece("p", context[m_global - m_session :]), REPLY])
    made.feed(context)
    match = made.match()
    assert match == (Match(m_global if source == "global" else m_session, source))
    if source == "global":
        expected = Draft((7, 8), "global", "old session", m_global)
        assert made.draft(match, 2) == expected
