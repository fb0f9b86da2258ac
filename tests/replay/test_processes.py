import os
import signal

import pytest

from agspec_tui.errors import EngineError, UsageError
from agspec_tui.replay.processes import map_unordered


def square(number):
    return number * number


def fail_at_three(number):
    if number == 3:
        raise UsageError("three is too many", "take two")
    return number


def die_at_three(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def my_process(number):
    return os.getpid()


@pytest.mark.parametrize("n_processes", [1, 2, 9])
def test_every_item_has_its_result(n_processes):
    assert dict(map_unordered(square, range(7), n_processes)) == {n: n * n for n in range(7)}


def test_no_items_start_no_process():
    assert list(map_unordered(square, [], 4)) == []


def test_one_process_is_the_callers_own():
    assert {pid for _, pid in map_unordered(my_process, range(3), 1)} == {os.getpid()}
    assert os.getpid() not in {pid for _, pid in map_unordered(my_process, range(3), 2)}


@pytest.mark.parametrize("n_processes", [1, 2])
def test_an_error_of_ours_keeps_its_hint(n_processes):
    with pytest.raises(UsageError, match="three is too many") as caught:
        list(map_unordered(fail_at_three, range(5), n_processes))
    assert caught.value.hint == "take two"


def test_a_process_that_dies_is_an_error_that_names_the_item():
    with pytest.raises(EngineError, match="code -9 at session 4"):
        list(map_unordered(die_at_three, range(5), 2))


def test_processes_end_when_the_caller_stops_early():
    results = map_unordered(my_process, range(100), 2)
    pid = next(results)[1]
    results.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
