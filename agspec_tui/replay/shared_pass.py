"""What passes cost that several recorded calls share, and what each of the calls pays of them.

b calls are walked side by side, each a sequence: every pass takes one step of each of them, and the
next call in order takes the place of one that has ended. With n sequences that draft D tokens each
a pass costs T(n + ΣD). Each sequence pays its part of T(n), which is the pass as it would be
without drafts, and of the rest in proportion to its own drafted tokens. At the end, when no call is
left to fill a place, n falls.
"""

import heapq
from collections.abc import Sequence

import numpy as np

from agspec_tui.policy.cost import Cost
from agspec_tui.replay.walk import Numbers


def first_passes(n_steps: Sequence[int], batch: int) -> list[int]:
    """The pass in which each call takes its first step.

    Args:
        n_steps: steps of each call, at least one, in the order in which calls are begun.
        batch: most calls at once.
    """
    free = [0] * batch
    out = []
    for n in n_steps:
        out.append(free[0])
        heapq.heapreplace(free, free[0] + n)
    return out


def paid(drafted: Sequence[Numbers], batch: int, cost: Cost) -> list[float]:
    """What each call pays of its passes, in units of T(1); together that is what they cost.

    Args:
        drafted: D of each step, of each call, in the order in which calls are begun.
        batch: most calls at once.
        cost: of a pass over all tokens of its sequences.
    """
    begun = first_passes([len(each) for each in drafted], batch)
    n_passes = max((at + len(each) for at, each in zip(begun, drafted, strict=True)), default=0)
    active = np.zeros(n_passes + 1, np.int64)
    together = np.zeros(n_passes, np.int64)
    for at, each in zip(begun, drafted, strict=True):
        active[at] += 1
        active[at + len(each)] -= 1
        together[at : at + len(each)] += each
    active = np.cumsum(active[:-1])
    times = cost.up_to(int((active + together).max(initial=1)))
    plain = times[active]
    base = plain / np.maximum(active, 1)
    more = (times[active + together] - plain) / np.maximum(together, 1)
    return [
        float(base[at : at + len(each)].sum() + more[at : at + len(each)] @ each)
        for at, each in zip(begun, drafted, strict=True)
    ]
