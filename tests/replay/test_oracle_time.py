import pytest
from hypothesis import given
from hypothesis import strategies as st

from agspec_tui.policy.types import Evidence
from agspec_tui.replay.oracle import Oracle, oracle_time


@pytest.mark.parametrize(
    ("reusable", "times", "spent"),
    [
        ([], [1.0], 0.0),
        ([0, 0, 0], [1.0, 1.5], 3.0),
        ([2, 1, 0], [1.0, 1.5, 1.6], 1.6),
        ([2, 1, 0], [1.0, 2.5, 3.5], 3.5),  # K = R, also where that is dear
        ([9, 0, 7, 0], [1.0, 1.2], 2.4),  # no longer than may be drafted
        ([5], [1.0, 1.1, 1.2], 1.0),  # the last token is the bonus token, whatever R says
    ],
)
def test_known_replies_take_known_times(reusable, times, spent):
    assert oracle_time(reusable, times) == pytest.approx(spent)


@given(
    st.lists(st.integers(0, 40), max_size=200),
    st.lists(st.floats(0.5, 9.0), min_size=1, max_size=33),
)
def test_the_time_is_that_of_the_oracle_of_a_replay(reusable, times):
    oracle, longest = Oracle(), len(times) - 1
    i, spent = 0, 0.0
    while i < len(reusable):
        oracle.foresee(reusable[i])
        room = min(longest, len(reusable) - 1 - i)
        k = oracle.budget("coder", Evidence(1), room).k
        spent += times[k]
        i += k + 1
    assert oracle_time(reusable, times) == pytest.approx(spent)
