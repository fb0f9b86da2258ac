import numpy as np
import pytest

from agspec_tui.replay.tally import ALL, TURNS, Key, Tally, merge, pass_times, total, turn_group


class Linear:
    def at(self, n):
        return 1.0 + 0.25 * (n - 1)


def tally(drafted, accepted, n_tokens=None, draft_us=()):
    made = Tally()
    n = sum(accepted) + len(accepted) if n_tokens is None else n_tokens
    made.add_call(n, np.array(drafted), np.array(accepted), np.array(draft_us, dtype=float))
    return made


def key(role="coder", turn="1", policy="fixed-8", walked=""):
    return Key("agspec-sam", policy, walked, "aider", role, turn)


def test_measures_follow_from_the_counts():
    made = tally([4, 0, 2, 4], [4, 0, 0, 1])
    times = pass_times(Linear())
    assert (made.n_steps, made.n_drafted, made.n_accepted, made.n_tokens) == (4, 10, 5, 9)
    assert made.accept_length == 1 + 5 / 4
    assert made.rejected_per_step == 5 / 4
    assert made.accept_rate == 5 / 10
    assert made.pass_cost(times) == pytest.approx(2 * 2.0 + 1.0 + 1.5)
    assert made.speedup(times) == pytest.approx(9 / 6.5)


def test_no_step_is_plain_decoding():
    made = Tally()
    assert (made.accept_length, made.rejected_per_step, made.accept_rate) == (1.0, 0.0, 0.0)
    assert (made.speedup(pass_times(Linear())), made.draft_us(0.5)) == (1.0, 0.0)


@pytest.mark.parametrize(("drafted", "accepted"), [([1], [2]), ([1], [-1]), ([257], [0])])
def test_impossible_steps_are_refused(drafted, accepted):
    with pytest.raises(ValueError, match="it drafts, or drafts"):
        tally(drafted, accepted)


def test_percentiles_are_right_to_two_percent():
    times = np.random.default_rng(7).lognormal(1.0, 1.5, 5000)
    made = tally([0] * 5000, [0] * 5000, draft_us=times)
    for share in (0.5, 0.99):
        assert made.draft_us(share) == pytest.approx(np.quantile(times, share), rel=0.03)


def test_times_out_of_range_are_counted_in_the_outer_buckets():
    made = tally([0, 0, 0], [0, 0, 0], draft_us=[0.0, 1e-9, 1e30])
    assert made.times.sum() == 3
    assert made.draft_us(0.5) == pytest.approx(0.01, rel=0.03)
    assert made.draft_us(1.0) > 1e6


@pytest.mark.parametrize(
    ("turn", "group"),
    [(1, "1"), (5, "5"), (6, "6-10"), (10, "6-10"), (11, "11-20"), (20, "11-20"), (21, "21+")],
)
def test_turns_are_grouped(turn, group):
    assert turn_group(turn) == group
    assert group in TURNS


def test_sums_over_roles_and_turns_stand_beside_what_is_kept_apart():
    parts = {
        key("coder", "1"): tally([2], [1]),
        key("coder", "2"): tally([3, 3], [0, 3]),
        key("planner", "1"): tally([0], [0]),
    }
    summed = total(parts, roles=True, turns=True)
    whole = summed[key(ALL, ALL)]
    assert (whole.n_steps, whole.n_drafted, whole.n_calls) == (4, 8, 3)
    for measure in ("n_steps", "n_drafted", "n_accepted", "n_tokens", "n_calls"):
        by_role = [
            getattr(t, measure) for k, t in summed.items() if k.role != ALL and k.turn == ALL
        ]
        by_turn = [
            getattr(t, measure) for k, t in summed.items() if k.role == ALL and k.turn != ALL
        ]
        both = [getattr(t, measure) for k, t in summed.items() if ALL not in (k.role, k.turn)]
        assert sum(by_role) == sum(by_turn) == sum(both) == getattr(whole, measure)
    assert set(total(parts, roles=False, turns=False)) == {key(ALL, ALL)}


def test_merging_does_not_change_what_is_merged():
    first = {key(): tally([2], [1])}
    into = {}
    merge(into, first)
    merge(into, first)
    assert into[key()].n_steps == 2
    assert first[key()].n_steps == 1
