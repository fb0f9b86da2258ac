"""Policies that share one budget of drafted tokens among recorded calls, walked side by side.

The calls are those of one source in their order. Each stands for a sequence that decodes at the
same time as the others; what a drafter proposes in it is what it proposed when the session was
walked by itself, so that only lengths depend on the company.
"""

from array import array
from collections.abc import Sequence

import numpy as np

from agspec_tui.policy.sharing import share_each
from agspec_tui.policy.types import Ask, Budget, Evidence, Outcome, Policy
from agspec_tui.replay.steps import CallSteps
from agspec_tui.replay.walk import MAX_DRAFT, CallPositions, SessionPositions


class _Sequence:
    """A call that is being decoded."""

    def __init__(self, call: CallPositions, sources: list[str], policy: Policy) -> None:
        self.policy = policy
        self.steps = CallSteps(call.role, call.turn, len(call))
        self.is_done = False
        self._call = call
        self._sources = sources
        columns = (call.match_len, call.source, call.n_seen, call.n_group)
        self._keys = list(zip(*(column.tolist() for column in columns), strict=True))
        self._n_draft, self._reusable = call.n_draft.tolist(), call.reusable.tolist()
        self._foresee = getattr(policy, "foresee", None)
        self._at = 0

    def ask(self) -> Ask:
        """What is known of the next step."""
        i = self._at
        m, source, n_seen, n_group = self._keys[i]
        if self._foresee is not None:
            self._foresee(self._reusable[i])
        evidence = Evidence(m, self._sources[source], n_seen, n_group, self._call.form)
        return Ask(self._call.role, evidence, self._call.room(i))

    def take(self, ask: Ask, budget: Budget) -> None:
        """Draft, verify, commit and learn."""
        i, k, steps = self._at, budget.k, self.steps
        d = min(k, self._n_draft[i]) if k > 0 else 0
        a = min(d, self._reusable[i])
        self.policy.observe(ask.role, ask.evidence, Outcome(d, a, budget.censored or d < k))
        steps.positions.append(i)
        steps.n_drafted.append(d)
        steps.n_accepted.append(a)
        self._at = i + a + 1
        if self._at >= steps.n_tokens:
            self.is_done = True
            at = np.frombuffer(steps.positions, np.int32)
            steps.draft_us = array("f", self._call.draft_us[at].tobytes())


def walk_together(
    walks: Sequence[SessionPositions], policies: Sequence[Policy], batch: int
) -> list[CallSteps]:
    """Steps of all calls, in the order of the walks, with up to `batch` of them at once.

    Args:
        walks: a steady drafter's walks over sessions.
        policies: the policy of each of them. Several may have the same one, which then learns from
            all of them; each is reset once, here.
        batch: most calls at once.
    """
    for policy in {id(policy): policy for policy in policies}.values():
        policy.reset()
    waiting = (
        _Sequence(call, walk.sources, policy)
        for walk, policy in zip(walks, policies, strict=True)
        for call in walk.calls
    )
    n_most = batch * MAX_DRAFT
    every: list[_Sequence] = []
    active: list[_Sequence] = []
    while True:
        while len(active) < batch and (sequence := next(waiting, None)) is not None:
            every.append(sequence)
            active.append(sequence)
        if not active:
            return [sequence.steps for sequence in every]
        asks = [sequence.ask() for sequence in active]
        budgets = share_each([sequence.policy for sequence in active], asks, n_most)
        for sequence, ask, budget in zip(active, asks, budgets, strict=True):
            sequence.take(ask, budget)
        active = [sequence for sequence in active if not sequence.is_done]
