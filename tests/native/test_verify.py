import ctypes

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui import _native


def greedy(logits, draft):
    # numpy takes the first of equal values too.
    choices = logits.argmax(axis=1)
    n = 0
    while n < len(draft) and draft[n] == choices[n]:
        n += 1
    return n, int(choices[n])


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.integers(1, 70), st.integers(1, 6))
def test_verify_equals_numpy_with_ties(seed, k, n_vocab, n_values):
    random = np.random.default_rng(seed)
    logits = random.integers(0, n_values, (k + 1, n_vocab)).astype(np.float32)
    draft = logits[:k].argmax(axis=1).astype(np.int32)
    if k and seed % 2:
        draft[random.integers(k)] = random.integers(n_vocab)
    assert _native.greedy_verify(logits, draft) == greedy(logits, draft)


@pytest.mark.parametrize("n_vocab", [1, 2047, 2048, 2049, 151_936])
def test_argmax_equals_numpy_on_wide_rows(n_vocab):
    random = np.random.default_rng(n_vocab)
    for _ in range(5):
        row = random.standard_normal(n_vocab, dtype=np.float32)
        assert _native.argmax(row) == row.argmax()
    row[:] = row.max()
    assert _native.argmax(row) == 0


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([np.nan, 1, 2], 2),
        ([np.nan, np.nan], 0),
        ([-np.inf, -np.inf], 0),
        ([-np.inf, -3], 1),
        ([1, np.inf, np.inf], 1),
        ([0.0, -0.0], 0),
        ([-0.0, 0.0], 0),
    ],
)
def test_argmax_of_special_values(row, expected):
    assert _native.argmax(np.array(row, dtype=np.float32)) == expected


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5000), st.integers(1, 40))
def test_argmax_equals_one_comparison_at_a_time(seed, n_vocab, n_values):
    random = np.random.default_rng(seed)
    row = random.integers(-n_values, n_values + 1, n_vocab).astype(np.float32)
    for value in (np.nan, np.inf, -np.inf, -0.0):
        row[random.random(n_vocab) < random.choice([0, 0, 0.01, 0.5])] = value
    best, at = -np.inf, 0
    for index, value in enumerate(row.tolist()):
        if value > best:
            best, at = value, index
    assert _native.argmax(row) == at


CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5000), st.integers(1, 70), st.integers(0, 30))
def test_candidates_hold_the_best_whatever_is_added_to_the_given(seed, n_vocab, n, n_always):
    random = np.random.default_rng(seed)
    row = random.normal(0, 3, n_vocab).astype(np.float32).round(int(random.integers(0, 4)))
    always = random.integers(0, n_vocab, n_always).astype(np.int32)
    out = np.empty(n_vocab, dtype=CANDIDATE)
    found = out[: _native.top_candidates(row, n, always, out)]
    assert (np.diff(found["id"]) > 0).all()
    assert (found["logit"] == row[found["id"]]).all()
    assert not found["p"].any()
    assert set(always.tolist()) <= set(found["id"].tolist())
    shifted = row.copy()
    shifted[np.unique(always)] += np.float32(random.choice([0.0, -60.0, 60.0]))
    last = np.sort(shifted)[::-1][min(n, n_vocab) - 1]
    assert set(np.flatnonzero(shifted > last).tolist()) <= set(found["id"].tolist())


@pytest.mark.parametrize(
    ("row", "always", "n_out"), [((2, 4), [], 8), ((4,), [4], 4), ((4,), [-1], 4), ((4,), [], 3)]
)
def test_candidates_refuse_what_does_not_fit(row, always, n_out):
    with pytest.raises(ValueError, match=r"row|always"):
        _native.top_candidates(
            np.zeros(row, dtype=np.float32),
            2,
            np.array(always, dtype=np.int32),
            np.empty(n_out, dtype=CANDIDATE),
        )


def test_a_row_of_nan_is_verified_without_a_crash():
    logits = np.full((3, 40), np.nan, dtype=np.float32)
    assert _native.greedy_verify(logits, np.array([0, 5], dtype=np.int32)) == (1, 0)


def test_negative_drafted_ids_are_rejected_by_the_target():
    logits = np.zeros((2, 4), dtype=np.float32)
    assert _native.greedy_verify(logits, np.array([-1], dtype=np.int32)) == (0, 0)


@pytest.mark.parametrize(
    ("shape", "k"), [((2, 4), 0), ((2, 4), 2), ((1, 0), 0), ((0, 4), 0), ((4,), 0)]
)
def test_shapes_that_do_not_fit_are_refused(shape, k):
    with pytest.raises(ValueError, match="logits"):
        _native.greedy_verify(np.zeros(shape, dtype=np.float32), np.zeros(k, dtype=np.int32))


@pytest.mark.parametrize(
    "logits",
    [
        np.zeros((1, 4)),
        np.zeros((1, 4), dtype=np.float16),
        np.zeros((4, 8), dtype=np.float32).T[:1],
        [[0.0, 1.0]],
    ],
)
def test_logits_are_never_converted_or_copied(logits):
    with pytest.raises(TypeError):
        _native.greedy_verify(logits, np.zeros(0, dtype=np.int32))


@pytest.mark.parametrize("shape", [(0,), (1, 2)])
def test_argmax_needs_one_row(shape):
    with pytest.raises(ValueError, match="1-d"):
        _native.argmax(np.zeros(shape, dtype=np.float32))


def test_the_c_callback_reads_the_flag():
    flag, other = _native.CancelFlag(), _native.CancelFlag()
    callback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(flag.callback_address)
    assert (callback(flag.data_address), flag.is_set()) == (False, False)
    flag.set()
    assert (callback(flag.data_address), flag.is_set()) == (True, True)
    assert callback(other.data_address) is False
    flag.clear()
    assert (callback(flag.data_address), flag.is_set()) == (False, False)
