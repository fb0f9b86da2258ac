from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from agspec_tui.drafting.workspace_corpus import MAX_TOKENS, WorkspaceCorpus
from agspec_tui.errors import DraftError


def matched(corpus, ids):
    corpus.begin(ids)
    return corpus.match_length()


def test_the_same_views_again_change_nothing():
    corpus = WorkspaceCorpus()
    corpus.index("a.py", [("raw", (1, 2))])
    corpus.index("b.py", [("raw", (1, 3))])
    corpus.begin((1,))
    assert corpus.index("a.py", [("raw", [1, 2])]) == 4
    # Indexed anew, it would stand behind the other file.
    assert corpus.draft(5) == ((2,), "a.py (raw)", 1)


def test_another_name_or_number_of_views_is_a_change():
    corpus = WorkspaceCorpus()
    corpus.index("a.py", [("raw", (1, 2)), ("space", (3, 4))])
    assert corpus.index("a.py", [("raw", (1, 2))]) == 2
    corpus.index("a.py", [("minus", (1, 2))])
    corpus.begin((1,))
    assert corpus.draft(5) == ((2,), "a.py (minus)", 1)


def test_a_changed_file_goes_to_the_end_of_the_order():
    corpus = WorkspaceCorpus()
    corpus.index("a.py", [("raw", (1, 2))])
    corpus.index("b.py", [("raw", (1, 3))])
    corpus.begin((1,))
    assert corpus.draft(5) == ((2,), "a.py (raw)", 1)
    corpus.index("a.py", [("raw", (1, 4))])
    # The first occurrence is gone, so the newest one counts.
    assert corpus.draft(5) == ((4,), "a.py (raw)", 1)
    corpus.index("c.py", [("raw", (1, 5))])
    assert corpus.draft(5) == ((5,), "c.py (raw)", 1)


def test_documents_keep_their_names_when_others_go():
    corpus = WorkspaceCorpus()
    for number in range(5):
        corpus.index(f"{number}.py", [("raw", (100 + number, 7, 8)), ("space", (200 + number, 9))])
    for number in (0, 3):
        corpus.forget(f"{number}.py")
    corpus.begin((104,))
    assert corpus.draft(2) == ((7, 8), "4.py (raw)", 1)
    corpus.begin((202,))
    assert corpus.draft(2) == ((9,), "2.py (space)", 1)
    assert corpus.n_tokens == 15


def test_a_file_without_tokens_takes_none():
    corpus = WorkspaceCorpus()
    assert corpus.index("empty.py", [("raw", ()), ("space", ())]) == 0
    assert corpus.index("none.py", []) == 0
    assert matched(corpus, (1, 2)) == 0
    assert corpus.draft(5) == ((), "", 0)


def test_a_new_context_forgets_the_old_one():
    corpus = WorkspaceCorpus()
    corpus.index("a.py", [("raw", (1, 2, 3, 4))])
    assert matched(corpus, (1, 2, 3)) == 3
    assert matched(corpus, (3,)) == 1


def test_old_text_is_gone_and_new_text_is_there_when_a_file_changed():
    corpus = WorkspaceCorpus()
    corpus.index("a.py", [("raw", (1, 2, 3, 4, 5, 6))])
    corpus.begin((1, 2, 3))
    assert corpus.match_length() == 3
    corpus.index("a.py", [("raw", (3, 7, 8))])
    assert corpus.match_length() == 1
    assert corpus.draft(5) == ((7, 8), "a.py (raw)", 1)
    corpus.feed((4, 5))
    assert corpus.match_length() == 0
    assert corpus.draft(5) == ((), "", 0)


def test_an_index_in_the_middle_of_a_reply_finds_what_had_been_decoded_before():
    corpus = WorkspaceCorpus()
    corpus.begin((1, 2))
    corpus.feed((3,))
    assert corpus.match_length() == 0
    corpus.index("a.py", [("raw", np.array([1, 2, 3, 4, 5], dtype=np.int32))])
    corpus.feed((4,))
    assert corpus.match_length() == 4
    assert corpus.draft(5) == ((5,), "a.py (raw)", 4)


@pytest.mark.parametrize("kind", [tuple, list, lambda ids: np.array(ids, dtype=np.int32), np.array])
def test_ids_may_come_as_arrays_or_sequences(kind):
    corpus = WorkspaceCorpus()
    assert corpus.index("a.py", [("raw", kind([1, 2, 3]))]) == 3
    assert matched(corpus, kind([1, 2])) == 2


BAD = [(1, -1), (2**31,), (-(2**31) - 1,), (1.5,), ("1",), np.array([1, 2**40]), np.zeros((2, 2))]


@pytest.mark.parametrize("ids", BAD, ids=repr)
def test_ids_out_of_range_are_refused_in_one_line_and_change_nothing(ids):
    corpus = WorkspaceCorpus()
    corpus.index("a.py", [("raw", (1, 2, 3))])
    corpus.begin((1,))
    for take in (
        lambda: corpus.index("a.py", [("raw", (7,)), ("space", ids)]),
        lambda: corpus.feed(ids),
    ):
        with pytest.raises(DraftError, match="token id") as refused:
            take()
        assert refused.value.one_line().count("\n") == 0
    assert corpus.n_tokens == 3
    assert corpus.draft(5) == ((2, 3), "a.py (raw)", 1)
    with pytest.raises(DraftError, match="token id"):
        corpus.begin(ids)


def test_a_file_that_does_not_fit_is_refused_and_its_old_version_is_gone():
    corpus = WorkspaceCorpus(max_tokens=10)
    assert corpus.index("a.py", [("raw", range(4)), ("space", range(4))]) == 8
    with pytest.raises(DraftError, match=r"b\.py does not fit .* 3 tokens, and 8 of 10"):
        corpus.index("b.py", [("raw", range(3))])
    assert corpus.index("b.py", [("raw", (7, 8))]) == 10
    with pytest.raises(DraftError, match=r"a\.py does not fit"):
        corpus.index("a.py", [("raw", range(9))])
    assert corpus.n_tokens == 2
    assert matched(corpus, (0, 1)) == 0
    assert matched(corpus, (7,)) == 1
    assert MAX_TOKENS == 2_000_000


def test_changing_files_do_not_let_the_memory_grow():
    corpus = WorkspaceCorpus()
    sizes = []
    for version in range(40):
        for number in range(3):
            text = np.random.default_rng(version * 3 + number).integers(
                0, 500, 3000, dtype=np.int32
            )
            corpus.index(f"{number}.py", [("raw", text)])
        sizes.append(corpus.memory_bytes)
    assert corpus.n_tokens == 9000
    assert max(sizes) < 3 * sizes[0]


def test_forgetting_everything_leaves_an_empty_corpus():
    corpus = WorkspaceCorpus()
    empty = corpus.memory_bytes
    corpus.index("a.py", [("raw", tuple(range(30_000)))])
    assert corpus.memory_bytes > empty + 36 * 30_000
    corpus.forget("a.py")
    assert corpus.n_tokens == 0
    assert corpus.memory_bytes < empty + 1_000
    assert matched(corpus, (1, 2)) == 0


def document(number, version):
    """A file's text: a call, and tokens that say which version of which file it is."""
    return np.array([9_999, *[number * 1000 + version] * 400], dtype=np.int32)


def test_one_thread_indexes_while_another_one_drafts():
    corpus = WorkspaceCorpus()
    newest = [0] * 4  # Versions that are in; older ones are gone.

    def index():
        for version in range(1, 60):
            for number in range(4):
                corpus.index(f"{number}.py", [("raw", document(number, version))])
                newest[number] = version
            if version % 9 == 0:
                corpus.forget("0.py")

    n_drafts = 0
    with ThreadPoolExecutor(1) as pool:
        indexing = pool.submit(index)
        while not indexing.done():
            corpus.begin((5,))
            corpus.feed((9_999,))
            before = list(newest)
            corpus.match_length()
            ids, name, offset = corpus.draft(4)
            if not ids:
                continue
            n_drafts += 1
            number, version = divmod(ids[0], 1000)
            assert ids == (ids[0],) * len(ids)
            assert (name, offset) == (f"{number}.py (raw)", 1)
            assert version >= before[number]
        indexing.result()
    assert n_drafts > 0
    assert corpus.n_tokens == 4 * 401
