"""Whether two replies part for no other reason than rounding.

Kernels for passes of different sizes add up in another order, so that a logit depends a little on
how many tokens a pass had. Where two tokens' logits are nearer to each other than that, either of
them is the target's choice. It is shown by decoding the text up to there in two ways, its last
tokens one by one and all in one pass, and comparing what that moves with what lies between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from agspec_tui.engine.types import Backend, Part

_N_RETOLD = 32
"""Tokens before the parting that are decoded in both ways."""
_Row = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class NearTie:
    """How near two tokens are, and how far rounding moves logits there."""

    gap: float
    """Difference of both logits, of the two ways of decoding the smaller one."""
    rounding: float
    """Largest difference of a logit between one by one and all in one pass."""

    @property
    def is_proven(self) -> bool:
        """Whether rounding alone may swap the tokens: each may move by as much."""
        return self.gap <= 2 * self.rounding


def first_parting(one: Sequence[int], other: Sequence[int]) -> int | None:
    """Position of the first token that differs; None if all are the same."""
    for position, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return position
    return None if len(one) == len(other) else min(len(one), len(other))


def compare(backend: Backend, ids: Sequence[int], one: int | None, other: int | None) -> NearTie:
    """Compare two tokens as continuations of a text. The cache must be empty, and is so again.

    Args:
        backend: the target.
        ids: token ids of the text.
        one: a token; None for the end of the generation.
        other: another one.
    """
    single, together = _row_behind(backend, ids, 1), _row_behind(backend, ids, _N_RETOLD)
    backend.trim(0, 0)
    a, b = (_or_end(backend, single, token) for token in (one, other))
    return NearTie(
        gap=float(min(abs(row[a] - row[b]) for row in (single, together))),
        rounding=float(np.abs(single - together).max()),
    )


def _or_end(backend: Backend, row: _Row, token: int | None) -> int:
    """The token, or of those that end a generation the likeliest."""
    if token is not None:
        return token
    return next(int(found) for found in np.argsort(-row) if backend.is_eog(int(found)))


def _row_behind(backend: Backend, ids: Sequence[int], size: int) -> _Row:
    """The logits behind a text whose last tokens are decoded in passes of `size`."""
    backend.trim(0, 0)
    start = max(0, len(ids) - _N_RETOLD)
    borders = [*range(0, start, backend.n_batch), *range(start, len(ids), size), len(ids)]
    row = np.empty(0, np.float32)
    for begin, end in pairwise(borders):
        row = backend.decode([Part(ids[begin:end], begin, 0, 1)])[0].copy()
    return row
