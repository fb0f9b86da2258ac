"""Whether two replies part for no other reason than rounding.

Kernels for passes of different sizes add up in another order, so that a logit depends a little on
how many tokens a pass had. Attention adds up cells of the cache in their order, so that it depends
as much on which cells the tokens lie in, and that on who else decodes. Where two tokens' logits are
nearer to each other than that, either of them is the target's choice. It is shown by decoding the
text up to there in several ways, and comparing what that moves with what lies between them. All
ways are such as the replies may have had: what others do explains nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import lcm

import numpy as np
import numpy.typing as npt

from agspec_tui.engine.types import Backend, Part

_N_RETOLD = 32
"""Tokens before the parting that are decoded in both ways, or a few less."""
_OTHER_SLOT = 1
"""A sequence for what is decoded beside the text, which is in the first one."""
_Row = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class NearTie:
    """How near two tokens are, and how far rounding moves logits there."""

    gap: float
    """Difference of both logits, of the two ways of decoding the smaller one."""
    rounding: float
    """Largest difference of a logit between one way and another."""

    @property
    def is_proven(self) -> bool:
        """Whether rounding alone may swap the tokens: each may move by as much."""
        return self.gap <= 2 * self.rounding


@dataclass(frozen=True, slots=True)
class Ways:
    """How replies may have been decoded."""

    sizes: tuple[int, int] = (1, _N_RETOLD)
    """Tokens of the smallest and the largest pass; larger ones than 32 are as that one."""
    beside: bool = False
    """Whether others were decoded at the same time, whose tokens lie between theirs."""


def ways_of(backend: Backend, batch: int) -> Ways:
    """The ways of replies of which so many are decoded at once; only one alone stays exact."""
    if batch > 1:
        return Ways(beside=True)
    return Ways((1, min(backend.n_exact or _N_RETOLD, _N_RETOLD)))


def first_parting(one: Sequence[int], other: Sequence[int]) -> int | None:
    """Position of the first token that differs; None if all are the same."""
    for position, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return position
    return None if len(one) == len(other) else min(len(one), len(other))


def compare(
    backend: Backend,
    ids: Sequence[int],
    one: int | None,
    other: int | None,
    ways: Ways,
) -> NearTie:
    """Compare two tokens as continuations of a text. The cache must be empty, and is so again.

    Args:
        backend: the target.
        ids: token ids of the text.
        one: a token; None for the end of the generation.
        other: another one.
        ways: how the replies may have been decoded; see `ways_of`.
    """
    # The same tokens in all ways, in whole passes.
    whole = lcm(*ways.sizes)
    n_most = min(len(ids), max(_N_RETOLD, whole))
    n_retold = n_most // whole * whole or len(ids)
    rows = [_row_behind(backend, ids, n_retold, size) for size in ways.sizes]
    if ways.beside:  # one cell that is another's moves all that follow
        backend.trim(0, 0)
        backend.decode([Part(ids[:1], 0, _OTHER_SLOT, 0)])
        rows.append(_row_behind(backend, ids, n_retold, ways.sizes[0]))
        backend.trim(_OTHER_SLOT, 0)
    backend.trim(0, 0)
    a, b = (_or_end(backend, rows[0], token) for token in (one, other))
    return NearTie(
        gap=float(min(abs(row[a] - row[b]) for row in rows)),
        rounding=float(max(np.abs(rows[0] - row).max() for row in rows[1:])),
    )


def _or_end(backend: Backend, row: _Row, token: int | None) -> int:
    """The token, or of those that end a generation the likeliest."""
    if token is not None:
        return token
    return next(int(found) for found in np.argsort(-row) if backend.is_eog(int(found)))


def _row_behind(backend: Backend, ids: Sequence[int], n_retold: int, size: int) -> _Row:
    """The logits behind a text whose last `n_retold` tokens are decoded in passes of `size`.

    All rows of these passes are asked for, as of a draft: the last layer is computed for as many
    tokens as have a row.
    """
    backend.trim(0, 0)
    start = len(ids) - n_retold
    for begin in range(0, start, backend.n_batch):
        part = ids[begin : min(start, begin + backend.n_batch)]
        backend.decode([Part(part, begin, 0, 0)])
    row = np.empty(0, np.float32)
    for begin, end in pairwise([*range(start, len(ids), size), len(ids)]):
        row = backend.decode([Part(ids[begin:end], begin, 0, end - begin)])[-1].copy()
    return row
