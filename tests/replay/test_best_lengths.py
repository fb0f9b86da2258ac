from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agspec_tui.policy.cost import shipped
from agspec_tui.replay.best_lengths import best_time


def every_way(reusable, times):
    """All draft lengths at all positions, without any thought."""
    n = len(reusable)
    least = float("inf") if n else 0.0
    for lengths in product(range(len(times)), repeat=n):
        i, spent = 0, 0.0
        while i < n:
            k = lengths[i]
            if k > reusable[i] or i + k + 1 > n:
                break
            spent += times[k]
            i += k + 1
        else:
            least = min(least, spent)
    return least


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 6), max_size=6),
    st.lists(st.floats(0.5, 9.0), min_size=1, max_size=4),
)
def test_the_least_time_is_that_of_trying_every_way(reusable, times):
    assert best_time(reusable, times) == pytest.approx(every_way(reusable, times))


@pytest.mark.parametrize(
    ("reusable", "times", "least"),
    [
        ([], [1.0], 0.0),
        ([0, 0, 0], [1.0, 1.5], 3.0),
        ([2, 1, 0], [1.0, 1.5, 1.6], 1.6),
        # Dear drafts are not used, although they would hold.
        ([2, 1, 0], [1.0, 2.5, 3.5], 3.0),
        # All of R is not the best: two cheap passes of two tokens beat one of three and one of one.
        ([2, 0, 1, 0], [1.0, 1.2, 2.0], 2.4),
        # The last token is the bonus token, whatever R says.
        ([5], [1.0, 1.1, 1.2], 1.0),
    ],
)
def test_known_replies_have_known_least_times(reusable, times, least):
    assert best_time(reusable, times) == pytest.approx(least)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=200))
def test_no_draft_is_never_beaten_by_the_best_lengths_backwards(reusable):
    times = [shipped("cpu").at(1 + k) for k in range(17)]
    assert best_time(reusable, times) <= len(reusable) + 1e-9
