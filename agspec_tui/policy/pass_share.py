"""What a pass that several sequences share costs one of them.

With b sequences, of which the others draft M tokens together, a draft of k tokens costs its
sequence its part of the pass as it would be anyhow, and all that the draft adds:

    C(k) = E[T(b + M_{b−1} + k)] − (b − 1)/b · E[T(b + M_b)]

so that the shares of all sequences are the pass, on average. M_n is what n sequences draft that
meet evidence as often as the profile did, and draft by these same shares: both are found together,
by iteration. For b = 1 this is T(1 + k).
"""

import numpy as np

from agspec_tui.policy.cost import K_MAX, Cost
from agspec_tui.policy.evidence_key import NO_MATCH
from agspec_tui.policy.lengths import Floats, times_by_length
from agspec_tui.policy.profile import Profile

N_CELLS = 64
"""Cells that stand for all, those with the most steps."""
_N_ROUNDS = 8


def pass_share(cost: Cost, profile: Profile, n_active: int) -> Floats:
    """C(k)/T(1) for k = 0 … K_MAX, shape (K_MAX + 1,).

    Args:
        cost: of a pass over all tokens of all sequences.
        profile: how often which evidence is met, and how far drafts hold then.
        n_active: b.
    """
    if n_active == 1:
        return cost.table
    weights = profile.weights()
    n_plain = weights.pop(NO_MATCH, 0.0)
    keys = sorted(weights, key=lambda key: (-weights[key], key))[:N_CELLS]
    alike = np.array([cost.at(n_active * (k + 1)) / n_active for k in range(K_MAX + 1)])
    total = sum(weights.values())
    if not keys or not total:
        return alike
    hazards = profile.shrunk().hazards(keys)
    steps = np.array([weights[key] for key in keys])
    steps *= total / (total + n_plain) / steps.sum()
    share = alike
    for _ in range(_N_ROUNDS):
        lengths = times_by_length(hazards, share, K_MAX).argmin(axis=1)
        chances: Floats = np.bincount(lengths, weights=steps, minlength=K_MAX + 1).astype(float)
        chances[0] += 1.0 - steps.sum()
        share = (share + _share(cost, n_active, chances)) / 2.0
    return share


def _share(cost: Cost, n_active: int, chances: Floats) -> Floats:
    """C(k) where a draft of a sequence has k tokens by these chances, shape (K_MAX + 1,)."""
    times = cost.up_to((n_active + 1) * (K_MAX + 1))
    size = n_active * K_MAX + 1
    transformed = np.fft.rfft(chances, size)
    of_all = np.fft.irfft(transformed**n_active, size)
    of_others = np.fft.irfft(transformed ** (n_active - 1), size)
    windows = np.lib.stride_tricks.sliding_window_view(times[n_active:], K_MAX + 1)[:size]
    whole = float(of_all @ times[n_active : n_active + size])
    out: Floats = of_others @ windows - (n_active - 1) / n_active * whole
    return out
