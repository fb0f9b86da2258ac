"""Verification by the compiled core, and the flag that aborts a running decode.

Greedy decoding chooses the arg-max of each logit row, the lowest id on an exact tie. A drafted
token is accepted while it is that choice; the first choice after the accepted ones is the bonus
token. No logit row is copied, and rows behind the first rejection are never read.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from agspec_tui._native import CancelFlag, argmax, greedy_verify, top_candidates
from agspec_tui.engine.types import Logits
from agspec_tui.errors import EngineError

__all__ = ["CANDIDATE", "CancelFlag", "GreedyChooser", "accept", "argmax", "top_candidates"]

CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""One element of what `top_candidates` writes; llama.cpp's `llama_token_data` has this layout."""


class GreedyChooser:
    """Chooses the most probable token at every position."""

    def verify(self, logits: Logits, draft: Sequence[int]) -> tuple[int, int]:
        """Accepted length and bonus token; see `Chooser.verify` for the shapes."""
        return greedy_verify(logits, np.asarray(draft, dtype=np.int32))

    def resume(self, said: Sequence[int]) -> None:
        """Nothing: the choice depends on the row alone."""


def accept(
    choose: Callable[[npt.NDArray[np.float32]], int], logits: Logits, draft: Sequence[int]
) -> tuple[int, int]:
    """Verify with a target that chooses row by row; see `Chooser.verify`.

    Since each row is chosen from once, and only after all rows before it were accepted, `choose`
    draws and keeps exactly what it would without a draft: the same tokens for the same seed.

    Args:
        choose: the target's choice from one row, shape (n_vocab,); it may keep it as committed.
        logits: rows for the newest token and each drafted one, shape (len(draft) + 1, n_vocab).
        draft: drafted token ids.

    Raises:
        EngineError: there are too few rows.
    """
    if len(logits) <= len(draft):
        raise EngineError("verification needs one more logit row than drafted tokens")
    for n_accepted, drafted in enumerate(draft):
        token = choose(logits[n_accepted])
        if token != drafted:
            return n_accepted, token
    return len(draft), choose(logits[len(draft)])
