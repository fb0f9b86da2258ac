import csv
import io

import pytest

from agspec_tui.events import Calibrated, StepCommitted
from agspec_tui.tui.tally import NOTHING, Speculation


def step(
    n_drafted=0, n_accepted=0, *, role="coder", turn=1, source="", form="", decode_s=0.1, beside=0
):
    return StepCommitted(
        role=role, turn=turn, request=1, step=1, ids=(1,) * (n_accepted + 1), text="",
        n_drafted=n_drafted, n_accepted=n_accepted, match_len=0, source=source, document="",
        offset=0, budget=n_drafted, cap=64, alpha=1.0, decode_us=decode_s * 1e6, draft_us=0.0,
        n_context=1, form=form, n_beside=beside,
    )  # fmt: skip


def calibrated(*times, batch=1):
    return Calibrated(
        request=1, batch=batch, depth=1, n_rounds=1, times=times, break_even=0.5, wall_s=1.0
    )


def counted(*events):
    speculation = Speculation()
    for event in events:
        if isinstance(event, Calibrated):
            speculation.plain.calibrated(event)
        else:
            speculation.step(event)
    return speculation


def test_counts_add_up_whatever_they_are_grouped_by():
    steps = [
        step(role="planner"),
        step(8, 8, source="workspace", form="whole"),
        step(4, 1, source="session", form="whole", turn=2),
        step(2, 0, source="session", form="udiff", turn=2),
        step(turn=2, form="udiff"),
    ]
    speculation = counted(*steps)
    names = {by: list(speculation.grouped(by)) for by in ("role", "turn", "source", "form")}
    assert names == {
        "role": ["planner", "coder"],
        "turn": ["1", "2"],
        "source": [NOTHING, "workspace", "session"],
        "form": [NOTHING, "whole", "udiff"],
    }
    total = speculation.total()
    assert (total.n_steps, total.n_tokens, total.n_drafted, total.n_rejected) == (5, 14, 14, 5)
    for by in names:
        groups = speculation.grouped(by).values()
        assert sum(one.n_tokens for one in groups) == total.n_tokens
        assert sum(one.n_rejected for one in groups) == total.n_rejected
    assert speculation.total(turn=2).n_steps == 3
    assert (speculation.newest_turn, counted().newest_turn) == (2, 0)


def test_an_accept_length_is_tokens_per_pass():
    assert counted(step(8, 8), step(3, 1), step()).total().accept_length == pytest.approx(12 / 3)
    assert counted().total().accept_length == 0.0


def test_time_is_saved_and_lost_against_plain_passes():
    speculation = counted(
        calibrated((1, 0.1), (8, 0.2)),
        step(7, 7, decode_s=0.2),  # eight tokens for the price of two
        step(7, 0, decode_s=0.25),
    )
    total = speculation.total()
    assert total.saved_s == pytest.approx(0.6)
    assert total.lost_s == pytest.approx(0.15)


def test_the_time_of_a_plain_pass_is_that_of_this_session_once_it_has_shown_it():
    drafted = step(1, 1, decode_s=0.3)
    assert counted(drafted).total().saved_s == 0.0  # nothing is known yet
    few = counted(calibrated((1, 0.2)), *[step(decode_s=0.5)] * 7)
    assert few.plain.seconds == 0.2
    many = counted(calibrated((1, 0.2)), *[step(decode_s=0.5)] * 8, drafted)
    assert many.total().saved_s == pytest.approx(0.7)


def test_the_calibration_of_shared_passes_is_not_that_of_one():
    assert counted(calibrated((1, 0.4), batch=4)).plain.seconds == 0.0


def test_a_pass_that_replies_share_is_not_judged():
    total = counted(calibrated((1, 0.1)), step(7, 7, decode_s=0.2, beside=3)).total()
    assert (total.saved_s, total.lost_s, total.n_accepted) == (0.0, 0.0, 7)


def test_the_table_can_be_read_back():
    speculation = counted(
        calibrated((1, 0.1)),
        step(8, 6, source="workspace", form="whole"),
        step(role='a "b", c'),
    )
    rows = list(csv.DictReader(io.StringIO(speculation.as_csv())))
    assert [row["role"] for row in rows] == ["coder", 'a "b", c']
    assert [row["source"] for row in rows] == ["workspace", ""]
    assert float(rows[0]["accept_length"]) == 7.0
    assert float(rows[0]["saved_s"]) == pytest.approx(0.6)
    assert int(rows[0]["n_rejected"]) == 2
