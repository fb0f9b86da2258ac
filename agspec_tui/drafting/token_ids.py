"""The check that everything passes which is put into a corpus or a context."""

import hashlib
from array import array
from collections.abc import Sequence

import numpy as np

from agspec_tui.drafting.types import Ids
from agspec_tui.errors import DraftError

_LARGEST = 2**31 - 1


def checked(ids: Ids | Sequence[int]) -> Ids:
    """Token ids as an array, shape (len(ids),).

    Raises:
        DraftError: one of them is negative, or no 32-bit integer; or they are not in one row.
    """
    if not len(ids):
        return np.empty(0, dtype=np.int32)
    try:
        tokens = ids if isinstance(ids, np.ndarray) else np.frombuffer(array("i", ids), np.int32)
    except (TypeError, OverflowError) as error:
        raise _refusal() from error
    if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
        raise _refusal()
    if tokens.min() < 0 or tokens.max() > _LARGEST:
        raise _refusal()
    return np.ascontiguousarray(tokens, dtype=np.int32)


def digest(ids: Ids) -> bytes:
    """What tells one run of tokens from another: 16 bytes of BLAKE2b, whatever its length."""
    return hashlib.blake2b(ids.tobytes(), digest_size=16).digest()


def _refusal() -> DraftError:
    return DraftError(f"token ids must be whole numbers from 0 to {_LARGEST}")
