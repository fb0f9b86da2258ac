import numpy as np
import pytest

from agspec_tui.commands import LoadModel
from agspec_tui.engine.llama import LlamaBackend
from agspec_tui.engine.near_tie import NearTie, compare, first_parting
from agspec_tui.engine.types import Part


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


@pytest.mark.model
def test_only_tokens_with_nearly_the_same_logit_are_tied(smollm2):
    backend = LlamaBackend(LoadModel(path=str(smollm2), name="m", n_ctx=512))
    ids = backend.tokenize("The capital of France is the city of", special=False).tolist()
    row = backend.decode([Part(ids, 0, 0, 1)])[0].copy()
    first, second = (int(token) for token in np.argsort(-row)[:2])
    assert compare(backend, ids, first, first).is_proven
    apart = compare(backend, ids, first, second)
    assert apart.gap == pytest.approx(row[first] - row[second], abs=2 * apart.rounding + 1e-3)
    worst = int(row.argmin())
    assert not compare(backend, ids, first, worst).is_proven
    # The end of the generation is the likeliest token that ends it.
    ended = compare(backend, ids, first, None)
    best_end = max(row[token] for token in range(backend.n_vocab) if backend.is_eog(token))
    assert ended.gap == pytest.approx(row[first] - best_end, abs=2 * ended.rounding + 1e-3)
    backend.close()
