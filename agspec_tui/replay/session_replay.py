"""What is done with one session: walk its drafters, then decide the lengths of their drafts.

The two stages are apart because a policy with a profile needs the counts of other sessions first.
In between, what the drafters proposed lies in a folder of the run, as numbers without text.
"""

import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from agspec_tui.drafting.choose import make_drafter
from agspec_tui.drafting.types import Drafter
from agspec_tui.policy.choose import make_policy
from agspec_tui.policy.cost import Cost
from agspec_tui.policy.profile import Profile
from agspec_tui.policy.types import Policy
from agspec_tui.replay.halves import HalfCorpora, OpenHalves
from agspec_tui.replay.oracle import Oracle
from agspec_tui.replay.plan import PolicyChoice, ReplayPlan
from agspec_tui.replay.profiling import profile_of
from agspec_tui.replay.read import Entry, load
from agspec_tui.replay.report import ORACLE
from agspec_tui.replay.steps import CallSteps, walk_policy, walk_steps
from agspec_tui.replay.tally import Key, Tallies, Tally, turn_group
from agspec_tui.replay.token_cache import TokenCache
from agspec_tui.replay.tokens import TokenisedSession, half_of
from agspec_tui.replay.walk import Numbers, SessionPositions, WalkOptions, walk_session

WITH_STATIC = frozenset({"rest", "fastcoder"})
"""Prior drafters that have a corpus of their own beside the context."""
_REUSED = frozenset({"rest"})
"""Of those, drafters without live corpora that remember what they worked out of the static one."""

_DECIDERS: dict[tuple[str, str, int], tuple[Policy, Profile | None]] = {}


@dataclass(frozen=True, slots=True)
class Setup:
    """What every process knows."""

    plan: ReplayPlan
    """What is replayed."""
    costs: Mapping[str, Cost]
    """What passes cost, by name."""
    tokens: Path
    """Folder of tokenised sessions."""
    folder: Path
    """Folder of this run, which is removed at its end."""
    corpora: HalfCorpora = field(default_factory=lambda: HalfCorpora((None, None), (0, 0)))
    """Global corpora of both halves of the tasks."""


class CallDrafts(NamedTuple):
    """What one policy drafted in a call; all that a shared pass must know of it."""

    key: Key
    """The tally that the call belongs to."""
    n_tokens: int
    """Tokens of its output."""
    drafted: Numbers
    """D of each step."""


@dataclass(slots=True)
class Replayed:
    """What came of a session, or of the calls of several side by side."""

    tallies: Tallies = field(default_factory=dict)
    """Counts of its steps."""
    drafts: list[CallDrafts] = field(default_factory=list)
    """Of each policy and call, in order; of a batch only."""
    profiles: dict[str, Profile] = field(default_factory=dict)
    """By drafter: how far its drafts agreed at the steps."""
    n_refused: int = 0
    """Files that the workspace corpus had no room for."""


def draft_session(setup: Setup, entry: Entry) -> Replayed:
    """First stage: walk every drafter, and every policy that needs no profile."""
    session = load(TokenCache(setup.tokens), entry)
    done = Replayed()
    for name in setup.plan.drafters:
        make = _maker(setup, name, half_of(entry.task))
        choices = setup.plan.policies_of(name)
        if len(choices) > 1 or _is_walked_again(setup, choices[0]):
            _draft_everywhere(setup, entry, session, make, done)
            continue
        # With one policy it is quicker to ask at its steps alone.
        for walked, policy in _policies(setup, choices[0], None):
            steps = walk_steps(session, make, policy, _options(setup.plan))
            count_steps(setup, done, entry, name, choices[0], walked, steps)
    return done


def decide_session(
    setup: Setup, profiles: Mapping[tuple[str, int], Profile], entry: Entry
) -> Replayed:
    """Second stage: walk the policies that start from a profile of the other half.

    Args:
        setup: what every process knows.
        profiles: by drafter and by the half of the session.
        entry: the session.
    """
    done = Replayed()
    for name in setup.plan.drafters:
        choices = [
            each
            for each in setup.plan.policies_of(name)
            if each.needs_profile and not setup.plan.is_shared(each)
        ]
        if not choices:
            continue
        walk = walked_before(setup, entry, name)
        profile = profiles.get((name, half_of(entry.task)))
        for choice in choices:
            for walked, policy in _policies(setup, choice, profile):
                steps = walk_policy(walk, policy)
                count_steps(setup, done, entry, name, choice, walked, steps)
    return done


def _draft_everywhere(
    setup: Setup,
    entry: Entry,
    session: TokenisedSession,
    make: Callable[[], Drafter],
    done: Replayed,
) -> None:
    walk = walk_session(session, make, _options(setup.plan))
    done.n_refused = max(done.n_refused, walk.n_refused)
    choices = setup.plan.policies_of(walk.drafter)
    for choice in choices:
        if not _is_walked_again(setup, choice):
            for walked, policy in _policies(setup, choice, None):
                steps = walk_policy(walk, policy)
                count_steps(setup, done, entry, walk.drafter, choice, walked, steps)
    if any(choice.needs_profile for choice in choices):
        done.profiles[walk.drafter] = profile_of(walk)
    if any(_is_walked_again(setup, choice) for choice in choices):
        _positions(setup, entry, walk.drafter).write_bytes(pickle.dumps(walk, protocol=5))


def _policies(
    setup: Setup, choice: PolicyChoice, profile: Profile | None
) -> Iterable[tuple[str, Policy]]:
    """The policy, with the name of the cost it decides by: once for each, or once with none."""
    if choice.settings.policy == ORACLE:
        yield "", Oracle()
    elif choice.needs_cost:
        for name, cost in setup.costs.items():
            yield name, decider(choice, cost.for_batch(setup.plan.batch), profile)
    else:
        yield "", make_policy(choice.settings)


def decider(choice: PolicyChoice, cost: Cost, profile: Profile | None) -> Policy:
    """A policy that serves every session in a process: its tables take longer than a session."""
    key = (choice.label, cost.name, id(profile))
    if key not in _DECIDERS:
        # The profile is kept, so that no other one can have its number.
        _DECIDERS[key] = make_policy(choice.settings, cost, profile), profile
    return _DECIDERS[key][0]


def count_steps(
    setup: Setup,
    done: Replayed,
    entry: Entry,
    drafter: str,
    choice: PolicyChoice,
    walked: str,
    calls: Iterable[CallSteps],
) -> None:
    """Add the steps of calls to the tallies; of a batch what they drafted is kept as well."""
    for steps in calls:
        turn = turn_group(steps.turn)
        key = Key(drafter, choice.label, walked, entry.source, steps.role, turn)
        drafted = np.array(steps.n_drafted, np.int64)
        done.tallies.setdefault(key, Tally()).add_call(
            steps.n_tokens,
            drafted,
            np.array(steps.n_accepted, np.int64),
            np.array(steps.draft_us, np.float64),
        )
        if setup.plan.batch > 1:
            done.drafts.append(CallDrafts(key, steps.n_tokens, drafted.astype(np.int32)))


def walked_before(setup: Setup, entry: Entry, drafter: str) -> SessionPositions:
    """What a drafter proposed in a session, as the first stage left it."""
    walk: SessionPositions = pickle.loads(_positions(setup, entry, drafter).read_bytes())
    return walk


def _is_walked_again(setup: Setup, choice: PolicyChoice) -> bool:
    """Whether a policy is walked when all sessions have been: for a profile, or side by side."""
    return choice.needs_profile or setup.plan.is_shared(choice)


def _options(plan: ReplayPlan) -> WalkOptions:
    return WalkOptions(workspace=plan.workspace, views=plan.views)


def _maker(setup: Setup, name: str, half: int) -> Callable[[], Drafter]:
    """Makes a drafter with the corpora of the plan for a session of this half."""
    wanted = setup.plan.global_corpus or name in WITH_STATIC

    if name in _REUSED:
        return lambda: _reused(name, setup.corpora, half)

    def make() -> Drafter:
        static = _opened(setup.corpora).corpus_for(half) if wanted else None
        return make_drafter(name, static, setup.plan.session, resume=setup.plan.resume)

    return make


@cache
def _reused(name: str, corpora: HalfCorpora, half: int) -> Drafter:
    """A drafter that serves every session of a half in a process."""
    return make_drafter(name, _opened(corpora).corpus_for(half))


@cache
def _opened(corpora: HalfCorpora) -> OpenHalves:
    """The corpora of the run, checked once in a process."""
    return OpenHalves(corpora)


def _positions(setup: Setup, entry: Entry, drafter: str) -> Path:
    return setup.folder / f"{entry.key}-{drafter}.positions"
