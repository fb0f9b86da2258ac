import json
import math

import pytest

from agspec_tui.commands import Calibrate, LoadModel
from agspec_tui.engine.calibrate import measure, require_sense
from agspec_tui.engine.scripted import ScriptedBackend
from agspec_tui.engine.types import Cancelled, Part
from agspec_tui.errors import EngineError

SIZES = (1, 2, 4, 8, 16)


def backend(folder, step_delay_s=0.0002, token_delay_s=0.0001, **load):
    path = folder / "script.json"
    path.write_text(
        json.dumps({"replies": ["x"], "step_delay_s": step_delay_s, "token_delay_s": token_delay_s})
    )
    return ScriptedBackend(
        LoadModel(path=f"scripted:{path}", name="s", **{"n_ctx": 2048, "n_batch": 64, **load})
    )


def ask(**more):
    return Calibrate(request=-1, **{"sizes": SIZES, "depth": 100, "n_rounds": 2, **more})


def ticking(step_s):
    """A clock that goes on by itself."""
    now = [0.0]

    def clock():
        now[0] += step_s
        return now[0]

    return clock


@pytest.mark.parametrize("batch", [1, 4])
def test_a_script_costs_what_it_says(tmp_path, batch):
    target = backend(tmp_path)
    event = measure(target, ask(batch=batch), lambda: False, ticking(0.0))
    assert event.times == tuple((n, pytest.approx(0.0002 + batch * n * 0.0001)) for n in SIZES)
    assert (event.batch, event.depth, event.n_rounds) == (batch, 100, 2)
    first = 0.0002 + batch * 0.0001
    assert event.break_even == pytest.approx(batch * 0.0001 / first)
    target.decode([Part([1], 0, 0, 1)])  # the cache is empty again


def test_time_that_runs_out_leaves_out_the_larger_sizes(tmp_path):
    event = measure(backend(tmp_path), ask(budget_s=8.0, depth=0), lambda: False, ticking(2.0))
    assert [n for n, _ in event.times] == [1, 2, 4, 8]
    assert event.n_rounds == 1


def test_two_sizes_are_measured_however_little_time_there_is(tmp_path):
    event = measure(backend(tmp_path), ask(budget_s=0.0), lambda: False, ticking(1.0))
    assert [n for n, _ in event.times] == [1, 2]
    assert event.depth == 0


def test_a_small_context_is_read_as_far_as_a_pass_fits_behind_it(tmp_path):
    event = measure(backend(tmp_path, n_ctx=64), ask(batch=2), lambda: False, ticking(0.0))
    assert event.depth == 64 - 2 * 16 - 2


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"sizes": ()}, "ascend"),
        ({"sizes": (1,)}, "ascend"),
        ({"sizes": (2, 4)}, "ascend"),
        ({"sizes": (1, 4, 4)}, "ascend"),
        ({"sizes": (1, 65)}, "do not fit a batch of 64"),
        ({"batch": 5}, "do not fit a batch of 64"),
        ({"batch": 0}, "has a sequence"),
        ({"n_rounds": 0}, "a round"),
        ({"depth": -1}, "no negative depth"),
    ],
)
def test_what_cannot_be_measured_is_refused(tmp_path, more, message):
    with pytest.raises(EngineError, match=message):
        measure(backend(tmp_path), ask(**more), lambda: False)


def test_a_pass_that_takes_no_time_is_refused(tmp_path):
    target = backend(tmp_path, step_delay_s=0.0, token_delay_s=0.0)
    with pytest.raises(EngineError, match="no time"):
        measure(target, ask(), lambda: False)


def test_a_cancel_leaves_an_empty_cache(tmp_path):
    target = backend(tmp_path)
    calls = iter(range(100))
    with pytest.raises(Cancelled):
        measure(target, ask(), lambda: next(calls) > 6)
    target.decode([Part([1], 0, 0, 1)])


@pytest.mark.parametrize(("n_exact", "batch"), [(2, 1), (4, 2), (5, 2)])
def test_drafts_that_must_stay_exact_have_the_slope_of_short_passes(tmp_path, n_exact, batch):
    target = backend(tmp_path)
    whole = measure(target, ask(), lambda: False, ticking(0.0)).break_even
    target.n_exact = n_exact  # tokens of all sequences together
    stairs = iter([0.1, 0.19, 0.2, 0.3, 0.4, 0.1] * 4)
    target.time_pass = lambda ids, pos, slots: next(stairs)
    short = measure(target, ask(n_rounds=1, batch=batch), lambda: False, ticking(0.0)).break_even
    assert whole == pytest.approx(1 / 3)
    assert short == pytest.approx(0.9)


def test_when_time_gets_short_rounds_measure_small_sizes_only(tmp_path):
    event = measure(
        backend(tmp_path), ask(n_rounds=4, budget_s=20.0, depth=0), lambda: False, ticking(1.0)
    )
    assert [n for n, _ in event.times] == list(SIZES)
    assert event.n_rounds < 3


@pytest.mark.parametrize(
    "times",
    [
        [],
        [(1, 1.0)],
        [(2, 1.0), (3, 1.0)],
        [(1, 1.0), (3, 2.0), (2, 2.0)],
        [(1, 1.0), (2, 0.0)],
        [(1, -1.0), (2, 1.0)],
        [(1, 1.0), (2, math.nan)],
        [(1, 1.0), (2, math.inf)],
        [(1, 1.0), (2, 0.4)],
        [(1, 1.0), (2, 41.0)],
    ],
)
def test_a_table_without_sense_is_refused(times):
    with pytest.raises(EngineError):
        require_sense(times)
