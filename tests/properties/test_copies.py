import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agspec_tui.drafting.choose import make_drafter
from agspec_tui.drafting.types import Piece
from tests.reference.copies import NaiveCopies

TOKEN = st.integers(0, 30)
EDIT = st.tuples(
    st.integers(0, 200), st.integers(0, 12), st.lists(TOKEN | st.integers(50, 60), max_size=6)
)


@st.composite
def rewrites(draw):
    """A text, a file, and a reply that copies from one of them with edits."""
    text = draw(st.lists(TOKEN, min_size=20, max_size=150))
    file = draw(st.lists(TOKEN, max_size=100))
    reply = list(draw(st.sampled_from([text, file or text])))
    for at, n_left_out, new in draw(st.lists(EDIT, max_size=6)):
        reply[at : at + n_left_out] = new
    reply += draw(st.lists(TOKEN, max_size=5))
    cuts = draw(st.lists(st.integers(1, 9), max_size=60))
    return text, file, reply, cuts


class Naive:
    """An ordinary drafter, fed token by token, and the copies that its matches begin."""

    def __init__(self, name, text, file, prompt):
        self.plain = make_drafter(name)
        if file:
            self.plain.index("f", [("raw", file)])
        pieces = [Piece("text", tuple(text)), Piece("prompt", prompt)]
        self.plain.begin("coder", pieces)
        self.said = [token for piece in pieces for token in piece.ids]
        self.starts = {"text": 0, "prompt": len(text)}
        self.file = list(file)
        self.copies = NaiveCopies(prompt)
        self.copies.begin(*self.matched())

    def matched(self):
        match = self.plain.match()
        draft = self.plain.draft(match, 1)
        if not draft.ids:
            return match.length, None, 0
        if match.source == "workspace":
            return match.length, self.file, draft.offset
        return match.length, self.said, self.starts[draft.document] + draft.offset

    def feed(self, token):
        self.plain.feed((token,))
        self.said.append(token)
        self.copies.feed(token, *self.matched())

    def expected(self, k):
        match = self.plain.match()
        copy = self.copies.resumed()
        if copy is None:
            draft = self.plain.draft(match, k)
            return match.length, draft.source, draft.ids
        length = copy.n_agreeing + self.copies.n_earlier // 4
        ids = tuple(copy.text[copy.at : copy.at + k])
        source = "workspace" if copy.text is self.file else "session"
        return max(match.length, length), source if ids else "", ids


@pytest.mark.parametrize("name", ["agspec-sam", "agspec-suffix"])
@given(rewritten=rewrites())
def test_a_copy_goes_on_after_an_edit_where_a_plain_search_finds_it(name, rewritten):
    text, file, reply, cuts = rewritten
    naive = Naive(name, text, file, (98, 99))
    resumed = make_drafter(name, resume=True)
    if file:
        resumed.index("f", [("raw", file)])
    resumed.begin("coder", [Piece("text", tuple(text)), Piece("prompt", (98, 99))])
    at = 0
    for n in itertools.chain(cuts, itertools.repeat(1)):
        if at >= len(reply):
            break
        resumed.feed(tuple(reply[at : at + n]))
        for token in reply[at : at + n]:
            naive.feed(token)
        at += n
        match = resumed.match()
        draft = resumed.draft(match, 12)
        assert (match.length, draft.source, draft.ids) == naive.expected(12)
