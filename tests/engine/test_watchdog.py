import pytest

from agspec_tui.engine.watchdog import Limits, RestartBudget, Watchdog
from agspec_tui.engine_events import Pong

LIMITS = Limits(silence_s=10, start_s=60, hang_s=120, load_s=600, period_s=1)


def pong(n_beats):
    return Pong(number=1, n_beats=n_beats, idle_s=0.0)


def look(dog, seconds, *, start=0, waiting=True, loading=False, each=None):
    """Look every second until something is wrong; returns when, and what."""
    for now in range(start + 1, start + seconds + 1):
        if each is not None:
            each(now)
        verdict = dog.look(now, waiting=waiting, loading=loading)
        if verdict:
            return now, verdict
    return None


@pytest.mark.parametrize(
    ("was_heard", "found"),
    [(True, (11, "did not answer for 10 s")), (False, (61, "did not answer for 60 s"))],
)
def test_a_silent_child_is_found(was_heard, found):
    dog = Watchdog(LIMITS, 0)
    if was_heard:
        dog.heard(0)
    assert look(dog, 200) == found


@pytest.mark.parametrize(
    ("loading", "found"),
    [(False, (122, "made no progress for 120 s")), (True, (602, "made no progress for 600 s"))],
)
def test_a_child_that_answers_without_progress_is_found(loading, found):
    dog = Watchdog(LIMITS, 0)

    def answer(now):
        dog.heard(now)
        dog.pong(pong(7), now)

    assert look(dog, 700, loading=loading, each=answer) == found


def test_a_child_that_makes_progress_is_left_alone():
    dog = Watchdog(LIMITS, 0)

    def answer(now):
        dog.heard(now)
        dog.pong(pong(now // 100), now)

    assert look(dog, 2000, each=answer) is None


def test_nothing_is_wrong_with_a_child_that_owes_nothing():
    dog = Watchdog(LIMITS, 0)
    assert look(dog, 1000, waiting=False) is None
    dog.heard(1000)
    assert look(dog, 10, start=1000) is None
    assert look(dog, 5, start=1010) == (1011, "did not answer for 10 s")


def test_a_late_timer_of_our_own_gives_the_child_its_time_again():
    dog = Watchdog(LIMITS, 0)
    dog.heard(0)
    assert look(dog, 9) is None
    assert dog.look(5000, waiting=True, loading=False) == ""
    assert look(dog, 10, start=5000) is None
    assert look(dog, 5, start=5010) == (5011, "did not answer for 10 s")


def test_restarts_are_counted_within_a_window():
    budget = RestartBudget(Limits(n_restarts=2, window_s=100))
    budget.spend(0)
    budget.spend(50)
    assert not budget.left(99)
    assert budget.left(101)
    budget.spend(101)
    assert not budget.left(140)
    assert budget.n_spent == 3


def test_a_child_that_speaks_but_does_not_hear_is_found():
    dog = Watchdog(LIMITS, 0)
    assert look(dog, 200, each=dog.heard) == (31, "did not hear for 30 s")
