import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.drafting.baselines.rest import Rest
from agspec_tui.drafting.choose import make_drafter
from agspec_tui.drafting.corpus_file import open_corpus, write_corpus
from agspec_tui.drafting.global_corpus import GlobalCorpus
from agspec_tui.drafting.types import NO_DRAFT, NO_MATCH, Match, Piece
from agspec_tui.errors import DraftError
from tests.reference import rest as slow

PEERS = os.environ.get("AGSPEC_PEERS", "")
needs_peers = pytest.mark.skipif(not PEERS, reason="AGSPEC_PEERS does not name a folder of peers")
SEARCH = """
import json, sys, tempfile, draftretriever
documents, spans = json.load(sys.stdin)
with tempfile.NamedTemporaryFile() as index:
    writer = draftretriever.Writer(index.name, 200_000)
    for document in documents:
        writer.add_entry(document)
    writer.finalize()
    reader = draftretriever.Reader(index.name)
    print(json.dumps([reader.search(span, k=5000, choices=64, long=10)[0] for span in spans]))
"""


def corpus(path, documents, n_vocab=200_000):
    named = [(f"d{n}", np.array(ids, dtype=np.int32)) for n, ids in enumerate(documents)]
    write_corpus(path, named, bytes(32), n_vocab)
    return open_corpus(path)


def drafted(file, context, k=10):
    drafter = Rest(file)
    drafter.begin("s", [Piece("user", tuple(context))])
    match = drafter.match()
    return match, drafter.draft(match, k)


def test_the_most_frequent_next_token_is_followed_from_node_to_node(tmp_path):
    often, twice = [1, 2, 5, 6, 7], [1, 2, 5, 8, 9, 10]
    file = corpus(tmp_path / "c", [often, twice, twice, [1, 2, 4]] + [[1, 2, 3]] * 2)
    match, draft = drafted(file, [0, 1, 2])
    assert match == Match(2, "global")
    assert draft.ids == (5, 8, 9, 10)
    assert (draft.source, draft.document, draft.offset) == ("global", "d1", 2)


@pytest.mark.parametrize(("n", "length"), [(1, 0), (2, 2), (16, 16), (20, 16)])
def test_spans_are_two_to_sixteen_tokens(tmp_path, n, length):
    text = list(range(100, 140))
    file = corpus(tmp_path / "c", [text])
    match, draft = drafted(file, text[:20][-n:] if n < 20 else text[:20])
    assert match.length == length
    assert draft.ids == (tuple(text[20:30]) if length else ())


def test_the_context_reaches_over_short_pieces(tmp_path):
    file = corpus(tmp_path / "c", [[1, 2, 3, 4, 5]])
    drafter = Rest(file)
    drafter.begin("s", [Piece("a", (9, 1)), Piece("b", (2,)), Piece("c", (3,))])
    assert drafter.match() == Match(3, "global")
    drafter.feed([4])
    assert drafter.match() == Match(4, "global")
    assert drafter.draft(drafter.match(), 10).ids == (5,)
    drafter.begin("s", [Piece("a", (1,))])
    assert drafter.match() == NO_MATCH


def test_nothing_is_drafted_without_a_hit_a_corpus_or_room(tmp_path):
    file = corpus(tmp_path / "c", [[1, 2, 3]])
    assert drafted(file, [7, 8]) == (NO_MATCH, NO_DRAFT)
    assert drafted(file, [2, 3])[1] == NO_DRAFT
    assert drafted(file, [1, 2], k=0)[1] == NO_DRAFT
    assert drafted(None, [1, 2]) == (NO_MATCH, NO_DRAFT)
    assert make_drafter("rest").match() == NO_MATCH


def test_it_is_made_by_its_name_with_the_global_corpus(tmp_path):
    drafter = make_drafter("rest", GlobalCorpus(corpus(tmp_path / "c", [[1, 2, 3]])))
    drafter.begin("s", [Piece("user", (1, 2))])
    assert drafter.draft(drafter.match(), 10).ids == (3,)
    assert drafter.index("a.py", [("raw", [1, 2, 9])]) == 0
    drafter.forget("a.py")
    drafter.observe(1, 1)
    drafter.reset()
    assert drafter.match() == NO_MATCH


@pytest.mark.parametrize("token", [-1, 2**31])
def test_ids_out_of_range_are_refused(token):
    with pytest.raises(DraftError):
        Rest().feed([token])


def test_many_hits_are_answered_with_a_short_draft(tmp_path):
    documents = [[1, 2, *(3 + (n * 7 + i * i) % 40 for i in range(12))] for n in range(6000)]
    match, draft = drafted(corpus(tmp_path / "c", documents), [1, 2])
    assert match.length == 2
    assert 1 <= len(draft.ids) <= 4


tokens = st.integers(1, 4)
documents = st.lists(st.lists(tokens, min_size=1, max_size=25), min_size=1, max_size=6)


@settings(max_examples=100, deadline=None)
@given(documents, st.lists(tokens, max_size=20), st.integers(0, 30))
def test_drafts_equal_the_slow_ones(tmp_path_factory, documents, context, at):
    file = corpus(tmp_path_factory.getbasetemp() / "rest.corpus", documents)
    for read in (context, [*context, *documents[0][:at]]):
        match, draft = drafted(file, read)
        assert match.length == slow.span_of(documents, read)
        assert list(draft.ids) == slow.draft(documents, read)
        if draft.ids:
            source = documents[int(draft.document[1:])]
            assert tuple(source[draft.offset : draft.offset + len(draft.ids)]) == draft.ids


def search(documents, spans):
    """Paths that the peer's package finds for each span; None where it ends the process."""
    result = subprocess.run(
        [str(Path(PEERS) / "bin" / "python"), "-c", SEARCH],
        input=json.dumps([documents, spans]),
        capture_output=True,
        text=True,
    )
    return json.loads(result.stdout) if result.returncode == 0 else None


# draftretriever 0.1.1 is not the code of REST's repository. It differs from this drafter in that it
# - chooses the nodes of its tree by a random search (MCTS) instead of by their counts: a node that
#   follows less than half of the hits may be missing, and runs differ;
# - adds what followed shorter ends of the span, so that its tree holds more than the hits' text;
# - reads 4 tokens on, whatever it is told, and gives no path of a single token;
# - keeps all entries as one text, so that a hit is read on into the next document;
# - ends the process when it is asked for a span of one token.


@needs_peers
def test_the_peer_hits_the_same_spans_and_agrees_on_what_follows_most_hits(tmp_path):
    random = np.random.default_rng(3)
    lines = [random.integers(10, 60, 9).tolist() for _ in range(12)]
    text = [token for n in random.integers(0, 12, 150).tolist() for token in lines[n]]
    file = corpus(tmp_path / "c", [text])
    contexts = [text[at : at + 14] for at in range(0, 600, 7)]
    for at in range(0, 1200, 7):
        contexts.append([*random.integers(10, 60, 3).tolist(), *text[at : at + 1 + at % 3]])
    answers = [drafted(file, context) for context in contexts]
    spans = [
        context[-max(2, match.length) :]
        for context, (match, _) in zip(contexts, answers, strict=True)
    ]
    trees = search([text], spans)
    assert [bool(tree) for tree in trees] == [match.length > 0 for match, _ in answers]
    for n, share in [(1, 1.0), (2, 0.97), (3, 0.97)]:
        agreed = []
        for (_, draft), span, tree in zip(answers, spans, trees, strict=True):
            found = [tuple(each[:n]) for each in slow.continuations([text], span)]
            most = max(found, key=found.count, default=())
            if len(most) == n <= len(draft.ids) and 2 * found.count(most) > len(found):
                assert draft.ids[:n] == most
                agreed.append(most in [tuple(path[:n]) for path in tree])
        assert len(agreed) > 100
        assert sum(agreed) >= share * len(agreed)
