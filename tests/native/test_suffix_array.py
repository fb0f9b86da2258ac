import gc
import threading

import numpy as np
import pytest

from agspec_tui import _native


def ids(tokens):
    return np.array(tokens, dtype=np.int32)


def array_of(text, n_vocab=16):
    return _native.SuffixArray(ids(text), *_native.sort_suffixes(ids(text)), n_vocab)


def following(text, read, n_vocab=16):
    cursor = _native.ArrayCursor(array_of(text, n_vocab))
    cursor.advance(ids(read))
    return cursor


def fibonacci(n):
    a, b = [1], [0]
    while len(b) < n:
        a, b = b, b + a
    return b[:n]


@pytest.mark.parametrize(
    ("text", "read", "length", "draft"),
    [
        ([1, 2, 3, 4, -1, 1, 2, 5, 6, 7, -2, 1, 2, 3, 4], [1, 2], 2, ([5, 6, 7], 7)),
        ([1, 2, 3, 4, 5, -1, 1, 2, 6, 7, 8, -2, 1, 2, 3, 4, 5], [1, 2], 2, ([3, 4, 5], 14)),
        ([1, 2, 3, 4, 5, -1, 1, 2, 6, 7, 8, 9], [9, 1, 2], 2, ([6, 7, 8, 9], 8)),
        ([1, 2, 3, -1, 1, 2], [1, 2], 2, ([3], 2)),
        ([1, 2, -1, 1, 2], [1, 2], 2, ([], -1)),
        ([1, 2, 3], [4], 0, ([], -1)),
        ([1, 2, 3], [-1], 0, ([], -1)),
        ([1, 2, 3], [1, -1, 2], 1, ([3], 2)),
        ([], [1], 0, ([], -1)),
    ],
)
def test_the_most_frequent_group_then_the_most_recent_is_drafted(text, read, length, draft):
    cursor = following(text, read)
    assert cursor.length() == length
    assert cursor.draft(10) == draft


@pytest.mark.parametrize("k", [0, -1])
def test_no_room_gives_no_draft(k):
    assert following([1, 2, 3], [1]).draft(k) == ([], -1)


@pytest.mark.parametrize("token", [16, 17, 2**31 - 1, -(2**31)])
def test_context_tokens_out_of_range_match_nothing(token):
    cursor = following([1, 2, 3, 15], [1, token])
    assert (cursor.length(), cursor.draft(4)) == (0, ([], -1))
    cursor.advance(ids([2]))
    assert cursor.draft(4) == ([3, 15], 2)


def test_reset_forgets_the_context():
    cursor = following([1, 2, 3], [1, 2])
    assert cursor.length() == 2
    cursor.reset()
    assert cursor.length() == 0
    cursor.advance(ids([2]))
    assert cursor.length() == 1


@pytest.mark.parametrize(
    ("text", "order", "shared", "n_vocab", "fault"),
    [
        ([1, 2], [0], [0, 0], 4, "length"),
        ([1, 2], [0, 1], [0], 4, "length"),
        ([1, 2], [0, 0], [0, 0], 4, "every position"),
        ([1, 2], [0, 2], [0, 0], 4, "every position"),
        ([1, 2], [0, -1], [0, 0], 4, "every position"),
        ([1, 4], [0, 1], [0, 0], 4, "n_vocab"),
        ([1, 2], [0, 1], [0, 0], -1, "n_vocab"),
        ([1, 2], [0, 1], [0, 0], 2**24 + 1, "n_vocab"),
    ],
)
def test_what_could_lead_out_of_the_text_is_refused(text, order, shared, n_vocab, fault):
    with pytest.raises(ValueError, match=fault):
        _native.SuffixArray(ids(text), ids(order), np.array(shared, dtype=np.uint8), n_vocab)


def test_wrong_prefixes_and_orders_are_harmless_and_found_by_the_check():
    text = ids([1, 2, 3, 1, 2, 4, -1, 1, 2, 3, 1, 2])
    order, shared = _native.sort_suffixes(text)
    for wrong_order, wrong_shared in [(order[::-1].copy(), shared), (order, shared ^ 0xFF)]:
        array = _native.SuffixArray(text, wrong_order, wrong_shared, 5)
        assert "wrong" in array.check_integrity() or "shares" in array.check_integrity()
        cursor = _native.ArrayCursor(array)
        for token in [1, 2, 3, 1, 2, 4]:
            cursor.advance(ids([token]))
            assert cursor.length() <= 6
            drafted, position = cursor.draft(3)
            assert drafted == text[position : position + len(drafted)].tolist()


@pytest.mark.parametrize("dtype", [np.int64, np.uint32, np.float32])
def test_other_types_of_ids_are_refused_and_not_converted(dtype):
    with pytest.raises(TypeError):
        _native.sort_suffixes(np.zeros(3, dtype=dtype))


def test_ids_must_be_one_row():
    with pytest.raises(ValueError, match="1-d"):
        _native.sort_suffixes(np.zeros((2, 2), dtype=np.int32))


def test_a_cursor_keeps_the_array_and_its_data_alive():
    cursor = following(list(range(10)), [1, 2])
    gc.collect()
    assert cursor.draft(3) == ([3, 4, 5], 3)


def test_read_only_arrays_are_taken_as_they_are():
    text = ids([1, 2, 3])
    order, shared = _native.sort_suffixes(text)
    for each in (text, order, shared):
        each.setflags(write=False)
    array = _native.SuffixArray(text, order, shared, 4)
    assert array.find(ids([2])) == (1, 2)
    assert array.memory_bytes < 500


@pytest.mark.parametrize(
    "text",
    [
        [0] * 300_000,
        fibonacci(300_000),
        list(range(500)) * 600,
        [*([0] * 999), -1] * 300,
        [1, 0] * 150_000,
    ],
    ids=["one token", "fibonacci", "long period", "many documents", "short period"],
)
def test_adversarial_texts_are_sorted_and_answered(text):
    array = array_of(text, 500)
    assert array.check_integrity() == ""
    cursor = _native.ArrayCursor(array)
    cursor.advance(ids(text[:600]))
    assert cursor.length() == 252
    drafted, position = cursor.draft(5)
    assert drafted == [token for token in text[position : position + 5] if token >= 0]
    cursor.reset()
    cursor.advance(ids(text[:1]))
    assert cursor.length() == 1
    assert len(cursor.draft(5)[0]) >= 3


def test_a_visit_cap_bounds_the_search_and_still_drafts():
    text = [token for n in range(200) for token in (0, 1 + n % 7, 8 + n % 5, 1 + n % 3, 9)]
    cursor = following(text, [0])
    exact = cursor.draft(3)
    assert cursor.draft(3, visit_cap=100_000) == exact
    for cap in (1, 2, 5):
        assert len(cursor.draft(3, visit_cap=cap)[0]) == 3
    assert cursor.draft(3, visit_cap=0) == ([], -1)


def test_threads_with_cursors_of_their_own_agree():
    text = fibonacci(5_000)
    array = array_of(text)
    found = []

    def walk():
        cursor = _native.ArrayCursor(array)
        drafts = []
        for start in range(0, 2_000, 7):
            cursor.advance(ids(text[start : start + 7]))
            drafts.append((cursor.length(), cursor.draft(4)))
        found.append(drafts)

    threads = [threading.Thread(target=walk) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(drafts == found[0] for drafts in found)
