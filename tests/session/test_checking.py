import pytest

from agspec_tui.session.checking import brief, improved, read_verdict, without_tests
from agspec_tui.session.handover import RunResult, Verdict


def result(passed, failed, exit_code=None, timed_out=False, failing=()):
    code = int(failed != 0) if exit_code is None else exit_code
    return RunResult("t", code, timed_out, "", passed, failed, failing)


GOOD, BAD = result(3, 0), result(1, 2, failing=("test_a",))


@pytest.mark.parametrize(
    ("said", "run", "verdict"),
    [
        ("PASS", GOOD, Verdict(True, "")),
        ("FAIL: test_a got 1", BAD, Verdict(False, "test_a got 1")),
        ("FAIL: odd", GOOD, Verdict(True, "", overruled=True)),
        ("PASS", BAD, Verdict(False, "2 tests fail, first test_a", overruled=True)),
        ("", GOOD, Verdict(True, "")),
        ("", BAD, Verdict(False, "2 tests fail, first test_a")),
        ("nonsense", BAD, Verdict(False, "2 tests fail, first test_a")),
        ("FAIL: two\nlines", BAD, Verdict(False, "two lines")),
        ("FAIL:", result(-1, -1, 7), Verdict(False, "exit code 7")),
        ("PASS", result(-1, -1, 0, timed_out=True), None),
    ],
)
def test_the_exit_code_decides_whatever_the_executor_says(said, run, verdict):
    read = read_verdict(said, run)
    if verdict is None:
        assert read.passed is False
        assert "time limit" in read.reason
    else:
        assert read == verdict


def test_a_reason_is_kept_short():
    assert len(read_verdict("FAIL: " + "x" * 5000, BAD).reason) == 200


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (result(1, 2), result(2, 1), True),
        (result(1, 2), result(1, 2), False),
        (result(1, 2), result(0, 3), False),
        (result(5, 2), result(2, 1), False),
        (result(-1, -1), result(2, 1), False),
        (result(1, 2), result(-1, -1), False),
        (result(1, 2), result(3, 0, exit_code=1), False),
    ],
)
def test_an_edit_helped_if_fewer_tests_fail_and_none_is_lost(before, after, expected):
    assert improved(before, after) is expected


def test_no_tests_are_told_from_unknown_counts():
    assert without_tests(result(0, 0))
    assert not without_tests(result(-1, -1, 1))
    assert not without_tests(result(0, 2))


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (BAD, "2 of 3 tests fail"),
        (result(-1, -1, 5), "exit code 5"),
        (result(0, 0, -9, timed_out=True), "the tests ran past their time limit"),
    ],
)
def test_a_run_in_a_few_words(run, text):
    assert brief(run) == text
