import numpy as np
import pytest

from agspec_tui.commands import LoadModel
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.near_tie import NearTie, Ways, compare, first_parting, ways_of
from agspec_tui.engine.types import Part
from tests.engine.ngram_backend import NgramBackend


@pytest.mark.parametrize(
    ("one", "other", "position"),
    [
        ((1, 2, 3), (1, 2, 3), None),
        ((1, 2, 3), (1, 5, 3), 1),
        ((1, 2, 3), (1, 2), 2),
        ((), (4,), 0),
        ((), (), None),
    ],
)
def test_replies_part_at_the_first_token_that_differs(one, other, position):
    assert first_parting(one, other) == position


@pytest.mark.parametrize(("gap", "proven"), [(0.0, True), (0.02, True), (0.021, False)])
def test_tokens_are_tied_if_rounding_may_swap_them(gap, proven):
    assert NearTie(gap, 0.01).is_proven is proven


@pytest.mark.parametrize(("gap", "proven"), [(0.0, True), (1e-6, False)])
def test_where_all_ways_are_exact_only_equal_logits_are_tied(gap, proven):
    assert NearTie(gap, 0.0).is_proven is proven


@pytest.mark.parametrize(
    ("n_exact", "batch", "sizes"),
    [
        (7, 1, (1, 7)),
        (7, 2, (1, 32)),
        (7, 8, (1, 32)),
        (0, 1, (1, 32)),
        (0, 9, (1, 32)),
        (512, 1, (1, 32)),
        (512, 9, (1, 32)),
    ],
)
def test_replies_are_looked_at_in_passes_that_they_had(n_exact, batch, sizes):
    backend = NgramBackend(1, n_exact=n_exact)
    assert ways_of(backend, batch) == Ways(sizes, beside=batch > 1)


class Listening(NgramBackend):
    def __init__(self, **settings):
        super().__init__(1, **settings)
        self.passes = []

    def decode(self, parts):
        self.passes.append((len(parts[0].ids), parts[0].n_logits))
        return super().decode(parts)


@pytest.mark.parametrize(
    ("sizes", "n_ids", "passes"),
    [
        ((1, 7), 60, [(32, 0), *[(1, 1)] * 28, (32, 0), *[(7, 7)] * 4]),
        ((8, 32), 60, [(28, 0), *[(8, 8)] * 4, (28, 0), (32, 32)]),
        ((1, 32), 33, [(1, 0), *[(1, 1)] * 32, (1, 0), (32, 32)]),
        ((1, 7), 10, [(3, 0), *[(1, 1)] * 7, (3, 0), (7, 7)]),
        ((8, 32), 10, [(8, 8), (2, 2), (10, 10)]),  # too short for both
    ],
)
def test_passes_are_whole_and_all_their_rows_are_asked_for(sizes, n_ids, passes):
    backend = Listening(n_batch=32)
    found = compare(backend, [1 + n % 5 for n in range(n_ids)], 1, 2, Ways(sizes))
    assert backend.passes == passes
    assert found.rounding == 0.0
    assert backend.cache == {0: []}


def test_beside_others_the_text_is_decoded_behind_a_cell_of_nobody_too():
    backend = Listening(n_batch=32)
    compare(backend, [1 + n % 5 for n in range(32)], 1, 2, Ways((8, 32), beside=True))
    assert backend.passes == [*[(8, 8)] * 4, (32, 32), (1, 0), *[(8, 8)] * 4]
    assert not any(backend.cache.values())


@pytest.mark.model
def test_where_cells_lie_moves_logits_as_much_as_the_size_of_passes(smollm2):
    backend = LlamaBackend(LoadModel(path=str(smollm2), name="m", n_ctx=512))
    if not backend.device.startswith("CPU"):
        pytest.skip("kernels of this device add up otherwise")
    text = "The capital of France is the city of Paris. " * 8
    ids = backend.tokenize(text, special=False).tolist()
    assert compare(backend, ids, 1, 2, Ways((1, 1))).rounding == 0.0
    assert compare(backend, ids, 1, 2, Ways((1, 1), beside=True)).rounding > 0.01
    backend.close()


@pytest.mark.model
def test_only_tokens_with_nearly_the_same_logit_are_tied(smollm2):
    backend = LlamaBackend(LoadModel(path=str(smollm2), name="m", n_ctx=512))
    ids = backend.tokenize("The capital of France is the city of", special=False).tolist()
    row = backend.decode([Part(ids, 0, 0, 1)])[0].copy()
    first, second = (int(token) for token in np.argsort(-row)[:2])
    assert compare(backend, ids, first, first, Ways()).is_proven
    exact = compare(backend, ids, first, second, Ways((1, min(32, backend.n_exact or 1))))
    assert exact.rounding == 0.0
    apart = compare(backend, ids, first, second, Ways())
    assert apart.gap == pytest.approx(row[first] - row[second], abs=2 * apart.rounding + 1e-3)
    worst = int(row.argmin())
    assert not compare(backend, ids, first, worst, Ways()).is_proven
    # The end of the generation is the likeliest token that ends it.
    ended = compare(backend, ids, first, None, Ways())
    best_end = max(row[token] for token in range(backend.n_vocab) if backend.is_eog(token))
    assert ended.gap == pytest.approx(row[first] - best_end, abs=2 * ended.rounding + 1e-3)
    backend.close()
