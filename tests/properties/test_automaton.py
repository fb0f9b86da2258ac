import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agspec_tui import _native
from tests.properties.texts import any_text, texts
from tests.reference import automaton as slow


def ids(tokens):
    return np.array(tokens, dtype=np.int32)


@given(any_text)
def test_match_and_copy_start_equal_the_slow_ones_at_every_position(text):
    native = _native.SuffixAutomaton()
    for n, token in enumerate(text, 1):
        native.append(ids([token]))
        # Not everywhere in long texts: what is deferred there must stay so for a while.
        if len(text) < 40 or n % (len(text) // 12) == 0 or n == len(text):
            assert native.match_length() == slow.match_length(text[:n])
            assert native.copy_start() == slow.copy_start(text[:n])
    assert native.check_integrity() == ""


@given(any_text, st.lists(st.integers(-1, 3), max_size=4))
def test_occurrences_equal_the_slow_ones(text, part):
    native = _native.SuffixAutomaton()
    native.append(ids(text))
    parts = [part, *(text[i : i + m] for i in range(0, len(text), 5) for m in (1, 2, 5, 30))]
    for each in parts:
        ends = slow.occurrences(text, each)
        expected = (len(ends), ends[0], ends[-1]) if ends else (0, -1, -1)
        assert native.occurrences(ids(each)) == expected


@given(st.lists(st.tuples(texts(max_size=25), st.booleans()), min_size=1, max_size=5))
def test_a_session_draft_is_the_slow_copy(pieces):
    native = _native.SessionCorpus()
    text: list[int] = []
    starts = []
    for number, (tokens, joined) in enumerate(pieces):
        tokens = [abs(token) for token in tokens]
        if not joined and text:
            text.append(-1 - number)
        native.begin_document(joined=joined)
        native.append(ids(tokens))
        starts.append(len(text))
        text += tokens
        start = slow.copy_start(text)
        copied = slow.copy(text, start, 9, self_reference=True)
        document = max((i for i, s in enumerate(starts) if s <= start), default=-1)
        offset = start - starts[document] if copied else 0
        assert native.draft(9) == (copied, document, offset)
        assert native.match() == slow.match(text)
    assert native.n_tokens == len(text)


documents = st.lists(st.lists(st.integers(0, 2), max_size=15), max_size=5)


@given(documents, st.lists(st.integers(0, 3), max_size=25))
def test_a_cursor_finds_the_first_occurrence_of_the_longest_known_suffix(documents, read):
    native = _native.WorkspaceCorpus()
    for document in documents:
        native.add(ids(document))
    cursor = _native.Cursor(native)
    for n, token in enumerate(read, 1):
        cursor.advance(ids([token]))
        assert cursor.length() == len(slow.longest_known_suffix(documents, read[:n]))
        assert native.draft(cursor, 6) == slow.follow_first(documents, read[:n], 6)


@given(documents, st.sets(st.integers(0, 5)), st.lists(st.integers(0, 2), max_size=15))
def test_no_match_or_draft_comes_from_a_dead_document(documents, forgotten, read):
    native = _native.WorkspaceCorpus()
    for document in documents:
        native.add(ids(document))
    native.forget(ids(sorted(forgotten)))
    cursor = _native.Cursor(native)
    for n, token in enumerate(read, 1):
        cursor.advance(ids([token]))
        length, draft = slow.follow_live(documents, forgotten, read[:n], 6)
        assert cursor.length() == length
        assert native.draft(cursor, 6) == draft
    live = [document for number, document in enumerate(documents) if number not in forgotten]
    assert native.n_tokens == sum(map(len, live))
    assert native.n_tokens + native.n_dead_tokens == sum(map(len, documents))
    assert native.check_integrity() == ""


@given(documents, st.sets(st.integers(0, 5)), st.lists(st.integers(0, 2), max_size=15), documents)
def test_a_rebuilt_corpus_equals_one_that_never_knew(documents, forgotten, read, later):
    native = _native.WorkspaceCorpus()
    numbers = [native.add(ids(document)) for document in documents]
    native.forget(ids(sorted(forgotten)))
    native.rebuild()
    kept = [number for number in numbers if number not in forgotten]
    kept += [native.add(ids(document)) for document in later]
    live = [*documents, *later]
    cursor = _native.Cursor(native)
    cursor.advance(ids(read))
    tokens, document, offset = slow.follow_first([live[n] for n in kept], read, 6)
    assert native.draft(cursor, 6) == (tokens, kept[document] if tokens else -1, offset)
    assert native.n_tokens == sum(len(live[n]) for n in kept)
    assert native.n_dead_tokens == 0
    assert native.check_integrity() == ""


changes = st.lists(
    st.one_of(
        st.lists(st.integers(0, 2), max_size=12),
        st.lists(st.integers(0, 2), min_size=60, max_size=70).map(lambda text: [1] * len(text)),
        st.integers(0, 8),
        st.just("rebuild"),
    ),
    max_size=12,
)


@given(changes, st.lists(st.integers(0, 2), max_size=12))
def test_documents_come_and_go_in_any_order(changes, read):
    native = _native.WorkspaceCorpus()
    documents: list[list[int]] = []
    present: list[int] = []  # In the automaton, live or dead.
    dead: set[int] = set()
    for change in changes:
        if change == "rebuild":
            native.rebuild()
            present = [number for number in present if number not in dead]
        elif isinstance(change, int):
            native.forget(ids([change]))
            dead |= {change} & set(present)
        else:
            present.append(native.add(ids(change)))
            documents.append(change)
        cursor = _native.Cursor(native)
        cursor.advance(ids(read))
        known = [documents[number] for number in present]
        gone = [place for place, number in enumerate(present) if number in dead]
        length, (tokens, place, offset) = slow.follow_live(known, gone, read, 6)
        assert cursor.length() == length
        assert native.draft(cursor, 6) == (tokens, present[place] if tokens else -1, offset)
    assert native.check_integrity() == ""


@given(documents, st.lists(st.integers(0, 2), min_size=1, max_size=10), documents)
def test_a_cursor_stays_true_while_its_corpus_grows(before, read, after):
    native = _native.WorkspaceCorpus()
    for document in before:
        native.add(ids(document))
    cursor = _native.Cursor(native)
    cursor.advance(ids(read))
    part = slow.longest_known_suffix(before, read)
    for document in after:
        native.add(ids(document))
    assert cursor.length() == len(part)
    tokens, _, _ = native.draft(cursor, 6)
    everything = [*before, *after]
    assert tokens == (slow.follow_first(everything, part, 6)[0] if part else [])
