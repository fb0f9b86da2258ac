"""Compiled core of agspec-tui: verification and retrieval over token ids.

Arrays are taken as they are: float32 for logits, int32 for token ids, C order. Another type is a
`TypeError`, since converting a row of logits would cost more than reading it. Functions that read
many values release the interpreter lock.
"""

from typing import ClassVar, final

import numpy as np
import numpy.typing as npt

def greedy_verify(logits: npt.NDArray[np.float32], draft: npt.NDArray[np.int32]) -> tuple[int, int]:
    """Accept drafted tokens while they are the target's greedy choice.

    Rows behind the first rejection are not read.

    Args:
        logits: rows for the newest token and each drafted one, shape (len(draft) + 1, n_vocab).
        draft: drafted token ids, shape (k,).

    Returns:
        How many were accepted, and the bonus token chosen after them.

    Raises:
        ValueError: the shapes do not fit each other.
    """

def argmax(row: npt.NDArray[np.float32]) -> int:
    """Id of the largest logit of a row; the lowest id on exact ties.

    NaN is never larger than anything; a row of nothing but NaN and -inf gives 0.

    Raises:
        ValueError: the row is not one-dimensional or is empty.
    """

@final
class CancelFlag:
    """A flag that the target's compute threads read without the interpreter.

    Keep the object alive for as long as its addresses are in use.
    """

    callback_address: ClassVar[int]
    """Address of a C function `bool (void *)`: whether the flag at its argument is set."""
    def __init__(self) -> None:
        """Make a flag that is not set."""
    @property
    def data_address(self) -> int:
        """Address of the flag, the argument for the callback."""
    def set(self) -> None:
        """Ask the decode to stop."""
    def clear(self) -> None:
        """Take the request back."""
    def is_set(self) -> bool:
        """Whether a stop was asked for."""
