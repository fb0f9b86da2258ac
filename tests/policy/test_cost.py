import json

import pytest

from agspec_tui.errors import DraftError
from agspec_tui.policy.cost import NAMES, Cost, read_cost, shipped

CALIBRATION = {
    "schema": 1,
    "model": "m",
    "device": "CPU",
    "threads": 2,
    "n_batch": 512,
    "batch": 1,
    "times": [[1, 0.1], [4, 0.2], [8, 0.5]],
}


@pytest.mark.parametrize(
    ("name", "n", "time"),
    [
        ("cpu", 1, 1.0),
        ("cpu", 3, 2.25),  # linear between 2 and 4
        ("cpu", 16, 6.4),
        ("cpu", 96, 20.0 + 32 * 9.3 / 32),  # by the last slope
        ("gpu", 2, 1.02),
        ("gpu", 9, 1.21),  # the step behind 8 columns
        ("gpu", 16, 1.35),
        ("metal", 5, 5.6),
        ("metal", 9, 7.4),  # the plain behind the cliff
        ("metal", 32, 7.4),
        ("metal", 64, 14.8),
    ],
)
def test_shipped_shapes(name, n, time):
    assert shipped(name).at(n) == pytest.approx(time)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_shares_one_pass(name):
    cost = shipped(name)
    for n in (1, 2, 5, 9):
        assert cost.for_batch(4).at(n) == pytest.approx(cost.at(4 * n) / cost.at(4))
    assert cost.for_batch(1) is cost


def test_a_batch_of_none_is_refused():
    with pytest.raises(DraftError):
        shipped("cpu").for_batch(0)


def test_lambda_is_the_price_of_one_more_position():
    assert Cost("line", [(1, 3.0), (2, 3.3)]).break_even() == pytest.approx(0.1)
    assert Cost("flat", [(1, 1.0), (64, 1.0)]).break_even() == 0.01
    assert Cost("steep", [(1, 1.0), (2, 9.0)]).break_even() == 0.95
    assert shipped("gpu").break_even() < 0.05 < 0.3 < shipped("cpu").break_even() < 0.5


def test_lambda_of_exact_drafts_looks_at_no_longer_pass():
    cost = Cost("stair", [(1, 1.0), (4, 1.3), (5, 9.0), (16, 9.0)])
    assert cost.break_even(n_most=4) == pytest.approx(0.1)


def test_a_calibration_is_read(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(CALIBRATION))
    cost = read_cost(path)
    assert cost.name == "mine"
    assert [cost.at(n) for n in (1, 4, 6)] == pytest.approx([1.0, 2.0, 3.5])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 2}, "schema 2"),
        ({"times": [[2, 0.1], [4, 0.2]]}, "needs times"),
        ({"times": [[1, 0.1]]}, "needs times"),
        ({"times": [[1, 0.1], [1, 0.1]]}, "needs times"),
        ({"times": [[1, 0.1], [2, 0.0]]}, "not above zero"),
        ({"times": "soon"}, "no calibration"),
        ({"batch": 4}, "4 sequences"),
    ],
)
def test_a_wrong_calibration_is_refused(tmp_path, change, said):
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(CALIBRATION | change))
    with pytest.raises(DraftError, match=said):
        read_cost(path)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    path = tmp_path / "half.json"
    path.write_bytes(b'{"schema": 1, "mod\xff')
    for wrong in (path, tmp_path / "missing.json", tmp_path):
        with pytest.raises(DraftError):
            read_cost(wrong)


def test_an_unknown_shape_is_refused():
    with pytest.raises(DraftError, match="unknown cost"):
        shipped("tpu")
