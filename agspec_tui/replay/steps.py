"""Steps: a policy decides, the recorded output verifies, what agrees and a bonus token commit.

Exactly the engine's loop: K = budget, D = what the drafter gives of it, A = what agrees; an
observation is censored if something other than the policy's own scale limited the draft. Of the
engine's limits only the room of the reply exists here: the context, the batch and the largest exact
pass have no bound, and a recorded output holds no end-of-generation token.
"""

import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from agspec_tui.drafting.types import NO_DRAFT, Drafter
from agspec_tui.engine.evidence import evidence_of
from agspec_tui.policy.types import Budget, Evidence, Outcome, Policy
from agspec_tui.replay.tokens import TokenisedCall, TokenisedSession
from agspec_tui.replay.walk import (
    MAX_DRAFT,
    CallPositions,
    Numbers,
    Prompts,
    SessionPositions,
    WalkOptions,
    most_tokens,
    n_agreeing,
    room_at,
)


@dataclass(slots=True)
class CallSteps:
    """The steps of one call; arrays have one entry a step."""

    role: str
    """Role of the agent."""
    turn: int
    """Number of the turn, from 1."""
    n_tokens: int
    """Tokens of the output."""
    positions: "array[int]" = field(default_factory=lambda: array("i"))
    """Position of the output at which each step began."""
    n_drafted: "array[int]" = field(default_factory=lambda: array("i"))
    """D."""
    n_accepted: "array[int]" = field(default_factory=lambda: array("i"))
    """A."""
    draft_us: "array[float]" = field(default_factory=lambda: array("f"))
    """Microseconds for match and draft; for a walk over arrays those of the longest draft."""

    @property
    def n_steps(self) -> int:
        """Target passes."""
        return len(self.n_drafted)

    def histogram(self) -> Numbers:
        """Steps by D, shape (largest D + 1,): all that a modelled time needs."""
        drafted = np.frombuffer(self.n_drafted, np.int32) if self.n_drafted else np.empty(0, int)
        return np.bincount(drafted).astype(np.int32)


def walk_policy(walk: SessionPositions, policy: Policy) -> Iterator[CallSteps]:
    """Walk a policy over what a steady drafter proposed in a session.

    A policy with a method `foresee(n)` is told R before every budget; see `replay.oracle`.

    Args:
        walk: the drafter's walk.
        policy: reset here; it learns over the calls of the session.
    """
    policy.reset()
    known: dict[str, dict[tuple[int, int, int, int], Evidence]] = {}
    for call in walk.calls:
        yield _steps_of(call, walk.sources, policy, known.setdefault(call.form, {}))


def _steps_of(
    call: CallPositions,
    sources: list[str],
    policy: Policy,
    known: dict[tuple[int, int, int, int], Evidence],
) -> CallSteps:
    steps = CallSteps(call.role, call.turn, len(call))
    role, n = call.role, len(call)
    columns = (call.match_len, call.source, call.n_seen, call.n_group)
    keys = list(zip(*(column.tolist() for column in columns), strict=True))
    n_draft, reusable = call.n_draft.tolist(), call.reusable.tolist()
    foresee = getattr(policy, "foresee", None)
    budget_of, observe = policy.budget, policy.observe
    at, drafted, accepted = steps.positions, steps.n_drafted, steps.n_accepted
    i = 0
    while i < n:
        key = keys[i]
        evidence = known.get(key)
        if evidence is None:
            evidence = known[key] = Evidence(key[0], sources[key[1]], key[2], key[3], call.form)
        if foresee is not None:
            foresee(reusable[i])
        budget = budget_of(role, evidence, call.room(i))
        k = budget.k
        d = min(k, n_draft[i]) if k > 0 else 0
        a = min(d, reusable[i])
        observe(role, evidence, Outcome(d, a, budget.censored or d < k))
        at.append(i)
        drafted.append(d)
        accepted.append(a)
        i += a + 1
    steps.draft_us = array("f", call.draft_us[np.frombuffer(at, np.int32)].tobytes())
    return steps


def walk_steps(
    session: TokenisedSession,
    make: Callable[[], Drafter],
    policy: Policy,
    options: WalkOptions | None = None,
    progress: Callable[[int], None] = lambda n_tokens: None,
) -> Iterator[CallSteps]:
    """Walk any drafter and a policy step by step, as the engine does.

    Args:
        session: the session.
        make: makes the drafter, with empty live corpora.
        policy: reset here; it learns over the calls of the session.
        options: what is indexed; None for everything.
        progress: called after each call with its tokens, prompt and output.
    """
    drafter = make()
    policy.reset()
    prompts = Prompts(drafter, options or WalkOptions())
    for call in session.calls:
        prompts.begin(call)
        if len(call.output):
            yield _asked_steps(drafter, call, policy)
        progress(call.n_new + len(call.output))


def _asked_steps(drafter: Drafter, call: TokenisedCall, policy: Policy) -> CallSteps:
    steps = CallSteps(call.role, call.turn, len(call.output))
    output = tuple(call.output.tolist())
    last = most_tokens(call) - 1
    foresee = getattr(policy, "foresee", None)
    i = 0
    while i < len(output):
        room, n_left = room_at(call.max_tokens, i), last - i
        started = time.perf_counter_ns()
        match = drafter.match()
        evidence = evidence_of(match, call.form)
        if foresee is not None:
            longest = drafter.draft(match, min(n_left, MAX_DRAFT)).ids if n_left > 0 else ()
            foresee(n_agreeing(longest, output, i))
        budget = policy.budget(call.role, evidence, room)
        k = min(budget.k, n_left)
        draft = drafter.draft(match, k) if k > 0 else NO_DRAFT
        spent = time.perf_counter_ns() - started
        n_drafted, n_accepted = len(draft.ids), n_agreeing(draft.ids, output, i)
        _learn(drafter, policy, call.role, evidence, budget, Outcome(n_drafted, n_accepted, False))
        drafter.feed(output[i : i + n_accepted + 1])
        steps.positions.append(i)
        steps.n_drafted.append(n_drafted)
        steps.n_accepted.append(n_accepted)
        steps.draft_us.append(spent / 1e3)
        i += n_accepted + 1
    return steps


def _learn(
    drafter: Drafter, policy: Policy, role: str, evidence: Evidence, budget: Budget, seen: Outcome
) -> None:
    """Tell the policy and the drafter of a verification, in the engine's order."""
    censored = budget.censored or seen.n_drafted < budget.k
    policy.observe(role, evidence, Outcome(seen.n_drafted, seen.n_accepted, censored))
    if seen.n_drafted:
        drafter.observe(seen.n_drafted, seen.n_accepted)
