import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agspec_tui import _native
from tests.properties.texts import fibonacci_word
from tests.reference.suffix_tree import Trie


def ids(tokens):
    return np.array(tokens, dtype=np.int32)


periodic = st.builds(
    lambda period, n, tail: (period * n)[:70] + tail,
    st.lists(st.integers(0, 2), min_size=1, max_size=9),
    st.integers(1, 70),
    st.lists(st.integers(0, 3), max_size=4),
)
adversarial = st.one_of(
    periodic,
    st.integers(1, 80).map(fibonacci_word),
    st.integers(1, 80).map(lambda n: [7] * n),
    st.lists(st.integers(0, 5), max_size=40),
    st.lists(st.integers(0, 1), max_size=60),
)
append = st.tuples(st.just("append"), st.integers(0, 3), adversarial)
append_more = st.tuples(st.just("append"), st.integers(0, 3), st.lists(st.integers(0, 2)))
remove = st.tuples(st.just("remove"), st.integers(0, 3), st.just([]))
compact = st.tuples(st.just("compact"), st.just(0), st.just([]))
histories = st.lists(st.one_of(append, append_more, append_more, remove, compact), max_size=8)
depths = st.one_of(st.integers(1, 6), st.sampled_from([8, 24]))
rules = st.tuples(
    st.integers(0, 12),
    st.sampled_from([0.0, 0.5, 1.0, 1.3, 4.0]),
    st.sampled_from([-1.0, 0.0, 0.7, 3.0]),
    st.sampled_from([0.0, 0.1, 0.34, 0.5, 1.0, 1.5]),
)


def play(depth, history):
    """The same history on both trees; a removed sequence may begin anew."""
    fast, slow = _native.SuffixTree(depth), Trie(depth)
    for what, sequence, tokens in history:
        if what == "append":
            fast.append(sequence, ids(tokens))
            slow.append(sequence, tokens)
        elif what == "compact":
            fast.compact()
        elif slow.sequences.get(sequence):
            fast.remove(sequence)
            slow.remove(sequence)
    return fast, slow


@given(depths, histories, rules, st.lists(st.integers(0, 3), max_size=30))
def test_drafts_scores_and_match_lengths_equal_the_slow_ones(depth, history, rule, foreign):
    fast, slow = play(depth, history)
    contexts = [foreign]
    for text in slow.sequences.values():
        contexts += [text, text[: len(text) // 2], text[: len(text) // 3], foreign[:2] + text[-5:]]
    for context in contexts:
        assert fast.draft(ids(context), *rule)[:3] == slow.draft(context, *rule)
    assert fast.n_tokens == sum(map(len, slow.sequences.values()))
    assert fast.check_integrity() == ""


@given(depths, histories, rules)
def test_the_end_of_a_sequence_is_the_context_of_its_last_depth_tokens(depth, history, rule):
    fast, slow = play(depth, history)
    for sequence, text in slow.sequences.items():
        if text:
            drafted = fast.draft_sequence(sequence, *rule)
            assert drafted == fast.draft(ids(text[-depth:]), *rule)
            assert drafted[:3] == slow.draft(text[-depth:], *rule)


@given(depths, histories, st.lists(st.integers(0, 3), max_size=9))
def test_counts_equal_the_slow_ones(depth, history, foreign):
    fast, slow = play(depth, history)
    parts = [foreign]
    for text in slow.sequences.values():
        parts += [text[i : i + m] for i in range(0, len(text), 7) for m in (1, 2, 5, depth + 1)]
    for part in parts:
        if part:
            assert fast.count(ids(part)) == slow.node(part).count


@given(depths, histories)
def test_a_draft_names_the_most_recent_place_of_its_first_token(depth, history):
    fast, slow = play(depth, history)
    appended: list[tuple[int, int]] = []
    for what, sequence, tokens in history:
        if what == "remove":
            appended = [each for each in appended if each[0] != sequence]
        elif what == "append":
            before = sum(each[0] == sequence for each in appended)
            appended += [(sequence, before + i) for i in range(len(tokens))]
    for text in slow.sequences.values():
        for context in (text, text[: len(text) // 2]):
            tokens, _, m, *place = fast.draft(ids(context), 8)
            if tokens:
                wanted = [*context[len(context) - m :], tokens[0]]
                ends = [
                    (sequence, end)
                    for sequence, end in appended
                    if slow.sequences[sequence][max(0, end - m) : end + 1] == wanted
                ]
                assert tuple(place) == ends[-1]
