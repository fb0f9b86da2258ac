"""The check that everything passes which is put into a corpus or a context."""

import hashlib
from array import array
from collections.abc import Sequence

import numpy as np

from agspec_tui.drafting.types import Ids
from agspec_tui.errors import DraftError

_LARGEST = 2**31 - 1
_FEW = 64
"""Tokens below which numpy needs longer than the interpreter to find the least of them."""


def checked(ids: Ids | Sequence[int]) -> Ids:
    """Token ids as an array, shape (len(ids),).

    Raises:
        DraftError: one of them is negative, or no 32-bit integer; or they are not in one row.
    """
    if not len(ids):
        return np.empty(0, dtype=np.int32)
    if isinstance(ids, np.ndarray):
        return _checked_array(ids)
    try:
        tokens = array("i", ids)
    except (TypeError, OverflowError) as error:
        raise _refusal() from error
    view = np.frombuffer(tokens, np.int32)
    if (min(tokens) if len(tokens) < _FEW else view.min()) < 0:
        raise _refusal()
    return view


def digest(ids: Ids) -> bytes:
    """What tells one run of tokens from another: 16 bytes of BLAKE2b, whatever its length."""
    return hashlib.blake2b(ids.tobytes(), digest_size=16).digest()


def _checked_array(ids: Ids) -> Ids:
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise _refusal()
    if ids.min() < 0 or ids.max() > _LARGEST:
        raise _refusal()
    return np.ascontiguousarray(ids, dtype=np.int32)


def _refusal() -> DraftError:
    return DraftError(f"token ids must be whole numbers from 0 to {_LARGEST}")
