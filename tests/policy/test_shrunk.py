import numpy as np
import pytest

from agspec_tui.policy.cost import K_MAX
from agspec_tui.policy.evidence_key import key_of
from agspec_tui.policy.survival import Shrunk, count, no_counts, survival_of
from agspec_tui.policy.types import Evidence


def key(match_len, n_seen=1, source="session"):
    return key_of(Evidence(match_len, source, n_seen, n_seen))


def counted(*drafts):
    """Counts of drafts, each as how many there were, D and A."""
    counts = no_counts()
    for n, n_drafted, n_accepted in drafts:
        for _ in range(n):
            count(counts, n_drafted, n_accepted)
    return counts


KEYS = [key(2), key(12), key(12, n_seen=8)]
EVERYONE = Shrunk(
    KEYS,
    np.stack(
        [
            counted((3000, 64, 0), (1000, 64, 4)),
            counted((1000, 64, 2), (1000, 64, 8), (500, 64, 40)),
            counted((1500, 64, 1), (1000, 64, 8)),
        ]
    ),
)


def reach(estimate, where, k):
    """Pr(R ≥ k) in a cell."""
    return survival_of(estimate.hazards([where]))[0, k]


def test_a_few_long_copies_say_something_of_cells_of_their_length_that_were_not_met():
    role = Shrunk([KEYS[1]], counted((80, 64, 50))[None], prior=EVERYONE)
    for where in (KEYS[1], KEYS[2]):
        assert reach(role, where, 16) > 2 * reach(EVERYONE, where, 16)
    # Of other lengths they say little.
    assert reach(role, KEYS[0], 4) == pytest.approx(reach(EVERYONE, KEYS[0], 4), rel=0.4)


def test_nothing_is_said_by_drafts_that_fail_as_those_of_everyone_do():
    counts = np.stack(
        [
            counted((300, 64, 0), (100, 64, 4)),
            counted((100, 64, 2), (100, 64, 8), (50, 64, 40)),
            counted((150, 64, 1), (100, 64, 8)),
        ]
    )
    role = Shrunk(KEYS, counts, prior=EVERYONE)
    for where in KEYS:
        for k in (1, 4, 16, K_MAX):
            assert reach(role, where, k) == pytest.approx(reach(EVERYONE, where, k), abs=0.05)


def test_drafts_that_were_cut_short_say_nothing_of_what_lies_behind():
    short = Shrunk([KEYS[1]], counted((200, 4, 4))[None], prior=EVERYONE)
    assert reach(short, KEYS[1], 4) > reach(EVERYONE, KEYS[1], 4)
    behind = [reach(short, KEYS[1], 32) / reach(short, KEYS[1], 8)]
    behind.append(reach(EVERYONE, KEYS[1], 32) / reach(EVERYONE, KEYS[1], 8))
    assert behind[0] < 2.5 * behind[1]


def test_many_drafts_of_a_role_decide_alone():
    role = Shrunk([KEYS[0]], counted((20_000, 64, 1), (20_000, 64, 3))[None], prior=EVERYONE)
    assert reach(role, KEYS[0], 1) == pytest.approx(1.0, abs=0.01)
    assert reach(role, KEYS[0], 2) == pytest.approx(0.5, abs=0.01)
    assert reach(role, KEYS[0], 4) == pytest.approx(0.0, abs=0.01)
