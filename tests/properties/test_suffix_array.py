from itertools import accumulate

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agspec_tui import _native
from tests.reference import suffix_array as slow


def ids(tokens):
    return np.array(tokens, dtype=np.int32)


def array_of(text):
    return _native.SuffixArray(ids(text), *_native.sort_suffixes(ids(text)), 16)


token = st.one_of(st.integers(0, 1), st.integers(0, 1), st.integers(0, 5), st.just(-1))
texts = st.lists(token, max_size=70)
periodic = st.builds(
    lambda period, n, tail: (period * n)[:90] + tail,
    st.lists(st.integers(0, 2), min_size=1, max_size=3),
    st.integers(1, 90),
    st.lists(token, max_size=8),
)
fibonacci = st.integers(0, 8).map(
    lambda n: list(
        accumulate(range(n), lambda words, _: (words[1], words[1] + words[0]), initial=([1], [0]))
    )[-1][1]
)
corpora = st.one_of(texts, periodic, fibonacci, st.lists(st.just(0), max_size=400))


@given(corpora)
@example([])
@example([-1])
@example([-5, -5, -2])
@example([0] * 300 + [-1] + [0] * 280)
def test_order_and_shared_prefixes_equal_the_slow_ones(text):
    order, shared = _native.sort_suffixes(ids(text))
    assert order.tolist() == slow.order(text)
    assert shared.tolist() == slow.shared(text, order.tolist())
    assert array_of(text).check_integrity() == ""


@given(corpora, st.lists(st.integers(-1, 5), max_size=5), st.data())
def test_find_equals_the_slow_one(text, part, data):
    array = array_of(text)
    order = slow.order(text)
    at = data.draw(st.integers(0, len(text)))
    for each in (part, text[at : at + 4], text[at : at + 30]):
        expected = [
            place
            for place, start in enumerate(order)
            if text[start : start + len(each)] == each and all(x >= 0 for x in each)
        ]
        begin, end = array.find(ids(each))
        assert list(range(begin, end)) == expected


@given(corpora, st.lists(st.lists(st.integers(-1, 5), max_size=6), max_size=12), st.data())
def test_match_and_draft_equal_the_slow_ones_at_every_step(text, pieces, data):
    cursor = _native.ArrayCursor(array_of(text))
    read: list[int] = []
    for piece in pieces:
        if text and data.draw(st.booleans()):  # go on as the corpus does, for a while
            at = data.draw(st.integers(0, len(text) - 1))
            piece = text[at : at + data.draw(st.integers(1, 40))]
        cursor.advance(ids(piece))
        read += piece
        if data.draw(st.integers(0, 3)):
            part = slow.match(text, read)
            assert cursor.length() == len(part)
            assert cursor.draft(7) == slow.draft(text, part, 7)


@settings(max_examples=15, deadline=None)
@given(st.integers(240, 262), st.lists(st.integers(1, 90), max_size=8), st.booleans())
def test_matches_are_bounded_by_252_tokens(n, steps, other_first):
    text = [1, *[0] * n, 2, 3, 4, -1, *[0] * 255, 5, 6, 7, 8]
    cursor = _native.ArrayCursor(array_of(text))
    read = [1] if other_first else []
    cursor.advance(ids(read))
    for step in steps:
        cursor.advance(ids([0] * step))
        read += [0] * step
        part = slow.match(text, read)
        assert cursor.length() == len(part)
        assert cursor.draft(3) == slow.draft(text, part, 3)
