"""Profiles from recorded sessions: how far a drafter's proposals agree with what was written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from agspec_tui.drafting.types import Drafter
from agspec_tui.policy.cost import K_MAX
from agspec_tui.policy.profile import Profile
from agspec_tui.policy.scaled import Scaled
from agspec_tui.policy.types import Evidence
from agspec_tui.replay.steps import walk_policy
from agspec_tui.replay.tokens import TokenisedSession
from agspec_tui.replay.walk import SessionPositions, walk_session

_FACTOR = 0.25


@dataclass(slots=True)
class Profiled:
    """What came of walking sessions."""

    profile: Profile = field(default_factory=Profile)
    """Counts of their drafts."""
    n_sessions: int = 0
    """Sessions that were walked."""
    n_tokens: int = 0
    """Tokens of their outputs."""


def profile_of(walk: SessionPositions) -> Profile:
    """Counts of the longest drafts at the positions where a drafter is asked.

    Positions are those of steps that draft a quarter of the match: a policy between one that drafts
    nothing, which counts a long copy once for each token, and one that drafts all of it. Profiles
    from these served every cost; the policies that use them changed little between the two ends.
    """
    profile = Profile()
    asked = Scaled(_FACTOR, offset=0.0, most=K_MAX)
    for call, steps in zip(walk.calls, walk_policy(walk, asked), strict=True):
        columns = (call.match_len, call.source, call.n_seen, call.n_group)
        lengths, sources, seen, groups = (column.tolist() for column in columns)
        n_draft, reusable = call.n_draft.tolist(), call.reusable.tolist()
        for i in steps.positions:
            source = walk.sources[sources[i]]
            evidence = Evidence(lengths[i], source, seen[i], groups[i], call.form)
            profile.add(call.role, evidence, n_draft[i], reusable[i])
    return profile


def profile_sessions(
    sessions: Iterable[TokenisedSession],
    make: Callable[[], Drafter],
    progress: Callable[[int, int], None] = lambda n_sessions, n_tokens: None,
) -> Profiled:
    """Walk a steady drafter over sessions and count.

    Args:
        sessions: the sessions.
        make: makes the drafter, with empty live corpora.
        progress: called after each session with the sessions and output tokens so far.

    Raises:
        DraftError: the drafter is not steady.
    """
    found = Profiled()
    for session in sessions:
        found.profile.merge(profile_of(walk_session(session, make)))
        found.n_sessions += 1
        found.n_tokens += session.n_output
        progress(found.n_sessions, found.n_tokens)
    return found
