import numpy as np
import pytest

from agspec_tui.drafting.token_ids import checked
from agspec_tui.errors import DraftError

MANY = list(range(200))


@pytest.mark.parametrize("few_or_many", [[7], MANY])
@pytest.mark.parametrize("kind", [list, tuple, np.array, np.uint16, np.int32])
def test_token_ids_become_an_int32_array(kind, few_or_many):
    ids = checked(kind(few_or_many))
    assert ids.dtype == np.int32
    assert ids.flags.c_contiguous
    assert ids.tolist() == few_or_many


def test_an_int32_array_is_not_copied():
    ids = np.arange(5, dtype=np.int32)
    assert checked(ids) is ids
    assert checked([]).tolist() == []


@pytest.mark.parametrize("bad", [-1, 2**31, -(2**40), 1.5, "7", None, [1]])
@pytest.mark.parametrize("others", [[], MANY])
@pytest.mark.parametrize("kind", [list, lambda ids: np.array(ids, dtype=object)])
def test_what_is_no_token_id_is_refused(kind, others, bad):
    with pytest.raises(DraftError, match="whole numbers from 0 to 2147483647"):
        checked(kind([*others, bad]))


@pytest.mark.parametrize(
    "bad", [np.array([-1]), np.array([2**31]), np.array([1.0]), np.array([[1]]), np.array([True])]
)
def test_an_array_of_something_else_is_refused(bad):
    with pytest.raises(DraftError, match="whole numbers"):
        checked(bad)
