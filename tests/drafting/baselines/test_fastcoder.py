from functools import partial

import pytest

from agspec_tui.drafting.baselines.fastcoder import FastCoder
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Draft, Match, Piece

OUTPUT = tuple(range(500, 516))


class Store:
    """A general store of one text, searched in plain loops."""

    def __init__(self, text):
        self.text = list(text)
        self.context = []

    def begin(self, ids):
        self.context = list(ids)

    def feed(self, ids):
        self.context += ids

    def _find(self):
        for length in range(len(self.context), 0, -1):
            for start in range(len(self.text) - length + 1):
                if self.text[start : start + length] == self.context[-length:]:
                    return length, start + length
        return 0, 0

    def match_length(self):
        return self._find()[0]

    def draft(self, k):
        start = self._find()[1]
        ids = tuple(self.text[start : start + k])
        return ids, "general" if ids else "", start if ids else 0


def drafter(*prompt, general=(), files=(), output=OUTPUT, context=()):
    made = FastCoder(Store(general) if general else None)
    for number, ids in enumerate(files):
        made.index(f"{number}.py", [("space", (77, *ids)), ("raw", ids)])
    made.begin("coder", [Piece("user", prompt), Piece("reply", (90,))])
    made.feed(output)
    made.feed(context)
    return made


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        pytest.param(
            partial(drafter, 1, 2, 3, 4, files=[(2, 3, 9)], general=(2, 3, 8), context=(2, 3)),
            (Match(2, "context"), Draft((4, 90, *OUTPUT[:8]), "context", "user", 3)),
            id="tie to the cache",
        ),
        pytest.param(
            partial(
                drafter, 1, 2, 3, files=[(6, 2, 3, 9)], general=(6, 2, 3, 8), context=(6, 2, 3)
            ),
            (Match(3, "workspace"), Draft((9,), "workspace", "0.py (raw)", 3)),
            id="tie to the repository",
        ),
        pytest.param(
            partial(drafter, 1, 2, 3, files=[(2, 3, 9)], general=(6, 2, 3, 8), context=(6, 2, 3)),
            (Match(3, "global"), Draft((8,), "global", "general", 3)),
            id="general is longest",
        ),
        pytest.param(
            partial(drafter, 1, 2, 3, 4, output=OUTPUT[:8], context=(2, 3)),
            (NO_MATCH, NO_DRAFT),
            id="cache is not used yet",
        ),
        pytest.param(
            partial(drafter, 1, 2, 3, 4, files=[(3, 9)], context=(3,)),
            (NO_MATCH, NO_DRAFT),
            id="one token is too short",
        ),
        pytest.param(
            partial(drafter, 1, 2, 3, 4, files=[(77, 3, 9)], context=(77, 3)),
            (Match(2, "workspace"), Draft((9,), "workspace", "0.py (raw)", 2)),
            id="raw views only",
        ),
    ],
)
def test_the_longest_match_of_cache_and_stores_is_drafted_from(make, expected):
    made = make()
    assert (made.match(), made.draft(made.match(), 32)) == expected


def test_drafts_have_ten_tokens_at_most_and_long_matches_tie():
    run = tuple(range(100, 150))
    made = drafter(*run, files=[run], context=run[:30])
    assert made.match() == Match(16, "context")
    assert made.draft(made.match(), 64).ids == run[30:40]
    made.begin("coder", [Piece("user", run[:30])])
    assert made.match() == Match(16, "workspace")
    assert made.draft(made.match(), 64).ids == run[30:40]


def test_retrieval_is_skipped_behind_a_token_behind_which_it_fails():
    made = drafter(1, 2, 3, 4, context=(2, 3))
    for _ in range(8):
        assert made.match().length == 2
        made.observe(4, 0)
    assert made.match() == NO_MATCH
    assert made.draft(made.match(), 8) == NO_DRAFT
    made.feed((2,))
    made.observe(4, 0)
    made.feed((2, 3))
    assert made.match() == NO_MATCH
    made.feed((1, 2))
    assert made.match().length == 2


def test_one_accepted_token_in_ten_drafts_keeps_retrieval_on():
    made = drafter(1, 2, 3, 4, context=(2, 3))
    made.observe(4, 1)
    for _ in range(9):
        made.observe(4, 0)
    assert made.match().length == 2
    made.observe(4, 0)
    assert made.match() == NO_MATCH


def test_a_forgotten_file_is_not_retrieved():
    made = drafter(files=[(6, 7, 8)], context=(6, 7))
    assert made.match() == Match(2, "workspace")
    made.forget("0.py")
    assert made.match() == NO_MATCH
