"""From a drafter's match to what a policy decides by."""

from agspec_tui.drafting.types import Match
from agspec_tui.policy.types import Evidence


def evidence_of(match: Match, form: str = "") -> Evidence:
    """What the match tells a policy, in a reply that is asked for edits of this form."""
    return Evidence(match.length, match.source, match.n_seen, match.n_group, form)
