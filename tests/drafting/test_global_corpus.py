import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.drafting.agspec import Agspec
from agspec_tui.drafting.corpus_file import open_corpus, write_corpus
from agspec_tui.drafting.global_corpus import GlobalCorpus, open_global
from agspec_tui.drafting.session_corpus import SessionCorpus
from agspec_tui.drafting.types import Piece
from agspec_tui.errors import DraftError
from tests.reference import suffix_array as slow

PRINT = b"p" * 32


def corpus_of(path, documents, n_vocab=100):
    named = [(name, np.array(ids, dtype=np.int32)) for name, ids in documents.items()]
    write_corpus(path, named, PRINT, n_vocab)
    return open_global(path, PRINT, n_vocab)


@pytest.fixture
def corpus(tmp_path):
    return corpus_of(
        tmp_path / "c", {"a": [1, 2, 3, 4, 5, 6], "b": [9, 3, 4, 7], "c": [3, 4, 5, 6]}
    )


def test_a_draft_names_its_document_and_offset(corpus):
    corpus.begin([8, 3])
    corpus.feed([4])
    assert corpus.match_length() == 2
    assert corpus.draft(8) == ((5, 6), "c", 2)
    corpus.feed([7])
    assert corpus.match_length() == 3
    assert corpus.draft(8) == ((), "", 0)


def test_a_new_context_forgets_the_old_one(corpus):
    corpus.begin([1, 2, 3])
    assert corpus.match_length() == 3
    corpus.begin([3])
    assert corpus.match_length() == 1
    corpus.begin([])
    assert (corpus.match_length(), corpus.draft(4)) == (0, ((), "", 0))


def test_a_corpus_of_another_tokenizer_is_refused(tmp_path, corpus):
    with pytest.raises(DraftError, match="another model"):
        open_global(tmp_path / "c", b"q" * 32, 100)


def test_two_contexts_share_one_file(tmp_path, corpus):
    file = open_corpus(tmp_path / "c")
    one, two = GlobalCorpus(file), GlobalCorpus(file)
    one.begin([1, 2])
    two.begin([9])
    assert one.draft(2) == ((3, 4), "a", 2)
    assert two.draft(2) == ((3, 4), "b", 1)
    assert one.n_tokens == 16
    assert 0 < one.memory_bytes < 5000


def test_the_global_corpus_must_match_longer_by_more_than_five(tmp_path):
    long = list(range(10, 30))
    drafter = Agspec("agspec-sam", SessionCorpus, corpus_of(tmp_path / "g", {"g": long}))
    drafter.begin("s", [Piece("user", (14, 90, 10, 11, 12, 13, 14))])
    assert drafter.match().source == "session"
    drafter.feed([15, 16])
    match = drafter.match()
    assert (match.source, match.length) == ("global", 7)
    assert drafter.draft(match, 3).document == "g"
    assert drafter.draft(match, 3).ids == (17, 18, 19)
    drafter.reset()
    drafter.begin("s", [Piece("user", tuple(range(10, 17)))])
    assert drafter.match().source == "global"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=20), min_size=1, max_size=4),
    st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=8),
)
def test_drafts_equal_the_slow_ones_and_lie_where_they_say(tmp_path_factory, documents, pieces):
    named = {f"d{n}": ids for n, ids in enumerate(documents)}
    corpus = corpus_of(tmp_path_factory.mktemp("g") / "c", named)
    text = [token for ids in documents for token in (*ids, -1)][:-1]
    corpus.begin([])
    read = []
    for piece in pieces:
        corpus.feed(piece)
        read += piece
        part = slow.match(text, read)
        assert corpus.match_length() == len(part)
        ids, name, offset = corpus.draft(5)
        assert list(ids) == slow.draft(text, part, 5)[0]
        if ids:
            assert tuple(named[name][offset : offset + len(ids)]) == ids
