from agspec_tui.drafting.workspace_corpus import WorkspaceCorpus


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
    assert corpus.draft(5) == ((3,), "b.py (raw)", 1)


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


def test_forgetting_everything_leaves_an_empty_corpus():
    corpus = WorkspaceCorpus()
    empty = corpus.memory_bytes
    corpus.index("a.py", [("raw", tuple(range(30_000)))])
    assert corpus.memory_bytes > empty + 36 * 30_000
    corpus.forget("a.py")
    assert corpus.n_tokens == 0
    assert corpus.memory_bytes < empty + 1_000
    assert matched(corpus, (1, 2)) == 0
