import time

import numpy as np
import pytest

from agspec_tui import _native


def ids(tokens):
    return np.array(tokens, dtype=np.int32)


def test_fifty_thousand_equal_tokens_are_indexed_and_queried_in_seconds():
    corpus = _native.SessionCorpus()
    corpus.begin_document(joined=False)
    one = ids([7])
    started = time.perf_counter()
    for _ in range(50_000):
        corpus.append(one)
        corpus.draft(4)
    assert corpus.match_length() == 49_999
    assert corpus.draft(4) == ([7, 7, 7, 7], 0, 49_999)
    assert time.perf_counter() - started < 10


@pytest.mark.parametrize("period", [1, 2, 3, 50])
def test_a_periodic_text_is_drafted_on_for_ever(period):
    corpus = _native.SessionCorpus()
    corpus.begin_document(joined=False)
    text = [i % period for i in range(200)]
    corpus.append(ids(text))
    drafted, _, _ = corpus.draft(120)
    assert drafted == [i % period for i in range(200, 320)]


def test_memory_is_counted_exactly_enough_to_see_every_block():
    automaton = _native.SuffixAutomaton()
    empty = automaton.memory_bytes
    automaton.append(ids(np.random.default_rng(1).integers(0, 5000, 20_000)))
    assert automaton.n_tokens == 20_000
    assert automaton.n_states <= 40_000
    # At least the text and the states; far less than a tree of Python objects.
    assert 36 * 20_000 < automaton.memory_bytes - empty < 200 * 20_000


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.uint32])
def test_other_types_of_ids_are_refused_and_not_converted(dtype):
    with pytest.raises(TypeError):
        _native.SuffixAutomaton().append(np.zeros(3, dtype=dtype))


def test_ids_must_be_one_row():
    with pytest.raises(ValueError, match="1-d"):
        _native.SuffixAutomaton().append(np.zeros((2, 2), dtype=np.int32))


def test_a_corpus_without_a_document_takes_no_tokens():
    with pytest.raises(RuntimeError, match="no document"):
        _native.SessionCorpus().append(ids([1]))


def test_a_cursor_keeps_its_corpus_alive():
    corpus = _native.WorkspaceCorpus()
    corpus.add(ids([1, 2, 3]))
    cursor = _native.Cursor(corpus)
    del corpus
    cursor.advance(ids([1, 2]))
    assert cursor.length() == 2


@pytest.mark.parametrize("tokens", [[-1], [1, -5], [-(2**31)]])
def test_negative_ids_are_refused_where_separators_are_the_corpus_own(tokens):
    session = _native.SessionCorpus()
    session.begin_document(joined=False)
    workspace = _native.WorkspaceCorpus()
    for take in (session.append, workspace.add, _native.Cursor(workspace).advance):
        with pytest.raises(ValueError, match="negative"):
            take(ids(tokens))
    assert session.n_tokens == 0
    assert workspace.n_added == 0


@pytest.mark.parametrize("k", [0, -1, -(2**31)])
def test_no_tokens_are_drafted_where_none_are_asked_for(k):
    session = _native.SessionCorpus()
    session.begin_document(joined=False)
    session.append(ids([1, 2, 3, 4, 1]))
    assert session.match_length() == 1
    assert session.draft(k) == ([], -1, 0)
    workspace = _native.WorkspaceCorpus()
    workspace.add(ids([1, 2]))
    cursor = _native.Cursor(workspace)
    cursor.advance(ids([1]))
    assert workspace.draft(cursor, k) == ([], -1, 0)


def test_empty_corpora_match_nothing():
    session = _native.SessionCorpus()
    workspace = _native.WorkspaceCorpus()
    cursor = _native.Cursor(workspace)
    cursor.advance(ids([1, 2]))
    assert session.match_length() == cursor.length() == 0
    assert session.draft(8) == workspace.draft(cursor, 8) == ([], -1, 0)
    assert session.check_integrity() == workspace.check_integrity() == ""


def test_a_cursor_serves_no_other_corpus():
    corpus, other = _native.WorkspaceCorpus(), _native.WorkspaceCorpus()
    corpus.add(ids([1, 2]))
    other.add(ids([1, 3]))
    with pytest.raises(ValueError, match="another corpus"):
        other.draft(_native.Cursor(corpus), 3)
