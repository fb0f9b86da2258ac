import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from agspec_tui import _native


def ids(tokens):
    return np.array(tokens, dtype=np.int32)


def test_a_draft_is_the_frequent_continuation_with_its_score_and_place():
    tree = _native.SuffixTree(16)
    tree.append(3, ids([1, 2, 3, 4, 5]))
    tree.append(4, ids([8, 1, 2, 3, 4, 6]))
    assert tree.draft(ids([9, 1, 2, 3]), 8) == ([4, 5], 1.5, 3, 4, 4)
    assert tree.draft(ids([9, 1, 2, 3]), 8, min_prob=0.6) == ([4], 1.0, 3, 4, 4)
    assert tree.draft(ids([9, 1, 2, 3]), 8, factor=0.4) == ([4], 1.0, 3, 4, 4)


@pytest.mark.parametrize(
    ("k", "factor", "offset", "depth", "n"),
    [
        pytest.param(5, 1.0, 0.0, 64, 5, id="k"),
        pytest.param(32, 0.25, 0.0, 64, 12, id="factor"),
        pytest.param(32, 0.0, 7.0, 64, 7, id="offset"),
        pytest.param(32, 1.0, 0.0, 24, 12, id="depth shared by match and draft"),
        pytest.param(32, 4.0, 0.0, 24, 19, id="long drafts after short matches"),
        pytest.param(0, 1.0, 0.0, 64, 0, id="no room"),
        pytest.param(-3, 1.0, 0.0, 64, 0, id="less than no room"),
        pytest.param(32, 1.0, -1000.0, 64, 0, id="negative offset"),
        pytest.param(32, 1e30, 1e30, 64, 32, id="huge factor"),
    ],
)
def test_each_limit_cuts_the_draft(k, factor, offset, depth, n):
    tree = _native.SuffixTree(depth)
    tree.append(0, ids(range(200)))
    drafted, score, _, _, _ = tree.draft(ids(range(100)), k, factor, offset)
    assert drafted == list(range(100, 100 + n))
    assert score == n


@pytest.mark.parametrize("k", [0, 8])
def test_an_empty_tree_drafts_nothing(k):
    assert _native.SuffixTree(8).draft(ids([1, 2, 3]), k) == ([], 0.0, 0, -1, 0)


@pytest.mark.parametrize("context", [[], [1]])
def test_a_match_is_not_the_whole_context(context):
    tree = _native.SuffixTree(8)
    tree.append(0, ids([1, 2, 3]))
    assert tree.draft(ids(context), 8) == ([], 0.0, 0, -1, 0)


def test_a_sequence_may_begin_anew_after_it_was_removed():
    tree = _native.SuffixTree(8)
    tree.append(0, ids([1, 2, 3]))
    tree.append(1, ids([1, 2, 4, 5, 6]))
    tree.remove(0)
    tree.append(0, ids([7, 1, 2]))
    assert tree.draft_sequence(0, 8) == ([4, 5], 1.0, 2, 1, 2)
    assert (tree.n_tokens, tree.n_sequences) == (8, 2)


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda tree: tree.append(0, ids([1, -1])), id="negative token"),
        pytest.param(lambda tree: tree.append(-1, ids([1])), id="negative sequence"),
        pytest.param(lambda tree: tree.draft(ids([1, -5, 2]), 4), id="negative in the context"),
        pytest.param(lambda tree: tree.draft(ids([1, 2]), 4, factor=-1.0), id="negative factor"),
        pytest.param(lambda tree: tree.draft(ids([1, 2]), 4, offset=float("nan")), id="no offset"),
        pytest.param(lambda tree: tree.draft(ids([1, 2]), 4, factor=float("inf")), id="no factor"),
        pytest.param(lambda tree: tree.draft(ids([1, 2]), 4, min_prob=float("nan")), id="no prob"),
        pytest.param(lambda tree: tree.draft(ids([[1, 2]]), 4), id="two rows"),
        pytest.param(lambda _: _native.SuffixTree(0), id="no depth"),
    ],
)
def test_bad_figures_are_refused(ask):
    tree = _native.SuffixTree(8)
    with pytest.raises(ValueError):
        ask(tree)
    assert tree.n_tokens == tree.n_sequences == 0


@pytest.mark.parametrize("ask", [lambda t: t.remove(3), lambda t: t.draft_sequence(3, 4)])
def test_an_unknown_sequence_is_refused(ask):
    with pytest.raises(IndexError, match="no such sequence"):
        ask(_native.SuffixTree(8))


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.uint32])
def test_other_types_of_ids_are_refused_and_not_converted(dtype):
    with pytest.raises(TypeError):
        _native.SuffixTree(8).append(0, np.zeros(3, dtype=dtype))


def test_a_run_of_equal_tokens_needs_no_more_states_than_the_depth():
    tree = _native.SuffixTree(64)
    started = time.perf_counter()
    tree.append(0, ids([7] * 100_000))
    assert tree.n_states == 65
    assert tree.draft_sequence(0, 32)[:3] == ([7] * 32, pytest.approx(32, abs=0.1), 32)
    tree.remove(0)
    assert tree.n_states == 1
    assert time.perf_counter() - started < 10


def test_text_that_is_repeated_needs_no_new_states():
    text = np.random.default_rng(1).integers(0, 9000, 20_000).astype(np.int32)
    tree = _native.SuffixTree(32)
    tree.append(0, text)
    before = tree.n_states
    tree.append(1, text)
    assert tree.n_states <= before + 2 * 32


def test_memory_is_given_back_when_most_was_removed():
    tree = _native.SuffixTree(64)
    random = np.random.default_rng(2)
    for sequence in range(10):
        tree.append(sequence, random.integers(0, 5000, 10_000).astype(np.int32))
    before = tree.memory_bytes
    for sequence in range(9):
        tree.remove(sequence)
    assert tree.memory_bytes < before / 3
    assert tree.check_integrity() == ""


def test_drafts_equal_those_of_arctic_inference(tmp_path):
    peers = os.environ.get("AGSPEC_PEERS", "")
    if not list(Path(peers).glob("lib/python3*/site-packages/arctic_inference")):
        pytest.skip("AGSPEC_PEERS names no environment with arctic-inference")
    random = np.random.default_rng(3)
    text: list[int] = []
    while len(text) < 30_000:
        start = int(random.integers(0, max(1, len(text) - 90)))
        text += text[start : start + int(random.integers(3, 90))]
        text += [int(token) for token in random.zipf(1.4, 12) % 5000]
    stream = tmp_path / "mixed.i32"
    ids(text).tofile(stream)
    command = [sys.executable, "bench/native/compare_tree.py", str(stream)]
    done = subprocess.run(
        [*command, "--sizes", "10000,30000", "--depth", "64,24,3"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"n_differ": 0') == 3 * (2 * 3 + 2)
