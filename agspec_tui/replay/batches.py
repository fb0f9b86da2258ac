"""Calls of a source side by side, as many at once as a batch holds.

Policies whose lengths depend on the company are walked over all calls of a source together. What
the others draft does not: their steps are those of each session by itself. In both cases the
passes are shared, and each call pays its part of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agspec_tui.policy.cost import Cost
from agspec_tui.policy.profile import Profile
from agspec_tui.policy.types import Policy
from agspec_tui.replay.oracle import SharedOracle
from agspec_tui.replay.plan import PolicyChoice
from agspec_tui.replay.read import Entry
from agspec_tui.replay.report import ORACLE
from agspec_tui.replay.session_replay import (
    CallDrafts,
    Replayed,
    Setup,
    count_steps,
    decider,
    walked_before,
)
from agspec_tui.replay.shared_pass import paid
from agspec_tui.replay.side_by_side import walk_together
from agspec_tui.replay.steps import CallSteps
from agspec_tui.replay.tally import Shared, Tallies
from agspec_tui.replay.tokens import half_of
from agspec_tui.replay.walk import Numbers, SessionPositions

Place = tuple[str, str]
"""Where a session stands in the order of its source."""
Drafts = dict[tuple[str, ...], dict[Place, list[CallDrafts]]]
"""By drafter, policy, cost decided by and source, then by session: the calls in order."""
Profiles = Mapping[tuple[str, int], Profile]
"""By drafter and half: what policies start from in a session of this half."""

_MOST_ROUNDS = 4
_SETTLED = 1e-4


@dataclass(frozen=True, slots=True)
class Together:
    """Sessions of a source whose calls are walked side by side."""

    entries: tuple[Entry, ...]
    """The sessions in order."""
    drafter: str
    """Whose drafts."""
    choice: PolicyChoice
    """Who decides over them."""
    cost: str
    """Name of the cost that is decided by."""


def place_of(entry: Entry) -> Place:
    """Where a session stands in the order of its source."""
    return entry.session_id, entry.key


def together(setup: Setup, entries: Sequence[Entry]) -> list[Together]:
    """Everything that is walked side by side, the largest sources first."""
    sources: dict[str, list[Entry]] = {}
    for entry in entries:
        sources.setdefault(entry.source, []).append(entry)
    ordered = sorted(sources.values(), key=lambda members: -sum(each.n_output for each in members))
    return [
        Together(tuple(sorted(members, key=place_of)), drafter, choice, cost)
        for members in ordered
        for drafter in setup.plan.drafters
        for choice in setup.plan.policies_of(drafter)
        if setup.plan.is_shared(choice)
        for cost in setup.costs
    ]


def decide_together(setup: Setup, profiles: Profiles, item: Together) -> list[Replayed]:
    """Walk a policy over all calls of a source; what came of each session, in order.

    A policy that learns goes on learning over all sessions of a half, as in an engine that serves
    them all.
    """
    cost, batch = setup.costs[item.cost], setup.plan.batch
    walks = [walked_before(setup, entry, item.drafter) for entry in item.entries]
    if item.choice.settings.policy == ORACLE:
        steps = _foreseen(walks, cost, batch)
    else:
        halves = [half_of(entry.task) for entry in item.entries]
        policies: list[Policy] = [
            decider(item.choice, cost, profiles.get((item.drafter, half))) for half in halves
        ]
        steps = walk_together(walks, policies, batch)
    calls = iter(steps)
    out = []
    for entry, walk in zip(item.entries, walks, strict=True):
        done = Replayed()
        own = [next(calls) for _ in walk.calls]
        count_steps(setup, done, entry, item.drafter, item.choice, item.cost, own)
        out.append(done)
    return out


def charge(tallies: Tallies, drafts: Drafts, costs: Mapping[str, Cost], batch: int) -> None:
    """Let each tally pay for the passes of its calls, with their drafts and without.

    Args:
        tallies: of all calls.
        drafts: what was drafted in them; nothing where each sequence has its passes for itself.
        costs: what passes cost, by name.
        batch: most calls at once.
    """
    plain: dict[tuple[str, str], list[float]] = {}
    for (_, _, walked, source), sessions in drafts.items():
        calls = [call for place in sorted(sessions) for call in sessions[place]]
        for name in (walked,) if walked else costs:
            spent = paid([call.drafted for call in calls], batch, costs[name])
            if (source, name) not in plain:
                undrafted = [np.zeros(call.n_tokens, np.int32) for call in calls]
                plain[source, name] = paid(undrafted, batch, costs[name])
            for call, *each in zip(calls, spent, plain[source, name], strict=True):
                tallies[call.key].shared.setdefault(name, Shared()).add(Shared(*each))


def _foreseen(walks: Sequence[SessionPositions], cost: Cost, batch: int) -> list[CallSteps]:
    """Steps of the oracle; what a token is worth to it is found by iteration (Dinkelbach)."""
    n_tokens = max(1, sum(len(call) for walk in walks for call in walk.calls))
    price = float("inf")
    best: list[CallSteps] = []
    least = float("inf")
    for _ in range(_MOST_ROUNDS):
        oracle = SharedOracle(cost, min(price, 1e9))
        steps = walk_together(walks, [oracle] * len(walks), batch)
        spent = sum(paid([_drafted(each) for each in steps], batch, cost))
        if spent < least * (1.0 - _SETTLED):
            best, least = steps, spent
        elif best:
            break
        price = spent / n_tokens
    return best


def _drafted(steps: CallSteps) -> Numbers:
    return np.array(steps.n_drafted, np.int32)
