"""Greedy verification, and the flag that aborts a running decode: thin faces of the compiled core.

Greedy decoding chooses the arg-max of each logit row, the lowest id on an exact tie. A drafted
token is accepted while it is that choice; the first choice after the accepted ones is the bonus
token. No logit row is copied, and rows behind the first rejection are never read.
"""

from collections.abc import Sequence

import numpy as np

from agspec_tui._native import CancelFlag, argmax, greedy_verify
from agspec_tui.engine.types import Logits

__all__ = ["CancelFlag", "GreedyChooser", "argmax"]


class GreedyChooser:
    """Chooses the most probable token at every position."""

    def verify(self, logits: Logits, draft: Sequence[int]) -> tuple[int, int]:
        """Accepted length and bonus token; see `Chooser.verify` for the shapes."""
        return greedy_verify(logits, np.asarray(draft, dtype=np.int32))

    def resume(self, said: Sequence[int]) -> None:
        """Nothing: the choice depends on the row alone."""
