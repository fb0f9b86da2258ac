"""Draft lengths of several sequences that decode in one pass: one budget of tokens for all.

All tokens of a pass share it, so that a token that one sequence drafts in vain slows every other
one. So positions of all drafts compete for the pass, the likeliest first.

Policies that weigh a position against what it costs (`goodput`, `survival`) say what each position
is worth, in time; worths never rise along a draft. All positions are merged by falling worth, and
of the first n of them as many are drafted as make Σ worth − T(b + n) largest. T is a stair, so
every n is looked at. If there is no room for them, those that hold with the highest probability
are kept: a worth counts on a draft being taken up again in a later pass, and there will be no room
then either.

Other policies choose each length by itself. Where the lengths together have no room, the least
likely positions are cut first. These policies take how far a draft holds to grow with its match m,
so position j of a draft is the likelier the smaller j/m is, and the end of the draft with the
shortest match goes first. Drafts without a match are cut evenly, the longest first.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from agspec_tui.policy.types import Ask, Budget, Policy

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Weighing(Protocol):
    """A policy that knows what a drafted position is worth."""

    def worths(self, asks: Sequence[Ask], n_active: int) -> list[Floats]:
        """Of each ask what its positions 1, 2, … are worth, in units of T(1), never rising.

        Positions at the end that no pass is worth are left out.

        Args:
            asks: sequences of the next pass.
            n_active: how many sequences decode in it, these among them.
        """
        ...

    def chances(self, asks: Sequence[Ask]) -> list[Floats]:
        """Of each ask Pr(R ≥ k) for k = 1, 2, …, at least for as many as have a worth."""
        ...

    def pass_times(self, n: int) -> Floats:
        """T(k)/T(1) of passes over k = 0 … n tokens, shape (n + 1,) or longer."""
        ...


def share(policy: Policy, asks: Sequence[Ask], n_tokens: int, n_others: int = 0) -> list[Budget]:
    """Draft lengths of the sequences of one pass.

    A single sequence that has the pass for itself gets `policy.budget` within its room.

    Args:
        policy: decides.
        asks: every sequence that decodes in the pass, those without a draft among them.
        n_tokens: most drafted tokens of the pass, all together.
        n_others: further tokens of the pass, e.g. of a prompt that is read in it.

    Returns:
        A budget for each ask, in their order.
    """
    if len(asks) == 1 and not n_others:
        ask = asks[0]
        return [policy.budget(ask.role, ask.evidence, min(ask.room, max(0, n_tokens)))]
    return share_each([policy] * len(asks), asks, n_tokens, n_others)


def share_each(
    policies: Sequence[Policy], asks: Sequence[Ask], n_tokens: int, n_others: int = 0
) -> list[Budget]:
    """`share` where each sequence has a policy of its own, all of one kind and one cost."""
    n_tokens = max(0, n_tokens)
    if not asks:
        return []
    if hasattr(policies[0], "worths") and (len(asks) > 1 or n_others):
        return _weighed(cast(Sequence[Weighing], policies), asks, n_tokens, n_others)
    budgets = [
        policy.budget(ask.role, ask.evidence, min(ask.room, n_tokens))
        for policy, ask in zip(policies, asks, strict=True)
    ]
    return cut(budgets, asks, n_tokens)


def cut(budgets: Sequence[Budget], asks: Sequence[Ask], n_tokens: int) -> list[Budget]:
    """Budgets within `n_tokens` together, the least likely positions cut first.

    A budget that was cut is censored: its own length was not tried.
    """
    if sum(budget.k for budget in budgets) <= n_tokens:
        return list(budgets)
    positions = sorted(
        (j / max(1, ask.evidence.match_len), j, i)
        for i, (budget, ask) in enumerate(zip(budgets, asks, strict=True))
        for j in range(1, budget.k + 1)
    )
    lengths = [0] * len(budgets)
    for _, _, i in positions[:n_tokens]:
        lengths[i] += 1
    return [
        budget if k == budget.k else Budget(k, censored=True)
        for k, budget in zip(lengths, budgets, strict=True)
    ]


def best_lengths(worths: Sequence[Floats], times: Floats) -> Ints:
    """Lengths k that make Σᵢ Σ_{j ≤ kᵢ} worthᵢⱼ − T(b + Σk) largest, the fewest tokens of equals.

    Args:
        worths: of each sequence what its positions are worth, never rising.
        times: T of the pass with n = 0, 1, … drafted tokens, as many as have a worth.

    Returns:
        Shape (len(worths),).
    """
    return _best_first(worths, worths, times)


def likeliest(
    worths: Sequence[Floats], chances: Sequence[Floats], times: Floats, n_tokens: int
) -> Ints:
    """Lengths of at most `n_tokens` together, the likeliest positions first.

    Of the first n ≤ `n_tokens` as many are kept as make Σ worth − T(b + n) largest: the best number
    within a room is not the best number cut to it.

    Args:
        worths: of each sequence what its positions are worth, never rising.
        chances: probability that they hold, never rising, of the same shapes.
        times: T of the pass with n = 0 … `n_tokens` drafted tokens.
        n_tokens: most drafted tokens, all together.
    """
    return _best_first(worths, chances, times[: n_tokens + 1])


def _best_first(worths: Sequence[Floats], ranks: Sequence[Floats], times: Floats) -> Ints:
    """The best number of positions, those of the highest rank first; ranks never rise."""
    sizes = [len(each) for each in worths]
    every = np.concatenate(worths)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    depth = np.arange(len(every)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rank = every if ranks is worths else np.concatenate(ranks)
    # Of equals the first positions of each draft come first, so that no sequence waits for others.
    order = np.lexsort((depth, -rank))[: len(times) - 1]
    gains = np.cumsum(every[order]) - times[1 : len(order) + 1]
    n = int(gains.argmax()) + 1 if len(gains) else 0
    if n and gains[n - 1] <= -times[0]:
        n = 0
    return np.bincount(owner[order[:n]], minlength=len(sizes))


def _weighed(
    policies: Sequence[Weighing], asks: Sequence[Ask], n_tokens: int, n_others: int
) -> list[Budget]:
    n_active = len(asks)
    worths = _from_each(policies, asks, lambda policy, own: policy.worths(own, n_active))
    before = n_active + n_others
    n_most = sum(len(each) for each in worths)
    times = policies[0].pass_times(before + n_most)[before : before + n_most + 1]
    lengths = best_lengths(worths, times)
    if lengths.sum() > n_tokens:
        worths = [each[:k] for each, k in zip(worths, lengths, strict=True)]
        chances = _from_each(policies, asks, lambda policy, own: policy.chances(own))
        chances = [each[:k] for each, k in zip(chances, lengths, strict=True)]
        lengths = likeliest(worths, chances, times, n_tokens)
    return [Budget(k, censored=True) for k in lengths.tolist()]


def _from_each(
    policies: Sequence[Weighing],
    asks: Sequence[Ask],
    say: Callable[[Weighing, Sequence[Ask]], list[Floats]],
) -> list[Floats]:
    """What the policies say of their asks, in the order of the asks."""
    if all(policy is policies[0] for policy in policies):
        return say(policies[0], asks)
    own: dict[int, list[int]] = {}
    for place, policy in enumerate(policies):
        own.setdefault(id(policy), []).append(place)
    said: dict[int, Floats] = {}
    for places in own.values():
        answers = say(policies[places[0]], [asks[place] for place in places])
        said.update(zip(places, answers, strict=True))
    return [said[place] for place in range(len(asks))]
